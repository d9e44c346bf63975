use std::fs::{File, TryLockError};

use super::{ModelKey, StorageError, Store};

/// Keeps the passages and vectors of one model from being swept while somebody answers with them,
/// in whichever process. It goes with the handle, also when the process is killed.
#[derive(Debug)]
pub struct ModelLease {
    _file: File,
}

impl Store {
    /// Asks that what is stored of a model stays, also when another one comes into use.
    ///
    /// # Errors
    /// [`StorageError::Directory`] when the data directory cannot be written.
    pub fn lease(&self, model: ModelKey) -> Result<ModelLease, StorageError> {
        let file = self.lease_file(model)?;
        // A sweep holds it for as long as it takes, and then there is nothing left to answer with.
        match file.try_lock_shared() {
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(ModelLease { _file: file }),
            Err(TryLockError::Error(source)) => {
                Err(StorageError::Directory { path: self.data_dir().to_owned(), source })
            }
        }
    }

    /// The same, while nobody else has one; `None` when somebody has.
    pub(super) fn lease_alone(&self, model: ModelKey) -> Result<Option<ModelLease>, StorageError> {
        let file = self.lease_file(model)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(ModelLease { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => {
                Err(StorageError::Directory { path: self.data_dir().to_owned(), source })
            }
        }
    }

    fn lease_file(&self, model: ModelKey) -> Result<File, StorageError> {
        let path = self.data_dir().join(format!("model-{}.lock", model.0));
        File::create(&path).map_err(|source| StorageError::Directory { path, source })
    }
}
