use std::sync::PoisonError;
use std::time::Duration;

use rusqlite::Transaction;

use super::model::model_in_use;
use super::record::{id_value, to_json};
use super::{EmbeddingModel, StorageError, Store, vectors};
use crate::data::{ChangeNumber, DocumentId, EmbeddedDocument, Embedding, Source};

impl Store {
    /// Stores a document, in place of its older version if there is one, and takes its source off
    /// the list of skipped ones. `indexed_at` counts seconds since the Unix epoch.
    ///
    /// # Errors
    /// [`StorageError`]; then the older version is still there, whole.
    pub fn commit_document(
        &self,
        document: &EmbeddedDocument,
        indexed_at: i64,
    ) -> Result<ChangeNumber, StorageError> {
        self.commit_documents(std::slice::from_ref(document), indexed_at)
    }

    /// Stores several documents in one transaction, which costs one wait for the disk: all of them
    /// become visible, or none.
    ///
    /// # Errors
    /// As [`Store::commit_document`].
    pub fn commit_documents(
        &self,
        documents: &[EmbeddedDocument],
        indexed_at: i64,
    ) -> Result<ChangeNumber, StorageError> {
        for document in documents {
            check_vector_count(document)?;
        }
        let Some((model, EmbeddingModel { dim, .. })) = self.read(model_in_use)? else {
            return Err(StorageError::NoModel { path: self.path.clone() });
        };
        for document in documents {
            check_dimension(document, dim)?;
        }
        self.write(|transaction| {
            // Another process may choose another model just before this: the documents are then
            // stale, which is what their vectors are.
            let change = next_change(transaction)?;
            for document in documents {
                delete(transaction, document.document.id)?;
                insert(transaction, document, indexed_at, model, change)?;
            }
            Ok(ChangeNumber(change as u64))
        })
    }

    /// Forgets the documents of these sources and what is known about skipping them; returns how
    /// many documents there were.
    ///
    /// # Errors
    /// [`StorageError`]; then nothing was forgotten.
    pub fn remove(&self, sources: &[Source]) -> Result<u64, StorageError> {
        let removed = self.write(|transaction| {
            let mut removed = Vec::new();
            let mut unskip = transaction.prepare_cached("DELETE FROM skipped WHERE source = ?1")?;
            for source in sources {
                let id = DocumentId::of(source);
                if delete(transaction, id)? {
                    removed.push(id);
                }
                unskip.execute([source.key()])?;
            }
            if !removed.is_empty() {
                self.log_removals(transaction, &removed)?;
            }
            Ok(removed.len() as u64)
        })?;
        if removed > 0
            && let Err(error) = self.give_back_pages()
        {
            // The documents are gone all the same; the next removal tries again.
            tracing::debug!(%error, "the store was not shrunk");
        }
        Ok(removed)
    }

    fn log_removals(
        &self,
        transaction: &Transaction<'_>,
        removed: &[DocumentId],
    ) -> rusqlite::Result<()> {
        let change = next_change(transaction)?;
        let mut log = transaction.prepare_cached("INSERT INTO removals VALUES (?1, ?2)")?;
        for id in removed {
            log.execute((id_value(*id), change))?;
        }
        transaction.execute(
            "UPDATE state SET log_start = coalesce(
                (SELECT change FROM removals ORDER BY change DESC LIMIT 1 OFFSET ?1), log_start)",
            [self.removals_max as i64],
        )?;
        transaction
            .execute("DELETE FROM removals WHERE change <= (SELECT log_start FROM state)", [])?;
        Ok(())
    }

    /// Shrinks the file by the pages that nothing uses any more, and empties the log, which still
    /// holds what they held.
    fn give_back_pages(&self) -> Result<(), StorageError> {
        let connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // One step gives one page back.
        let vacuum = || {
            let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
            let mut steps = statement.raw_query();
            while steps.next()?.is_some() {}
            // Somebody may be reading; then the log is overwritten by later changes, or removed when
            // the last process closes the store.
            connection.busy_timeout(Duration::ZERO)?;
            let emptied = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            connection.busy_timeout(self.busy_timeout)?;
            emptied
        };
        vacuum().map_err(|source| StorageError::from_sqlite(&self.path, source))
    }
}

