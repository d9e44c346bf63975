use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tracing::warn;

use super::{RootState, pace};
use crate::config::Settings;
use crate::engine::indexing::{self, Ask};
use crate::engine::{Engine, EngineError, EngineEvent, Inner};
use crate::ingest::{self, Changes, Exclusions, Watch};
use crate::platform;
use crate::storage::Root;

/// How often is looked which folders there are and at what pace to go.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How often a folder that cannot be watched is looked through, and what failed is tried once more.
const RESCAN_INTERVAL: Duration = Duration::from_mins(5);

/// Takes up what was left, and follows what changes, for as long as the engine lives.
pub(in crate::engine) async fn keep_up(inner: Weak<Inner>) {
    let Some(engine) = inner.upgrade().map(|inner| Engine { inner }) else { return };
    let mut keeper = Keeper::new(&engine.inner.config.data_dir);
    keeper.look(&engine).await;
    keeper.resume(&engine).await;
    drop(engine);
    loop {
        let Some(engine) = inner.upgrade().map(|inner| Engine { inner }) else { return };
        keeper.look(&engine).await;
        if keeper.resumed.elapsed() >= RESCAN_INTERVAL {
            keeper.resume(&engine).await;
        } else {
            keeper.sync_or_warn(&engine).await;
        }
        if let Err(error) = engine.keep_crawls().await {
            warn!(%error, "what is to be crawled is not known");
        }
        drop(engine);
        let changes = tokio::time::timeout(LOOK_INTERVAL, keeper.changes()).await;
        if let (Ok(changes), Some(inner)) = (changes, inner.upgrade()) {
            keeper.follow(&Engine { inner }, changes);
        }
    }
}

/// Which folders are watched, and how.
struct Keeper {
    watch: Result<Watch, String>,
    roots: BTreeMap<PathBuf, RootState>,
    /// Roots that the runs which were just taken over look through.
    covered: BTreeSet<PathBuf>,
    /// Where other disks are mounted in them, and whether they are now.
    mounts: BTreeMap<PathBuf, bool>,
    /// What a person left out when it was last looked.
    exclusions: Option<Vec<String>>,
    /// Whether folders have to be looked through because that changed.
    is_outdated: bool,
    resumed: Instant,
    /// Whether the time has come to look through what cannot be watched.
    is_due: bool,
}

impl Keeper {
    fn new(data_dir: &Path) -> Self {
        let watch = Watch::new(platform::resolve(data_dir)).map_err(|error| error.to_string());
        Self {
            watch,
            roots: BTreeMap::new(),
            covered: BTreeSet::new(),
            mounts: BTreeMap::new(),
            exclusions: None,
            is_outdated: false,
            resumed: Instant::now(),
            is_due: false,
        }
    }

    async fn changes(&self) -> Changes {
        match &self.watch {
            Ok(watch) => watch.changes().await,
            Err(_) => std::future::pending().await,
        }
    }

    /// Sees to the pace, and to what a person leaves out.
    async fn look(&mut self, engine: &Engine) {
        let inner = Arc::clone(&engine.inner);
        let look = move || {
            let settings = Settings::load_if_there(&inner.config.data_dir)?;
            let exclusions = inner.limits_by(settings.as_ref()).exclusions;
            Ok((inner.set_pace(pace(&settings.unwrap_or_default())), exclusions))
        };
        match engine.run_blocking(look).await {
            Ok((is_other_pace, exclusions)) => {
                if is_other_pace {
                    engine.emit(EngineEvent::Pace(*engine.inner.pace.borrow()));
                }
                let before = self.exclusions.replace(exclusions);
                self.is_outdated |= before.is_some() && before != self.exclusions;
            }
            Err(error) => warn!(%error, "indexing goes on as it does"),
        }
    }

    /// Goes on with what other processes left, or what failed in this one. The folders are watched first:
    /// what changes after a run has listed them would else be missed.
    async fn resume(&mut self, engine: &Engine) {
        self.resumed = Instant::now();
        self.is_due = true;
        let left = match engine.adopt().await {
            Ok(left) => left,
            Err(error) => {
                warn!(%error, "what an earlier start left is not gone on with");
                return;
            }
        };
        let whole = left.iter().filter(|(run, _)| run.only.is_none());
        self.covered = whole.flat_map(|(run, _)| run.paths.clone()).collect();
        self.sync_or_warn(engine).await;
        for (run, lease) in left {
            drop(indexing::index(engine, Ask::Rest(run, lease)));
        }
    }

    async fn sync_or_warn(&mut self, engine: &Engine) {
        if let Err(error) = self.sync(engine).await {
            warn!(%error, "the watched folders are not known");
        }
    }

