use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedMutexGuard, oneshot, watch};

use super::{Engine, EngineError, EngineEvent, JobId, JobOutcome, history};
use crate::platform;

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
    /// Of what a person asked for.
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
    /// Of what changed in watched folders, which does not wait for the other.
    pub(super) changes_turn: Arc<tokio::sync::Mutex<()>>,
    /// Whether jobs end because the engine closes, and go on at the next start.
    closing: AtomicBool,
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

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    pub(super) fn cancel_all(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.lock().values().for_each(|cancel| {
            cancel.send_replace(true);
        });
    }

    /// Ends every other job, and keeps those to come from beginning until what this gives is dropped.
    pub(super) async fn stand_still(&self, but: JobId) -> [OwnedMutexGuard<()>; 3] {
        for (job, cancel) in self.lock().iter() {
            if *job != but {
                cancel.send_replace(true);
            }
        }
        let turns = [&self.turn, &self.changes_turn, &self.switching].map(Arc::clone);
        let [turn, changes, switching] = turns;
        [turn.lock_owned().await, changes.lock_owned().await, switching.lock_owned().await]
    }

    /// Waits for the running jobs; those behind them were cancelled before.
    pub(super) async fn idle(&self) {
        drop(self.turn.lock().await);
        drop(self.changes_turn.lock().await);
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
    engine.clone().spawn_job(async move {
        let started_at = platform::now_seconds();
        engine.emit(EngineEvent::JobStarted { job: id, label: label.clone() });
        let outcome = body(engine.clone(), id, running).await;
        let outcome =
            outcome.unwrap_or_else(|error| JobOutcome::Failed { reason: error.to_string() });
        history::keep(&engine, label, started_at, &outcome).await;
        engine.inner.jobs.lock().remove(&id);
        engine.emit(EngineEvent::JobFinished { job: id, outcome: outcome.clone() });
        // The handle may be gone; the event tells whoever listens.
        let _ = sender.send(outcome);
    });
    Job { id, cancel, outcome }
}
