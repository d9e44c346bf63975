use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::record;
use super::{DocumentVersion, ModelKey, StorageError, Store};
use crate::data::{ChangeNumber, Chunk, ContentHash, Document, DocumentId, MediaType, Source};

/// A document with its passages, as it was committed.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDocument {
    pub document: Document,
    pub chunks: Vec<Chunk>,
    /// Seconds since the Unix epoch.
    pub indexed_at: i64,
}

/// What a list of documents shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentSummary {
    pub id: DocumentId,
    pub source: Source,
    pub title: String,
    pub media_type: MediaType,
    pub passages: u64,
    pub tokens: u64,
    /// Size of the source in bytes.
    pub bytes: u64,
    pub modified: Option<i64>,
    /// Seconds since the Unix epoch.
    pub indexed_at: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub documents: u64,
    pub passages: u64,
    pub tokens: u64,
    /// Sources that are known and not searchable.
    pub skipped: u64,
}

impl Store {
    /// A document with its passages as they were cut for `model`.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn document(
        &self,
        id: DocumentId,
        model: ModelKey,
    ) -> Result<Option<StoredDocument>, StorageError> {
        self.read(|connection| {
            let Some((document, indexed_at, _)) = document(connection, id)? else {
                return Ok(None);
            };
            let chunks = chunks(connection, id, model)?;
            Ok(Some(StoredDocument { document, chunks, indexed_at }))
        })
    }

    /// A document as it is now, without its passages.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn document_version(
        &self,
        id: DocumentId,
    ) -> Result<Option<DocumentVersion>, StorageError> {
        self.read(|connection| {
            let found = document(connection, id)?;
            Ok(found.map(|(document, _, change)| DocumentVersion { document, change }))
        })
    }

    /// The size of the source of a document when it was read; `None` when the document has gone.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn document_bytes(&self, id: DocumentId) -> Result<Option<u64>, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT bytes FROM documents WHERE id = ?1")?
                .query_row([record::id_value(id)], |row| record::count(row, 0))
                .optional()
        })
    }

    /// The content that the stored version of a source was made from; `None` means that the source
    /// has to be indexed.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn fingerprint(&self, source: &Source) -> Result<Option<ContentHash>, StorageError> {
        let id = DocumentId::of(source);
        self.read(|connection| {
            connection
                .prepare_cached("SELECT content_hash FROM documents WHERE id = ?1")?
                .query_row([record::id_value(id)], |row| record::content_hash(row, 0))
                .optional()
        })
    }

    /// Whether what is stored of a source was made from this content, by this generation of the readers.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn holds(
        &self,
        source: &Source,
        content: ContentHash,
        readers: i64,
    ) -> Result<bool, StorageError> {
        let id = record::id_value(DocumentId::of(source));
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM documents
                                    WHERE id = ?1 AND content_hash = ?2 AND readers = ?3)",
                )?
                .query_row((id, content.0, readers), |row| row.get(0))
        })
    }

    /// Every source that is `path` itself or below it, searchable, skipped or still on the queue, in the
    /// order of their keys.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn sources_under(&self, path: &Path) -> Result<Vec<Source>, StorageError> {
        self.read(|connection| sources_under(connection, path))
    }

    /// Every document, in the order of the keys.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn documents(&self) -> Result<Vec<DocumentSummary>, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT id, source, title, media_type, passages, tokens, bytes, modified,
                            indexed_at
                     FROM documents JOIN embedded ON document = id
                          AND model = (SELECT model FROM state)
                     ORDER BY source",
                )?
                .query_map([], summary)?
                .collect()
        })
    }

    /// For each extension of files, the bytes of those that are indexed, and their tokens.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn text_shares(&self) -> Result<HashMap<String, (u64, u64)>, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT coalesce(extension, ''), sum(bytes), sum(tokens) FROM documents
                     WHERE site IS NULL GROUP BY 1",
                )?
                .query_map([], |row| {
                    Ok((row.get(0)?, (record::count(row, 1)?, record::count(row, 2)?)))
                })?
                .collect()
        })
    }

    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn counts(&self) -> Result<Counts, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT documents, passages, tokens, skipped FROM state")?
                .query_row([], |row| {
                    Ok(Counts {
                        documents: record::count(row, 0)?,
                        passages: record::count(row, 1)?,
                        tokens: record::count(row, 2)?,
                        skipped: record::count(row, 3)?,
                    })
                })
        })
    }
}

pub(super) fn sources_under(connection: &Connection, path: &Path) -> rusqlite::Result<Vec<Source>> {
    let (exact, range) = under(path);
    let is_under = "source = ?1 OR (source >= ?2 AND source < ?3)";
    connection
        .prepare_cached(&format!(
            "SELECT source FROM documents WHERE {is_under}
             UNION SELECT source FROM skipped WHERE {is_under}
             UNION SELECT source FROM queue WHERE {is_under}
             ORDER BY source"
        ))?
        .query_map((exact, range.start, range.end), |row| record::source(row, 0))?
        .collect()
}

/// The key of `path`, and the range of keys of everything below it.
///
/// A path below ends its parent's key with a slash, and `0` is the character after the slash.
pub(super) fn under(path: &Path) -> (String, std::ops::Range<String>) {
    let key = Source::File(path.to_owned()).key();
    let folder = key.trim_end_matches('/');
    let range = format!("{folder}/")..format!("{folder}0");
    (folder.to_owned(), range)
}

/// A document, when it was indexed, and the change that made it.
fn document(
    connection: &Connection,
    id: DocumentId,
) -> rusqlite::Result<Option<(Document, i64, ChangeNumber)>> {
    connection
        .prepare_cached(
            "SELECT id, source, media_type, title, text, layout, has_lines, locators,
                    content_hash, bytes, modified, indexed_at, change
             FROM documents JOIN bodies ON document = id WHERE id = ?1",
        )?
        .query_row([record::id_value(id)], |row| {
            let document = Document {
                id: record::document_id(row, 0)?,
                source: record::source(row, 1)?,
                media_type: record::media_type(row, 2)?,
                title: row.get(3)?,
                text: row.get(4)?,
                layout: record::from_json(row, 5)?,
                has_lines: row.get(6)?,
                locators: record::from_json(row, 7)?,
                content_hash: record::content_hash(row, 8)?,
                bytes: record::count(row, 9)?,
                modified: row.get(10)?,
            };
            Ok((document, row.get(11)?, ChangeNumber(record::count(row, 12)?)))
        })
        .optional()
}

fn chunks(
    connection: &Connection,
    document: DocumentId,
    model: ModelKey,
) -> rusqlite::Result<Vec<Chunk>> {
    connection
        .prepare_cached(
            "SELECT start, stop, tokens_start, tokens_stop, locator FROM passages
             WHERE document = ?1 AND model = ?2 ORDER BY ordinal",
        )?
        .query_map((record::id_value(document), model.0), |row| {
            let offset = |column| record::count(row, column).map(|number| number as usize);
            Ok(Chunk {
                range: offset(0)?..offset(1)?,
                tokens: offset(2)?..offset(3)?,
                locator: record::from_optional_json(row, 4)?,
            })
        })?
        .collect()
}

fn summary(row: &Row<'_>) -> rusqlite::Result<DocumentSummary> {
    Ok(DocumentSummary {
        id: record::document_id(row, 0)?,
        source: record::source(row, 1)?,
        title: row.get(2)?,
        media_type: record::media_type(row, 3)?,
        passages: record::count(row, 4)?,
        tokens: record::count(row, 5)?,
        bytes: record::count(row, 6)?,
        modified: row.get(7)?,
        indexed_at: row.get(8)?,
    })
}
