mod golden;
mod tiny;

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use proptest::prelude::*;

use super::*;
use crate::config::ModelFiles;
use crate::gpu::{Lane, ModelLoader as _, ModelUpload as _};
use crate::inference::backend::Precision;
use crate::inference::backend::candle::CandleBackend;
use crate::inference::backend::cpu::{CpuBackend, with_kernel};
use crate::inference::{EmbeddingModel, Weights, bundled};
use crate::platform::Simd;

const LANE: Lane = Lane { index: 0, lanes: 1 };

/// An encoder on any backend.
trait Forward: Send {
    fn forward(&mut self, batch: &TokenBatch) -> Result<Vec<Embedding>, ModelError>;
    /// Rows before they are normalized.
    fn pooled(&mut self, batch: &TokenBatch) -> Vec<Vec<f32>>;
    fn info(&self) -> ModelInfo;
}

impl<B> Forward for Encoder<B>
where
    B: Backend<Table: Send, Matrix: Send, Vector: Send, Pending: Send> + Send + 'static,
{
    fn forward(&mut self, batch: &TokenBatch) -> Result<Vec<Embedding>, ModelError> {
        self.embed(batch)
    }

    fn pooled(&mut self, batch: &TokenBatch) -> Vec<Vec<f32>> {
        self.begin(batch).unwrap();
        self.pooled().unwrap()
    }

    fn info(&self) -> ModelInfo {
        EncoderModel::info(self)
    }
}

/// Where an encoder runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    /// The reference.
    Candle,
    /// All that a GPU does, in f32 or f16.
    LikeGpu(Precision),
    Cpu(Simd),
}

impl On {
    /// The reference, and every set of this processor.
    fn all() -> impl Iterator<Item = Self> {
        let sets = Simd::ALL.into_iter().filter(|simd| simd.is_available());
        std::iter::once(Self::Candle).chain(sets.map(Self::Cpu))
    }

    fn load(self, weights: Weights, config: EncoderConfig) -> Box<dyn Forward> {
        fn open<B>(
            weights: Weights,
            config: EncoderConfig,
            precision: Precision,
            open: fn() -> Result<B, BackendError>,
        ) -> Box<dyn Forward>
        where
            B: Backend<Table: Send, Matrix: Send, Vector: Send, Pending: Send> + Send + 'static,
        {
            let open = Arc::new(move |_| open());
            let loader = EncoderLoader::new(Arc::new(weights), config, precision, open);
            let mut upload = loader.stage(LANE).unwrap();
            loop {
                if let Some(encoder) = upload.advance().unwrap() {
                    return Box::new(encoder);
                }
            }
        }
        match self {
            Self::Candle => open(weights, config, Precision::F32, || CandleBackend::cpu(2)),
            Self::LikeGpu(precision) => {
                open(weights, config, precision, || CandleBackend::cpu_padded(2))
            }
            Self::Cpu(simd) => with_kernel!(simd, K => {
                open(weights, config, Precision::F32, || CpuBackend::<K>::new(2))
            }),
        }
    }

    /// How far a component of about 1 may be from PyTorch's in f32.
    fn tolerance(self) -> f32 {
        match self {
            Self::Cpu(Simd::Amx | Simd::Avx512Bf16) => 0.06,
            _ => 3e-5,
        }
    }
}

fn bundled_weights() -> Weights {
    Weights::embedded("bundled", bundled::weights())
}

fn bundled_config() -> EncoderConfig {
    EmbeddingModel::open(&ModelFiles::Bundled).unwrap().config
}

/// The bundled model as a person has it.
static ENCODER: LazyLock<Mutex<Box<dyn Forward>>> =
    LazyLock::new(|| Mutex::new(On::Cpu(Simd::detect()).load(bundled_weights(), bundled_config())));

fn batch(sequences: &[Vec<u32>]) -> TokenBatch {
    let mut batch = TokenBatch::default();
    for ids in sequences {
        batch.push(ids);
    }
    batch
}

fn embed(sequences: &[Vec<u32>]) -> Vec<Embedding> {
    let mut encoder = ENCODER.lock().unwrap_or_else(PoisonError::into_inner);
    encoder.forward(&batch(sequences)).unwrap()
}

#[test]
fn the_bundled_model_has_the_shape_that_it_says() {
    let info = ENCODER.lock().unwrap().info();
    assert_eq!((info.dim, info.tokens_max), (384, 256));
    assert!((40_000_000..100_000_000).contains(&info.memory_bytes), "{}", info.memory_bytes);
    let set = Simd::detect().name();
    assert_eq!(info.device.name, format!("CPU, 2 threads, {set}"));
}

/// No step brings more than one layer, so no search waits for more.
#[test]
fn a_model_is_uploaded_a_layer_a_step() {
    let (weights, config) = (Arc::new(bundled_weights()), bundled_config());
    let open = Arc::new(|_| CandleBackend::cpu(1));
    let loader = EncoderLoader::new(weights, config.clone(), Precision::F32, open);
    let mut upload = loader.stage(LANE).unwrap();
    let (opening, tables, finishing) = (1, 1, 1);
    let mut steps = 1;
    while upload.step().unwrap().is_none() {
        steps += 1;
    }
    assert_eq!(steps, opening + tables + config.layers + finishing);
}

#[test]
fn an_empty_batch_gives_nothing() {
    assert_eq!(embed(&[]), []);
}

#[test]
fn an_id_outside_the_vocabulary_is_an_error_that_names_it() {
    let error = ENCODER.lock().unwrap().forward(&batch(&[vec![101, 99_999, 102]])).unwrap_err();
    assert_eq!(error.to_string(), "token 99999 is outside the vocabulary of 30522");
}

#[test]
fn damaged_weights_are_named_before_any_device_is_asked() {
    let prepare = |weights, config| {
        let open = Arc::new(|_| CandleBackend::cpu(1));
        let loader = EncoderLoader::new(Arc::new(weights), config, Precision::F32, open);
        loader.prepare(LANE).err().expect("the weights are refused").to_string()
    };
    let cut = Weights::embedded("cut.safetensors", &bundled::weights()[..1_000_000]);
    let error = prepare(cut, bundled_config());
    assert!(error.starts_with("weights cut.safetensors are damaged"), "{error}");
    let error = prepare(bundled_weights(), EncoderConfig { width: 768, ..bundled_config() });
    assert!(error.contains("[512, 384]") && error.contains("expected [512, 768]"), "{error}");
    let gated = EncoderConfig { feed_forward: FeedForward::Geglu, ..bundled_config() };
    let error = prepare(bundled_weights(), gated);
    assert!(error.contains("no tensor encoder.layer.0.mlp.gated_layers.weight"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// A vector does not depend on what else is in the batch, nor on the order: bit for bit.
    #[test]
    fn batch_and_single_agree(
        sequences in prop::collection::vec(prop::collection::vec(1_000..30_000_u32, 1..40), 1..6)
    ) {
        let together = embed(&sequences);
        for (sequence, embedding) in sequences.iter().zip(&together) {
            let single = embed(std::slice::from_ref(sequence)).remove(0);
            prop_assert_eq!(embedding, &single);
        }
    }
}
