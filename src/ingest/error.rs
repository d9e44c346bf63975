use std::path::PathBuf;

use crate::chunking::ChunkingError;
use crate::gpu::GpuError;
use crate::storage::StorageError;
use crate::tokenization::TokenizerError;

/// What ends a whole run. What was committed before stays; running again does the rest.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("embedding failed: {0}")]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Chunking(#[from] ChunkingError),
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    #[error(
        "only {free_mb} MB are free on the disk of {path}; free some and run again, nothing was lost"
    )]
    DiskFull { path: PathBuf, free_mb: u64 },
    #[error("what was to be indexed was removed meanwhile")]
    Removed,
    #[error("a worker of the indexing run crashed: {0}")]
    Worker(String),
}

impl IngestError {
    /// What became of one document on the device, which says nothing about the next one.
    ///
    /// # Errors
    /// What ends the run.
    pub(super) fn of_the_document(self) -> Result<GpuError, Self> {
        match self {
            Self::Gpu(
                error @ (GpuError::Model { .. } | GpuError::Panicked { .. } | GpuError::Died(_)),
            ) => Ok(error),
            error => Err(error),
        }
    }
}

impl From<tokio::task::JoinError> for IngestError {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::Worker(error.to_string())
    }
}
