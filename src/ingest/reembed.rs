//! Vectors of the next model for every document that is stored, from the stored text: files may have
//! gone or changed since, and reading them again would be a different run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::spawn_blocking;

use super::memory::MemoryBudget;
use super::progress::Meter;
use super::{IngestError, IngestReport, JobProgress, Outcome, Pipeline, Skipped};
use crate::data::{ChangeNumber, ChunkedDocument, DocumentId, EmbeddedDocument};
use crate::gpu::{GpuError, Priority};
use crate::storage::NewVectors;

/// Ids that are asked for at a time.
const PAGE: usize = 512;

/// Documents on their way through the device at once, and in one transaction.
const TOGETHER_MAX: usize = 32;

const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// Gives every document its passages and vectors of the pending model, which is the pipeline's, until
/// none lacks them. What answers meanwhile is not touched, and what is done stays done.
///
/// # Errors
/// When the store, the disk or the device fails, or when another model was chosen meanwhile.
pub async fn reembed(
    pipeline: &Pipeline,
    mut cancel: watch::Receiver<bool>,
    mut progress: impl FnMut(JobProgress),
) -> Result<Outcome, IngestError> {
    let started = Instant::now();
    let counts = Arc::new(Counts::default());
    let tokens_before = pipeline.tokens_embedded();
    let mut meter = Meter::new(started);
    let mut show = || {
        let now = Instant::now();
        let tokens = pipeline.tokens_embedded().saturating_sub(tokens_before);
        meter.embedded(now, tokens);
        progress(counts.progress(now - started, tokens, meter.tokens_per_second()));
    };
    // Held while a group is written, which goes on when the run is cancelled.
    let writing = Arc::new(tokio::sync::Mutex::new(()));
    let mut work = std::pin::pin!(embed_missing(pipeline, &counts, &writing));
    let mut tick = tokio::time::interval(PROGRESS_INTERVAL);
    let cancelled = loop {
        tokio::select! {
            result = &mut work => break result.map(|()| false)?,
            Ok(_) = cancel.wait_for(|cancel| *cancel) => break true,
            _ = tick.tick() => show(),
        }
    };
    drop(writing.lock().await);
    show();
    let report = counts.report(started.elapsed());
    Ok(if cancelled { Outcome::Cancelled(report) } else { Outcome::Done(report) })
}

async fn embed_missing(
    pipeline: &Pipeline,
    counts: &Arc<Counts>,
    writing: &Arc<tokio::sync::Mutex<()>>,
) -> Result<(), IngestError> {
    let memory = MemoryBudget::new(pipeline.limits().memory_bytes);
    let mut after = None;
    loop {
        let (store, counted) = (Arc::clone(pipeline.store()), Arc::clone(counts));
        let ids = spawn_blocking(move || {
            counted.look(store.switch()?.map_or((0, 0), |s| (s.embedded, s.documents)));
            store.unembedded(after, PAGE)
        })
        .await??;
        // What was indexed meanwhile may stand before what was asked for.
        let Some(last) = ids.last().copied() else {
            if after.take().is_none() {
                return Ok(());
            }
            continue;
        };
        let mut made = std::pin::pin!(
            stream::iter(ids)
                .map(|id| embed_in(&memory, pipeline, id, counts))
                .buffer_unordered(TOGETHER_MAX)
                .ready_chunks(TOGETHER_MAX)
        );
        while let Some(group) = made.next().await {
            let group: Vec<_> =
                group.into_iter().filter_map(Result::transpose).collect::<Result<_, _>>()?;
            let (pipeline, counts) = (pipeline.clone(), Arc::clone(counts));
            let turn = Arc::clone(writing).lock_owned().await;
            let (group, memory): (Vec<_>, Vec<_>) = group.into_iter().unzip();
            let commit = move || {
                let (_turn, _memory) = (turn, memory);
                let added = pipeline.commit_vectors(&group)?;
                counts.added(added, &group);
                Ok::<_, IngestError>(())
            };
            spawn_blocking(commit).await??;
        }
        after = Some(last);
    }
}

