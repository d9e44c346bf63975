use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::spawn_blocking;

use super::listing::InHand;
use super::memory::MemoryBudget;
use super::read::{READERS, ReadFile, SkippedFile, passing, read_file};
use super::scan::Scope;
use super::tally::SharedTally;
use super::{
    EmbeddingCost, Gate, IngestError, IngestReport, JobProgress, Pipeline, listing, vanished,
};
use crate::data::{ChunkedDocument, Document, EmbeddedDocument, Source};
use crate::gpu::Priority;
use crate::platform;
use crate::storage::{FileStamp, Root, RunKey, Settled, SkippedSource, SourceStamp};
use crate::telemetry::Stage;

/// What to index, and when to stop.
#[derive(Debug)]
pub struct FileRun {
    /// Where the store keeps what is still to be done of it.
    pub key: RunKey,
    /// Files and folders that are there.
    pub roots: Vec<Root>,
    /// Only these places below them, with all that is in them.
    pub only: Option<BTreeSet<PathBuf>>,
    pub priority: Priority,
    pub gate: Gate,
    /// Turns true to stop.
    pub cancel: watch::Receiver<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Done(IngestReport),
    /// By a person, who may also have removed what was to be indexed. What was committed before stays.
    Cancelled(IngestReport),
}

/// Documents on their way through the device at once: enough to keep it busy while a group is
/// committed.
const EMBEDDING_MAX: usize = 32;

/// Documents in one transaction at most. A transaction costs one wait for the disk.
const COMMIT_MAX: usize = 32;

/// A file that was begun so often without coming to an end is not begun again by itself.
const ATTEMPTS_MAX: u32 = 6;

const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// One file or document between two stages.
struct Item {
    state: State,
    /// Of the queue; a document that comes from elsewhere has none.
    stamp: Option<SourceStamp>,
    bytes: u64,
    /// Given back when the item is stored.
    memory: Option<OwnedSemaphorePermit>,
}

enum State {
    Unchanged,
    Gone,
    Skipped(SkippedFile),
    Chunked(Box<ChunkedDocument>),
    Embedded(Box<EmbeddedDocument>, EmbeddingCost),
}

/// Brings the store up to date with the files of a run.
///
/// # Errors
/// When the store, the disk or the device fails; what was committed before stays.
pub async fn index_paths(
    pipeline: &Pipeline,
    run: FileRun,
    progress: impl FnMut(JobProgress),
) -> Result<Outcome, IngestError> {
    let (started, tally) = (Instant::now(), SharedTally::default());
    let FileRun { key, roots, only, priority, gate, cancel } = run;
    let scope = Scope {
        roots: roots.iter().map(|root| root.path.clone()).collect(),
        only: only.clone().map(Arc::new),
    };
    let memory = MemoryBudget::new(pipeline.limits().memory_bytes);
    let queued = listing::queued(pipeline, key, scope, tally.clone(), (gate, memory));
    let read = read_files(pipeline, queued, tally.clone());
    let way = Way { run: Some(key), priority };
    let outcome = match drive(pipeline, read, way, cancel, &tally, progress).await {
        Err(IngestError::Removed) => Outcome::Cancelled(tally.lock().report(started.elapsed())),
        outcome => outcome?,
    };
    let Outcome::Done(mut report) = outcome else { return Ok(outcome) };
    let store = Arc::clone(pipeline.store());
    let exclusions = pipeline.limits().exclusions.clone();
    let forget = move || vanished::forget(&store, &roots, only.as_ref(), &exclusions);
    report.removed += spawn_blocking(forget).await??;
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
            let bytes = document.bytes;
            let chunked = spawn_blocking(move || pipeline.chunk(document)).await??;
            let state = State::Chunked(Box::new(chunked));
            Ok(Item { state, stamp: None, bytes, memory: None })
        }
    });
    let read = chunked.buffered(platform::cores());
    let way = Way { run: None, priority: Priority::Background };
    drive(pipeline, read, way, cancel, &tally, progress).await
}

/// Reads on as many threads as there are cores, in whichever order they finish.
fn read_files(
    pipeline: &Pipeline,
    queued: impl Stream<Item = Result<InHand, IngestError>>,
    tally: SharedTally,
) -> impl Stream<Item = Result<Item, IngestError>> {
    let pipeline = pipeline.clone();
    queued
        .map(move |file| {
            let (pipeline, tally) = (pipeline.clone(), tally.clone());
            async move { read_one(pipeline, file?, tally).await }
        })
        .buffer_unordered(platform::cores())
}

