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
#[test]
fn vectors_agree_with_sentence_transformers() {
    let goldens: Goldens =
        serde_json::from_str(include_str!("../../../../tests/goldens/minilm.json")).unwrap();
    let tokenizer = EmbeddingModel::open(&ModelFiles::Bundled).unwrap().tokenizer;
    for golden in goldens.cases {
        let ids = tokenizer.encode_query(&golden.text, goldens.tokens_max).unwrap();
        assert_eq!(ids, golden.ids, "{}", golden.name);
        let want = Embedding::normalized(golden.embedding).unwrap();
        let cosine = embed(&[ids])[0].cosine(&want);
        assert!(cosine >= 0.9999, "{}: cosine {cosine}", golden.name);
    }
}
