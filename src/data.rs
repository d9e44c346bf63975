//! The plain types that every layer speaks, with their invariants and nothing else.
//!
//! No input or output happens here and no other module of the library is named.

mod chunk;
mod document;
mod embedding;
mod hit;
mod locator;
mod site;
mod source;
mod tokens;

pub use chunk::{Chunk, ChunkKey, ChunkedDocument, EmbeddedDocument, InputHash};
pub use document::{ChangeNumber, ContentHash, Document, DocumentId, MediaType, TextLayout};
pub use embedding::{Embedding, EmbeddingError};
pub use hit::{Candidate, Hit, HitDocument, KeywordWhy, Passage, SemanticWhy, TextRange, Why};
pub use locator::{Locator, LocatorMap};
pub use site::{CrawlRules, Reach, Site, SiteFindings, SitemapFinding};
pub use source::{Source, SourceError};
pub use tokens::{TokenBatch, TokenSequence};
