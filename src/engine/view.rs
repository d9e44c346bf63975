use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{EngineError, ModelState};
use crate::data::{DocumentId, Locator, MediaType, Source, TextLayout, TextRange};
use crate::ingest::Skipped;
use crate::platform;
use crate::storage::{DocumentSummary, Store, StoredDocument};

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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RemoveReport {
    /// Documents that were forgotten.
    pub removed: u64,
    /// What was named and is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

impl From<StoredDocument> for DocumentView {
    fn from(stored: StoredDocument) -> Self {
        let document = stored.document;
        Self {
            id: document.id,
            source: document.source,
            title: document.title,
            media_type: document.media_type,
            layout: document.layout,
            text: document.text,
            passages: stored.chunks.into_iter().map(|c| (c.range.into(), c.locator)).collect(),
            modified: document.modified,
        }
    }
}

impl From<DocumentSummary> for LibraryEntry {
    fn from(summary: DocumentSummary) -> Self {
        let DocumentSummary { id, source, title, media_type, passages, bytes, .. } = summary;
        let DocumentSummary { modified, indexed_at, .. } = summary;
        Self { id, source, title, media_type, passages, bytes, modified, indexed_at }
    }
}

impl Status {
    pub(super) fn read(
        store: &Store,
        data_dir: &Path,
        model: ModelState,
        notices: Vec<String>,
    ) -> Result<Self, EngineError> {
        let counts = store.counts()?;
        let device = match &model {
            ModelState::Ready { device, .. } => device.clone(),
            ModelState::Loading { .. } => "loading".to_owned(),
            ModelState::Failed { .. } => "none".to_owned(),
        };
        let skipped = store
            .skipped()?
            .into_iter()
            .map(|skipped| Skipped { source: skipped.source.to_string(), reason: skipped.reason });
        Ok(Self {
            documents: counts.documents,
            passages: counts.passages,
            roots: store.roots()?,
            sources: counts.documents + counts.skipped,
            skipped: skipped.collect(),
            model,
            device,
            bytes: platform::directory_bytes(data_dir),
            data_dir: data_dir.to_owned(),
            notices,
        })
    }
}
