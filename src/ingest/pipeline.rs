use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::spawn_blocking;
use tracing::debug_span;

use super::plan::{EmbeddingCost, PlannedDocument};
use super::{IngestError, context};
use crate::chunking::{self, ChunkSize};
use crate::config::Limits;
use crate::data::{ChunkedDocument, Document, EmbeddedDocument, Embedding, InputHash, Source};
use crate::extract::{ReaderLimits, Readers};
use crate::gpu::{BatchEmbedRequest, GpuScheduler, ModelId, Priority};
use crate::platform;
use crate::storage::{
    CrawlKey, EmbeddingModel, NewVectors, RunKey, Settled, SettledPage, SettledPages, Store,
};
use crate::telemetry::{Counter, Recorder, Stage};
use crate::tokenization::{Tokenizer, batch};

/// Passages in one request: a bound on what is lost of a long document when the process ends.
const REQUEST_PASSAGES_MAX: usize = 512;

/// The steps that every document goes through, wherever it comes from.
#[derive(Clone)]
pub struct Pipeline {
    store: Arc<Store>,
    scheduler: Arc<dyn GpuScheduler>,
    model: PipelineModel,
    data_dir: PathBuf,
    limits: Limits,
    readers: Arc<Readers>,
    recorder: Arc<Recorder>,
}

/// The embedding model that documents go through.
#[derive(Clone, Debug)]
pub struct PipelineModel {
    pub id: ModelId,
    pub tokenizer: Arc<Tokenizer>,
    pub chunk_size: ChunkSize,
    /// Tokens of the title and headings that are put before a passage that does not say them, at most.
    pub context_tokens_max: usize,
    /// How the store names the passages and vectors.
    pub stored: EmbeddingModel,
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline").field("model", &self.model).finish_non_exhaustive()
    }
}

