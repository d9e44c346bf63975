use std::path::PathBuf;

use serde::Serialize;

use super::ModelState;
use crate::data::{DocumentId, Locator, MediaType, Source, TextLayout, TextRange};
use crate::ingest::Skipped;

/// A document as the reader shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentView {
    pub id: DocumentId,
    pub source: Source,
    pub title: String,
    pub media_type: MediaType,
    pub layout: TextLayout,
    pub text: String,
    /// Every passage in the order of the text, with its place.
    pub passages: Vec<(TextRange, Option<Locator>)>,
    pub modified: Option<i64>,
}

/// A row of the library.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LibraryEntry {
    pub id: DocumentId,
    pub source: Source,
    pub title: String,
    pub media_type: MediaType,
    pub passages: u64,
    /// Size of the source in bytes.
    pub bytes: u64,
    pub modified: Option<i64>,
    /// Seconds since the Unix epoch.
    pub indexed_at: i64,
}

/// What is indexed, with what, and what it costs: the JSON of `lode status --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    pub documents: u64,
    #[serde(rename = "chunks")]
    pub passages: u64,
    /// Files and folders that were added, as a person named them.
    pub roots: Vec<PathBuf>,
    /// Known sources: indexed and not.
    pub sources: u64,
    pub skipped: Vec<Skipped>,
    pub model: ModelState,
    pub device: String,
    /// On disk, all of the data directory.
    pub bytes: u64,
    pub data_dir: PathBuf,
    /// Indexes that are being caught up or rebuilt, in words.
    pub notices: Vec<String>,
}
