//! What changes in folders, as the system tells it.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Changes are told once nothing has happened for so long: programs write a file in several steps.
const QUIET: Duration = Duration::from_millis(150);

/// A file that is written all the time is told of all the same.
const QUIET_MAX: Duration = Duration::from_millis(600);

/// Changed places that are kept apart; more are as much work as looking through everything.
const PLACES_MAX: usize = 10_000;

/// Why a folder cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error(
        "the system watches no more folders; raise fs.inotify.max_user_watches, or exclude large folders"
    )]
    TooMany,
    #[error(transparent)]
    System(notify::Error),
}

impl From<notify::Error> for WatchError {
    fn from(error: notify::Error) -> Self {
        match error.kind {
            notify::ErrorKind::MaxFilesWatch => Self::TooMany,
            _ => Self::System(error),
        }
    }
}

/// What happened since the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files and folders that came, changed or went.
    pub places: BTreeSet<PathBuf>,
    /// Whether some were missed, so that everything has to be looked through.
    pub missed: bool,
    /// Why new folders are not watched any more.
    pub refused: Option<String>,
}

/// Watches folders. Nothing is told of what lies in hidden folders or in `ignored`.
pub struct Watch {
    watcher: RecommendedWatcher,
    inbox: Arc<Inbox>,
}

#[derive(Debug, Default)]
struct Inbox {
    changes: Mutex<Changes>,
    came: Notify,
    /// Folders that say nothing: the index would else follow what it writes itself.
    ignored: PathBuf,
    roots: Mutex<BTreeSet<PathBuf>>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("inbox", &self.inbox).finish_non_exhaustive()
    }
}

impl Watch {
    /// # Errors
    /// When the system offers nothing to watch with.
    pub fn new(ignored: PathBuf) -> Result<Self, WatchError> {
        let inbox = Arc::new(Inbox { ignored, ..Inbox::default() });
        let told = Arc::clone(&inbox);
        let tell = move |event: notify::Result<Event>| told.tell(event);
        let config = Config::default().with_follow_symlinks(false);
        Ok(Self { watcher: RecommendedWatcher::new(tell, config)?, inbox })
    }

    /// Watches a folder with all below it, or a file.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn add(&mut self, root: &Path) -> Result<(), WatchError> {
        let mut roots = lock(&self.inbox.roots);
        roots.insert(root.to_owned());
        let is_below = |other: &PathBuf| other != root && root.starts_with(other);
        if root.is_file() && roots.iter().any(is_below) {
            // Its folder is watched already, with all below it, and would be without from now on.
            return Ok(());
        }
        drop(roots);
        // A program that saves a file often puts another in its place, so its folder is watched.
        let (folder, mode) = match root.parent() {
            Some(folder) if root.is_file() => (folder, RecursiveMode::NonRecursive),
            _ => (root, RecursiveMode::Recursive),
        };
        Ok(self.watcher.watch(folder, mode)?)
    }

    pub fn remove(&mut self, root: &Path) {
        let mut roots = lock(&self.inbox.roots);
        roots.remove(root);
        let is_within = roots.iter().any(|other| root.starts_with(other));
        drop(roots);
        if self.watcher.unwatch(root).is_err() {
            // A file in a folder that is watched anyway, or one for which its folder was watched. Or it
            // has gone, and the watch with it.
            match root.parent() {
                Some(folder) if !is_within => drop(self.watcher.unwatch(folder)),
                _ => return,
            }
        }
        // What was watched for others went with it.
        for other in self.touched_by(root) {
            let _ = self.add(&other);
        }
    }

    /// The roots above and below, and files beside it.
    fn touched_by(&self, root: &Path) -> Vec<PathBuf> {
        let roots = lock(&self.inbox.roots);
        let is_touched = |other: &&PathBuf| {
            root.starts_with(other) || other.starts_with(root) || other.parent() == root.parent()
        };
        roots.iter().filter(is_touched).cloned().collect()
    }

    /// Waits for changes, and then until there is quiet. What comes while this is dropped is kept.
    pub async fn changes(&self) -> Changes {
        // What came before is looked at first: whoever waited then may have given up in the quiet.
        while *lock(&self.inbox.changes) == Changes::default() {
            self.inbox.came.notified().await;
        }
        let end = Instant::now() + QUIET_MAX;
        while Instant::now() < end
            && timeout_at((Instant::now() + QUIET).min(end), self.inbox.came.notified())
                .await
                .is_ok()
        {}
        std::mem::take(&mut *lock(&self.inbox.changes))
    }
}

impl Inbox {
    fn tell(&self, event: notify::Result<Event>) {
        let event = match event.map_err(WatchError::from) {
            Ok(event) => event,
            Err(error) => return self.fail(&error),
        };
        if event.need_rescan() {
            return self.miss();
        }
        let is_written = AccessKind::Close(AccessMode::Write);
        if matches!(event.kind, EventKind::Access(access) if access != is_written) {
            return;
        }
        let places: Vec<_> = event.paths.iter().filter_map(|path| self.place(path)).collect();
        if places.is_empty() {
            return;
        }
        let mut changes = lock(&self.changes);
        changes.places.extend(places);
        if changes.places.len() > PLACES_MAX {
            changes.places.clear();
            changes.missed = true;
        }
        drop(changes);
        self.came.notify_one();
    }

    fn fail(&self, error: &WatchError) {
        if matches!(error, WatchError::TooMany) {
            lock(&self.changes).refused = Some(error.to_string());
        }
        self.miss();
    }

