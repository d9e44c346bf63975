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

/// Names what the encoder gets for a chunk: the first 128 bits of BLAKE3 over the token ids of its context
/// and of itself. With the same model, the same input has the same embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputHash(pub [u8; 16]);

impl InputHash {
    #[must_use]
    pub fn of(context: &[u32], passage: &[u32]) -> Self {
        let ids = context.iter().chain(passage);
        let bytes: Vec<u8> = ids.flat_map(|id| id.to_le_bytes()).collect();
        let mut head = [0; 16];
        head.copy_from_slice(&blake3::hash(&bytes).as_bytes()[..16]);
        Self(head)
    }
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

impl ChunkedDocument {
    /// Tokens of what a chunk stands under.
    #[must_use]
    pub fn context(&self, chunk: usize) -> &[u32] {
        self.contexts.get(chunk).map_or(&[], |context| context)
    }

    /// One for each chunk.
    #[must_use]
    pub fn inputs(&self) -> Vec<InputHash> {
        let input = |(at, chunk): (usize, &Chunk)| {
            InputHash::of(self.context(at), &self.tokens.ids[chunk.tokens.clone()])
        };
        self.chunks.iter().enumerate().map(input).collect()
    }
}

/// A document that can be committed: one embedding for each chunk, in the same order.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddedDocument {
    pub document: Document,
    pub chunks: Vec<Chunk>,
    pub embeddings: Vec<Embedding>,
    /// What each embedding was made from; none at all where that is not known, or one for each.
    pub inputs: Vec<InputHash>,
}
