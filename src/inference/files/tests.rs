use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::inference::{FeedForward, Pooling, Positions};

/// A folder with the bundled model's configuration and tokenizer, and weights that nobody reads.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for file in ["config.json", "tokenizer.json", "sentence_bert_config.json"] {
            folder.write(file, bundled::file(file).unwrap());
        }
        folder.write("model.safetensors", b"weights");
        folder
    }

    fn write(&self, file: &str, bytes: &[u8]) {
        let path = self.0.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn write_json(&self, file: &str, value: &Value) {
        self.write(file, value.to_string().as_bytes());
    }

    /// `config.json` of the bundled model with other values.
    fn configure(&self, values: &Value) {
        let mut config: Value =
            serde_json::from_slice(bundled::file("config.json").unwrap()).unwrap();
        for (key, value) in values.as_object().unwrap() {
            config[key] = value.clone();
        }
        self.write_json("config.json", &config);
    }

    fn read(&self, name: &str) -> Result<EmbeddingModel, ModelFilesError> {
        EmbeddingModel::read(name, &FileSource::Folder(self.0.path()))
    }

    fn config(&self) -> EncoderConfig {
        self.read("model").unwrap().config
    }

    /// The error names `file` in this folder, and `reason`.
    #[track_caller]
    fn refuses(&self, file: &str, reason: &str) {
        let error = self.read("model").unwrap_err();
        let (ModelFilesError::Unsupported { path, .. }
        | ModelFilesError::Damaged { path, .. }
        | ModelFilesError::Read { path, .. }) = &error
        else {
            panic!("{error}");
        };
        assert_eq!(path, &self.0.path().join(file));
        assert!(error.to_string().contains(reason), "{error}");
    }
}

/// The ids that stand before a query and before a passage, without the leading special token.
fn prompts(model: &EmbeddingModel) -> (Vec<u32>, Vec<u32>) {
    let tokenizer = &model.tokenizer;
    let behind_special = |prefix: &[u32]| prefix[1..].to_vec();
    (
        behind_special(&tokenizer.around_query().prefix),
        behind_special(&tokenizer.around_passage().prefix),
    )
}

fn ids(model: &EmbeddingModel, text: &str) -> Vec<u32> {
    model.tokenizer.encode(text).unwrap().ids
}

#[test]
fn the_bundled_model_opens() {
    let model = EmbeddingModel::open(&ModelFiles::Bundled).unwrap();
    assert_eq!(model.id().to_string(), "all-MiniLM-L6-v2");
    assert_eq!((model.config.tokens_max, model.config.pooling), (256, Pooling::Mean));
    assert_eq!(prompts(&model), (vec![], vec![]));
}

#[test]
fn pooling_follows_modules_json() {
    let folder = Folder::new();
    assert_eq!(folder.config().pooling, Pooling::Mean);
    let module = |path: &str, kind: &str| json!({ "path": path, "type": format!("sentence_transformers.models.{kind}") });
    let mut modules =
        vec![module("", "Transformer"), module("p", "Pooling"), module("2", "Normalize")];
    folder.write_json("modules.json", &json!(modules));
    folder.write_json("p/config.json", &json!({ "pooling_mode_cls_token": true }));
    assert_eq!(folder.config().pooling, Pooling::Cls);
    folder.write_json("p/config.json", &json!({ "pooling_mode": "mean" }));
    assert_eq!(folder.config().pooling, Pooling::Mean);

    modules.push(module("2_Dense", "Dense"));
    folder.write_json("modules.json", &json!(modules));
    folder.refuses("modules.json", "module Dense in \"2_Dense\" is not known");
}

