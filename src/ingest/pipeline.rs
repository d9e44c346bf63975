use std::path::PathBuf;
use std::sync::Arc;

use super::IngestError;
use crate::chunking::{self, ChunkSize};
use crate::config::Limits;
use crate::data::{ChangeNumber, ChunkedDocument, Document, EmbeddedDocument};
use crate::gpu::{BatchEmbedRequest, GpuScheduler, ModelId, Priority};
use crate::platform;
use crate::storage::{EmbeddingModel, NewVectors, Store};
use crate::tokenization::{Tokenizer, batch};

/// The steps that every document goes through, wherever it comes from.
#[derive(Clone)]
pub struct Pipeline {
    store: Arc<Store>,
    scheduler: Arc<dyn GpuScheduler>,
    model: PipelineModel,
    data_dir: PathBuf,
    limits: Limits,
}

/// The embedding model that documents go through.
#[derive(Clone, Debug)]
pub struct PipelineModel {
    pub id: ModelId,
    pub tokenizer: Arc<Tokenizer>,
    pub chunk_size: ChunkSize,
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
        Self { store, scheduler, model, data_dir, limits }
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
    /// # Errors
    /// When the tokenizer does not fit the text.
    pub fn chunk(&self, document: Document) -> Result<ChunkedDocument, IngestError> {
        let tokens = self.model.tokenizer.encode(&document.text)?;
        Ok(chunking::split(document, tokens, self.model.chunk_size)?)
    }

    /// Tokens that [`Pipeline::embed`] sends to the device, those around each passage included.
    #[must_use]
    pub fn tokens_to_embed(&self, document: &ChunkedDocument) -> u64 {
        let around = self.model.tokenizer.around_passage().len();
        document.chunks.iter().map(|chunk| (chunk.tokens.len() + around) as u64).sum()
    }

    /// Embeds every chunk, as one request that gives way to searches.
    ///
    /// # Errors
    /// When the device fails or the scheduler stops.
    pub async fn embed(
        &self,
        chunked: ChunkedDocument,
        priority: Priority,
    ) -> Result<EmbeddedDocument, IngestError> {
        let ChunkedDocument { document, tokens, chunks } = chunked;
        let ranges = chunks.iter().map(|chunk| &chunk.tokens);
        let batch = batch::pack(self.model.tokenizer.around_passage(), &tokens, ranges);
        drop(tokens);
        let request = BatchEmbedRequest { model_id: self.model.id.clone(), batch, priority };
        let embeddings = self.scheduler.embed_batch(request).await?;
        Ok(EmbeddedDocument { document, chunks, embeddings })
    }

    /// Stores documents in one transaction.
    ///
    /// # Errors
    /// When the disk is full or the store fails; then none of them is stored.
    pub fn commit(&self, documents: &[EmbeddedDocument]) -> Result<ChangeNumber, IngestError> {
        self.check_disk()?;
        Ok(self.store.commit_documents(&self.model.stored, documents, platform::now_seconds())?)
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
