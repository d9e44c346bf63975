//! The jobs that index: what a person asked for, what changed, and what an earlier process left.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{OwnedMutexGuard, watch};

use super::{
    Engine, EngineError, EngineEvent, IngestReport, Job, JobId, JobOutcome, Skipped, jobs,
};
use crate::gpu::Priority;
use crate::ingest::{self, FileRun, IngestError, Outcome};
use crate::platform;
use crate::storage::{Root, RunKey, RunLease, StorageError, StoredRun};

/// Why a root is not looked into.
const OFFLINE: &str =
    "offline; what was indexed of it is kept, and it is looked at when it is back";

/// What to index.
#[derive(Debug)]
pub(super) enum Ask {
    /// Files and folders, which are remembered.
    Paths(Vec<PathBuf>),
    /// Folders that were added before.
    Roots(Vec<PathBuf>),
    /// Files that could not be indexed.
    Again(Vec<PathBuf>),
    /// What changed below watched folders.
    Changes { roots: Vec<PathBuf>, only: BTreeSet<PathBuf> },
    /// What another process left.
    Rest(StoredRun, RunLease),
}

/// A run that is written down, so that it is gone on with whatever happens.
struct Begun {
    key: RunKey,
    /// Kept until the run is ended: whoever else has it may go on with it.
    lease: RunLease,
    roots: Vec<Root>,
    offline: Vec<Root>,
    only: Option<BTreeSet<PathBuf>>,
}

/// Indexes, after the jobs of the same kind before it.
pub(super) fn index(engine: &Engine, ask: Ask) -> Job {
    jobs::start(engine, label(&ask), |engine, job, cancel| async move {
        let is_change = matches!(ask, Ask::Changes { .. });
        let is_unasked = is_change || matches!(ask, Ask::Roots(_));
        // Asked at once, so that it is done even when the process ends while it waits.
        let inner = Arc::clone(&engine.inner);
        let begun = engine.run_blocking(move || begin(&inner.store, ask)).await;
        if begun.is_err() && is_unasked {
            engine.inner.watched.miss();
        }
        let begun = begun?;
        let indexing = Indexing { engine: engine.clone(), job, cancel: cancel.clone(), is_change };
        let turn = indexing.turn().await;
        let outcome = match turn {
            Some(_) => indexing.run(&begun).await,
            None => Ok(Outcome::Cancelled(IngestReport::default())),
        };
        indexing.end(begun.key, &outcome).await?;
        drop((begun.lease, turn));
        let outcome = outcome?;
        if !is_change {
            engine.settle_indexes(cancel).await?;
        }
        Ok(match outcome {
            // A look that nobody asked for and that found nothing is nothing to tell.
            Outcome::Done(report) if is_change || (is_unasked && report.indexed == 0) => {
                JobOutcome::Updated(report)
            }
            Outcome::Done(report) => JobOutcome::Done(report),
            Outcome::Cancelled(report) => JobOutcome::Cancelled(report),
        })
    })
}

fn begin(store: &crate::storage::Store, ask: Ask) -> Result<Begun, EngineError> {
    let (paths, only, rest) = match ask {
        Ask::Paths(paths) => {
            let paths: Vec<_> = paths.iter().map(|path| platform::resolve(path)).collect();
            for path in paths.iter().filter(|path| path.exists()) {
                store.add_root(path, platform::is_mount_point(path))?;
            }
            let rest = left(store, &paths)?;
            (paths, None, rest)
        }
        Ask::Roots(roots) => {
            let roots = still(store, roots)?;
            let rest = left(store, &roots)?;
            (roots, None, rest)
        }
        Ask::Again(paths) => {
            let paths: BTreeSet<_> = paths.into_iter().collect();
            (above(&store.roots()?, &paths), Some(paths), None)
        }
        Ask::Changes { roots, only } => (still(store, roots)?, Some(only), None),
        Ask::Rest(run, lease) => (still(store, run.paths)?, run.only, Some((run.key, lease))),
    };
    let known = store.roots()?;
    let root = |path: &PathBuf| {
        let known = known.iter().find(|root| root.path == *path).cloned();
        known.map_or_else(
            || (Root { path: path.clone(), watched: false, is_mount: false }, true),
            |root| {
                let is_online = ingest::is_online(&root);
                (root, is_online)
            },
        )
    };
    let (online, offline): (Vec<_>, Vec<_>) =
        paths.iter().map(root).partition(|(_, online)| *online);
    let (key, lease) = match rest {
        Some(rest) => rest,
        None => store.begin_run(&paths, only.as_ref(), platform::now_seconds())?,
    };
    let roots = |roots: Vec<(Root, bool)>| roots.into_iter().map(|(root, _)| root).collect();
    Ok(Begun { key, lease, roots: roots(online), offline: roots(offline), only })
}

