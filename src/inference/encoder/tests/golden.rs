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
fn check(encoder: &mut dyn Forward, cosine_min: f32) {
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
fn vectors_of_every_set_agree_with_sentence_transformers() {
    for on in On::all() {
        // What the promise is; bf16 reaches 0.9999 and f32 0.999999.
        let cosine_min = if on.tolerance() > 1e-3 { 0.999 } else { 0.999_99 };
        check(&mut *on.load(bundled_weights(), bundled_config()), cosine_min);
    }
}

/// What a GPU does, done on the CPU: padded, with candle's operations, in f16.
#[test]
fn vectors_agree_in_the_way_of_a_gpu() {
    let mut encoder = On::LikeGpu(Precision::F16).load(bundled_weights(), bundled_config());
    check(&mut *encoder, 0.999);
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
