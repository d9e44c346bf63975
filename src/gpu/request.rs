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

#[derive(Clone, Debug)]
pub struct GenerateRequest {
    pub model_id: ModelId,
    pub prompt: Vec<u32>,
    pub tokens_max: usize,
    pub priority: Priority,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateResponse {
    pub tokens: Vec<u32>,
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
