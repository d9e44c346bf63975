//! The index as one file: taken out, put in, and emptied, as jobs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Engine, EngineError, EngineEvent, Job, JobId, JobOutcome, jobs};
use crate::ingest::{IngestReport, JobProgress};
use crate::platform;
use crate::storage::{Interrupt, StagedStore, StorageError, Store, Transferred};

/// How often is looked how far an export is.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

impl Engine {
    /// Writes the whole index as it is now into one file, in the background. Indexes are not in it: they
    /// follow from the rest.
    #[must_use]
    pub fn export(&self, path: &Path) -> Job {
        let path = platform::resolve(path);
        let label = format!("Exporting to {}", path.file_name().unwrap_or_default().display());
        jobs::start(self, label, |engine, job, cancel| async move {
            Transfer { engine, job, cancel }.export(path).await
        })
    }

    /// Makes the index what an export holds, in the background. Everything else that runs is ended first;
    /// what was indexed before is gone when it has succeeded, and all there when it has not.
    #[must_use]
    pub fn import(&self, path: &Path) -> Job {
        let path = platform::resolve(path);
        let label = format!("Importing {}", path.file_name().unwrap_or_default().display());
        jobs::start(self, label, |engine, job, cancel| async move {
            Transfer { engine, job, cancel }.import(path).await
        })
    }

    /// Forgets everything that is indexed, in the background. Settings and models stay.
    #[must_use]
    pub fn clear(&self) -> Job {
        jobs::start(self, "Clearing the index".to_owned(), |engine, job, cancel| async move {
            Transfer { engine, job, cancel }.clear().await
        })
    }
}

struct Transfer {
    engine: Engine,
    job: JobId,
    cancel: watch::Receiver<bool>,
}

impl Transfer {
    async fn export(self, path: PathBuf) -> Result<JobOutcome, EngineError> {
        let (inner, target) = (Arc::clone(&self.engine.inner), path.clone());
        let expected = inner.store.bytes_on_disk();
        let part = Store::export_part(&path);
        let interrupt = Arc::new(Interrupt::default());
        let _stopping = self.stop_with(&interrupt);
        let writing = Arc::clone(&interrupt);
        let mut written = std::pin::pin!(
            self.engine.run_blocking(move || Ok(inner.store.export(&target, &writing)?))
        );
        let outcome = loop {
            tokio::select! {
                outcome = &mut written => break outcome,
                () = tokio::time::sleep(LOOK_INTERVAL) => {}
            }
            // It is packed more tightly than the store, so this ends a little early.
            let look = part.clone();
            let size = move || Ok(std::fs::metadata(look).map_or(0, |file| file.len()));
            let done_bytes = self.engine.run_blocking(size).await?.min(expected);
            self.show(Transferred { done_bytes, total_bytes: expected });
        };
        match outcome {
            Ok(()) => {
                let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
                Ok(JobOutcome::Exported { path, bytes })
            }
            Err(error) => stopped_or(error),
        }
    }

    async fn import(self, path: PathBuf) -> Result<JobOutcome, EngineError> {
        let interrupt = Arc::new(Interrupt::default());
        let _stopping = self.stop_with(&interrupt);
        let inner = Arc::clone(&self.engine.inner);
        let (staging, show) = (Arc::clone(&interrupt), self.progress());
        // Checked first: what is no export ends nothing.
        let staged = self.engine.run_blocking(move || {
            Ok(inner.store.stage_import(&path, &staging, &mut |transferred| show(transferred))?)
        });
        let staged = match staged.await {
            Ok(staged) => staged,
            Err(error) => return stopped_or(error),
        };
        if let Err(error) = self.replace(staged, interrupt).await {
            return stopped_or(error);
        }
        let inner = Arc::clone(&self.engine.inner);
        let count = move || Ok(inner.store.counts()?.documents);
        Ok(JobOutcome::Imported { documents: self.engine.run_blocking(count).await? })
    }

    async fn clear(self) -> Result<JobOutcome, EngineError> {
        let inner = Arc::clone(&self.engine.inner);
        let staged = self.engine.run_blocking(move || Ok(inner.store.stage_empty()?)).await?;
        self.replace(staged, Arc::default()).await?;
        Ok(JobOutcome::Cleared)
    }

    /// Changes what is in the store while nothing else writes, and brings everything that follows from it
    /// up to date.
    async fn replace(
        &self,
        staged: StagedStore,
        interrupt: Arc<Interrupt>,
    ) -> Result<(), EngineError> {
        let engine = &self.engine;
        let still = engine.inner.jobs.stand_still(self.job).await;
        let no_crawls = engine.inner.crawls.stand_still().await;
        let answering = engine.model().await.ok();
        let (inner, show) = (Arc::clone(&engine.inner), self.progress());
        let replace = move || {
            inner.store.replace(&staged, &interrupt, &mut |transferred| show(transferred))?;
            if let (None, Some(model)) = (inner.store.model()?, answering) {
                inner.store.choose_model(&model.stored)?;
            }
            Ok(())
        };
        engine.run_blocking(replace).await?;
        drop((no_crawls, still));
        engine.follow_model().await?;
        engine.catch_up().await?;
        engine.announce_change();
        engine.emit(EngineEvent::SitesChanged);
        Ok(())
    }

    /// Stops a transfer when the job is cancelled, for as long as what this gives lives.
    fn stop_with(&self, interrupt: &Arc<Interrupt>) -> JoinSet<()> {
        let (interrupt, mut cancel) = (Arc::clone(interrupt), self.cancel.clone());
        let mut waiting = JoinSet::new();
        waiting.spawn(async move {
            if cancel.wait_for(|cancel| *cancel).await.is_ok() {
                interrupt.stop();
            }
        });
        waiting
    }

    fn progress(&self) -> impl Fn(Transferred) + Send + 'static {
        let (engine, job) = (self.engine.clone(), self.job);
        move |transferred| {
            let Transferred { done_bytes: bytes_done, total_bytes: bytes_total } = transferred;
            let progress = JobProgress { bytes_done, bytes_total, ..JobProgress::default() };
            engine.emit(EngineEvent::JobProgress { job, progress });
        }
    }

    fn show(&self, transferred: Transferred) {
        self.progress()(transferred);
    }
}

/// A transfer that a person stopped has not failed.
fn stopped_or(error: EngineError) -> Result<JobOutcome, EngineError> {
    match error {
        EngineError::Storage(StorageError::Interrupted) => {
            Ok(JobOutcome::Cancelled(IngestReport::default()))
        }
        error => Err(error),
    }
}
