use std::fmt;

use crate::data::TokenBatch;

/// Who waits for the answer. Smaller runs first; first in, first out within one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// A person looks at the screen: a query.
    Immediate,
    /// A person expects it soon: one file that was just dropped.
    Interactive,
    /// Nobody waits: bulk indexing, crawling.
    Background,
}

impl Priority {
    pub const ALL: [Self; 3] = [Self::Immediate, Self::Interactive, Self::Background];

    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// Names a loaded model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelId {
    JinaBert,
    Embedding(String),
    Llm(String),
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JinaBert => f.write_str("jina-bert"),
            Self::Embedding(name) | Self::Llm(name) => f.write_str(name),
        }
    }
}

/// One sequence of token ids, special tokens included.
#[derive(Clone, Debug)]
pub struct EmbedRequest {
    pub model_id: ModelId,
    pub tokens: Vec<u32>,
    pub priority: Priority,
}

/// Many sequences, special tokens included.
#[derive(Clone, Debug)]
pub struct BatchEmbedRequest {
    pub model_id: ModelId,
    pub batch: TokenBatch,
    pub priority: Priority,
}

/// How the next token is chosen among those that the model thinks likely.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// Divides the logits; 0 always takes the likeliest token.
    pub temperature: f32,
    /// Only so many of the likeliest tokens.
    pub top_k: Option<usize>,
    /// Only the likeliest tokens that together reach this probability (Holtzman et al. 2020).
    pub top_p: Option<f32>,
    /// Divides the logits of tokens that have occurred lately (Keskar et al. 2019); 1 changes nothing.
    pub repeat_penalty: f32,
    /// The same seed, model and prompt give the same answer.
    pub seed: u64,
}

impl Sampling {
    /// Always the likeliest token.
    #[must_use]
    pub fn greedy() -> Self {
        Self { temperature: 0.0, top_k: None, top_p: None, repeat_penalty: 1.0, seed: 0 }
    }
}

/// A prompt to continue.
#[derive(Clone, Debug)]
pub struct GenerateRequest {
    pub model_id: ModelId,
    /// Special tokens included.
    pub prompt: Vec<u32>,
    pub sampling: Sampling,
    /// Tokens of the answer at most; the context of the model is a bound as well.
    pub tokens_max: usize,
    /// Each of these sequences ends the answer and is no part of it; a model's end-of-text token
    /// belongs here.
    pub stop: Vec<Vec<u32>>,
    pub priority: Priority,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a3_immediate_sorts_before_interactive_before_background() {
        assert!(Priority::ALL.is_sorted());
        assert_eq!(Priority::ALL.map(Priority::index), [0, 1, 2]);
    }
}
