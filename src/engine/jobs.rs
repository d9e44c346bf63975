use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};

use super::{Engine, EngineError, EngineEvent, IngestReport, JobId, JobOutcome};
use crate::gpu::Priority;
use crate::ingest::{self, FileRun, Outcome};
use crate::platform;

/// An indexing job. Dropping the handle does not stop it.
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

/// The jobs that wait or run. One runs at a time: two would only slow each other down.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    open: Mutex<BTreeMap<JobId, watch::Sender<bool>>>,
    opened: AtomicU64,
    turn: Arc<tokio::sync::Mutex<()>>,
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

    /// Waits for the running job; those behind it were cancelled before.
    pub(super) async fn idle(&self) {
        drop(self.turn.lock().await);
    }
}

pub(super) fn start(engine: &Engine, paths: Vec<PathBuf>) -> Job {
    let (id, cancel) = engine.inner.jobs.open();
    let (sender, outcome) = oneshot::channel();
    let (engine, run_cancel) = (engine.clone(), cancel.clone());
    engine.clone().spawn(async move {
        let label = label(&paths);
        engine.emit(EngineEvent::JobStarted { job: id, label });
        let outcome = match run(&engine, id, paths, run_cancel.subscribe()).await {
            Ok(Outcome::Done(report)) => JobOutcome::Done(report),
            Ok(Outcome::Cancelled(report)) => JobOutcome::Cancelled(report),
            Err(error) => JobOutcome::Failed { reason: error.to_string() },
        };
        engine.inner.jobs.lock().remove(&id);
        engine.emit(EngineEvent::JobFinished { job: id, outcome: outcome.clone() });
        // The handle may be gone; the event tells whoever listens.
        let _ = sender.send(outcome);
    });
    Job { id, cancel, outcome }
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
    let model = engine.model().await?;
    let pipeline = engine.pipeline(&model);
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
    let events = engine.clone();
    let run = FileRun { roots, priority, cancel };
    let outcome = ingest::index_paths(&pipeline, run, |progress| {
        events.emit(EngineEvent::JobProgress { job: id, progress });
    })
    .await;
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
