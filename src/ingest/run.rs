use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;

use super::read::{ReadFile, SkippedFile, read_file};
use super::scan::{Found, scan};
use super::tally::Tally;
use super::{IngestError, IngestReport, JobProgress, Pipeline, vanished};
use crate::data::{ChunkedDocument, Document, EmbeddedDocument, Source};
use crate::gpu::{GpuError, Priority};
use crate::storage::SkippedSource;

/// What to index, and when to stop.
#[derive(Debug)]
pub struct FileRun {
    /// Absolute files and folders.
    pub roots: Vec<PathBuf>,
    pub priority: Priority,
    /// Turns true to cancel.
    pub cancel: watch::Receiver<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Done(IngestReport),
    /// What was committed before the cancellation stays.
    Cancelled(IngestReport),
}

/// Documents on their way through the device at once: enough to keep it busy while a group is
/// committed, and a bound on the texts that are held in memory.
const EMBEDDING_MAX: usize = 32;

/// Documents in one transaction at most. A transaction costs one wait for the disk.
const COMMIT_MAX: usize = 32;

/// Found files that wait to be read.
const FOUND_MAX: usize = 1_024;

const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// One file or document between two stages.
enum Item {
    Unchanged { bytes: u64 },
    Skipped(SkippedFile),
    Chunked(Box<ChunkedDocument>),
    Embedded(Box<EmbeddedDocument>),
}

/// Brings the store up to date with the files under `run.roots`.
///
/// # Errors
/// When the store, the disk or the device fails; what was committed before stays.
pub async fn index_paths(
    pipeline: &Pipeline,
    run: FileRun,
    progress: impl FnMut(JobProgress),
) -> Result<Outcome, IngestError> {
    let tally = SharedTally::default();
    let folders: Vec<PathBuf> = run.roots.iter().filter(|root| root.is_dir()).cloned().collect();
    let read = read_files(pipeline, run.roots, tally.clone());
    let outcome = drive(pipeline, read, run.priority, run.cancel, &tally, progress).await?;
    let Outcome::Done(mut report) = outcome else { return Ok(outcome) };
    let store = Arc::clone(pipeline.store());
    report.removed += spawn_blocking(move || vanished::forget(&store, &folders)).await??;
    Ok(Outcome::Done(report))
}

/// Indexes documents that are text already.
///
/// # Errors
/// As [`index_paths`].
pub async fn index_documents(
    pipeline: &Pipeline,
    documents: Vec<Document>,
    cancel: watch::Receiver<bool>,
    progress: impl FnMut(JobProgress),
) -> Result<Outcome, IngestError> {
    let tally = SharedTally::default();
    for document in &documents {
        tally.lock().found(document.bytes);
    }
    tally.lock().scanned();
    let chunked = stream::iter(documents).map(|document| {
        let pipeline = pipeline.clone();
        async move {
            let chunk = move || pipeline.chunk(document).map(|c| Item::Chunked(Box::new(c)));
            spawn_blocking(chunk).await?
        }
    });
    let read = chunked.buffered(readers());
    drive(pipeline, read, Priority::Background, cancel, &tally, progress).await
}

/// Scans on one thread and reads on as many as there are cores, in whichever order they finish.
fn read_files(
    pipeline: &Pipeline,
    roots: Vec<PathBuf>,
    tally: SharedTally,
) -> impl Stream<Item = Result<Item, IngestError>> {
    let (sender, mut receiver) = mpsc::channel(FOUND_MAX);
    let limits = pipeline.limits().clone();
    let scanned = tally.clone();
    spawn_blocking(move || {
        scan(&roots, &limits, |found| {
            scanned.lock().found(if let Found::File(file) = &found { file.bytes } else { 0 });
            sender.blocking_send(found).is_ok()
        });
        scanned.lock().scanned();
    });
    let pipeline = pipeline.clone();
    stream::poll_fn(move |context| receiver.poll_recv(context))
        .map(move |found| read_one(pipeline.clone(), found, tally.clone()))
        .buffer_unordered(readers())
}

async fn read_one(
    pipeline: Pipeline,
    found: Found,
    tally: SharedTally,
) -> Result<Item, IngestError> {
    let file = match found {
        Found::File(file) => file,
        Found::Skipped { path, reason } => return Ok(Item::Skipped(skipped(path, reason, 0))),
    };
    let (path, bytes) = (file.path.clone(), file.bytes);
    tally.lock().in_hand(&path);
    let limits = pipeline.limits().clone();
    match spawn_blocking(move || read_file(&pipeline, &file, &limits)).await {
        Ok(read) => Ok(match read? {
            ReadFile::Unchanged { bytes } => Item::Unchanged { bytes },
            ReadFile::Skipped(skipped) => Item::Skipped(skipped),
            ReadFile::Chunked(chunked) => Item::Chunked(chunked),
        }),
        Err(crash) if crash.is_panic() => {
            let reason = "its reader crashed; please report the file's format".to_owned();
            Ok(Item::Skipped(skipped(path, reason, bytes)))
        }
        Err(error) => Err(error.into()),
    }
}

