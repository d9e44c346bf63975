use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::data::DocumentId;

/// What can go wrong with the store. Nothing here has changed what was committed before.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    #[error("data directory {path} cannot be used: {source}")]
    Directory { path: PathBuf, source: io::Error },
    #[error("{path} cannot be opened: {source}; check that the folder exists and is yours")]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error(
        "{path} is damaged: {detail}; move the file away to start anew (your own files are not \
         touched by this, they only have to be indexed again)"
    )]
    Damaged { path: PathBuf, detail: String },
    #[error("{path} belongs to another application; choose another data directory")]
    Foreign { path: PathBuf },
    #[error(
        "{path} was written by a newer version (format {found}, this version knows {known}); \
         update this application or choose another data directory"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("no space left on the disk of {path}; free some and run again, nothing was lost")]
    Full { path: PathBuf },
    #[error("{path} may not be written; check its permissions and whether the disk is read-only")]
    ReadOnly { path: PathBuf },
    #[error("{path} is being written by another process; try again when that has finished")]
    Busy { path: PathBuf },
    #[error("the disk of {path} failed: {source}")]
    Disk { path: PathBuf, source: rusqlite::Error },
    #[error("{path}: {source}")]
    Sqlite { path: PathBuf, source: rusqlite::Error },
    #[error("document {document} has {chunks} passages and {embeddings} vectors")]
    VectorCount { document: DocumentId, chunks: usize, embeddings: usize },
    #[error(
        "document {document} has a vector of {found} components where the model in use gives \
         {expected}"
    )]
    Dimension { document: DocumentId, expected: usize, found: usize },
    #[error(
        "the embedding model was changed while {model} was at work; what was not stored yet has to \
         be indexed again"
    )]
    ModelChanged { model: String },
    #[error("the switch to {model} was given up or is over")]
    NotPending { model: String },
    #[error("{path} is no export of an index: {detail}; nothing was changed")]
    NoExport { path: PathBuf, detail: String },
    #[error("{path} cannot be {what}: {source}")]
    Transfer { path: PathBuf, what: &'static str, source: io::Error },
    #[error("stopped before the end; nothing was changed")]
    Interrupted,
    #[error("no model has been chosen for {path}; a document can be stored only after that")]
    NoModel { path: PathBuf },
}

impl StorageError {
    /// Sorts a failure of `SQLite` by what a person can do about it.
    pub(super) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        if let rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..) = source
        {
            return Self::Damaged { path, detail: source.to_string() };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, detail: source.to_string() }
            }
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::CannotOpen) => Self::Open { path, source },
            Some(ErrorCode::SystemIoFailure) => Self::Disk { path, source },
            _ => Self::Sqlite { path, source },
        }
    }
}
