use std::sync::Arc;

use tracing::debug_span;

use super::loaded::name_of;
use super::stamp::ModelStamp;
use super::{Engine, EngineError};
use crate::chunking::ChunkSize;
use crate::config::{DeviceChoice, ModelFiles, Settings};
use crate::extract::{ReaderLimits, Readers};
use crate::gpu::{EmbedRequest, ModelId, ModelInfo, Priority};
use crate::inference::{EmbeddingModel, registry};
use crate::ingest::{Pipeline, PipelineModel};
use crate::platform;
use crate::search::{Query, QueryVector};
use crate::storage;
use crate::tokenization::Tokenizer;

/// Tokens that neighboring chunks share at most. Chunks end at sentences, items and headings, so an
/// answer is rarely cut in two, and every shared token is embedded twice.
const OVERLAP_TOKENS: usize = 0;

/// Tokens of a passage at most, whatever the model could take, those around it included: a passage is
/// what a person reads as one answer, and one that filled 8,192 tokens would hold the device for seconds
/// while searches wait.
const PASSAGE_TOKENS_MAX: usize = 256;

/// Tokens of title and headings before a passage that does not say them, at most: a title and a
/// heading or two, and an eighth of the passage that has to make room for them.
const CONTEXT_TOKENS_MAX: usize = 32;

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
    pub context_tokens_max: usize,
    /// How the store names its passages and vectors.
    pub stored: storage::EmbeddingModel,
    /// What the name would be if it came into use today: another one when this version cuts passages
    /// in another way.
    pub today: storage::EmbeddingModel,
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
    pub(super) fn pipeline(&self, model: &LoadedModel) -> Pipeline {
        let inner = &self.inner;
        let model = PipelineModel {
            id: model.id.clone(),
            tokenizer: Arc::clone(&model.tokenizer),
            chunk_size: model.chunk_size,
            context_tokens_max: model.context_tokens_max,
            stored: model.stored.clone(),
        };
        Pipeline::new(
            Arc::clone(&inner.store),
            Arc::clone(&inner.scheduler),
            model,
            (inner.config.data_dir.clone(), inner.config.limits.clone()),
        )
        .with_readers(Readers::new(inner.config.reader_program.clone(), ReaderLimits::default()))
        .with_recorder(Arc::clone(&inner.recorder))
    }

    /// Embeds what a query asks, ahead of everything else; `None` when it has no words.
    pub(super) async fn embed_query(
        &self,
        model: &LoadedModel,
        query: &Query,
    ) -> Result<Option<QueryVector>, EngineError> {
        let text = query.semantic_text();
        if text.is_empty() {
            return Ok(None);
        }
        let (tokenizer, tokens_max) = (Arc::clone(&model.tokenizer), model.tokens_max);
        let tokenize = move || {
            let kept = text.floor_char_boundary(text.len().min(QUERY_BYTES_MAX));
            let text = &text[..kept];
            Ok((tokenizer.encode_query(text, tokens_max)?, tokenizer.familiarity(text)?))
        };
        let (tokens, familiarity) = self.run_blocking(tokenize).await?;
        let (model_id, priority) = (model.id.clone(), Priority::Immediate);
        let request = EmbedRequest { model_id, tokens, priority };
        let embedding = self.inner.scheduler.embed(request).await?;
        Ok(Some(QueryVector { embedding, familiarity }))
    }

    /// Loads a model; once, however often it is asked for.
    ///
    /// # Errors
    /// When its files or the device cannot be used.
    pub(super) async fn load_model(&self, files: &ModelFiles) -> Result<LoadedModel, EngineError> {
        let _alone = self.inner.models.loading().await;
        let opening = files.clone();
        let open = move || {
            let _span = debug_span!("open_model_files").entered();
            Ok((EmbeddingModel::open(&opening)?, registry::fingerprint(&opening)?))
        };
        let (model, fingerprint) = self.run_blocking(open).await?;
        let tokenizer = Arc::clone(&model.tokenizer);
        let known = self.inner.models.find(|loaded| {
            ModelStamp::parse(&loaded.today.name)
                .is_some_and(|stamp| stamp.name == files.name() && stamp.files == fingerprint)
        });
        let (id, device, tokens_max, dim) = if let Some(known) = known {
            (known.id, known.device, known.tokens_max, known.today.dim)
        } else {
            let id = self.free_id(model.id(), &files.name(), fingerprint.as_deref());
            let threads = self.inner.config.threads.unwrap_or_else(platform::cores);
            let choice = match self.inner.config.device {
                Some(choice) => choice,
                None => DeviceChoice::from_environment()?,
            };
            let model = model.remembering(self.inner.config.data_dir.clone());
            let loader = model.into_loader(choice, threads)?;
            let info = self.inner.scheduler.load_model(id.clone(), loader).await?;
            (id, device_for_people(&info), info.tokens_max, info.dim)
        };
        let room = tokens_max.min(PASSAGE_TOKENS_MAX);
        let room = room.saturating_sub(tokenizer.around_passage().len()).max(1);
        let chunk_size = ChunkSize { tokens_max: room, overlap: OVERLAP_TOKENS };
        let context_tokens_max = CONTEXT_TOKENS_MAX.min(room / 4);
        let stamp =
            ModelStamp { name: files.name(), files: fingerprint, chunk_size, context_tokens_max };
        let stored = storage::EmbeddingModel { name: stamp.to_string(), dim };
        let today = stored.clone();
        let loaded = LoadedModel {
            id,
            tokenizer,
            device,
            tokens_max,
            chunk_size,
            context_tokens_max,
            stored,
            today,
        };
        self.inner.models.note(&loaded.stored, Ok(loaded.clone()));
        Ok(loaded)
    }

    /// A name on the device that no other model has: two of one kind, or two versions of one model, are
    /// loaded at once during a switch.
    fn free_id(&self, id: ModelId, name: &str, files: Option<&str>) -> ModelId {
        let is_taken = |id: &ModelId| self.inner.models.find(|loaded| loaded.id == *id).is_some();
        if is_taken(&id) {
            ModelId::Embedding(format!("{name} {}", files.unwrap_or_default()))
        } else {
            id
        }
    }

    /// Loads what passages and vectors of the store were made with.
    ///
    /// # Errors
    /// When its files have gone or are no longer the same, or the device cannot be used.
    pub(super) async fn load_stored(
        &self,
        stored: &storage::EmbeddingModel,
    ) -> Result<LoadedModel, EngineError> {
        let unknown = || EngineError::UnknownModel { name: name_of(stored) };
        let stamp = ModelStamp::parse(&stored.name).ok_or_else(unknown)?;
        let files = self.files_named(&stamp.name).await?.ok_or_else(unknown)?;
        let loaded = self.load_model(&files).await?;
        let is_same = ModelStamp::parse(&loaded.today.name)
            .is_some_and(|today| today.same_vectors(&stamp) && loaded.today.dim == stored.dim);
        if !is_same {
            return Err(EngineError::ModelFilesChanged { name: stamp.name });
        }
        let ModelStamp { chunk_size, context_tokens_max, .. } = stamp;
        Ok(LoadedModel { chunk_size, context_tokens_max, stored: stored.clone(), ..loaded })
    }

    /// The model that is known under a name.
    pub(super) async fn files_named(&self, name: &str) -> Result<Option<ModelFiles>, EngineError> {
        if self.inner.config.model.name() == name {
            return Ok(Some(self.inner.config.model.clone()));
        }
        let (data_dir, name) = (self.inner.config.data_dir.clone(), name.to_owned());
        let find = move || Ok(Settings::load(&data_dir)?.model_named(&name, &data_dir));
        self.run_blocking(find).await
    }
}