impl Pipeline {
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        scheduler: Arc<dyn GpuScheduler>,
        model: PipelineModel,
        (data_dir, limits): (PathBuf, Limits),
    ) -> Self {
        let readers = Arc::new(Readers::new(None, ReaderLimits::default()));
        let recorder = Arc::default();
        Self { store, scheduler, model, data_dir, limits, readers, recorder }
    }

    /// The same with times and counts that somebody else looks at.
    #[must_use]
    pub fn with_recorder(self, recorder: Arc<Recorder>) -> Self {
        Self { recorder, ..self }
    }

    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The same with other readers of files.
    #[must_use]
    pub fn with_readers(self, readers: Readers) -> Self {
        Self { readers: Arc::new(readers), ..self }
    }

    #[must_use]
    pub fn readers(&self) -> &Readers {
        &self.readers
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    #[must_use]
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Tokens that went through the device so far.
    #[must_use]
    pub fn tokens_embedded(&self) -> u64 {
        self.scheduler.stats().tokens
    }

    /// Tokenizes the text, once, and cuts it. Heavy on the CPU: for a blocking pool.
    ///
    /// Passages leave room for what they stand under. A document that fits the model whole is one
    /// passage all the same, which says itself what it is about.
    ///
    /// # Errors
    /// When the tokenizer does not fit the text.
    pub fn chunk(&self, document: Document) -> Result<ChunkedDocument, IngestError> {
        let PipelineModel { tokenizer, chunk_size, context_tokens_max, .. } = &self.model;
        let tokens = tokenizer.encode(&document.text)?;
        let is_named = !document.title.trim().is_empty() || !document.locators.is_empty();
        let is_cut = tokens.len() > chunk_size.tokens_max;
        let room = if is_named && is_cut { *context_tokens_max } else { 0 };
        let tokens_max = chunk_size.tokens_max.saturating_sub(room).max(1);
        let size = ChunkSize { tokens_max, ..*chunk_size };
        let mut chunked = chunking::split(document, tokens, size)?;
        if room > 0 {
            // The room that a context would take is taken by what stands before the passage itself.
            let sizes = (room, chunk_size.tokens_max);
            chunked.chunks = chunking::join_small(chunked.chunks, &chunked.tokens, sizes);
        }
        if *context_tokens_max > 0 {
            chunked.contexts = self.contexts(&chunked)?;
        }
        Ok(chunked)
    }

    /// What each passage stands under, in tokens, as far as it fits the model together with the passage.
    fn contexts(&self, chunked: &ChunkedDocument) -> Result<Vec<Arc<[u32]>>, IngestError> {
        let PipelineModel { tokenizer, chunk_size, context_tokens_max, .. } = &self.model;
        let mut known: HashMap<String, Arc<[u32]>> = HashMap::new();
        let mut contexts = Vec::with_capacity(chunked.chunks.len());
        for chunk in &chunked.chunks {
            let text = context::of(&chunked.document, chunk);
            let tokens = match known.get(&text) {
                Some(tokens) => Arc::clone(tokens),
                None => tokenizer.encode_context(&text)?.into(),
            };
            let room = chunk_size.tokens_max.saturating_sub(chunk.tokens.len());
            let fitting = tokens.len().min(room).min(*context_tokens_max);
            contexts.push(if fitting < tokens.len() {
                tokens[..fitting].into()
            } else {
                Arc::clone(&tokens)
            });
            known.insert(text, tokens);
        }
        Ok(contexts)
    }

    /// Finds out which passages of a document have vectors already: its own of before the last edit, those
    /// of a file that it is a copy of, and any other of which the encoder got the same.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn plan(&self, chunked: ChunkedDocument) -> Result<PlannedDocument, IngestError> {
        let pipeline = self.clone();
        spawn_blocking(move || {
            let _span = debug_span!("plan", chunks = chunked.chunks.len()).entered();
            PlannedDocument::new(&pipeline.store, &pipeline.model.stored, chunked)
        })
        .await?
    }

    /// Embeds the passages that have no vector, as requests that give way to searches. Of a long document
    /// each request is kept in the store, so that nothing is made twice when the process ends before
    /// the document is whole; `run` is the one it belongs to.
    ///
    /// # Errors
    /// When the device or the store fails, or the scheduler stops.
    pub async fn embed(
        &self,
        planned: PlannedDocument,
        priority: Priority,
        run: Option<RunKey>,
    ) -> Result<(EmbeddedDocument, EmbeddingCost), IngestError> {
        let started = Instant::now();
        let cost = planned.cost();
        let PlannedDocument { chunked, inputs, mut known, missing } = planned;
        for request in missing.chunks(REQUEST_PASSAGES_MAX) {
            let passages =
                request.iter().map(|at| (chunked.context(*at), &chunked.chunks[*at].tokens));
            let batch =
                batch::pack(self.model.tokenizer.around_passage(), &chunked.tokens, passages);
            let request_of = BatchEmbedRequest { model_id: self.model.id.clone(), batch, priority };
            let made: Vec<_> = request
                .iter()
                .map(|at| inputs[*at])
                .zip(self.scheduler.embed_batch(request_of).await?)
                .collect();
            known.extend(made.iter().cloned());
            if missing.len() > REQUEST_PASSAGES_MAX {
                self.keep(made, run.map(|run| (run, chunked.document.source.clone()))).await?;
            }
        }
        let embeddings = inputs.iter().filter_map(|input| known.get(input).cloned()).collect();
        let ChunkedDocument { document, chunks, .. } = chunked;
        self.recorder.record(Stage::IngestEmbed, started.elapsed());
        Ok((EmbeddedDocument { document, chunks, embeddings, inputs }, cost))
    }

    async fn keep(
        &self,
        made: Vec<(InputHash, Embedding)>,
        of: Option<(RunKey, Source)>,
    ) -> Result<(), IngestError> {
        let pipeline = self.clone();
        let keep = move || {
            pipeline.store.keep_vectors(&pipeline.model.stored, &made)?;
            if let Some((run, source)) = of {
                pipeline.store.note_embedded(run, &source)?;
            }
            Ok(())
        };
        spawn_blocking(keep).await?
    }

    /// Stores what became of sources, in one transaction; returns how many documents had to go.
    ///
    /// # Errors
    /// When the disk is full or the store fails; then nothing is stored.
    pub fn settle(&self, settled: &Settled<'_>) -> Result<u64, IngestError> {
        if !settled.documents.is_empty() {
            self.check_disk()?;
        }
        let _span = debug_span!("store", documents = settled.documents.len()).entered();
        let started = Instant::now();
        let gone = self.store.settle(&self.model.stored, settled, platform::now_seconds())?;
        self.recorder.record(Stage::IngestStore, started.elapsed());
        self.recorder.add(Counter::Documents, settled.documents.len() as u64);
        Ok(gone)
    }

    /// Stores what became of pages of a crawl, in one transaction, as [`Store::settle_pages`].
    ///
    /// # Errors
    /// When the disk is full or the store fails; then nothing is stored.
    pub fn settle_pages(
        &self,
        crawl: CrawlKey,
        pages: &[SettledPage],
        readers: i64,
    ) -> Result<Option<SettledPages>, IngestError> {
        self.check_disk()?;
        let _span = debug_span!("store", pages = pages.len()).entered();
        let (of, started) = ((crawl, &self.model.stored), Instant::now());
        let settled = self.store.settle_pages(of, pages, readers, platform::now_seconds())?;
        self.recorder.record(Stage::IngestStore, started.elapsed());
        if let Some(SettledPages { indexed, unchanged, failed, others, bytes, .. }) = &settled {
            self.recorder.add(Counter::Documents, *indexed);
            self.recorder.add(Counter::Pages, indexed + unchanged + failed + others);
            self.recorder.add(Counter::PagesFailed, *failed);
            self.recorder.add(Counter::PageBytes, *bytes);
        }
        Ok(settled)
    }

    /// Adds vectors of this pipeline's model, which is the pending one, in one transaction; returns for
    /// how many documents.
    ///
    /// # Errors
    /// When the disk is full or the store fails; then nothing was added.
    pub fn commit_vectors(&self, added: &[NewVectors]) -> Result<u64, IngestError> {
        self.check_disk()?;
        Ok(self.store.commit_embeddings(&self.model.stored, added)?)
    }

    fn check_disk(&self) -> Result<(), IngestError> {
        // Where the system does not tell, SQLite notices a full disk by itself.
        match platform::free_bytes(&self.data_dir) {
            Ok(free) if free < self.limits.disk_free_bytes_min => {
                Err(IngestError::DiskFull { path: self.data_dir.clone(), free_mb: free >> 20 })
            }
            _ => Ok(()),
        }
    }
}
