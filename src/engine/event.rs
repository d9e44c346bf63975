use std::path::PathBuf;

use serde::Serialize;
use tracing::{info, warn};

use super::{CrawlReport, SiteId};
use crate::ingest::{CrawlFigures, IngestReport, JobProgress, Pace};

/// What happens inside the engine, as the faces show it.
#[derive(Clone, Debug)]
pub enum EngineEvent {
    Model(ModelState),
    JobStarted {
        job: JobId,
        label: String,
    },
    JobProgress {
        job: JobId,
        progress: JobProgress,
    },
    /// Beside [`EngineEvent::JobProgress`], which a crawl has none of.
    CrawlProgress {
        job: JobId,
        site: SiteId,
        figures: CrawlFigures,
    },
    JobFinished {
        job: JobId,
        outcome: JobOutcome,
    },
    /// A site was added, removed, paused or resumed, has other rules, or its crawl has ended.
    SitesChanged,
    /// Indexing goes at this pace from now on.
    Pace(Pace),
    /// What is searchable has changed: an answer on screen may be out of date.
    IndexChanged {
        documents: u64,
        passages: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ModelState {
    Loading {
        model: String,
    },
    Ready {
        model: String,
        device: String,
    },
    /// Search by words goes on; the reason says what to do.
    Failed {
        model: String,
        reason: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct JobId(pub u64);

#[derive(Clone, Debug)]
pub enum JobOutcome {
    Done(IngestReport),
    /// What changed in watched folders is searchable.
    Updated(IngestReport),
    /// What was committed before the cancellation stays.
    Cancelled(IngestReport),
    /// A crawl came to its end, or was left as it is: the report says which.
    Crawled(CrawlReport),
    /// The embedding model is in use; the report counts the documents that were embedded anew.
    Switched {
        model: String,
        report: IngestReport,
    },
    /// The model before it stays in use; what was made for this one is kept for the next time.
    SwitchPaused {
        model: String,
    },
    /// The index was written into a file.
    Exported {
        path: PathBuf,
        bytes: u64,
    },
    /// The index is that of a file now.
    Imported {
        documents: u64,
    },
    /// Nothing is indexed any more.
    Cleared,
    Failed {
        reason: String,
    },
}

impl EngineEvent {
    /// For whoever looks back at what happened; what comes many times a second is left out.
    pub(super) fn log(&self) {
        match self {
            Self::Model(ModelState::Ready { model, device }) => info!(model, device, "model ready"),
            Self::Model(ModelState::Failed { model, reason }) => warn!(model, reason, "no model"),
            Self::JobStarted { job, label } => info!(job = job.0, label, "job started"),
            Self::JobFinished { job, outcome } => outcome.log(*job),
            Self::Pace(pace) => info!(?pace, "pace"),
            Self::Model(ModelState::Loading { .. })
            | Self::JobProgress { .. }
            | Self::CrawlProgress { .. }
            | Self::SitesChanged
            | Self::IndexChanged { .. } => {}
        }
    }
}

impl JobOutcome {
    fn log(&self, job: JobId) {
        let job = job.0;
        let ingested = |end, report: &IngestReport| {
            let IngestReport { indexed, removed, chunks, tokens, seconds, .. } = report;
            let skipped = report.skipped.len();
            info!(job, end, indexed, removed, skipped, chunks, tokens, seconds, "job finished");
        };
        match self {
            Self::Done(report) => ingested("done", report),
            Self::Updated(report) => ingested("updated", report),
            Self::Cancelled(report) => ingested("cancelled", report),
            Self::Switched { report, .. } => ingested("switched", report),
            Self::Crawled(CrawlReport { end, pages, unchanged, failed, seconds, .. }) => {
                let failed = failed.len();
                info!(job, ?end, pages, unchanged, failed, seconds, "job finished");
            }
            Self::SwitchPaused { model } => info!(job, model, "switch paused"),
            Self::Exported { .. } => info!(job, end = "exported", "job finished"),
            Self::Imported { .. } => info!(job, end = "imported", "job finished"),
            Self::Cleared => info!(job, end = "cleared", "job finished"),
            Self::Failed { reason } => warn!(job, reason, "job failed"),
        }
    }
}
