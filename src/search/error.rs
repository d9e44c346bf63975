use crate::index::{IndexError, KeywordIndexError, VectorIndexError};
use crate::storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl From<KeywordIndexError> for SearchError {
    fn from(error: KeywordIndexError) -> Self {
        Self::Index(error.into())
    }
}

impl From<VectorIndexError> for SearchError {
    fn from(error: VectorIndexError) -> Self {
        Self::Index(error.into())
    }
}
