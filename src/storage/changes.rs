use rusqlite::Connection;

use super::model::model_in_use;
use super::record::document_id;
use super::{StorageError, Store, StoredModel};
use crate::data::{ChangeNumber, DocumentId};

/// Names one store for good, so that an index cannot be caught up from another one whose change
/// numbers happen to fit.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StoreId(pub String);

/// What happened to the documents since an index last looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// The index has reached this number when it has done what the rest says.
    pub reached: ChangeNumber,
    /// The log does not go back far enough: the index is to be emptied first; then `upserted` is
    /// every document there is and `removed` is empty.
    pub from_scratch: bool,
    /// New or replaced, oldest change first.
    pub upserted: Vec<DocumentId>,
    pub removed: Vec<DocumentId>,
    /// The model in use at that number. Whatever is read to do this is to be read of it.
    pub model: Option<StoredModel>,
}

impl Store {
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn id(&self) -> Result<StoreId, StorageError> {
        self.read(|connection| {
            connection.query_row("SELECT store_id FROM state", [], |row| row.get(0)).map(StoreId)
        })
    }

    /// The number of the last change by whichever process. It costs microseconds, so whoever
    /// follows the store asks every second whether its indexes are up to date.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn change_number(&self) -> Result<ChangeNumber, StorageError> {
        self.read(current)
    }

    /// What an index that has reached `since` is to do.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn changes_since(&self, since: ChangeNumber) -> Result<Changes, StorageError> {
        self.read(|connection| {
            let (reached, log_start) = connection
                .prepare_cached("SELECT change, log_start FROM state")?
                .query_row([], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)?)))?;
            // A number from the future means that the file was replaced by an older copy.
            let from_scratch = since.0 < log_start as u64 || since.0 > reached;
            let after = if from_scratch { 0 } else { since.0 as i64 };
            let ids = |sql| -> rusqlite::Result<Vec<DocumentId>> {
                connection
                    .prepare_cached(sql)?
                    .query_map([after], |row| document_id(row, 0))?
                    .collect()
            };
            let upserted = ids("SELECT id FROM documents WHERE change > ?1 ORDER BY change, id")?;
            let removed = if from_scratch {
                Vec::new()
            } else {
                ids("SELECT document FROM removals WHERE change > ?1 ORDER BY change, document")?
            };
            let (reached, model) = (ChangeNumber(reached), model_in_use(connection)?);
            Ok(Changes { reached, from_scratch, upserted, removed, model })
        })
    }
}

pub(super) fn current(connection: &Connection) -> rusqlite::Result<ChangeNumber> {
    connection
        .prepare_cached("SELECT change FROM state")?
        .query_row([], |row| row.get::<_, i64>(0))
        .map(|change| ChangeNumber(change as u64))
}
