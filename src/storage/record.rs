//! Values of the program as column values, and back. What does not read back is damage.

use std::error::Error;

use rusqlite::Row;
use rusqlite::types::Type;
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::data::{ContentHash, DocumentId, MediaType, Source};

/// A column that holds something that this program never wrote.
fn damage(column: usize, source: impl Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(source))
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no media type")]
struct UnknownMediaType(String);

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no word of this program")]
struct UnknownWord(String);

pub(super) fn unknown(column: usize, word: &str) -> rusqlite::Error {
    damage(column, UnknownWord(word.to_owned()))
}

pub(super) fn document_id(row: &Row<'_>, column: usize) -> rusqlite::Result<DocumentId> {
    Ok(DocumentId::from_stored(row.get::<_, i64>(column)? as u64))
}

pub(super) fn source(row: &Row<'_>, column: usize) -> rusqlite::Result<Source> {
    let key: String = row.get(column)?;
    Source::from_key(&key).map_err(|e| damage(column, e))
}

pub(super) fn media_type(row: &Row<'_>, column: usize) -> rusqlite::Result<MediaType> {
    let name: String = row.get(column)?;
    MediaType::from_name(&name).ok_or_else(|| damage(column, UnknownMediaType(name)))
}

pub(super) fn content_hash(row: &Row<'_>, column: usize) -> rusqlite::Result<ContentHash> {
    row.get(column).map(ContentHash)
}

/// An unsigned number; `SQLite` has signed ones only, and no size or offset reaches 2^63.
pub(super) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|number| number as u64)
}

pub(super) fn from_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let json = row.get_ref(column)?.as_str().map_err(|e| damage(column, e))?;
    serde_json::from_str(json).map_err(|e| damage(column, e))
}

pub(super) fn from_optional_json<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<T>> {
    let json: Option<String> = row.get(column)?;
    json.map(|json| serde_json::from_str(&json).map_err(|e| damage(column, e))).transpose()
}

pub(super) fn to_json<T: Serialize>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))
}

pub(super) fn id_value(id: DocumentId) -> i64 {
    id.get() as i64
}

pub(super) fn url(row: &Row<'_>, column: usize) -> rusqlite::Result<Url> {
    Url::parse(row.get_ref(column)?.as_str().map_err(|e| damage(column, e))?)
        .map_err(|e| damage(column, e))
}

pub(super) fn optional_url(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Url>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| Url::parse(&text).map_err(|e| damage(column, e))).transpose()
}
