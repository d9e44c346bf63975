//! `config.json` of transformers: the shape of the network.

use std::collections::HashMap;

use serde::Deserialize;

use super::ModelFilesError;
use super::source::FileSource;
use crate::inference::{EncoderConfig, FeedForward, Pooling, Positions};

const FILE: &str = "config.json";

#[derive(Deserialize)]
struct ConfigFile {
    model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f64,
    #[serde(default)]
    hidden_act: Option<String>,
    #[serde(default)]
    pad_token_id: usize,
    #[serde(default)]
    position_embedding_type: Option<String>,
    #[serde(default)]
    feed_forward_type: Option<String>,
    /// Which published code runs the model.
    #[serde(default)]
    auto_map: HashMap<String, serde_json::Value>,
}

/// What `config.json` says, with room for as many tokens as the network has positions.
pub(super) fn read(
    source: &FileSource<'_>,
    pooling: Pooling,
) -> Result<EncoderConfig, ModelFilesError> {
    let file: ConfigFile = source.read_json(FILE)?;
    let unsupported = |reason: String| source.unsupported(FILE, reason);
    if let Some(activation) = file.hidden_act.as_deref().filter(|name| *name != "gelu") {
        return Err(unsupported(format!("hidden_act is {activation:?}; only \"gelu\" is known")));
    }
    if !file.hidden_size.is_multiple_of(file.num_attention_heads) {
        let (width, heads) = (file.hidden_size, file.num_attention_heads);
        return Err(unsupported(format!("{heads} heads do not divide a hidden_size of {width}")));
    }
    let first = match file.model_type.as_str() {
        "bert" => 0,
        // Positions up to the padding id are never used: fairseq numbered them together with padding.
        "roberta" | "xlm-roberta" => file.pad_token_id + 1,
        other => {
            let reason = format!("model_type is {other:?}; \"bert\" and \"xlm-roberta\" are known");
            return Err(unsupported(reason));
        }
    };
    // Another network than JinaBERT, though its configuration says nothing else of it.
    if file.auto_map.values().any(|code| code.to_string().contains("qk-post-norm")) {
        return Err(unsupported(
            "JinaBERT with normalized queries and keys is not known".to_owned(),
        ));
    }
    let rows = file.max_position_embeddings;
    let kinds = (file.position_embedding_type.as_deref(), file.feed_forward_type.as_deref());
    let (positions, feed_forward) = match kinds {
        (None | Some("absolute"), None | Some("original")) => {
            (Positions::Learned { rows, first }, FeedForward::Gelu)
        }
        (Some("alibi"), Some("geglu")) => (Positions::Alibi, FeedForward::Geglu),
        (positions, feed_forward) => {
            let reason = format!(
                "position_embedding_type is {positions:?} with feed_forward_type {feed_forward:?}; \
                 \"absolute\" with \"original\" and \"alibi\" with \"geglu\" are known"
            );
            return Err(unsupported(reason));
        }
    };
    if rows <= first || file.type_vocab_size == 0 {
        return Err(unsupported("it has no positions or no token types".to_owned()));
    }
    Ok(EncoderConfig {
        vocabulary: file.vocab_size,
        width: file.hidden_size,
        layers: file.num_hidden_layers,
        heads: file.num_attention_heads,
        inner: file.intermediate_size,
        feed_forward,
        positions,
        token_types: file.type_vocab_size,
        norm_epsilon: file.layer_norm_eps,
        tokens_max: rows.saturating_sub(first),
        pooling,
    })
}