/// With the memory that the document takes until its vectors are stored.
async fn embed_in(
    memory: &MemoryBudget,
    pipeline: &Pipeline,
    id: DocumentId,
    counts: &Counts,
) -> Result<Option<(NewVectors, OwnedSemaphorePermit)>, IngestError> {
    let store = Arc::clone(pipeline.store());
    let bytes = spawn_blocking(move || store.document_bytes(id)).await??;
    let memory = memory.reserve(bytes.unwrap_or(0)).await;
    Ok(embed_one(pipeline, id, counts).await?.map(|new| (new, memory)))
}

/// `None` when the document has gone.
async fn embed_one(
    pipeline: &Pipeline,
    id: DocumentId,
    counts: &Counts,
) -> Result<Option<NewVectors>, IngestError> {
    let reading = pipeline.clone();
    let read = move || {
        let Some(version) = reading.store().document_version(id)? else { return Ok(None) };
        let chunked = reading.chunk(version.document)?;
        Ok::<_, IngestError>(Some((chunked, version.change)))
    };
    let Some((chunked, change)) = spawn_blocking(read).await?? else { return Ok(None) };
    let source = chunked.document.source.to_string();
    let cut = (id, change, chunked.chunks.clone());
    match embed(pipeline, chunked, cut.clone()).await {
        Err(IngestError::Gpu(error @ (GpuError::Model { .. } | GpuError::Panicked { .. }))) => {
            counts.failed(Skipped { source, reason: error.to_string(), attempts: 1 });
            let (document, change, chunks) = cut;
            let (embeddings, inputs) = (Vec::new(), Vec::new());
            Ok(Some(NewVectors { document, change, chunks, embeddings, inputs }))
        }
        made => made.map(Some),
    }
}

async fn embed(
    pipeline: &Pipeline,
    chunked: ChunkedDocument,
    (document, change, chunks): (DocumentId, ChangeNumber, Vec<crate::data::Chunk>),
) -> Result<NewVectors, IngestError> {
    let planned = pipeline.plan(chunked).await?;
    let (EmbeddedDocument { embeddings, inputs, .. }, _) =
        pipeline.embed(planned, Priority::Background, None).await?;
    Ok(NewVectors { document, change, chunks, embeddings, inputs })
}

#[derive(Debug, Default)]
struct Counts {
    /// Done before this run, or by another process.
    before: AtomicU64,
    documents: AtomicU64,
    report: Mutex<IngestReport>,
}

impl Counts {
    fn look(&self, (embedded, documents): (u64, u64)) {
        let indexed = self.lock().indexed;
        self.before.store(embedded.saturating_sub(indexed), Ordering::Relaxed);
        self.documents.store(documents, Ordering::Relaxed);
    }

    fn added(&self, added: u64, group: &[NewVectors]) {
        let mut report = self.lock();
        report.indexed += added;
        for chunk in group.iter().flat_map(|new| &new.chunks) {
            report.chunks += 1;
            report.embedded += 1;
            report.tokens += chunk.tokens.len() as u64;
        }
    }

    fn failed(&self, skipped: Skipped) {
        self.lock().skipped.push(skipped);
    }

    fn progress(&self, elapsed: Duration, tokens: u64, tokens_per_second: f64) -> JobProgress {
        let report = self.lock();
        let files_done = self.before.load(Ordering::Relaxed) + report.indexed;
        let files_total = self.documents.load(Ordering::Relaxed).max(files_done);
        let per_second = report.indexed as f64 / elapsed.as_secs_f64().max(1e-3);
        let left = (files_total - files_done) as f64;
        JobProgress {
            files_done,
            files_total,
            chunks: report.chunks,
            tokens,
            tokens_per_second,
            seconds_left: (per_second > 0.0).then(|| left / per_second),
            ..JobProgress::default()
        }
    }

    fn report(&self, elapsed: Duration) -> IngestReport {
        IngestReport { seconds: elapsed.as_secs_f64(), ..self.lock().clone() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, IngestReport> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