fn check_vector_count(document: &EmbeddedDocument) -> Result<(), StorageError> {
    let (chunks, embeddings) = (document.chunks.len(), document.embeddings.len());
    if chunks == embeddings {
        return Ok(());
    }
    Err(StorageError::VectorCount { document: document.document.id, chunks, embeddings })
}

fn check_dimension(document: &EmbeddedDocument, expected: usize) -> Result<(), StorageError> {
    match document.embeddings.iter().map(Embedding::dim).find(|dim| *dim != expected) {
        None => Ok(()),
        Some(found) => {
            Err(StorageError::Dimension { document: document.document.id, expected, found })
        }
    }
}

fn next_change(transaction: &Transaction<'_>) -> rusqlite::Result<i64> {
    transaction
        .prepare_cached("UPDATE state SET change = change + 1 RETURNING change")?
        .query_row([], |row| row.get(0))
}

/// Everything of a document goes by cascade.
fn delete(transaction: &Transaction<'_>, id: DocumentId) -> rusqlite::Result<bool> {
    let rows = transaction
        .prepare_cached("DELETE FROM documents WHERE id = ?1")?
        .execute([id_value(id)])?;
    Ok(rows > 0)
}

fn insert(
    transaction: &Transaction<'_>,
    embedded: &EmbeddedDocument,
    indexed_at: i64,
    model: i64,
    change: i64,
) -> rusqlite::Result<()> {
    let document = &embedded.document;
    let id = id_value(document.id);
    let key = document.source.key();
    let tokens = embedded.chunks.iter().map(|chunk| chunk.tokens.end).max().unwrap_or(0);
    transaction
        .prepare_cached(
            "INSERT INTO documents VALUES
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?
        .execute(rusqlite::params![
            id,
            key,
            document.source.to_string().to_lowercase(),
            extension(&document.source),
            site(&document.source),
            document.media_type.name(),
            to_json(&document.layout)?,
            document.has_lines,
            document.title,
            document.content_hash.0,
            document.bytes as i64,
            document.modified,
            indexed_at,
            tokens as i64,
            embedded.chunks.len() as i64,
            model,
            change,
        ])?;
    transaction.prepare_cached("INSERT INTO bodies VALUES (?1, ?2, ?3)")?.execute((
        id,
        to_json(&document.locators)?,
        &document.text,
    ))?;
    let mut passage =
        transaction.prepare_cached("INSERT INTO passages VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (ordinal, chunk) in embedded.chunks.iter().enumerate() {
        passage.execute((
            id,
            ordinal as i64,
            chunk.range.start as i64,
            chunk.range.end as i64,
            chunk.tokens.start as i64,
            chunk.tokens.end as i64,
            chunk.locator.as_ref().map(to_json).transpose()?,
        ))?;
    }
    transaction
        .prepare_cached("INSERT INTO vectors VALUES (?1, ?2)")?
        .execute((id, vectors::encode(&embedded.embeddings)))?;
    transaction.prepare_cached("DELETE FROM removals WHERE document = ?1")?.execute([id])?;
    transaction.prepare_cached("DELETE FROM skipped WHERE source = ?1")?.execute([key])?;
    Ok(())
}

/// The part of the name after its last dot, in lower case.
fn extension(source: &Source) -> Option<String> {
    let name = source.name();
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && !extension.is_empty()).then(|| extension.to_lowercase())
}

fn site(source: &Source) -> Option<String> {
    match source {
        Source::File(_) => None,
        Source::Web(url) => url.host_str().map(str::to_lowercase),
    }
}