fn skipped(path: PathBuf, reason: String, bytes: u64) -> SkippedFile {
    let skipped = SkippedSource { source: Source::File(path), reason, stamp: None };
    SkippedFile { skipped, bytes, replaces: false }
}

/// Embeds and commits what `read` gives until it ends or `cancel` turns true.
async fn drive(
    pipeline: &Pipeline,
    read: impl Stream<Item = Result<Item, IngestError>>,
    priority: Priority,
    mut cancel: watch::Receiver<bool>,
    tally: &SharedTally,
    mut progress: impl FnMut(JobProgress),
) -> Result<Outcome, IngestError> {
    let started = Instant::now();
    let tokens_before = pipeline.tokens_embedded();
    let mut report_progress = || {
        let tokens = pipeline.tokens_embedded().saturating_sub(tokens_before);
        progress(tally.lock().progress(Instant::now(), tokens));
    };
    let embedded = read
        .map(|item| embed_one(pipeline, item, priority, tally))
        .buffer_unordered(EMBEDDING_MAX)
        .ready_chunks(COMMIT_MAX);
    // Held while a group is written, which goes on when a run is cancelled.
    let writing = Arc::new(tokio::sync::Mutex::new(()));
    let work = async {
        let mut embedded = std::pin::pin!(embedded);
        while let Some(group) = embedded.next().await {
            let group: Vec<Item> = group.into_iter().collect::<Result<_, _>>()?;
            let (pipeline, tally) = (pipeline.clone(), tally.clone());
            let writing = Arc::clone(&writing).lock_owned().await;
            let write = move || {
                let _writing = writing;
                commit(&pipeline, group, &tally)
            };
            spawn_blocking(write).await??;
        }
        Ok::<(), IngestError>(())
    };
    let mut work = std::pin::pin!(work);
    let mut tick = tokio::time::interval(PROGRESS_INTERVAL);
    let cancelled = loop {
        tokio::select! {
            result = &mut work => break result.map(|()| false)?,
            () = cancelled(&mut cancel) => break true,
            _ = tick.tick() => report_progress(),
        }
    };
    drop(writing.lock().await);
    report_progress();
    let report = tally.lock().report(started.elapsed());
    Ok(if cancelled { Outcome::Cancelled(report) } else { Outcome::Done(report) })
}

async fn cancelled(cancel: &mut watch::Receiver<bool>) {
    if cancel.wait_for(|cancel| *cancel).await.is_err() {
        // Nobody is left who could cancel.
        std::future::pending::<()>().await;
    }
}

async fn embed_one(
    pipeline: &Pipeline,
    item: Result<Item, IngestError>,
    priority: Priority,
    tally: &SharedTally,
) -> Result<Item, IngestError> {
    let chunked = match item? {
        Item::Chunked(chunked) => chunked,
        other => return Ok(other),
    };
    let (source, bytes) = (chunked.document.source.clone(), chunked.document.bytes);
    tally.lock().read(bytes, pipeline.tokens_to_embed(&chunked));
    match pipeline.embed(*chunked, priority).await {
        Ok(embedded) => Ok(Item::Embedded(Box::new(embedded))),
        Err(IngestError::Gpu(
            error @ (GpuError::Model { .. } | GpuError::Panicked { .. } | GpuError::Died(_)),
        )) => {
            let skipped = SkippedSource { source, reason: error.to_string(), stamp: None };
            Ok(Item::Skipped(SkippedFile { skipped, bytes, replaces: false }))
        }
        Err(error) => Err(error),
    }
}

/// Makes a group visible: documents in one transaction, then the ledger.
fn commit(pipeline: &Pipeline, group: Vec<Item>, tally: &SharedTally) -> Result<(), IngestError> {
    let (mut documents, mut skipped, mut outdated) = (Vec::new(), Vec::new(), Vec::new());
    for item in group {
        match item {
            Item::Unchanged { bytes } => tally.lock().unchanged(bytes),
            Item::Skipped(file) => {
                tally.lock().skipped(&file);
                if file.replaces {
                    outdated.push(file.skipped.source.clone());
                }
                skipped.push(file.skipped);
            }
            Item::Embedded(document) => documents.push(*document),
            Item::Chunked(_) => unreachable!("every chunked document was embedded"),
        }
    }
    if !documents.is_empty() {
        pipeline.commit(&documents)?;
        let mut tally = tally.lock();
        for document in &documents {
            tally.indexed(document);
        }
    }
    if !outdated.is_empty() {
        let removed = pipeline.store().remove(&outdated)?;
        tally.lock().removed(removed);
    }
    if !skipped.is_empty() {
        pipeline.store().set_skipped(&skipped)?;
    }
    Ok(())
}

fn readers() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// The counts of a run, which its stages share.
#[derive(Clone, Debug)]
struct SharedTally(Arc<Mutex<Tally>>);

impl Default for SharedTally {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Tally::new(Instant::now()))))
    }
}

impl SharedTally {
    fn lock(&self) -> MutexGuard<'_, Tally> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