    /// Watches what is to be watched now, and looks through what was not watched before.
    async fn sync(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let known = engine.roots().await?;
        let wanted: BTreeMap<PathBuf, Root> =
            known.into_iter().filter(|r| r.watched).map(|r| (r.path.clone(), r)).collect();
        let gone: Vec<_> =
            self.roots.keys().filter(|path| !wanted.contains_key(*path)).cloned().collect();
        for path in gone {
            self.roots.remove(&path);
            self.unwatch(&path).await;
        }
        let mut unseen = self.returned(engine).await?;
        for (path, root) in wanted {
            let before = self.roots.get(&path);
            if !ingest::is_online(&root) {
                if before.is_some_and(|before| *before != RootState::Offline) {
                    self.unwatch(&path).await;
                }
                self.roots.insert(path, RootState::Offline);
            } else if before.is_none_or(|before| *before == RootState::Offline) {
                let watched = self.watch(path.clone()).await;
                self.roots.insert(path.clone(), watched);
                // A run that is taken over lists it anyway.
                if !self.covered.contains(&path) {
                    unseen.insert(path);
                }
            }
        }
        if std::mem::take(&mut self.is_due) {
            let has_missed = engine.inner.watched.missed.swap(false, Ordering::Relaxed);
            let is_due = |state: &RootState| match state {
                RootState::Rescanned { .. } => true,
                RootState::Watched => has_missed,
                _ => false,
            };
            let due = self.roots.iter().filter(|(_, state)| is_due(state)).map(|(path, _)| path);
            unseen.extend(due.filter(|path| !self.covered.contains(*path)).cloned());
        }
        self.covered.clear();
        if std::mem::take(&mut self.is_outdated) {
            unseen.extend(self.online().cloned());
        }
        engine.inner.watched.lock().clone_from(&self.roots);
        if !unseen.is_empty() {
            drop(indexing::index(engine, Ask::Roots(unseen.into_iter().collect())));
        }
        Ok(())
    }

    fn online(&self) -> impl Iterator<Item = &PathBuf> {
        let is_there = |state: &RootState| *state != RootState::Offline;
        self.roots.iter().filter(move |(_, state)| is_there(state)).map(|(path, _)| path)
    }

    /// Roots in which a disk was mounted again since the last time. The watch does not see into it yet.
    async fn returned(&mut self, engine: &Engine) -> Result<BTreeSet<PathBuf>, EngineError> {
        let inner = Arc::clone(&engine.inner);
        let look = move || {
            let looked = |mount: PathBuf| {
                let is_there = platform::is_mount_point(&mount);
                (mount, is_there)
            };
            Ok(inner.store.mounts()?.into_iter().map(looked).collect())
        };
        let mounts: BTreeMap<PathBuf, bool> = engine.run_blocking(look).await?;
        let is_back = |(mount, is_there): &(&PathBuf, &bool)| {
            **is_there && self.mounts.get(*mount) == Some(&false)
        };
        let back: Vec<&PathBuf> = mounts.iter().filter(is_back).map(|(mount, _)| mount).collect();
        let holds = |root: &&PathBuf| back.iter().any(|mount| mount.starts_with(root));
        let roots: BTreeSet<PathBuf> = self.online().filter(holds).cloned().collect();
        self.mounts = mounts;
        for root in &roots {
            let watched = self.watch(root.clone()).await;
            self.roots.insert(root.clone(), watched);
        }
        Ok(roots)
    }

    async fn watch(&mut self, path: PathBuf) -> RootState {
        match self.on_watch(move |watch| watch.add(&path)).await {
            Ok(Ok(())) => RootState::Watched,
            Ok(Err(error)) => RootState::Rescanned { reason: error.to_string() },
            Err(reason) => RootState::Rescanned { reason },
        }
    }

    async fn unwatch(&mut self, path: &Path) {
        let path = path.to_owned();
        // Where nothing can be watched there is nothing to let go.
        let _ = self.on_watch(move |watch| watch.remove(&path)).await;
    }

    /// Both take long for a large tree, so they are done on the blocking pool.
    async fn on_watch<T: Send + 'static>(
        &mut self,
        body: impl FnOnce(&mut Watch) -> T + Send + 'static,
    ) -> Result<T, String> {
        let mut watch = match std::mem::replace(&mut self.watch, Err(String::new())) {
            Ok(watch) => watch,
            Err(reason) => {
                self.watch = Err(reason.clone());
                return Err(reason);
            }
        };
        let done = tokio::task::spawn_blocking(move || {
            let done = body(&mut watch);
            (watch, done)
        });
        let (watch, done) = match done.await {
            Ok((watch, done)) => (Ok(watch), Ok(done)),
            Err(error) => (Err(error.to_string()), Err(error.to_string())),
        };
        self.watch = watch;
        done
    }

    fn follow(&mut self, engine: &Engine, changes: Changes) {
        if let Some(reason) = changes.refused {
            // Which of them is not said.
            for state in self.roots.values_mut().filter(|state| **state == RootState::Watched) {
                *state = RootState::Rescanned { reason: reason.clone() };
            }
        }
        if changes.missed {
            warn!(
                "changes came faster than they could be followed; the folders are looked through"
            );
            let roots: Vec<_> = self.online().cloned().collect();
            engine.inner.missed.fetch_add(1, Ordering::Relaxed);
            drop(indexing::index(engine, Ask::Roots(roots)));
            return;
        }
        let only = self.followed(changes.places);
        let touched = |root: &&PathBuf| only.iter().any(|place| place.starts_with(root));
        let roots: Vec<_> = self.online().filter(touched).cloned().collect();
        if !roots.is_empty() {
            drop(indexing::index(engine, Ask::Changes { roots, only }));
        }
    }

    /// Without what is left out anyway: programs write there all the time.
    fn followed(&self, places: BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let root = |path: &PathBuf| Root { path: path.clone(), watched: true, is_mount: false };
        let roots: Vec<Root> = self.roots.keys().map(root).collect();
        let patterns = self.exclusions.as_deref().unwrap_or_default();
        let exclusions = Exclusions::new(&roots, patterns);
        places.into_iter().filter(|place| !exclusions.cover(place, place.is_dir())).collect()
    }
}
