//! From the folders to the queue, and from the queue to whoever reads.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{self, Stream};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::{JoinHandle, spawn_blocking};

use super::memory::MemoryBudget;
use super::read::{READERS, passing};
use super::scan::{Found, FoundFile, Scope, scan};
use super::tally::SharedTally;
use super::{Gate, IngestError, Pipeline, order};
use crate::config::Limits;
use crate::data::Source;
use crate::platform;
use crate::storage::{QueuedFile, RunKey, SUSPECT_ATTEMPTS, Settlement, SkippedSource, Store};

/// Found files in one transaction at most.
const FOUND_MAX: usize = 512;

/// How long a found file waits for others to be queued with it.
const FOUND_WAIT: Duration = Duration::from_millis(100);

/// Files that are taken off the queue at a time; more would hold what is found later back.
const TAKEN_MAX: usize = 32;

/// Lists what is to be read on a thread of its own, and gives what is queued in its order, as far as
/// `gate` lets it.
pub(super) fn queued(
    pipeline: &Pipeline,
    run: RunKey,
    scope: Scope,
    tally: SharedTally,
    (gate, memory): (Gate, MemoryBudget),
) -> impl Stream<Item = Result<InHand, IngestError>> + use<> {
    let (progress, news) = watch::channel(());
    let lister = Lister {
        store: Arc::clone(pipeline.store()),
        run,
        tally,
        progress,
        now: platform::now_seconds(),
        flushed: Instant::now(),
        mounts: Vec::new(),
        files: Vec::new(),
        skipped: Vec::new(),
    };
    let limits = pipeline.limits().clone();
    let listing = spawn_blocking(move || lister.list(&scope, &limits));
    let store = Arc::clone(pipeline.store());
    let listing = Some(listing);
    let (page, is_suspect_out) = (VecDeque::new(), false);
    let queue = Queue { store, run, news, listing, gate, memory, page, is_suspect_out };
    stream::try_unfold(queue, |mut queue| async move {
        Ok(queue.next().await?.map(|file| (file, queue)))
    })
}

/// A file that is begun.
#[derive(Debug)]
pub(super) struct InHand {
    pub file: QueuedFile,
    /// Given back when the file is stored.
    pub memory: OwnedSemaphorePermit,
}

struct Queue {
    store: Arc<Store>,
    run: RunKey,
    /// Changes when files were queued, and closes at the end of the listing.
    news: watch::Receiver<()>,
    listing: Option<JoinHandle<Result<(), IngestError>>>,
    gate: Gate,
    memory: MemoryBudget,
    page: VecDeque<QueuedFile>,
    is_suspect_out: bool,
}

impl Queue {
    async fn next(&mut self) -> Result<Option<InHand>, IngestError> {
        loop {
            self.gate.pass().await;
            if let Some(file) = self.page.pop_front() {
                return Ok(Some(self.begin(file).await));
            }
            if std::mem::take(&mut self.is_suspect_out) {
                // What is taken before it is done would be blamed with it.
                drop(self.memory.reserve_all().await);
            }
            // Looked at before the queue, so that what is queued in between is not missed.
            let is_listed = self.listing.is_none();
            let (store, run) = (Arc::clone(&self.store), self.run);
            self.page = spawn_blocking(move || store.take(run, TAKEN_MAX)).await??.into();
            if !self.page.is_empty() {
                continue;
            }
            if is_listed {
                let store = Arc::clone(&self.store);
                let is_open = spawn_blocking(move || store.is_open(run)).await??;
                return if is_open { Ok(None) } else { Err(IngestError::Removed) };
            }
            if self.news.changed().await.is_err()
                && let Some(listing) = self.listing.take()
            {
                listing.await??;
            }
        }
    }

    /// A file that was in hand often when the process ended has all memory, so that nothing else is in
    /// hand with it.
    async fn begin(&mut self, file: QueuedFile) -> InHand {
        self.is_suspect_out = file.attempts >= SUSPECT_ATTEMPTS;
        let memory = if self.is_suspect_out {
            self.memory.reserve_all().await
        } else {
            self.memory.reserve(file.bytes).await
        };
        InHand { file, memory }
    }
}

struct Lister {
    store: Arc<Store>,
    run: RunKey,
    tally: SharedTally,
    progress: watch::Sender<()>,
    now: i64,
    flushed: Instant,
    mounts: Vec<PathBuf>,
    files: Vec<QueuedFile>,
    skipped: Vec<SkippedSource>,
}

