use std::sync::PoisonError;
use std::time::Duration;

use rusqlite::Transaction;

use super::model::model_in_use;
use super::record::{self, id_value, to_json};
use super::{
    EmbeddingModel, ModelKey, RunKey, SkippedSource, SourceStamp, StorageError, Store, ledger,
    queue, vectors,
};
use crate::data::{
    ChangeNumber, Chunk, Document, DocumentId, EmbeddedDocument, Embedding, InputHash, Source,
};

/// Sources that are forgotten in one transaction, so that other writers get their turn.
const REMOVED_TOGETHER: usize = 64;

/// Pages that are given back in one go, for the same reason; 16 MB.
const PAGES_TOGETHER: u32 = 2_000;

/// What became of sources of a run.
#[derive(Clone, Copy, Debug)]
pub struct Settled<'a> {
    pub run: Option<RunKey>,
    pub documents: &'a [EmbeddedDocument],
    /// Sources that hold no text any more: what was indexed of them goes.
    pub outdated: &'a [Source],
    pub skipped: &'a [SkippedSource],
    /// How every one of them looked; those of unchanged sources as well.
    pub stamps: &'a [SourceStamp],
}

impl Store {
    /// Stores documents with their vectors of `model`, each in place of its older version and all of
    /// that version's vectors, and takes their sources off the list of skipped ones. It is one
    /// transaction, which costs one wait for the disk: all of them become visible, or none.
    /// `indexed_at` counts seconds since the Unix epoch.
    ///
    /// # Errors
    /// [`StorageError::ModelChanged`] when `model` is not the one in use any more; that, and every
    /// other, leaves the older versions as they are.
    pub fn commit_documents(
        &self,
        model: &EmbeddingModel,
        documents: &[EmbeddedDocument],
        indexed_at: i64,
    ) -> Result<ChangeNumber, StorageError> {
        self.check_documents(model, documents)?;
        let committed = self.write(|transaction| {
            let Some(in_use) = model_in_use(transaction)?.filter(|in_use| in_use.model == *model)
            else {
                return Ok(None);
            };
            commit(transaction, in_use.key, documents.iter().collect(), indexed_at).map(Some)
        })?;
        committed.ok_or_else(|| StorageError::ModelChanged { model: model.name.clone() })
    }

    /// Stores what became of sources, and takes them off the queue, in one transaction; returns how
    /// many documents were removed because their sources hold no text any more. A source that another
    /// run has queued since is that run's, which reads it later and stores what it holds then.
    ///
    /// # Errors
    /// As [`Store::commit_documents`]; then nothing has changed.
    pub fn settle(
        &self,
        model: &EmbeddingModel,
        settled: &Settled<'_>,
        indexed_at: i64,
    ) -> Result<u64, StorageError> {
        self.check_documents(model, settled.documents)?;
        let removed = self.write(|transaction| {
            let owned = queue::owned(transaction, settled.run, settled.stamps)?;
            let is_owned = |source: &Source| owned.as_ref().is_none_or(|o| o.contains(source));
            let documents: Vec<&EmbeddedDocument> =
                settled.documents.iter().filter(|e| is_owned(&e.document.source)).collect();
            if !documents.is_empty() {
                let Some(in_use) =
                    model_in_use(transaction)?.filter(|in_use| in_use.model == *model)
                else {
                    return Ok(None);
                };
                commit(transaction, in_use.key, documents, indexed_at)?;
            }
            let removed =
                self.forget(transaction, settled.outdated.iter().filter(|s| is_owned(s)))?;
            let skipped = settled.skipped.iter().filter(|skipped| is_owned(&skipped.source));
            ledger::insert_skipped(transaction, skipped)?;
            for stamp in settled.stamps.iter().filter(|stamp| is_owned(&stamp.source)) {
                queue::settle(transaction, settled.run, stamp)?;
            }
            Ok(Some(removed))
        })?;
        let removed =
            removed.ok_or_else(|| StorageError::ModelChanged { model: model.name.clone() })?;
        self.shrink_after(removed);
        Ok(removed)
    }

    pub(super) fn check_documents(
        &self,
        model: &EmbeddingModel,
        documents: &[EmbeddedDocument],
    ) -> Result<(), StorageError> {
        for EmbeddedDocument { document, chunks, embeddings, .. } in documents {
            check_vectors(document.id, chunks.len(), embeddings, model.dim)?;
        }
        if !documents.is_empty() && self.model()?.is_none() {
            return Err(StorageError::NoModel { path: self.path.clone() });
        }
        Ok(())
    }

    /// Forgets the documents of these sources, what is known about skipping them and what is queued of
    /// them; returns how many documents there were.
    ///
    /// # Errors
    /// [`StorageError`]; then some may have been forgotten.
    pub fn remove(&self, sources: &[Source]) -> Result<u64, StorageError> {
        self.remove_if(sources, |_| true)
    }

    /// As [`Store::remove`], but for those of which `goes` does not hold any more when it is their turn.
    ///
    /// # Errors
    /// As [`Store::remove`].
    pub fn remove_if(
        &self,
        sources: &[Source],
        goes: impl Fn(&Source) -> bool,
    ) -> Result<u64, StorageError> {
        let mut removed = 0;
        for some in sources.chunks(REMOVED_TOGETHER) {
            removed += self.write(|transaction| {
                self.forget(transaction, some.iter().filter(|source| goes(source)))
            })?;
        }
        self.shrink_after(removed);
        Ok(removed)
    }