async fn read_one(
    pipeline: Pipeline,
    InHand { file, memory }: InHand,
    tally: SharedTally,
) -> Result<Item, IngestError> {
    let bytes = file.bytes;
    let path = file.source.path().map(Path::to_owned).unwrap_or_default();
    tally.lock().in_hand(&path);
    let mut stamp = SourceStamp {
        source: file.source.clone(),
        modified: file.modified,
        stamp: file.stamp,
        readers: READERS,
        generation: file.generation,
        is_current: true,
    };
    let limits = pipeline.limits().clone();
    let reading = path.clone();
    let read = if file.attempts >= ATTEMPTS_MAX {
        let reason = "the program ended each time it was read; index it again to try once more";
        // As it looks now: the next start is not to begin it again either.
        let stamp = FileStamp { bytes, modified: file.modified, content_hash: None };
        let mut file = failed(path, reason.to_owned());
        file.skipped.stamp = Some(stamp);
        ReadFile::Skipped(file)
    } else {
        let counted = tally.clone();
        let read = move || {
            let started = Instant::now();
            let read = read_file(&pipeline, &reading, &file, &limits);
            let took = started.elapsed();
            counted.lock().stages().reading += took.as_secs_f64();
            pipeline.recorder().record(Stage::IngestRead, took);
            read
        };
        match spawn_blocking(read).await {
            Ok(read) => read?,
            Err(crash) if crash.is_panic() => {
                let reason = "its reader crashed; please report the file's format".to_owned();
                ReadFile::Skipped(failed(path, reason))
            }
            Err(error) => return Err(error.into()),
        }
    };
    let state = match read {
        ReadFile::Unchanged => State::Unchanged,
        ReadFile::Gone => State::Gone,
        ReadFile::Skipped(skipped) => State::Skipped(skipped),
        ReadFile::Chunked(chunked) => State::Chunked(chunked),
    };
    stamp.is_current = !matches!(state, State::Skipped(_) | State::Gone);
    Ok(Item { state, stamp: Some(stamp), bytes, memory: Some(memory) })
}

/// Trouble that another attempt may not have.
fn failed(path: PathBuf, reason: String) -> SkippedFile {
    let skipped = SkippedSource { attempts: 1, ..passing(path, reason) };
    SkippedFile { skipped, replaces: false }
}

/// What all documents of a run have in common.
#[derive(Clone, Copy)]
struct Way {
    run: Option<RunKey>,
    priority: Priority,
}

/// Embeds and commits what `read` gives until it ends or `cancel` turns true.
async fn drive(
    pipeline: &Pipeline,
    read: impl Stream<Item = Result<Item, IngestError>>,
    way: Way,
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
        .map(|item| embed_one(pipeline, item, way, tally))
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
                commit(&pipeline, way.run, group, &tally)
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

/// Waits until `cancel` turns true.
pub(super) async fn cancelled(cancel: &mut watch::Receiver<bool>) {
    if cancel.wait_for(|cancel| *cancel).await.is_err() {
        // Nobody is left who could cancel.
        std::future::pending::<()>().await;
    }
}

async fn embed_one(
    pipeline: &Pipeline,
    item: Result<Item, IngestError>,
    way: Way,
    tally: &SharedTally,
) -> Result<Item, IngestError> {
    let mut item = item?;
    let State::Chunked(chunked) = item.state else { return Ok(item) };
    let source = chunked.document.source.clone();
    let planned = pipeline.plan(*chunked).await?;
    tally.lock().read(item.bytes, planned.cost().tokens);
    let started = Instant::now();
    let embedded = pipeline.embed(planned, way.priority, way.run).await;
    tally.lock().stages().embedding += started.elapsed().as_secs_f64();
    item.state = match embedded {
        Ok((embedded, cost)) => State::Embedded(Box::new(embedded), cost),
        Err(error) => {
            let error = error.of_the_document()?;
            if let Some(stamp) = &mut item.stamp {
                stamp.is_current = false;
            }
            let skipped =
                SkippedSource { source, reason: error.to_string(), stamp: None, attempts: 1 };
            State::Skipped(SkippedFile { skipped, replaces: false })
        }
    };
    Ok(item)
}

/// Makes a group visible, in one transaction.
fn commit(
    pipeline: &Pipeline,
    run: Option<RunKey>,
    group: Vec<Item>,
    tally: &SharedTally,
) -> Result<(), IngestError> {
    let (mut documents, mut costs) = (Vec::new(), Vec::new());
    let (mut skipped, mut outdated): (Vec<(SkippedSource, u64)>, Vec<Source>) = Default::default();
    let (mut stamps, mut held) = (Vec::new(), Vec::new());
    let (mut unchanged, mut gone) = (Vec::new(), Vec::new());
    for Item { state, stamp, bytes, memory } in group {
        held.push(memory);
        stamps.extend(stamp);
        match state {
            State::Unchanged => unchanged.push(bytes),
            State::Gone => gone.push(bytes),
            State::Skipped(file) => {
                if file.replaces {
                    outdated.push(file.skipped.source.clone());
                }
                skipped.push((file.skipped, bytes));
            }
            State::Embedded(document, cost) => {
                documents.push(*document);
                costs.push(cost);
            }
            State::Chunked(_) => unreachable!("every chunked document was embedded"),
        }
    }
    let noted: Vec<SkippedSource> = skipped.iter().map(|(skipped, _)| skipped.clone()).collect();
    let settled = Settled {
        run,
        documents: &documents,
        outdated: &outdated,
        skipped: &noted,
        stamps: &stamps,
    };
    let started = Instant::now();
    let removed = pipeline.settle(&settled)?;
    let mut tally = tally.lock();
    tally.stages().storing += started.elapsed().as_secs_f64();
    tally.removed(removed);
    for (document, cost) in documents.iter().zip(costs) {
        tally.indexed(document, cost);
    }
    for bytes in unchanged {
        tally.unchanged(bytes);
    }
    for bytes in gone {
        tally.gone(bytes);
    }
    for (SkippedSource { source, reason, .. }, bytes) in skipped {
        tally.skipped(&source, reason, bytes);
    }
    Ok(())
}
