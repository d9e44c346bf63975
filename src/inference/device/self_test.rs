//! A small input whose vectors are known, run before a device is trusted with a person's files.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;

use crate::data::{Embedding, EmbeddingError, TokenBatch};
use crate::gpu::{DeviceKind, EncoderModel, Lane, Model, ModelError, ModelLoader};

/// Least cosine between what a device computes and what it should. f16 stays above 0.9999 for sound
/// kernels; a wrong one falls far below.
const COSINE_MIN: f32 = 0.999;

/// The input, and where its vectors come from.
pub(in crate::inference) struct SelfTest {
    pub batch: TokenBatch,
    pub oracle: Oracle,
}

impl fmt::Debug for SelfTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SelfTest").field("batch", &self.batch).finish_non_exhaustive()
    }
}

pub(in crate::inference) enum Oracle {
    /// Vectors that came with the model.
    Stored(Vec<Embedding>),
    /// The same model on the CPU, which is the reference itself and needs no test.
    Cpu(Arc<dyn ModelLoader>),
}

/// `self-test.json` of a bundled model.
#[derive(Deserialize)]
pub(in crate::inference) struct StoredFile {
    cases: Vec<StoredCase>,
}

#[derive(Deserialize)]
struct StoredCase {
    ids: Vec<u32>,
    embedding: Vec<f32>,
}

impl SelfTest {
    /// # Errors
    /// When a vector has no direction.
    pub fn stored(file: StoredFile) -> Result<Self, EmbeddingError> {
        let mut batch = TokenBatch::default();
        let mut embeddings = Vec::new();
        for case in file.cases {
            batch.push(&case.ids);
            embeddings.push(Embedding::normalized(case.embedding)?);
        }
        Ok(Self { batch, oracle: Oracle::Stored(embeddings) })
    }

    /// What a device of `kind` is to compute; `None` when it needs no test.
    pub fn expected(
        &self,
        kind: DeviceKind,
        lane: Lane,
    ) -> Result<Option<Vec<Embedding>>, ModelError> {
        match &self.oracle {
            Oracle::Stored(embeddings) => Ok(Some(embeddings.clone())),
            Oracle::Cpu(_) if kind == DeviceKind::Cpu => Ok(None),
            Oracle::Cpu(loader) => {
                let mut upload = loader.prepare(lane)?;
                let model = loop {
                    if let Some(model) = upload.step()? {
                        break model;
                    }
                };
                match model {
                    Model::Encoder(mut encoder) => encoder.embed(&self.batch).map(Some),
                    Model::Decoder(_) => Err(ModelError::new("the model is no encoder")),
                }
            }
        }
    }

    /// # Errors
    /// When the device fails or computes something else.
    pub fn check(
        &self,
        encoder: &mut dyn EncoderModel,
        expected: &[Embedding],
    ) -> Result<(), ModelError> {
        let got = encoder.embed(&self.batch)?;
        if got.len() != expected.len() || got.iter().zip(expected).any(|(a, b)| a.dim() != b.dim())
        {
            return Err(ModelError::new("it computes vectors of another shape"));
        }
        let cosines = got.iter().zip(expected).map(|(got, want)| got.cosine(want));
        let least = cosines.fold(1.0, f32::min);
        if least >= COSINE_MIN {
            return Ok(());
        }
        Err(ModelError::new(format!(
            "it computes wrong numbers (cosine {least:.3} with the right ones); update its driver"
        )))
    }
}
