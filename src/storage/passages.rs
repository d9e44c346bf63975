use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::blob::Blob;
use rusqlite::{Connection, OptionalExtension as _};

use super::record;
use super::{ModelKey, StorageError, Store};
use crate::data::{ChunkKey, DocumentId, HitDocument, Locator, TextRange};

/// A passage with what a hit shows of its document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPassage {
    pub chunk: ChunkKey,
    pub document: HitDocument,
    pub text: String,
    /// Bytes of the document's text.
    pub range: TextRange,
    pub locator: Option<Locator>,
}

impl Store {
    /// The passages with these keys, as they were cut for `model`, in the order asked for, from one
    /// snapshot; those that have gone since the keys were found are left out.
    ///
    /// Only the bytes of each passage are read, however long its document is.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn passages(
        &self,
        keys: &[ChunkKey],
        model: ModelKey,
    ) -> Result<Vec<StoredPassage>, StorageError> {
        self.read(|connection| {
            let mut heads = HashMap::new();
            let mut texts = Texts { connection, open: None };
            let mut passages = Vec::with_capacity(keys.len());
            for key in keys {
                let head = match heads.entry(key.document) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => place.insert(head(connection, key.document)?),
                };
                let (Some(document), Some((range, locator))) =
                    (head, span(connection, *key, model)?)
                else {
                    continue;
                };
                passages.push(StoredPassage {
                    chunk: *key,
                    document: document.clone(),
                    text: texts.slice(key.document, range)?,
                    range,
                    locator,
                });
            }
            Ok(passages)
        })
    }
}

fn head(connection: &Connection, document: DocumentId) -> rusqlite::Result<Option<HitDocument>> {
    connection
        .prepare_cached(
            "SELECT id, source, title, media_type, modified FROM documents WHERE id = ?1",
        )?
        .query_row([record::id_value(document)], |row| {
            Ok(HitDocument {
                id: record::document_id(row, 0)?,
                source: record::source(row, 1)?,
                title: row.get(2)?,
                media_type: record::media_type(row, 3)?,
                modified: row.get(4)?,
            })
        })
        .optional()
}

fn span(
    connection: &Connection,
    key: ChunkKey,
    model: ModelKey,
) -> rusqlite::Result<Option<(TextRange, Option<Locator>)>> {
    connection
        .prepare_cached(
            "SELECT start, stop, locator FROM passages
             WHERE document = ?1 AND model = ?2 AND ordinal = ?3",
        )?
        .query_row((record::id_value(key.document), model.0, key.ordinal), |row| {
            let (start, stop) = (record::count(row, 0)? as usize, record::count(row, 1)? as usize);
            Ok((TextRange { start, end: stop }, record::from_optional_json(row, 2)?))
        })
        .optional()
}

/// Reads slices of stored texts through one handle, which moves from document to document.
struct Texts<'a> {
    connection: &'a Connection,
    open: Option<(DocumentId, Blob<'a>)>,
}

impl Texts<'_> {
    fn slice(&mut self, document: DocumentId, range: TextRange) -> rusqlite::Result<String> {
        let row = record::id_value(document);
        let blob = match self.open.take() {
            Some((at, blob)) if at == document => blob,
            Some((_, mut blob)) => {
                blob.reopen(row)?;
                blob
            }
            None => self.connection.blob_open("main", "bodies", "text", row, true)?,
        };
        let mut bytes = vec![0; range.end.saturating_sub(range.start)];
        blob.read_at_exact(&mut bytes, range.start)?;
        self.open = Some((document, blob));
        String::from_utf8(bytes).map_err(|e| {
            rusqlite::Error::FromSqlConversionFailure(
                0,
                rusqlite::types::Type::Text,
                Box::new(e.utf8_error()),
            )
        })
    }
}
