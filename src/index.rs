//! Vector index, keyword index, fusion; no clock.
//!
//! Indexes are derived from the store: each knows the change number it has reached, and each can be
//! deleted and rebuilt with no loss. They deal in ids, words and vectors and know nothing of where
//! those come from. Filters are applied while a list is made, never to a finished one.

mod bits;
mod error;
mod exact;
mod filter;
mod fusion;
mod graph;
mod hnsw;
mod keyword;
mod top;
mod vector;

pub use error::IndexError;
pub use exact::{ExactIndex, cosines};
pub use filter::PassageFilter;
pub use fusion::{Judge, Moments};
pub use graph::{VectorFileError, VectorOrigin};
pub use hnsw::{
    HnswIndex, HnswOptions, Upkeep, UpkeepError, VectorHome, VectorOpening, VectorParts,
};
pub use keyword::{
    IndexProgress, KeywordDocument, KeywordIndex, KeywordIndexError, KeywordOpening,
    KeywordPassage, KeywordQuery, KeywordSnapshot, KeywordUpdate, Mark, Marker, PreparedQuery,
};
pub use vector::{VectorIndex, VectorIndexError, VectorUpdate};
