use rusqlite::{Connection, OptionalExtension as _};

use super::{StorageError, Store};

/// Which vectors the store holds. Vectors of two models cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// Names the weights and everything else that decides a passage and its vector, so that a
    /// change of any of it gives another name.
    pub name: String,
    /// Components of a vector.
    pub dim: usize,
}

/// What choosing a model meant for the documents that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelUse {
    /// The model is the one that was in use.
    Unchanged,
    /// `stale` documents have vectors of another model. They are found by words alone until they
    /// are committed anew; [`Store::fingerprint`] does not know them, so the next indexing run
    /// does that.
    Changed { stale: u64 },
}

impl Store {
    /// Makes `model` the one whose vectors are stored and read from now on, for every process.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn use_model(&self, model: &EmbeddingModel) -> Result<ModelUse, StorageError> {
        if self.model()?.as_ref() == Some(model) {
            return Ok(ModelUse::Unchanged);
        }
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO models (name, dim) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                (&model.name, model.dim as i64),
            )?;
            let id: i64 = transaction.query_row(
                "SELECT id FROM models WHERE name = ?1 AND dim = ?2",
                (&model.name, model.dim as i64),
                |row| row.get(0),
            )?;
            // Every index starts from scratch: which vectors are current has changed for documents
            // that have not.
            transaction.execute(
                "UPDATE state SET model = ?1, change = change + 1, log_start = change + 1",
                [id],
            )?;
            let stale: i64 = transaction.query_row(
                "SELECT count(*) FROM documents WHERE model <> ?1",
                [id],
                |row| row.get(0),
            )?;
            Ok(ModelUse::Changed { stale: stale as u64 })
        })
    }

    /// The model in use; `None` until [`Store::use_model`] was called once on this file.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn model(&self) -> Result<Option<EmbeddingModel>, StorageError> {
        self.read(|connection| Ok(model_in_use(connection)?.map(|(_, model)| model)))
    }
}

/// The row of the model in use.
pub(super) fn model_in_use(
    connection: &Connection,
) -> rusqlite::Result<Option<(i64, EmbeddingModel)>> {
    connection
        .prepare_cached(
            "SELECT models.id, name, dim FROM state JOIN models ON models.id = state.model",
        )?
        .query_row([], |row| {
            let dim: i64 = row.get(2)?;
            Ok((row.get(0)?, EmbeddingModel { name: row.get(1)?, dim: dim as usize }))
        })
        .optional()
}
