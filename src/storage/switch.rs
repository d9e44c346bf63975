//! The way from one embedding model to the next: vectors of the next one are added beside those in
//! use, and one transaction changes over when no document lacks them.

use rusqlite::Transaction;

use super::model::{self, ModelKey};
use super::{EmbeddingModel, StorageError, Store, StoredModel, record, write};
use crate::data::{ChangeNumber, Chunk, Document, DocumentId, Embedding, InputHash};

/// Documents whose old vectors are deleted in one transaction, so that other writers get their turn.
const SWEEP_DOCUMENTS: usize = 64;

/// A switch that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The model that is to be in use.
    pub to: EmbeddingModel,
    /// Documents that have vectors of it.
    pub embedded: u64,
    pub documents: u64,
}

/// What became of [`Store::finish_switch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchEnd {
    /// The pending model is the one in use.
    Done,
    /// Nothing has changed: so many documents have no vectors of it yet.
    Missing(u64),
    /// No switch was under way.
    NotSwitching,
}

/// A document's text as it was at one change.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentVersion {
    pub document: Document,
    pub change: ChangeNumber,
}

/// Passages and vectors of the pending model for a document that is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewVectors {
    pub document: DocumentId,
    /// The version they were made from.
    pub change: ChangeNumber,
    pub chunks: Vec<Chunk>,
    /// One for each chunk; none at all when the model failed on this document, which is then found
    /// by words alone.
    pub embeddings: Vec<Embedding>,
    /// As [`crate::data::EmbeddedDocument::inputs`].
    pub inputs: Vec<InputHash>,
}

