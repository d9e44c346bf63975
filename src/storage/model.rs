use rusqlite::{Connection, OptionalExtension as _, Transaction};

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

/// Names a model inside one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelKey(pub(super) i64);

impl ModelKey {
    /// For indexes, which note what they were made from.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0
    }

    #[must_use]
    pub fn from_noted(key: i64) -> Self {
        Self(key)
    }
}

/// A model with its name inside the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredModel {
    pub key: ModelKey,
    pub model: EmbeddingModel,
}

/// What choosing a model meant for the documents that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelUse {
    /// The model is the one in use.
    InUse,
    /// `missing` documents have no vectors of it yet. The model before it goes on answering until
    /// [`Store::finish_switch`].
    Pending { missing: u64 },
}

impl Store {
    /// Makes `model` the one whose vectors are stored and read from now on, for every process: at
    /// once when no document lacks them, else when the switch is finished. Another switch that was
    /// under way is given up; what it made is kept until it is swept, and counts when that model is
    /// chosen again.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn choose_model(&self, model: &EmbeddingModel) -> Result<ModelUse, StorageError> {
        let (in_use, pending) = self.read(|c| Ok((model_in_use(c)?, pending_model(c)?)))?;
        if pending.is_none() && in_use.is_some_and(|in_use| in_use.model == *model) {
            return Ok(ModelUse::InUse);
        }
        self.write(|transaction| {
            let key = register(transaction, model)?;
            if model_in_use(transaction)?.is_some_and(|in_use| in_use.key == key) {
                transaction.execute("UPDATE state SET pending = NULL", [])?;
                return Ok(ModelUse::InUse);
            }
            match missing(transaction, key)? {
                0 => {
                    take_over(transaction, key)?;
                    Ok(ModelUse::InUse)
                }
                missing => {
                    transaction.execute("UPDATE state SET pending = ?1", [key.0])?;
                    Ok(ModelUse::Pending { missing })
                }
            }
        })
    }

    /// The model in use; `None` until [`Store::choose_model`] was called once on this file.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn model(&self) -> Result<Option<StoredModel>, StorageError> {
        self.read(model_in_use)
    }
}

/// The row of a model, made when it is new.
fn register(transaction: &Transaction<'_>, model: &EmbeddingModel) -> rusqlite::Result<ModelKey> {
    transaction.execute(
        "INSERT INTO models (name, dim) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        (&model.name, model.dim as i64),
    )?;
    transaction.query_row(
        "SELECT id FROM models WHERE name = ?1 AND dim = ?2",
        (&model.name, model.dim as i64),
        |row| row.get(0).map(ModelKey),
    )
}

/// The key of a model that was registered.
pub(super) fn find(
    connection: &Connection,
    model: &EmbeddingModel,
) -> rusqlite::Result<Option<ModelKey>> {
    connection
        .prepare_cached("SELECT id FROM models WHERE name = ?1 AND dim = ?2")?
        .query_row((&model.name, model.dim as i64), |row| row.get(0).map(ModelKey))
        .optional()
}

/// Makes a model that no document lacks the one in use, and nothing pending.
pub(super) fn take_over(transaction: &Transaction<'_>, key: ModelKey) -> rusqlite::Result<()> {
    // Every index starts from scratch: which vectors are current has changed for documents that
    // have not.
    transaction.execute(
        "UPDATE state SET model = ?1, pending = NULL, change = change + 1, log_start = change + 1,
             (passages, tokens) = (SELECT coalesce(sum(passages), 0), coalesce(sum(tokens), 0)
                                   FROM embedded WHERE model = ?1)",
        [key.0],
    )?;
    Ok(())
}

/// Documents without vectors of a model. Vectors go with their document, so counting is enough.
pub(super) fn missing(connection: &Connection, key: ModelKey) -> rusqlite::Result<u64> {
    let missing: i64 = connection
        .prepare_cached(
            "SELECT documents - (SELECT count(*) FROM embedded WHERE model = ?1) FROM state",
        )?
        .query_row([key.0], |row| row.get(0))?;
    Ok(missing as u64)
}

pub(super) fn model_in_use(connection: &Connection) -> rusqlite::Result<Option<StoredModel>> {
    one_model(
        connection,
        "SELECT models.id, name, dim FROM state JOIN models ON models.id = state.model",
    )
}

pub(super) fn pending_model(connection: &Connection) -> rusqlite::Result<Option<StoredModel>> {
    one_model(
        connection,
        "SELECT models.id, name, dim FROM state JOIN models ON models.id = state.pending",
    )
}

fn one_model(connection: &Connection, sql: &str) -> rusqlite::Result<Option<StoredModel>> {
    connection
        .prepare_cached(sql)?
        .query_row([], |row| {
            let dim: i64 = row.get(2)?;
            let model = EmbeddingModel { name: row.get(1)?, dim: dim as usize };
            Ok(StoredModel { key: ModelKey(row.get(0)?), model })
        })
        .optional()
}