    pub(super) fn forget<'a>(
        &self,
        transaction: &Transaction<'_>,
        sources: impl Iterator<Item = &'a Source>,
    ) -> rusqlite::Result<u64> {
        let mut removed = Vec::new();
        let mut unskip = transaction.prepare_cached("DELETE FROM skipped WHERE source = ?1")?;
        let mut unqueue = transaction.prepare_cached("DELETE FROM queue WHERE source = ?1")?;
        let mut unstar = transaction.prepare_cached("DELETE FROM stars WHERE source = ?1")?;
        for source in sources {
            let id = DocumentId::of(source);
            if delete(transaction, id)? {
                removed.push(id);
            }
            unskip.execute([source.key()])?;
            unqueue.execute([source.key()])?;
            unstar.execute([source.key()])?;
        }
        if !removed.is_empty() {
            self.log_removals(transaction, &removed)?;
        }
        Ok(removed.len() as u64)
    }

    pub(super) fn shrink_after(&self, removed: u64) {
        if removed > 0
            && let Err(error) = self.give_back_pages()
        {
            // The documents are gone all the same; the next removal tries again.
            tracing::debug!(%error, "the store was not shrunk");
        }
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
    pub(super) fn give_back_pages(&self) -> Result<(), StorageError> {
        let mut unused = u64::MAX;
        loop {
            let left = self.give_back_some()?;
            if left == 0 || left >= unused {
                break;
            }
            unused = left;
        }
        let connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let empty_log = || {
            // Somebody may be reading; then the log is overwritten by later changes, or removed when
            // the last process closes the store.
            connection.busy_timeout(Duration::ZERO)?;
            let emptied = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            connection.busy_timeout(self.busy_timeout)?;
            emptied
        };
        empty_log().map_err(|source| StorageError::from_sqlite(&self.path, source))
    }

    /// Returns how many pages are left that nothing uses.
    fn give_back_some(&self) -> Result<u64, StorageError> {
        let connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let vacuum = || {
            // One step gives one page back.
            let sql = format!("PRAGMA incremental_vacuum({PAGES_TOGETHER})");
            let mut statement = connection.prepare(&sql)?;
            let mut steps = statement.raw_query();
            while steps.next()?.is_some() {}
            connection.query_row("PRAGMA freelist_count", [], |row| record::count(row, 0))
        };
        vacuum().map_err(|source| StorageError::from_sqlite(&self.path, source))
    }
}

/// Whether there is one vector of `expected` components for each of `chunks` passages.
pub(super) fn check_vectors(
    document: DocumentId,
    chunks: usize,
    embeddings: &[Embedding],
    expected: usize,
) -> Result<(), StorageError> {
    if chunks != embeddings.len() {
        let embeddings = embeddings.len();
        return Err(StorageError::VectorCount { document, chunks, embeddings });
    }
    match embeddings.iter().map(Embedding::dim).find(|dim| *dim != expected) {
        None => Ok(()),
        Some(found) => Err(StorageError::Dimension { document, expected, found }),
    }
}

pub(super) fn commit(
    transaction: &Transaction<'_>,
    model: ModelKey,
    documents: Vec<&EmbeddedDocument>,
    indexed_at: i64,
) -> rusqlite::Result<ChangeNumber> {
    let change = next_change(transaction)?;
    for EmbeddedDocument { document, chunks, embeddings, inputs } in documents {
        delete(transaction, document.id)?;
        insert(transaction, document, indexed_at, change)?;
        let vectors = Vectors { chunks, embeddings, inputs };
        insert_embedded(transaction, document.id, model, vectors)?;
    }
    Ok(ChangeNumber(change as u64))
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
    document: &Document,
    indexed_at: i64,
    change: i64,
) -> rusqlite::Result<()> {
    let id = id_value(document.id);
    let key = document.source.key();
    transaction
        .prepare_cached(
            "INSERT INTO documents VALUES
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, NULL, NULL)",
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
            change,
        ])?;
    transaction.prepare_cached("INSERT INTO bodies VALUES (?1, ?2, ?3)")?.execute((
        id,
        to_json(&document.locators)?,
        &document.text,
    ))?;
    transaction.prepare_cached("DELETE FROM removals WHERE document = ?1")?.execute([id])?;
    transaction.prepare_cached("DELETE FROM skipped WHERE source = ?1")?.execute([key])?;
    Ok(())
}

/// Passages and their vectors.
#[derive(Clone, Copy)]
pub(super) struct Vectors<'a> {
    pub chunks: &'a [Chunk],
    pub embeddings: &'a [Embedding],
    pub inputs: &'a [InputHash],
}

/// Passages and vectors of one model for a document that is there.
pub(super) fn insert_embedded(
    transaction: &Transaction<'_>,
    document: DocumentId,
    model: ModelKey,
    Vectors { chunks, embeddings, inputs }: Vectors<'_>,
) -> rusqlite::Result<()> {
    let id = id_value(document);
    let tokens = chunks.iter().map(|chunk| chunk.tokens.end).max().unwrap_or(0);
    transaction.prepare_cached("INSERT INTO embedded VALUES (?1, ?2, ?3, ?4, ?5)")?.execute((
        id,
        model.0,
        tokens as i64,
        chunks.len() as i64,
        vectors::encode(embeddings),
    ))?;
    let mut passage = transaction
        .prepare_cached("INSERT INTO passages VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    for (ordinal, chunk) in chunks.iter().enumerate() {
        passage.execute((
            id,
            model.0,
            ordinal as i64,
            chunk.range.start as i64,
            chunk.range.end as i64,
            chunk.tokens.start as i64,
            chunk.tokens.end as i64,
            chunk.locator.as_ref().map(to_json).transpose()?,
            inputs.get(ordinal).map(|input| input.0),
        ))?;
    }
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