impl Store {
    /// The switch that is under way.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn switch(&self) -> Result<Option<Switch>, StorageError> {
        self.read(|connection| {
            let Some(StoredModel { key, model }) = model::pending_model(connection)? else {
                return Ok(None);
            };
            let documents: i64 =
                connection.query_row("SELECT documents FROM state", [], |row| row.get(0))?;
            let documents = documents as u64;
            let embedded = documents - model::missing(connection, key)?;
            Ok(Some(Switch { to: model, embedded, documents }))
        })
    }

    /// The first `limit` documents without vectors of the pending model, in the order of their ids,
    /// after the document `after`. What is indexed meanwhile may stand before it, so whoever reaches
    /// the end starts again until the first answer is empty.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn unembedded(
        &self,
        after: Option<DocumentId>,
        limit: usize,
    ) -> Result<Vec<DocumentId>, StorageError> {
        let after = after.map_or(i64::MIN, record::id_value);
        self.read(|connection| {
            // An id may be the smallest there is.
            let sql = if after == i64::MIN { ">=" } else { ">" };
            connection
                .prepare_cached(&format!(
                    "SELECT documents.id FROM documents, state
                     WHERE documents.id {sql} ?1 AND pending IS NOT NULL AND NOT EXISTS (
                         SELECT 1 FROM embedded WHERE model = pending AND document = documents.id)
                     ORDER BY documents.id LIMIT ?2"
                ))?
                .query_map((after, limit as i64), |row| record::document_id(row, 0))?
                .collect()
        })
    }

    /// Adds passages and vectors of the pending model `model`, in one transaction. Nothing that
    /// answers now is touched, and no index has anything to catch up with.
    ///
    /// A document that has gone or changed since it was read is left out, and one that has its
    /// vectors already stays as it is. Returns how many documents were added.
    ///
    /// # Errors
    /// [`StorageError::NotPending`] when `model` is not, or no longer, the pending one; others when
    /// the store cannot be written. Then nothing was added.
    pub fn commit_embeddings(
        &self,
        model: &EmbeddingModel,
        added: &[NewVectors],
    ) -> Result<u64, StorageError> {
        for NewVectors { document, chunks, embeddings, .. } in added {
            if !embeddings.is_empty() {
                write::check_vectors(*document, chunks.len(), embeddings, model.dim)?;
            }
        }
        let stored = self.write(|transaction| {
            let Some(pending) = model::pending_model(transaction)?.filter(|p| p.model == *model)
            else {
                return Ok(None);
            };
            let mut stored = 0;
            for new in added {
                if is_wanted(transaction, pending.key, new)? {
                    let vectors = write::Vectors {
                        chunks: &new.chunks,
                        embeddings: &new.embeddings,
                        inputs: &new.inputs,
                    };
                    write::insert_embedded(transaction, new.document, pending.key, vectors)?;
                    stored += 1;
                }
            }
            Ok(Some(stored))
        })?;
        stored.ok_or_else(|| StorageError::NotPending { model: model.name.clone() })
    }

    /// Makes the pending model the one in use, for every process at once, unless a document still
    /// lacks its vectors. [`Store::sweep`] deletes the vectors of the model before it.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn finish_switch(&self) -> Result<SwitchEnd, StorageError> {
        self.write(|transaction| {
            let Some(pending) = model::pending_model(transaction)? else {
                return Ok(SwitchEnd::NotSwitching);
            };
            match model::missing(transaction, pending.key)? {
                0 => {
                    model::take_over(transaction, pending.key)?;
                    Ok(SwitchEnd::Done)
                }
                missing => Ok(SwitchEnd::Missing(missing)),
            }
        })
    }

    /// Stays with the model in use; whether a switch was under way. [`Store::sweep`] deletes what it
    /// had made.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn abandon_switch(&self) -> Result<bool, StorageError> {
        self.write(|transaction| {
            let changed = transaction
                .execute("UPDATE state SET pending = NULL WHERE pending IS NOT NULL", [])?;
            Ok(changed > 0)
        })
    }

    /// Deletes passages and vectors of models that are neither in use nor pending, nor leased by any
    /// process ([`Store::lease`]), in small transactions. Returns for how many documents.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written; calling it again goes on.
    pub fn sweep(&self) -> Result<u64, StorageError> {
        let mut swept = 0;
        for key in self.unused_models()? {
            let Some(_alone) = self.lease_alone(key)? else { continue };
            loop {
                let deleted = self.write(|transaction| sweep_some(transaction, key))?;
                swept += deleted;
                if deleted == 0 {
                    break;
                }
            }
        }
        if swept > 0 {
            self.give_back_pages()?;
        }
        Ok(swept)
    }

    fn unused_models(&self) -> Result<Vec<ModelKey>, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT models.id FROM models, state WHERE models.id IS NOT state.model
                     AND models.id IS NOT state.pending
                     AND EXISTS (SELECT 1 FROM embedded WHERE embedded.model = models.id)",
                )?
                .query_map([], |row| row.get(0).map(ModelKey))?
                .collect()
        })
    }
}

/// Whether the document is as it was when it was read, and has no vectors of the model yet.
fn is_wanted(
    transaction: &Transaction<'_>,
    model: ModelKey,
    new: &NewVectors,
) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM documents WHERE id = ?1 AND change = ?2)
             AND NOT EXISTS (SELECT 1 FROM embedded WHERE document = ?1 AND model = ?3)",
        )?
        .query_row((record::id_value(new.document), new.change.0 as i64, model.0), |row| row.get(0))
}

/// Passages go by cascade. The model may have been chosen again since it was found unused.
fn sweep_some(transaction: &Transaction<'_>, model: ModelKey) -> rusqlite::Result<u64> {
    let deleted = transaction
        .prepare_cached(
            "DELETE FROM embedded WHERE rowid IN (
                 SELECT embedded.rowid FROM embedded, state WHERE embedded.model = ?1
                 AND state.model IS NOT ?1 AND state.pending IS NOT ?1 LIMIT ?2)",
        )?
        .execute((model.0, SWEEP_DOCUMENTS as i64))?;
    Ok(deleted as u64)
}