/// The roots that these paths lie in, whose rules hold for them: a link that leads out of a folder is not
/// followed by asking for it once more. What lies in none was named itself and was not there.
fn above(roots: &[Root], paths: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let above = roots.iter().map(|root| &root.path);
    let mut above: BTreeSet<_> =
        above.filter(|root| paths.iter().any(|path| path.starts_with(root))).collect();
    let is_within = |path: &&PathBuf| roots.iter().any(|root| path.starts_with(&root.path));
    above.extend(paths.iter().filter(|path| !is_within(path)));
    above.into_iter().cloned().collect()
}

/// Of these folders, those that were not removed meanwhile.
fn still(store: &crate::storage::Store, paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, EngineError> {
    let known = store.roots()?;
    let is_known = |path: &PathBuf| known.iter().any(|root| root.path == *path);
    Ok(paths.into_iter().filter(is_known).collect())
}

/// A run of the same paths that a process did not end.
fn left(
    store: &crate::storage::Store,
    paths: &[PathBuf],
) -> Result<Option<(RunKey, RunLease)>, EngineError> {
    for run in store.runs()? {
        if run.paths == paths
            && run.only.is_none()
            && let Some(lease) = store.adopt_run(run.key)?
        {
            return Ok(Some((run.key, lease)));
        }
    }
    Ok(None)
}

struct Indexing {
    engine: Engine,
    job: JobId,
    cancel: watch::Receiver<bool>,
    is_change: bool,
}

impl Indexing {
    /// `None` when the job is cancelled before its turn.
    async fn turn(&self) -> Option<OwnedMutexGuard<()>> {
        let jobs = &self.engine.inner.jobs;
        let turn = Arc::clone(if self.is_change { &jobs.changes_turn } else { &jobs.turn });
        let mut cancel = self.cancel.clone();
        tokio::select! {
            turn = turn.lock_owned() => Some(turn),
            _ = cancel.wait_for(|cancel| *cancel) => None,
        }
    }

    async fn run(&self, begun: &Begun) -> Result<Outcome, EngineError> {
        let engine = &self.engine;
        let mut model = engine.model().await?;
        let Begun { key, roots, offline, only, .. } = begun;
        let key = *key;
        let is_small = self.is_change || matches!(roots.as_slice(), [root] if root.path.is_file());
        let priority = if is_small { Priority::Interactive } else { Priority::Background };
        let outcome = loop {
            let run = FileRun {
                key,
                roots: roots.clone(),
                only: only.clone(),
                priority,
                gate: engine.inner.gate(),
                cancel: self.cancel.clone(),
            };
            let inner = Arc::clone(&engine.inner);
            let limits = engine.run_blocking(move || inner.limits()).await?;
            let pipeline = engine.pipeline(&model).with_limits(limits);
            let outcome = ingest::index_paths(&pipeline, run, |progress| {
                engine.emit(EngineEvent::JobProgress { job: self.job, progress });
            })
            .await;
            if !matches!(&outcome, Err(IngestError::Storage(StorageError::ModelChanged { .. }))) {
                break outcome;
            }
            // What was committed is the new model's by now; the rest is made with it.
            if !engine.renew_model(&mut model).await? {
                break outcome;
            }
            let inner = Arc::clone(&engine.inner);
            engine.run_blocking(move || Ok(inner.store.put_back(key)?)).await?;
        };
        let caught_up = engine.catch_up().await;
        if matches!(caught_up, Ok(true)) {
            engine.announce_change();
        }
        let mut outcome = outcome?;
        caught_up?;
        let (Outcome::Done(report) | Outcome::Cancelled(report)) = &mut outcome;
        report.skipped.extend(offline.iter().map(|root| Skipped {
            source: root.path.display().to_string(),
            reason: OFFLINE.to_owned(),
            attempts: 0,
        }));
        Ok(outcome)
    }

    /// Forgets a run that is over. One that failed, or that ends because the engine closes, is taken up
    /// at the next start.
    async fn end(
        &self,
        key: RunKey,
        outcome: &Result<Outcome, EngineError>,
    ) -> Result<(), EngineError> {
        let is_over = match outcome {
            Ok(Outcome::Done(_)) => true,
            Ok(Outcome::Cancelled(_)) => !self.engine.inner.jobs.is_closing(),
            Err(_) => false,
        };
        let inner = Arc::clone(&self.engine.inner);
        let end = move || {
            if is_over {
                inner.store.end_run(key)?;
            } else {
                inner.store.put_back(key)?;
            }
            Ok(())
        };
        self.engine.run_blocking(end).await
    }
}

fn label(ask: &Ask) -> String {
    let (what, paths) = match ask {
        Ask::Changes { .. } => return "Updating".to_owned(),
        Ask::Roots(paths) => ("Looking through", paths),
        Ask::Again(paths) => ("Reading again", paths),
        Ask::Paths(paths) | Ask::Rest(StoredRun { paths, .. }, _) => ("Indexing", paths),
    };
    match paths.as_slice() {
        [one] => format!("{what} {}", one.file_name().unwrap_or(one.as_os_str()).display()),
        many => format!("{what} {} items", many.len()),
    }
}
