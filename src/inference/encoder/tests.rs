use std::sync::{LazyLock, Mutex};

use proptest::prelude::*;

use super::super::backend::candle::CandleBackend;
use super::super::{EmbeddingModel, bundled};
use super::*;
use crate::config::ModelFiles;

fn load() -> Encoder<CandleBackend> {
    let config = EmbeddingModel::open(&ModelFiles::Bundled).unwrap().config;
    let weights = Weights::embedded("bundled", bundled::weights());
    Encoder::load(CandleBackend::cpu(2).unwrap(), &weights, config).unwrap()
}

static ENCODER: LazyLock<Mutex<Encoder<CandleBackend>>> = LazyLock::new(|| Mutex::new(load()));

fn embed(sequences: &[Vec<u32>]) -> Vec<Embedding> {
    let mut batch = TokenBatch::default();
    for ids in sequences {
        batch.push(ids);
    }
    ENCODER.lock().unwrap_or_else(std::sync::PoisonError::into_inner).forward(&batch).unwrap()
}

#[test]
fn the_bundled_model_has_the_shape_that_it_says() {
    let info = ENCODER.lock().unwrap().info();
    assert_eq!((info.dim, info.tokens_max), (384, 256));
    assert!(info.memory_bytes > 80_000_000, "{}", info.memory_bytes);
}

#[test]
fn an_empty_batch_gives_nothing() {
    assert_eq!(embed(&[]), []);
}

#[test]
fn an_id_outside_the_vocabulary_is_an_error_that_names_it() {
    let mut batch = TokenBatch::default();
    batch.push(&[101, 99_999, 102]);
    let error = ENCODER.lock().unwrap().forward(&batch).unwrap_err();
    assert_eq!(error.to_string(), "token 99999 is outside the vocabulary of 30522");
}

#[test]
fn damaged_weights_are_named() {
    let config = EmbeddingModel::open(&ModelFiles::Bundled).unwrap().config;
    let cut = Weights::embedded("cut.safetensors", &bundled::weights()[..1_000_000]);
    let error = Encoder::load(CandleBackend::cpu(1).unwrap(), &cut, config.clone()).unwrap_err();
    assert!(error.to_string().starts_with("weights cut.safetensors are damaged"), "{error}");
    let wide = EncoderConfig { width: 768, ..config };
    let whole = Weights::embedded("whole", bundled::weights());
    let error = Encoder::load(CandleBackend::cpu(1).unwrap(), &whole, wide).unwrap_err();
    assert!(error.to_string().contains("expected [2, 768]"), "{error}");
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

#[derive(serde::Deserialize)]
struct Goldens {
    tokens_max: usize,
    cases: Vec<Golden>,
}

#[derive(serde::Deserialize)]
struct Golden {
    name: String,
    text: String,
    ids: Vec<u32>,
    embedding: Vec<f32>,
}

/// The oracle is sentence-transformers in f32 on the original weights (`scripts/make-embedding-goldens.py`).
#[test]
fn vectors_agree_with_sentence_transformers() {
    let goldens: Goldens =
        serde_json::from_str(include_str!("../../../tests/goldens/minilm.json")).unwrap();
    let tokenizer = EmbeddingModel::open(&ModelFiles::Bundled).unwrap().tokenizer;
    for golden in goldens.cases {
        let ids = tokenizer.encode_query(&golden.text, goldens.tokens_max).unwrap();
        assert_eq!(ids, golden.ids, "{}", golden.name);
        let want = Embedding::normalized(golden.embedding).unwrap();
        let cosine = embed(&[ids])[0].cosine(&want);
        assert!(cosine >= 0.9999, "{}: cosine {cosine}", golden.name);
    }
}
