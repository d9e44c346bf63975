use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use super::{Document, DocumentId, Embedding, Locator, TokenSequence};

/// A passage of a document: the unit that is embedded, indexed and shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Bytes of [`super::Document::text`], on character boundaries.
    pub range: Range<usize>,
    /// Positions in the document's [`super::TokenSequence`].
    pub tokens: Range<usize>,
    pub locator: Option<Locator>,
}

/// Names a chunk: which document, and which of its chunks counted from zero.
///
/// The order is the tie-break of every ranking, so equal scores give equal lists on every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ChunkKey {
    pub document: DocumentId,
    pub ordinal: u32,
}

/// A document whose chunks are cut, with the tokens that they are ranges of.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkedDocument {
    pub document: Document,
    pub tokens: TokenSequence,
    pub chunks: Vec<Chunk>,
    /// Tokens of what each chunk stands under, to be embedded with it; none at all, or one list for each.
    pub contexts: Vec<Arc<[u32]>>,
}

/// A document that can be committed: one embedding for each chunk, in the same order.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddedDocument {
    pub document: Document,
    pub chunks: Vec<Chunk>,
    pub embeddings: Vec<Embedding>,
}
