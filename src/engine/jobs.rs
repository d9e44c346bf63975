use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};

use super::{Engine, EngineError, EngineEvent, IngestReport, JobId, JobOutcome};
use crate::gpu::Priority;
use crate::ingest::{self, FileRun, IngestError, Outcome};
use crate::platform;
use crate::storage::StorageError;

/// A job in the background. Dropping the handle does not stop it.
#[derive(Debug)]
pub struct Job {
    id: JobId,
    cancel: watch::Sender<bool>,
    outcome: oneshot::Receiver<JobOutcome>,
}

impl Job {
    #[must_use]
    pub fn id(&self) -> JobId {
        self.id
    }

    /// Stops as soon as what is being written is written.
    pub fn cancel(&self) {
        self.cancel.send_replace(true);
    }

    pub async fn outcome(self) -> JobOutcome {
        let closed = |_| JobOutcome::Failed { reason: EngineError::Closed.to_string() };
        self.outcome.await.unwrap_or_else(closed)
    }
}

/// The jobs that wait or run. One indexing job runs at a time: two would only slow each other down.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    open: Mutex<BTreeMap<JobId, watch::Sender<bool>>>,
    opened: AtomicU64,
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Switches of the model run beside it, so that what is dropped meanwhile is found at once.
    pub(super) switching: Arc<tokio::sync::Mutex<()>>,
    switch: Mutex<Option<JobId>>,
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<JobId, watch::Sender<bool>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> (JobId, watch::Sender<bool>) {
        let id = JobId(self.opened.fetch_add(1, Ordering::Relaxed) + 1);
        let (cancel, _) = watch::channel(false);
        self.lock().insert(id, cancel.clone());
        (id, cancel)
    }

    pub(super) fn is_open(&self, job: JobId) -> bool {
        self.lock().contains_key(&job)
    }

    /// Whether a switch of the model waits or runs here.
    pub(super) fn is_switching(&self) -> bool {
        let switch = *self.switch.lock().unwrap_or_else(PoisonError::into_inner);
        switch.is_some_and(|job| self.is_open(job))
    }

    pub(super) fn cancel(&self, job: JobId) {
        if let Some(cancel) = self.lock().get(&job) {
            cancel.send_replace(true);
        }
    }

    pub(super) fn cancel_all(&self) {
        self.lock().values().for_each(|cancel| {
            cancel.send_replace(true);
        });
    }

    /// Waits for the running jobs; those behind them were cancelled before.
    pub(super) async fn idle(&self) {
        drop(self.turn.lock().await);
        drop(self.switching.lock().await);
    }

    /// Ends the switch that was begun before `job`, which is one as well.
    pub(super) fn cancel_switch_before(&self, job: JobId) {
        let mut switch = self.switch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = switch.replace(job) {
            self.cancel(before);
        }
    }
}

/// Runs `body` as a job: it is told of, can be cancelled, and its end is an event.
pub(super) fn start<F>(
    engine: &Engine,
    label: String,
    body: impl FnOnce(Engine, JobId, watch::Receiver<bool>) -> F + Send + 'static,
) -> Job
where
    F: Future<Output = Result<JobOutcome, EngineError>> + Send,
{
    let (id, cancel) = engine.inner.jobs.open();
    let (sender, outcome) = oneshot::channel();
    let (engine, running) = (engine.clone(), cancel.subscribe());
    engine.clone().spawn(async move {
        engine.emit(EngineEvent::JobStarted { job: id, label });
        let outcome = body(engine.clone(), id, running).await;
        let outcome =
            outcome.unwrap_or_else(|error| JobOutcome::Failed { reason: error.to_string() });
        engine.inner.jobs.lock().remove(&id);
        engine.emit(EngineEvent::JobFinished { job: id, outcome: outcome.clone() });
        // The handle may be gone; the event tells whoever listens.
        let _ = sender.send(outcome);
    });
    Job { id, cancel, outcome }
}

/// Indexes files and folders, after the indexing jobs before it.
pub(super) fn index(engine: &Engine, paths: Vec<PathBuf>) -> Job {
    start(engine, label(&paths), |engine, id, cancel| async move {
        let outcome = run(&engine, id, paths, cancel.clone()).await?;
        engine.settle_indexes(cancel).await?;
        Ok(match outcome {
            Outcome::Done(report) => JobOutcome::Done(report),
            Outcome::Cancelled(report) => JobOutcome::Cancelled(report),
        })
    })
}

async fn run(
    engine: &Engine,
    id: JobId,
    paths: Vec<PathBuf>,
    mut cancel: watch::Receiver<bool>,
) -> Result<Outcome, EngineError> {
    let turn = Arc::clone(&engine.inner.jobs.turn);
    let _turn = tokio::select! {
        turn = turn.lock_owned() => turn,
        _ = cancel.wait_for(|cancel| *cancel) => return Ok(Outcome::Cancelled(IngestReport::default())),
    };
    let mut model = engine.model().await?;
    let inner = Arc::clone(&engine.inner);
    let (roots, priority) = engine
        .run_blocking(move || {
            let roots: Vec<PathBuf> = paths.iter().map(|path| platform::resolve(path)).collect();
            for root in roots.iter().filter(|root| root.exists()) {
                inner.store.add_root(root)?;
            }
            let one_file = matches!(roots.as_slice(), [root] if root.is_file());
            let priority = if one_file { Priority::Interactive } else { Priority::Background };
            Ok((roots, priority))
        })
        .await?;
    let outcome = loop {
        let run = FileRun { roots: roots.clone(), priority, cancel: cancel.clone() };
        let outcome = ingest::index_paths(&engine.pipeline(&model), run, |progress| {
            engine.emit(EngineEvent::JobProgress { job: id, progress });
        })
        .await;
        if !matches!(&outcome, Err(IngestError::Storage(StorageError::ModelChanged { .. }))) {
            break outcome;
        }
        // What was committed is the new model's by now; the rest is made with it.
        engine.follow_model().await?;
        let before = std::mem::replace(&mut model, engine.model().await?);
        if before.stored == model.stored {
            break outcome;
        }
    };
    let caught_up = engine.catch_up().await;
    engine.announce_change();
    let outcome = outcome?;
    caught_up?;
    Ok(outcome)
}

fn label(paths: &[PathBuf]) -> String {
    match paths {
        [one] => format!("Indexing {}", one.file_name().unwrap_or(one.as_os_str()).display()),
        many => format!("Indexing {} items", many.len()),
    }
}
