mod golden;
mod tiny;

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use proptest::prelude::*;

use super::upload::EncoderUpload;
use super::*;
use crate::config::ModelFiles;
use crate::gpu::{Lane, ModelLoader as _};
use crate::inference::backend::Precision;
use crate::inference::backend::candle::CandleBackend;
use crate::inference::{EmbeddingModel, Weights, bundled};

const LANE: Lane = Lane { index: 0, lanes: 1 };

fn loader(weights: Weights, config: EncoderConfig) -> EncoderLoader<CandleBackend> {
    let open = Arc::new(|_| CandleBackend::cpu(2));
    EncoderLoader::new(Arc::new(weights), config, Precision::F32, open)
}

fn finish(mut upload: EncoderUpload<CandleBackend>) -> (Encoder<CandleBackend>, usize) {
    let mut steps = 1;
    loop {
        match upload.advance().unwrap() {
            Some(encoder) => return (encoder, steps),
            None => steps += 1,
        }
    }
}

fn bundled_config() -> EncoderConfig {
    EmbeddingModel::open(&ModelFiles::Bundled).unwrap().config
}

static ENCODER: LazyLock<Mutex<Encoder<CandleBackend>>> = LazyLock::new(|| {
    let weights = Weights::embedded("bundled", bundled::weights());
    Mutex::new(finish(loader(weights, bundled_config()).stage(LANE).unwrap()).0)
});

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
    assert!((80_000_000..100_000_000).contains(&info.memory_bytes), "{}", info.memory_bytes);
    assert!(info.device.name.starts_with("CPU, "), "{}", info.device.name);
}

/// No step brings more than one layer, so no search waits for more.
#[test]
fn a_model_is_uploaded_a_layer_a_step() {
    let weights = Weights::embedded("bundled", bundled::weights());
    let config = bundled_config();
    let (opening, tables, finishing) = (1, 1, 1);
    let (encoder, steps) = finish(loader(weights, config.clone()).stage(LANE).unwrap());
    assert_eq!(steps, opening + tables + config.layers + finishing);
    assert_eq!(encoder.parameters.layers.len(), config.layers);
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
        loader(weights, config).prepare(LANE).err().expect("the weights are refused").to_string()
    };
    let cut = Weights::embedded("cut.safetensors", &bundled::weights()[..1_000_000]);
    let error = prepare(cut, bundled_config());
    assert!(error.starts_with("weights cut.safetensors are damaged"), "{error}");
    let whole = || Weights::embedded("whole", bundled::weights());
    let error = prepare(whole(), EncoderConfig { width: 768, ..bundled_config() });
    assert!(error.contains("[512, 384]") && error.contains("expected [512, 768]"), "{error}");
    let gated = EncoderConfig { feed_forward: FeedForward::Geglu, ..bundled_config() };
    let error = prepare(whole(), gated);
    assert!(error.contains("no tensor encoder.layer.0.mlp.gated_layers.weight"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// A vector does not depend on what else is in the batch, nor on the order.
    #[test]
    fn batch_and_single_agree(
        sequences in prop::collection::vec(prop::collection::vec(1_000..30_000_u32, 1..40), 1..6)
    ) {
        let together = embed(&sequences);
        for (sequence, embedding) in sequences.iter().zip(&together) {
            let single = embed(std::slice::from_ref(sequence)).remove(0);
            for (a, b) in embedding.as_slice().iter().zip(single.as_slice()) {
                prop_assert!((a - b).abs() <= 1e-5, "{a} {b}");
            }
        }
    }
}