#[test]
fn pooling_that_is_not_known_is_refused_with_the_file() {
    let folder = Folder::new();
    let both = json!({ "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true });
    folder.write_json("1_Pooling/config.json", &both);
    folder.refuses("1_Pooling/config.json", "[\"cls\", \"mean\"]");
    folder.write_json("1_Pooling/config.json", &json!({ "pooling_mode_max_tokens": true }));
    folder.refuses("1_Pooling/config.json", "[\"max\"]");
    let silent = json!({ "pooling_mode_mean_tokens": true, "include_prompt": false });
    folder.write_json("1_Pooling/config.json", &silent);
    folder.refuses("1_Pooling/config.json", "prompts are left out");
}

#[test]
fn a_familiar_name_speaks_where_the_files_are_silent() {
    let folder = Folder::new();
    let e5 = folder.read("multilingual-e5-small").unwrap();
    assert_eq!(prompts(&e5), (ids(&e5, "query: "), ids(&e5, "passage: ")));
    let bge = folder.read("bge-small-en-v1.5").unwrap();
    let words = "Represent this sentence for searching relevant passages: ";
    assert_eq!(prompts(&bge), (ids(&bge, words), vec![]));
    assert_eq!(bge.config.pooling, Pooling::Cls);

    folder.write_json("1_Pooling/config.json", &json!({ "pooling_mode_mean_tokens": true }));
    assert_eq!(folder.read("bge-small-en-v1.5").unwrap().config.pooling, Pooling::Mean);
}

#[test]
fn prompts_come_from_the_models_own_file_first() {
    let folder = Folder::new();
    let file = "config_sentence_transformers.json";
    folder.write_json(file, &json!({ "prompts": { "query": "ask ", "document": "tell " } }));
    let model = folder.read("e5-small-v2").unwrap();
    assert_eq!(prompts(&model), (ids(&model, "ask"), ids(&model, "tell")));
    folder.write_json(file, &json!({ "prompts": { "query": "ask " } }));
    let model = folder.read("e5-small-v2").unwrap();
    assert_eq!(prompts(&model), (ids(&model, "ask"), vec![]));
    // As sentence-transformers saves a model that was given none.
    folder.write_json(file, &json!({ "prompts": { "query": "", "document": "" } }));
    let model = folder.read("e5-small-v2").unwrap();
    assert_eq!(prompts(&model).0, ids(&model, "query:"));
}

#[test]
fn xlm_roberta_starts_its_positions_behind_the_padding() {
    let folder = Folder::new();
    std::fs::remove_file(folder.0.path().join("sentence_bert_config.json")).unwrap();
    assert_eq!(folder.config().positions, Positions::Learned { rows: 512, first: 0 });
    folder.configure(&json!({
        "model_type": "xlm-roberta", "pad_token_id": 1, "max_position_embeddings": 514,
        "type_vocab_size": 1,
    }));
    let config = folder.config();
    assert_eq!(config.positions, Positions::Learned { rows: 514, first: 2 });
    assert_eq!(config.tokens_max, 512);
}

#[test]
fn jina_bert_is_told_by_its_configuration() {
    let folder = Folder::new();
    folder.write_json("sentence_bert_config.json", &json!({ "max_seq_length": 8_192 }));
    folder.configure(&json!({
        "position_embedding_type": "alibi", "feed_forward_type": "geglu",
        "max_position_embeddings": 8_192, "emb_pooler": "mean",
        "auto_map": { "AutoModel": "jinaai/jina-bert-implementation--modeling_bert.JinaBertModel" },
    }));
    assert_eq!(folder.read("jina-embeddings-v2-small-en").unwrap().id(), ModelId::JinaBert);
    let base = "jina-embeddings-v2-base-en";
    assert_eq!(folder.read(base).unwrap().id(), ModelId::Embedding(base.to_owned()));
    let config = folder.config();
    assert_eq!((config.positions, config.feed_forward), (Positions::Alibi, FeedForward::Geglu));
    assert_eq!((config.tokens_max, config.pooling), (8_192, Pooling::Mean));
}

#[test]
fn networks_that_are_not_known_are_refused_with_the_reason() {
    let folder = Folder::new();
    for (values, reason) in [
        (json!({ "model_type": "gpt2" }), "model_type is \"gpt2\""),
        (json!({ "hidden_act": "relu" }), "hidden_act is \"relu\""),
        (json!({ "position_embedding_type": "relative_key" }), "position_embedding_type"),
        (json!({ "position_embedding_type": "alibi" }), "feed_forward_type None"),
        (
            json!({ "auto_map": { "AutoModel": "jinaai/jina-bert-v2-qk-post-norm--modeling_bert.X" } }),
            "normalized queries and keys",
        ),
        (json!({ "max_position_embeddings": 0 }), "no positions"),
        (json!({ "num_attention_heads": 7 }), "7 heads do not divide a hidden_size of 384"),
    ] {
        folder.configure(&values);
        folder.refuses("config.json", reason);
    }
}

#[test]
fn missing_and_damaged_files_are_named() {
    let folder = Folder::new();
    folder.write("config.json", b"{");
    folder.refuses("config.json", "is damaged");
    std::fs::remove_file(folder.0.path().join("config.json")).unwrap();
    folder.refuses("config.json", "cannot be read");
    folder.configure(&json!({}));
    std::fs::remove_file(folder.0.path().join("model.safetensors")).unwrap();
    let error = folder.read("model").unwrap_err().to_string();
    assert!(error.contains("model.safetensors cannot be opened"), "{error}");
    folder.write("pytorch_model.bin", b"");
    folder.refuses("pytorch_model.bin", "model.safetensors, which is missing");
}
