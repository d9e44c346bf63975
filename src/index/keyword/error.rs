use std::io;
use std::path::{Path, PathBuf};

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};

/// What can go wrong with the keyword index. It can always be deleted and derived again.
#[derive(Debug, thiserror::Error)]
pub enum KeywordIndexError {
    #[error("keyword index {path} is being written by another process")]
    Busy { path: PathBuf },
    #[error("keyword index {path} cannot be used and has to be rebuilt: {detail}")]
    Damaged { path: PathBuf, detail: String },
    #[error("no space left on the disk of keyword index {path}; free some and run again")]
    Full { path: PathBuf },
    #[error("keyword index {path} cannot be read or written: {source}")]
    Disk { path: PathBuf, source: io::Error },
    #[error("keyword index {path}: {source}")]
    Tantivy { path: PathBuf, source: TantivyError },
}

impl KeywordIndexError {
    /// Sorts a failure of tantivy by what can be done about it.
    pub(super) fn from_tantivy(path: &Path, source: TantivyError) -> Self {
        let path = path.to_owned();
        match &source {
            TantivyError::LockFailure(LockError::LockBusy, _) => Self::Busy { path },
            TantivyError::DataCorruption(_)
            | TantivyError::SchemaError(_)
            | TantivyError::FieldNotFound(_)
            | TantivyError::IncompatibleIndex(_)
            | TantivyError::OpenReadError(
                OpenReadError::FileDoesNotExist(_) | OpenReadError::IncompatibleIndex(_),
            ) => Self::Damaged { path, detail: source.to_string() },
            _ => match io_error(&source) {
                Some(error) if error.kind() == io::ErrorKind::StorageFull => Self::Full { path },
                // tantivy reads a file that was cut short beyond its end.
                Some(error) if is_damage(error.kind()) => {
                    Self::Damaged { path, detail: source.to_string() }
                }
                Some(error) => {
                    let source = io::Error::new(error.kind(), error.to_string());
                    Self::Disk { path, source }
                }
                None => Self::Tantivy { path, source },
            },
        }
    }
}

fn is_damage(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
}

fn io_error(error: &TantivyError) -> Option<&io::Error> {
    match error {
        TantivyError::IoError(io_error)
        | TantivyError::LockFailure(LockError::IoError(io_error), _)
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. })
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. }) => {
            Some(io_error)
        }
        _ => None,
    }
}
