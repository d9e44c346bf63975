//! What became of the jobs of before.

use std::path::Path;
use std::sync::Arc;

use super::{CrawlReport, Engine, EngineError, IngestReport, JobOutcome};
use crate::data::Source;
use crate::ingest::CrawlEnd;
use crate::platform;
use crate::storage::{EndedJob, JobEnd, Store};

impl Engine {
    /// The `limit` newest jobs that have ended, newest first, those of earlier starts as well.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn history(&self, limit: usize) -> Result<Vec<EndedJob>, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || Ok(inner.store.ended_jobs(limit)?)).await
    }

    /// Forgets the jobs that have ended.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget_history(&self) -> Result<u64, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || Ok(inner.store.forget_ended_jobs(None)?)).await
    }
}

/// Writes down how a job ended. One that ends because the engine closes goes on at the next start.
pub(super) async fn keep(engine: &Engine, label: String, started_at: i64, outcome: &JobOutcome) {
    if engine.inner.jobs.is_closing() {
        return;
    }
    let Some(job) = ended(label, started_at, platform::now_seconds(), outcome) else { return };
    let inner = Arc::clone(&engine.inner);
    let kept = engine.run_blocking(move || Ok(inner.store.add_ended_job(&job)?));
    if let Err(error) = kept.await {
        tracing::debug!(%error, "a job is missing in the history");
    }
}

/// Forgets the jobs that were about these sources, as far as their labels say so.
pub(super) fn forget(store: &Store, sources: &[String]) -> Result<(), EngineError> {
    for source in sources {
        let name = match Source::from_key(source) {
            Ok(Source::Web(url)) => {
                let path = url.path().trim_end_matches('/');
                Some(format!("{}{path}", url.host_str().unwrap_or_default()))
            }
            _ => Path::new(source).file_name().map(|name| name.to_string_lossy().into_owned()),
        };
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            // With the space before it: the name alone may end another one.
            store.forget_ended_jobs(Some(&format!(" {name}")))?;
        }
    }
    Ok(())
}

/// `None` for what nobody looks back at: a look at folders in which nothing had changed.
fn ended(label: String, started_at: i64, ended_at: i64, outcome: &JobOutcome) -> Option<EndedJob> {
    let empty = EndedJob {
        label,
        started_at,
        ended_at,
        end: JobEnd::Done,
        documents: 0,
        passages: 0,
        tokens: 0,
        trouble: 0,
        reason: None,
    };
    let ingested = |end, report: &IngestReport| EndedJob {
        end,
        documents: report.indexed,
        passages: report.chunks,
        tokens: report.tokens,
        trouble: report.skipped.len() as u64,
        ..empty.clone()
    };
    Some(match outcome {
        JobOutcome::Updated(report) => {
            let job = ingested(JobEnd::Done, report);
            return (job.documents + job.trouble + report.removed > 0).then_some(job);
        }
        JobOutcome::Done(report) | JobOutcome::Switched { report, .. } => {
            ingested(JobEnd::Done, report)
        }
        JobOutcome::Cancelled(report) => ingested(JobEnd::Cancelled, report),
        JobOutcome::Crawled(report) => crawled(report, empty),
        JobOutcome::SwitchPaused { .. } => EndedJob { end: JobEnd::Paused, ..empty },
        JobOutcome::Imported { documents } => EndedJob { documents: *documents, ..empty },
        JobOutcome::Exported { .. } | JobOutcome::Cleared => empty,
        JobOutcome::Failed { reason } => {
            EndedJob { end: JobEnd::Failed, reason: Some(reason.clone()), ..empty }
        }
    })
}

fn crawled(report: &CrawlReport, empty: EndedJob) -> EndedJob {
    let (end, reason) = match &report.end {
        CrawlEnd::Done => (JobEnd::Done, None),
        CrawlEnd::Removed => (JobEnd::Cancelled, None),
        CrawlEnd::Later { reason, .. } => (JobEnd::Paused, Some(reason.clone())),
        CrawlEnd::Paused | CrawlEnd::Interrupted | CrawlEnd::Outdated => (JobEnd::Paused, None),
    };
    let trouble = report.failed.len() as u64;
    EndedJob { end, reason, documents: report.pages, trouble, ..empty }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(outcome: &JobOutcome) -> Option<EndedJob> {
        ended("Updating".to_owned(), 1, 2, outcome)
    }

    #[test]
    fn a_look_that_found_nothing_is_not_looked_back_at() {
        assert_eq!(of(&JobOutcome::Updated(IngestReport::default())), None);
        let report = IngestReport { indexed: 2, tokens: 9, ..IngestReport::default() };
        let job = of(&JobOutcome::Updated(report)).unwrap();
        assert_eq!((job.documents, job.tokens, job.end), (2, 9, JobEnd::Done));
        assert!(of(&JobOutcome::Done(IngestReport::default())).is_some());
    }

    #[test]
    fn a_failure_keeps_its_reason() {
        let job = of(&JobOutcome::Failed { reason: "disk full".to_owned() }).unwrap();
        assert_eq!((job.end, job.reason.as_deref()), (JobEnd::Failed, Some("disk full")));
    }

    #[test]
    fn what_was_removed_leaves_no_name_behind() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        for label in ["Indexing Notes", "Indexing Old-Notes", "Crawling docs.rs/tokio"] {
            let job = ended(label.to_owned(), 1, 2, &JobOutcome::Cleared).unwrap();
            store.add_ended_job(&job).unwrap();
        }
        forget(&store, &["/home/ada/Notes".to_owned(), "https://docs.rs/tokio/".to_owned()])
            .unwrap();
        let left = store.ended_jobs(9).unwrap();
        assert_eq!(
            left.iter().map(|job| job.label.as_str()).collect::<Vec<_>>(),
            ["Indexing Old-Notes"]
        );
    }
}
