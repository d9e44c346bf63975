//! An encoder on its way to a device.

use std::collections::VecDeque;
use std::sync::Arc;

use super::parameters::{Parameters, StagedLayer, StagedParameters, Uploader, stage};
use super::{Encoder, EncoderConfig, EncoderError};
use crate::gpu::{Lane, Model, ModelError, ModelLoader, ModelUpload};
use crate::inference::Weights;
use crate::inference::backend::{Backend, BackendError, Precision};

/// Makes a backend, on the thread that will own the device.
pub type OpenBackend<B> = Arc<dyn Fn(Lane) -> Result<B, BackendError> + Send + Sync>;

/// Loads an encoder onto one kind of device: converted on the loader's thread, then brought over the
/// tables first and a layer at a time.
pub struct EncoderLoader<B: Backend> {
    weights: Arc<Weights>,
    config: EncoderConfig,
    precision: Precision,
    open: OpenBackend<B>,
}

impl<B: Backend> std::fmt::Debug for EncoderLoader<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncoderLoader").field("config", &self.config).finish_non_exhaustive()
    }
}

impl<B: Backend> EncoderLoader<B> {
    #[must_use]
    pub fn new(
        weights: Arc<Weights>,
        config: EncoderConfig,
        precision: Precision,
        open: OpenBackend<B>,
    ) -> Self {
        Self { weights, config, precision, open }
    }

    /// The encoder, in one go.
    ///
    /// # Errors
    /// When files are damaged, or the device fails or has no room.
    #[cfg(all(test, feature = "wgpu"))]
    pub(in crate::inference) fn load(&self, lane: Lane) -> Result<Encoder<B>, ModelError> {
        let mut upload = self.stage(lane)?;
        loop {
            if let Some(encoder) = upload.advance()? {
                return Ok(encoder);
            }
        }
    }

    pub(super) fn stage(&self, lane: Lane) -> Result<EncoderUpload<B>, EncoderError> {
        let (staged, memory_bytes) = stage::<B>(&self.weights, &self.config, self.precision)?;
        let (open, config) = (Arc::clone(&self.open), self.config.clone());
        let stage = Stage::Closed { open, lane, staged };
        Ok(EncoderUpload { config, memory_bytes, stage })
    }
}

impl<B> ModelLoader for EncoderLoader<B>
where
    B: Backend<Table: Send, Matrix: Send, Vector: Send> + Send + 'static,
{
    fn prepare(&self, lane: Lane) -> Result<Box<dyn ModelUpload>, ModelError> {
        Ok(Box::new(self.stage(lane)?))
    }
}

pub(super) struct EncoderUpload<B: Backend> {
    config: EncoderConfig,
    memory_bytes: u64,
    stage: Stage<B>,
}

enum Stage<B: Backend> {
    Closed {
        open: OpenBackend<B>,
        lane: Lane,
        staged: StagedParameters<B>,
    },
    Open {
        backend: B,
        staged: StagedParameters<B>,
    },
    Layers {
        backend: B,
        uploaded: Uploaded<B>,
        staged: StagedLayers<B>,
    },
    /// Finished, or failed.
    Over,
}

type Uploaded<B> =
    Parameters<<B as Backend>::Table, <B as Backend>::Matrix, <B as Backend>::Vector>;
type StagedLayers<B> = std::vec::IntoIter<StagedLayer<B>>;

impl<B> ModelUpload for EncoderUpload<B>
where
    B: Backend<Table: Send, Matrix: Send, Vector: Send> + Send + 'static,
{
    fn step(&mut self) -> Result<Option<Model>, ModelError> {
        Ok(self.advance()?.map(|encoder| Model::Encoder(Box::new(encoder))))
    }
}

impl<B: Backend> EncoderUpload<B> {
    pub(super) fn advance(&mut self) -> Result<Option<Encoder<B>>, ModelError> {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Closed { open, lane, staged } => Stage::Open { backend: open(lane)?, staged },
            Stage::Open { backend, staged } => {
                let Parameters { tables, norm, layers } = staged;
                let on_device = Uploader(&backend);
                let (tables, norm) = (on_device.tables(tables)?, on_device.norm(norm)?);
                let uploaded = Parameters { tables, norm, layers: Vec::new() };
                Stage::Layers { backend, uploaded, staged: layers.into_iter() }
            }
            Stage::Layers { backend, mut uploaded, mut staged } => match staged.next() {
                Some(layer) => {
                    uploaded.layers.push(Uploader(&backend).layer(layer)?);
                    Stage::Layers { backend, uploaded, staged }
                }
                None => return Ok(Some(self.finish(backend, uploaded))),
            },
            Stage::Over => return Err(ModelError::new("the upload is over")),
        };
        Ok(None)
    }

    fn finish(&self, backend: B, parameters: Uploaded<B>) -> Encoder<B> {
        let (config, memory_bytes) = (self.config.clone(), self.memory_bytes);
        let (attention, begun) = (config.attention(), VecDeque::new());
        Encoder { backend, config, attention, parameters, memory_bytes, begun }
    }
}
