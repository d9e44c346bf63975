use super::{KeywordIndexError, VectorIndexError};

/// What can go wrong with an index. The store is not touched by it, and every index can be derived
/// from the store again.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error(transparent)]
    Vector(#[from] VectorIndexError),
    #[error(transparent)]
    Keyword(#[from] KeywordIndexError),
}