    fn miss(&self) {
        lock(&self.changes).missed = true;
        self.came.notify_one();
    }

    /// What has to be looked at when this path changed.
    fn place(&self, path: &Path) -> Option<PathBuf> {
        if path.starts_with(&self.ignored) {
            return None;
        }
        let roots = lock(&self.roots);
        let hides = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        let rules = [".gitignore", ".ignore"].map(AsRef::as_ref);
        let of = |below: &Path| {
            if below.file_name().is_some_and(|name| rules.contains(&name)) {
                return path.parent().map(Path::to_owned);
            }
            (!below.components().any(hides)).then(|| path.to_owned())
        };
        // What is hidden in one root may lie in another that was named.
        roots.iter().filter_map(|root| path.strip_prefix(root).ok()).find_map(of)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use notify::event::{CreateKind, Flag};

    use super::*;

    fn inbox() -> Inbox {
        let roots = Mutex::new(BTreeSet::from(["/r".into(), "/home/x/.notes".into()]));
        Inbox { ignored: "/r/data".into(), roots, ..Inbox::default() }
    }

    fn told(paths: &[&str]) -> Changes {
        let inbox = inbox();
        for path in paths {
            let kind = EventKind::Create(CreateKind::Any);
            inbox.tell(Ok(Event::new(kind).add_path(path.into())));
        }
        lock(&inbox.changes).clone()
    }

    #[test]
    fn what_is_hidden_or_our_own_says_nothing() {
        let places = |paths| told(paths).places.into_iter().collect::<Vec<_>>();
        assert_eq!(places(&["/r/a", "/r/.git/x", "/r/data/store", "/other"]), [Path::new("/r/a")]);
        assert_eq!(places(&["/home/x/.notes/a"]), [Path::new("/home/x/.notes/a")]);
        assert_eq!(places(&["/r/sub/.gitignore"]), [Path::new("/r/sub")]);
    }

    #[test]
    fn a_flood_and_an_overflow_mean_looking_through_everything() {
        let inbox = inbox();
        inbox.tell(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        assert!(lock(&inbox.changes).missed);
        let many: Vec<_> = (0..=PLACES_MAX).map(|at| format!("/r/{at}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert_eq!(told(&many), Changes { missed: true, ..Changes::default() });
        let full = notify::Error::new(notify::ErrorKind::MaxFilesWatch);
        inbox.tell(Err(full));
        let changes = lock(&inbox.changes).clone();
        assert!(changes.missed && changes.refused.is_some_and(|r| r.contains("max_user_watches")));
    }

    #[tokio::test]
    async fn changes_outlive_whoever_gave_up_waiting_for_them() {
        let mut watch = Watch::new("/nowhere".into()).unwrap();
        lock(&watch.inbox.roots).insert("/r".into());
        watch.remove(Path::new("/other"));
        let kind = EventKind::Create(CreateKind::Any);
        watch.inbox.tell(Ok(Event::new(kind).add_path("/r/a".into())));
        // Given up in the quiet, after the news was heard.
        let given_up = tokio::time::timeout(QUIET / 10, watch.changes()).await;
        assert!(given_up.is_err());
        assert_eq!(
            watch.changes().await.places.into_iter().collect::<Vec<_>>(),
            [Path::new("/r/a")]
        );
    }

    #[tokio::test]
    async fn reading_is_no_change_and_writing_is() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (read, written) = (root.join("read.txt"), root.join("sub/written.txt"));
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(&read, "a").unwrap();
        let mut watch = Watch::new("/nowhere".into()).unwrap();
        watch.add(&root).unwrap();
        fs::read(&read).unwrap();
        fs::write(&written, "b").unwrap();
        let Changes { places, missed, .. } = watch.changes().await;
        assert!(places.contains(&written) && !places.contains(&read) && !missed, "{places:?}");
    }

    #[test]
    fn what_is_hidden_in_one_root_may_be_another() {
        let inbox = inbox();
        lock(&inbox.roots).insert("/home/x".into());
        assert_eq!(inbox.place(Path::new("/home/x/.notes/a")), Some("/home/x/.notes/a".into()));
        assert_eq!(inbox.place(Path::new("/home/x/.other/a")), None);
    }

    async fn check_told(watch: &Watch, path: &Path) {
        fs::write(path, "a").unwrap();
        let told = async { while !watch.changes().await.places.contains(path) {} };
        tokio::time::timeout(QUIET * 20, told).await.unwrap_or_else(|_| panic!("{path:?}"));
    }

    #[tokio::test]
    async fn a_root_in_another_makes_that_one_no_deafer() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (file, sub) = (root.join("a.txt"), root.join("sub"));
        fs::create_dir(&sub).unwrap();
        fs::write(&file, "a").unwrap();
        let mut watch = Watch::new("/nowhere".into()).unwrap();
        for inner in [&file, &sub] {
            watch.add(&root).unwrap();
            watch.add(inner).unwrap();
            let new = root.join(format!("new-{}", inner.file_name().unwrap().display()));
            fs::create_dir(&new).unwrap();
            // Its folder is told of when it is watched.
            let told = async { while !watch.changes().await.places.contains(&new) {} };
            tokio::time::timeout(QUIET * 20, told).await.unwrap();
            check_told(&watch, &new.join("b.txt")).await;
            watch.remove(inner);
            check_told(&watch, &sub.join("c.txt")).await;
            check_told(&watch, &file).await;
        }
        watch.add(&file).unwrap();
        watch.remove(&root);
        check_told(&watch, &file).await;
    }
}
