//! Keeps folders up to date for as long as the engine lives.

mod keeper;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

pub(super) use self::keeper::keep_up;
use super::indexing::{self, Ask};
use super::{Engine, EngineError, EngineEvent, Inner};
use crate::config::{BatteryPolicy, Limits, Settings};
use crate::ingest::{self, Gate, Pace};
use crate::platform::{self, Power};
use crate::storage::{Root, RunLease, StoredRun};

/// Whether a folder is kept up to date.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RootState {
    Watched,
    /// Looked through from time to time instead, for this reason.
    Rescanned {
        reason: String,
    },
    /// Its disk is not there; what was indexed of it is kept.
    Offline,
    /// Left as it is until somebody asks.
    Unwatched,
    /// No process that watches is running.
    Unattended,
}

/// What is watched, for whoever asks.
#[derive(Debug, Default)]
pub(super) struct Watched {
    roots: Mutex<BTreeMap<PathBuf, RootState>>,
    /// Whether changes could not be written down.
    missed: AtomicBool,
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, RootState>> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the folders looked through once more, later: what changed in them is not written down.
    pub fn miss(&self) {
        self.missed.store(true, Ordering::Relaxed);
    }

    pub fn state(&self, root: &Root) -> RootState {
        if !ingest::is_online(root) {
            return RootState::Offline;
        }
        if !root.watched {
            return RootState::Unwatched;
        }
        self.lock().get(&root.path).cloned().unwrap_or(RootState::Unattended)
    }
}

impl Engine {
    /// Keeps a folder or file up to date from now on, or no longer; a new one is indexed by whichever
    /// process watches.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn watch(&self, path: PathBuf, watched: bool) -> Result<bool, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            let path = platform::resolve(&path);
            if watched && path.exists() {
                inner.store.add_root(&path, platform::is_mount_point(&path))?;
            }
            Ok(inner.store.watch_root(&path, watched)?)
        })
        .await
    }

    /// Stops indexing after what is in hand, for this start and those to come, or lets it go on.
    ///
    /// # Errors
    /// When the settings cannot be written.
    pub async fn pause(&self, paused: bool) -> Result<(), EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            let data_dir = &inner.config.data_dir;
            let settings = Settings::update(data_dir, |settings| settings.paused = paused)?;
            inner.set_pace(pace(&settings));
            Ok(())
        })
        .await?;
        self.emit(EngineEvent::Pace(*self.inner.pace.borrow()));
        Ok(())
    }

    /// Tries once more what could not be indexed: all of it, or these sources.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn retry(&self, sources: Option<Vec<String>>) -> Result<super::Job, EngineError> {
        let inner = Arc::clone(&self.inner);
        let paths = self
            .run_blocking(move || {
                let skipped = inner.store.skipped()?;
                let paths = skipped.iter().filter_map(|skipped| skipped.source.path());
                let is_asked = |path: &&Path| {
                    let name = path.display().to_string();
                    sources.as_ref().is_none_or(|sources| sources.contains(&name))
                };
                let paths: Vec<_> = paths.filter(is_asked).map(Path::to_owned).collect();
                inner.store.unstamp(&paths)?;
                Ok(paths)
            })
            .await?;
        Ok(indexing::index(self, Ask::Again(paths)))
    }

    /// Reads files again that are indexed, also when they look as they did.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn reindex(&self, paths: Vec<PathBuf>) -> Result<super::Job, EngineError> {
        let inner = Arc::clone(&self.inner);
        let paths = self
            .run_blocking(move || {
                inner.store.unstamp(&paths)?;
                Ok(paths)
            })
            .await?;
        Ok(indexing::index(self, Ask::Again(paths)))
    }

    /// Takes over the runs that nobody is at work on.
    async fn adopt(&self) -> Result<Vec<(StoredRun, RunLease)>, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            let mut left = Vec::new();
            for run in inner.store.runs()? {
                if let Some(lease) = inner.store.adopt_run(run.key)? {
                    left.push((run, lease));
                }
            }
            Ok(left)
        })
        .await
    }

    async fn roots(&self) -> Result<Vec<Root>, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || Ok(inner.store.roots()?)).await
    }
}

impl Inner {
    /// As they are now: a person may have changed the settings since the start.
    pub(super) fn limits(&self) -> Result<Limits, EngineError> {
        Ok(self.limits_by(Settings::load_if_there(&self.config.data_dir)?.as_ref()))
    }

    /// A command that a person waits for goes at full pace.
    pub(super) fn gate(&self) -> Gate {
        if self.config.keeps_up { Gate::new(self.pace.subscribe()) } else { Gate::open() }
    }

    fn limits_by(&self, settings: Option<&Settings>) -> Limits {
        let limits = &self.config.limits;
        settings.map_or_else(|| limits.clone(), |settings| settings.limits(limits))
    }

    fn set_pace(&self, pace: Pace) -> bool {
        self.pace.send_if_modified(|now| std::mem::replace(now, pace) != pace)
    }
}

fn pace(settings: &Settings) -> Pace {
    match (settings.paused, settings.on_battery) {
        (true, _) => Pace::Paused,
        (false, BatteryPolicy::GoOn) => Pace::Full,
        (false, policy) => match (platform::power(), policy) {
            (Power::Battery, BatteryPolicy::Pause) => Pace::Paused,
            (Power::Battery, _) => Pace::Half,
            (Power::Mains, _) => Pace::Full,
        },
    }
}
