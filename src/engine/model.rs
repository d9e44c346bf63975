use std::sync::Arc;

use tokio::sync::watch;
use tracing::{debug_span, warn};

use super::{Engine, EngineError, EngineEvent, ModelState};
use crate::chunking::ChunkSize;
use crate::config::{DeviceChoice, ModelFiles};
use crate::data::Embedding;
use crate::gpu::{EmbedRequest, ModelId, ModelInfo, Priority};
use crate::inference::EmbeddingModel;
use crate::ingest::{Pipeline, PipelineModel};
use crate::search::Query;
use crate::storage;
use crate::tokenization::Tokenizer;

/// Tokens that neighboring chunks share at most. Chunks end at sentences, items and headings, so an
/// answer is rarely cut in two, and every shared token is embedded twice.
const OVERLAP_TOKENS: usize = 0;

/// Tokens of a passage at most, whatever the model could take, those around it included: a passage is
/// what a person reads as one answer, and one that filled 8,192 tokens would hold the device for seconds
/// while searches wait.
const PASSAGE_TOKENS_MAX: usize = 256;

/// Bytes of a query that are looked at: far more than the model takes in, and a bound on what pasting
/// a whole book into the query box costs.
const QUERY_BYTES_MAX: usize = 64 << 10;

/// The embedding model on the device, with what is needed to feed it.
#[derive(Clone, Debug)]
pub(super) struct LoadedModel {
    pub id: ModelId,
    pub tokenizer: Arc<Tokenizer>,
    pub device: String,
    /// Tokens of a sequence at most, special tokens included.
    pub tokens_max: usize,
    pub chunk_size: ChunkSize,
    /// How the store names its passages and vectors.
    pub stored: storage::EmbeddingModel,
}

/// The name that is shown before the files are read.
pub(super) fn name(files: &ModelFiles) -> String {
    match files {
        ModelFiles::Bundled => "all-MiniLM-L6-v2".to_owned(),
        ModelFiles::Folder(folder) => {
            folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
        }
    }
}

/// The device, and why it is not a better one.
fn device_for_people(info: &ModelInfo) -> String {
    let name = &info.device.name;
    if info.notices.is_empty() {
        return name.clone();
    }
    format!("{name} ({})", info.notices.join("; "))
}

impl Engine {
    /// Waits until the model is loaded or has failed.
    pub async fn wait_for_model(&self) -> ModelState {
        let mut model = self.inner.model.clone();
        // The sender is dropped only after it has sent.
        let _ = model.wait_for(Option::is_some).await;
        self.model_state()
    }

    #[must_use]
    pub fn model_state(&self) -> ModelState {
        let model = self.inner.model_name.clone();
        match self.loaded_model() {
            None => ModelState::Loading { model },
            Some(Ok(loaded)) => ModelState::Ready { model, device: loaded.device },
            Some(Err(reason)) => ModelState::Failed { model, reason },
        }
    }

    pub(super) fn loaded_model(&self) -> Option<Result<LoadedModel, String>> {
        self.inner.model.borrow().clone()
    }

    /// The model, once it is loaded.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub(super) async fn model(&self) -> Result<LoadedModel, EngineError> {
        self.wait_for_model().await;
        match self.loaded_model() {
            Some(Ok(model)) => Ok(model),
            Some(Err(reason)) => Err(EngineError::ModelUnavailable { reason }),
            None => Err(EngineError::Closed),
        }
    }

    pub(super) fn pipeline(&self, model: &LoadedModel) -> Pipeline {
        let inner = &self.inner;
        let model = PipelineModel {
            id: model.id.clone(),
            tokenizer: Arc::clone(&model.tokenizer),
            chunk_size: model.chunk_size,
            stored: model.stored.clone(),
        };
        Pipeline::new(
            Arc::clone(&inner.store),
            Arc::clone(&inner.scheduler),
            model,
            (inner.config.data_dir.clone(), inner.config.limits.clone()),
        )
    }

    /// Embeds what a query asks, ahead of everything else; `None` when it has no words.
    pub(super) async fn embed_query(
        &self,
        model: &LoadedModel,
        query: &Query,
    ) -> Result<Option<Embedding>, EngineError> {
        let text = query.semantic_text();
        if text.is_empty() {
            return Ok(None);
        }
        let (tokenizer, tokens_max) = (Arc::clone(&model.tokenizer), model.tokens_max);
        let tokenize = move || {
            let kept = text.floor_char_boundary(text.len().min(QUERY_BYTES_MAX));
            Ok(tokenizer.encode_query(&text[..kept], tokens_max)?)
        };
        let tokens = self.run_blocking(tokenize).await?;
        let (model_id, priority) = (model.id.clone(), Priority::Immediate);
        let request = EmbedRequest { model_id, tokens, priority };
        Ok(Some(self.inner.scheduler.embed(request).await?))
    }

    /// Loads the model, then brings the indexes up to date with the store, and says so.
    pub(super) async fn load_model(
        self,
        sender: watch::Sender<Option<Result<LoadedModel, String>>>,
    ) {
        let name = self.inner.model_name.clone();
        self.emit(EngineEvent::Model(ModelState::Loading { model: name }));
        let (loaded, read) = tokio::join!(self.load_and_register(), self.read_indexes());
        if let Err(error) = &loaded {
            warn!(%error, "the embedding model cannot be used; search goes on by words");
        }
        // Choosing another model than before has made the indexes start from scratch.
        let caught_up = read.and(self.catch_up().await);
        if let Err(error) = caught_up {
            warn!(%error, "the indexes cannot be brought up to date");
        }
        sender.send_replace(Some(loaded.map_err(|error| error.to_string())));
        self.emit(EngineEvent::Model(self.model_state()));
        self.announce_change();
    }

    /// Searches by words are possible from here on, however long the model takes.
    async fn read_indexes(&self) -> Result<bool, EngineError> {
        let read = self.catch_up().await;
        self.inner.indexes_ready.send_replace(true);
        read
    }

    async fn load_and_register(&self) -> Result<LoadedModel, EngineError> {
        let files = self.inner.config.model.clone();
        let model = self
            .run_blocking(move || {
                let _span = debug_span!("open_model_files").entered();
                Ok(EmbeddingModel::open(&files)?)
            })
            .await?;
        let (id, tokenizer) = (model.id(), Arc::clone(&model.tokenizer));
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.inner.config.threads.unwrap_or_else(cores);
        let choice = match self.inner.config.device {
            Some(choice) => choice,
            None => DeviceChoice::from_environment()?,
        };
        let loader = model.into_loader(choice, threads)?;
        let info = self.inner.scheduler.load_model(id.clone(), loader).await?;
        let (device, tokens_max) = (device_for_people(&info), info.tokens_max);
        let room = tokens_max.min(PASSAGE_TOKENS_MAX);
        let room = room.saturating_sub(tokenizer.around_passage().len()).max(1);
        let chunk_size = ChunkSize { tokens_max: room, overlap: OVERLAP_TOKENS };
        let ChunkSize { tokens_max: passage_max, overlap } = chunk_size;
        let stored = storage::EmbeddingModel {
            name: format!("{id}, chunks of {passage_max} overlapping {overlap}"),
            dim: info.dim,
        };
        let (inner, chosen) = (Arc::clone(&self.inner), stored.clone());
        self.run_blocking(move || Ok(inner.store.choose_model(&chosen)?)).await?;
        Ok(LoadedModel { id, tokenizer, device, tokens_max, chunk_size, stored })
    }
}
