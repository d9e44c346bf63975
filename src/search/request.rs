use serde::{Deserialize, Serialize};

use crate::data::{ChunkKey, DocumentId, Embedding, Hit};

/// Which lists an answer is made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    #[default]
    Hybrid,
    Semantic,
    Keyword,
}

impl SearchMode {
    pub const ALL: [Self; 3] = [Self::Hybrid, Self::Semantic, Self::Keyword];

    /// The word used on the command line and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Semantic => "semantic",
            Self::Keyword => "keyword",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    /// What was typed, qualifiers included.
    pub query: String,
    pub mode: SearchMode,
    /// Documents in the answer at most.
    pub limit: usize,
    /// Whether the last word may still be typed and so matches as a prefix.
    pub typing: bool,
    pub weaker: WeakerHits,
    /// Whether a document that says nearly the same as one above it is named there and not shown.
    pub fold_duplicates: bool,
    /// A passage whose neighbors by meaning are asked for, in place of the words of the query; its own
    /// document is left out.
    pub like: Option<ChunkKey>,
}

/// What becomes of documents that are too far from the query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeakerHits {
    #[default]
    LeftOut,
    /// They follow the others, as many again at most.
    Behind,
    /// They stand in their places among the others.
    Among,
}

impl SearchRequest {
    #[must_use]
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            mode: SearchMode::default(),
            limit: 10,
            typing: false,
            weaker: WeakerHits::default(),
            fold_duplicates: false,
            like: None,
        }
    }
}

/// A query as the embedding model has it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryVector {
    pub embedding: Embedding,
    /// How much of the query the model knows, 0 ..= 1: what its neighbors are worth.
    pub familiarity: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchResponse {
    pub query: String,
    /// The mode that was used; a hybrid question is answered by words alone while the model loads.
    pub mode: SearchMode,
    pub took_ms: f64,
    /// Best first; one hit a document.
    pub hits: Vec<Hit>,
    /// Documents that were found but are too far from the query to be shown.
    pub weaker: usize,
    /// Every document that the hits were chosen from, best first; what facets count.
    #[serde(skip)]
    pub considered: Vec<DocumentId>,
    /// Whether some of them were left out because [`SearchRequest::limit`] was reached.
    #[serde(skip)]
    pub is_cut: bool,
    pub coverage: Coverage,
}

/// How much of what is known was searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    pub indexed: u64,
    pub known: u64,
}
