//! The bundled model beside sentence-transformers.

use super::*;

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
fn check(encoder: &mut Encoder<CandleBackend>, cosine_min: f32) {
    let goldens: Goldens =
        serde_json::from_str(include_str!("../../../../tests/goldens/minilm.json")).unwrap();
    let tokenizer = EmbeddingModel::open(&ModelFiles::Bundled).unwrap().tokenizer;
    let sequences: Vec<_> = goldens
        .cases
        .iter()
        .map(|golden| tokenizer.encode_query(&golden.text, goldens.tokens_max).unwrap())
        .collect();
    let got = encoder.forward(&batch(&sequences)).unwrap();
    for ((golden, ids), got) in goldens.cases.into_iter().zip(sequences).zip(got) {
        assert_eq!(ids, golden.ids, "{}", golden.name);
        let cosine = got.cosine(&Embedding::normalized(golden.embedding).unwrap());
        assert!(cosine >= cosine_min, "{}: cosine {cosine}", golden.name);
    }
}

#[test]
fn vectors_agree_with_sentence_transformers() {
    check(&mut ENCODER.lock().unwrap_or_else(PoisonError::into_inner), 0.9999);
}

/// What a GPU does, done on the CPU: padded, with candle's operations, in f16.
#[test]
fn vectors_agree_in_the_way_of_a_gpu() {
    let weights = Arc::new(Weights::embedded("bundled", bundled::weights()));
    let open = Arc::new(|_| CandleBackend::cpu_padded(2));
    let loader = EncoderLoader::new(weights, bundled_config(), Precision::F16, open);
    let (mut encoder, _) = finish(loader.stage(LANE).unwrap());
    check(&mut encoder, 0.999);
    assert!(encoder.info().memory_bytes < 50_000_000, "{}", encoder.info().memory_bytes);
}

/// The self-test asks for what the goldens say.
#[test]
fn the_self_test_is_part_of_the_goldens() {
    let goldens: serde_json::Value =
        serde_json::from_str(include_str!("../../../../tests/goldens/minilm.json")).unwrap();
    let file: serde_json::Value =
        serde_json::from_slice(bundled::file("self-test.json").unwrap()).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let same = |golden: &&serde_json::Value| golden["ids"] == case["ids"];
        let golden = goldens["cases"].as_array().unwrap().iter().find(same).unwrap();
        assert_eq!(golden["embedding"], case["embedding"]);
    }
}