impl Lister {
    fn list(mut self, scope: &Scope, limits: &Limits) -> Result<(), IngestError> {
        let mut failure = None;
        scan(scope, limits, |found| {
            self.found(found);
            if self.files.len() + self.skipped.len() >= FOUND_MAX
                || self.flushed.elapsed() >= FOUND_WAIT
            {
                failure = self.flush().err();
            }
            failure.is_none() && !self.progress.is_closed()
        });
        match failure {
            Some(error) => Err(error),
            None => self.flush(),
        }?;
        self.tally.lock().scanned();
        Ok(())
    }

    fn found(&mut self, found: Found) {
        match found {
            Found::File(FoundFile { path, bytes, modified, stamp }) => {
                self.tally.lock().found(bytes);
                self.files.push(QueuedFile {
                    source: Source::File(path),
                    bytes,
                    modified,
                    stamp,
                    place: order::place(bytes, modified, self.now),
                    attempts: 0,
                    generation: 0,
                });
            }
            Found::Mount(path) => self.mounts.push(path),
            Found::Skipped { path, reason } => {
                self.tally.lock().found(0);
                self.skipped.push(passing(path, reason));
            }
        }
    }

    fn flush(&mut self) -> Result<(), IngestError> {
        if !self.mounts.is_empty() {
            // Known before what they hold: that is not deleted when its disk is unplugged.
            self.store.add_mounts(&std::mem::take(&mut self.mounts))?;
        }
        let settled = self.store.enqueue(self.run, &self.files, READERS)?;
        let settled = settled.ok_or(IngestError::Removed)?;
        self.files.clear();
        if !self.skipped.is_empty() {
            self.store.pass_over(self.run, &self.skipped)?;
        }
        let mut tally = self.tally.lock();
        for settlement in settled {
            match settlement {
                Settlement::Unchanged { bytes } => tally.unchanged(bytes),
                Settlement::Removed { bytes } => tally.gone(bytes),
                Settlement::Skipped { source, reason, bytes } => {
                    tally.skipped(&source, reason, bytes);
                }
            }
        }
        for SkippedSource { source, reason, .. } in self.skipped.drain(..) {
            tally.skipped(&source, reason, 0);
        }
        drop(tally);
        self.flushed = Instant::now();
        self.progress.send_replace(());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::ingest::Pace;
    use crate::storage::RunLease;

    fn queue(dir: &Path, gate: Gate) -> (Queue, RunLease) {
        let store = Arc::new(Store::open(dir).unwrap());
        let (run, lease) = store.begin_run(&["/".into()], None, 1).unwrap();
        let files = ["/a", "/b"].map(|path| QueuedFile {
            source: Source::File(path.into()),
            bytes: 3,
            modified: None,
            stamp: None,
            place: 0,
            attempts: 0,
            generation: 0,
        });
        store.enqueue(run, &files, READERS).unwrap();
        let (news, memory) = (watch::channel(()).1, MemoryBudget::new(1 << 30));
        let (page, is_suspect_out) = (VecDeque::new(), false);
        let listing = None;
        (Queue { store, run, news, listing, gate, memory, page, is_suspect_out }, lease)
    }

    #[tokio::test]
    async fn nothing_is_begun_once_it_is_paused() {
        let dir = tempfile::tempdir().unwrap();
        let (pace, receiver) = watch::channel(Pace::Full);
        let (mut queue, _lease) = queue(dir.path(), Gate::new(receiver));
        assert_eq!(queue.next().await.unwrap().unwrap().file.source.name(), "a");
        pace.send_replace(Pace::Paused);
        assert!(queue.next().now_or_never().is_none());
        pace.send_replace(Pace::Full);
        assert_eq!(queue.next().await.unwrap().unwrap().file.source.name(), "b");
        assert!(queue.next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_suspect_is_in_hand_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (mut queue, mut lease) = queue(dir.path(), Gate::open());
        let (store, run) = (Arc::clone(&queue.store), queue.run);
        for _ in 0..SUSPECT_ATTEMPTS {
            store.take(run, 2).unwrap();
            drop(lease);
            lease = store.adopt_run(run).unwrap().unwrap();
        }
        let suspect = queue.next().await.unwrap().unwrap();
        let mut next = Box::pin(queue.next());
        // Long enough for the other to be taken, were it not held back.
        let counts = async {
            for _ in 0..50 {
                let store = Arc::clone(&store);
                spawn_blocking(move || store.queue_counts()).await.unwrap().unwrap();
            }
            store.queue_counts().unwrap()
        };
        tokio::select! {
            _ = &mut next => panic!("it was not held back"),
            counts = counts => assert_eq!(counts.extracting, 1),
        }
        drop(suspect);
        assert_eq!(next.await.unwrap().unwrap().file.source.name(), "b");
    }
}
