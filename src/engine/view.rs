use std::path::PathBuf;

use serde::Serialize;

use super::{EngineError, Inner, Metrics, ModelState, RootState, SiteView, crawling};
use crate::config::Settings;
use crate::data::{DocumentId, Locator, MediaType, Source, TextLayout, TextRange};
use crate::ingest::{Pace, Skipped};
use crate::storage::{DocumentSummary, QueueCounts, StoredDocument};

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
    /// When it was read, in seconds since the Unix epoch.
    pub indexed_at: i64,
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
    pub roots: Vec<RootStatus>,
    /// Web sites that were added.
    pub sites: Vec<SiteView>,
    /// Known sources: indexed, not indexed, and still on the queue.
    pub sources: u64,
    pub skipped: Vec<Skipped>,
    /// Of the skipped sources, those that failed and may not fail again.
    pub failed: u64,
    pub queue: QueueStatus,
    /// Patterns of what is left out of every folder.
    pub exclusions: Vec<String>,
    pub model: ModelState,
    pub device: String,
    /// On disk, all of the data directory.
    pub bytes: u64,
    pub data_dir: PathBuf,
    /// Indexes that are being caught up or rebuilt, in words.
    pub notices: Vec<String>,
    /// Times and counts of this process.
    pub metrics: Metrics,
}

/// A file or folder that was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RootStatus {
    pub path: PathBuf,
    #[serde(flatten)]
    pub state: RootState,
}

/// What is still to be indexed, and at what pace that goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueStatus {
    #[serde(flatten)]
    pub counts: QueueCounts,
    /// Jobs that have not ended, of this process and of those before it.
    pub runs: u64,
    pub pace: Pace,
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
        let (document, indexed_at) = (stored.document, stored.indexed_at);
        Self {
            id: document.id,
            source: document.source,
            title: document.title,
            media_type: document.media_type,
            layout: document.layout,
            text: document.text,
            passages: stored.chunks.into_iter().map(|c| (c.range.into(), c.locator)).collect(),
            modified: document.modified,
            indexed_at,
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
        inner: &Inner,
        model: ModelState,
        notices: Vec<String>,
    ) -> Result<Self, EngineError> {
        let (store, data_dir) = (&inner.store, &inner.config.data_dir);
        let counts = store.counts()?;
        let settings = Settings::load(data_dir)?;
        let queue = QueueStatus {
            counts: store.queue_counts()?,
            runs: store.run_count()?,
            pace: if settings.paused { Pace::Paused } else { *inner.pace.borrow() },
        };
        let device = match &model {
            ModelState::Ready { device, .. } => device.clone(),
            ModelState::Loading { .. } => "loading".to_owned(),
            ModelState::Failed { .. } => "none".to_owned(),
        };
        let skipped = store.skipped()?;
        let roots = store.roots()?.into_iter().map(|root| {
            let state = inner.watched.state(&root);
            RootStatus { path: root.path, state }
        });
        let metrics = Metrics::read(inner)?;
        Ok(Self {
            documents: counts.documents,
            passages: counts.passages,
            roots: roots.collect(),
            sites: crawling::sites(inner)?,
            sources: counts.documents + counts.skipped + queue.counts.new,
            failed: skipped.iter().filter(|skipped| skipped.attempts > 0).count() as u64,
            skipped: skipped.into_iter().map(Skipped::from).collect(),
            queue,
            exclusions: settings.exclusions,
            model,
            device,
            bytes: metrics.disk.data_bytes,
            data_dir: data_dir.clone(),
            notices,
            metrics,
        })
    }
}
