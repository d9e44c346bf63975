use std::io;
use std::path::PathBuf;

use crate::config::{DeviceChoiceError, SettingsError};
use crate::crawler::{FetcherError, ScopeError, UrlError};
use crate::gpu::GpuError;
use crate::inference::registry::RegistryError;
use crate::inference::{ChatError, GgufError, ModelFilesError};
use crate::ingest::IngestError;
use crate::search::SearchError;
use crate::storage::StorageError;
use crate::tokenization::TokenizerError;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("data directory {path} cannot be used: {source}; choose another with --data-dir")]
    Directory { path: PathBuf, source: io::Error },
    #[error("the asynchronous runtime cannot be started: {0}")]
    Runtime(#[source] io::Error),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Device(#[from] DeviceChoiceError),
    #[error(transparent)]
    ModelFiles(#[from] ModelFilesError),
    #[error(transparent)]
    LanguageModel(#[from] GgufError),
    #[error(transparent)]
    Chat(#[from] ChatError),
    #[error("no language model is chosen; name a GGUF file, as with lode chat --model FILE")]
    NoLanguageModel,
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    #[error(transparent)]
    Ingest(#[from] IngestError),
    #[error("a stored vector is damaged: {0}; delete the data directory and index again")]
    Vector(#[from] crate::data::EmbeddingError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(
        "no model {name} is on this machine; lode models lists them, lode models add fetches one"
    )]
    UnknownModel { name: String },
    #[error(
        "the files of model {name} are not those that documents were indexed with; choose it anew \
         with lode models use {name}"
    )]
    ModelFilesChanged { name: String },
    #[error("the switch to {model} was given up: another model was chosen")]
    SwitchGivenUp { model: String },
    #[error("the embedding model is not available: {reason}")]
    ModelUnavailable { reason: String },
    #[error("{path} cannot be read: {source}")]
    Collection { path: PathBuf, source: io::Error },
    #[error("{path}, line {line}: {reason}")]
    CollectionLine { path: PathBuf, line: usize, reason: String },
    #[error("{path} cannot be written: {source}")]
    RunFile { path: PathBuf, source: io::Error },
    #[error("{path} holds no judged query; is it a BEIR folder?")]
    CollectionEmpty { path: PathBuf },
    #[error("{source_name} is not in the index; lode index makes it searchable")]
    NotIndexed { source_name: String },
    #[error("a worker crashed: {0}")]
    Worker(#[from] tokio::task::JoinError),
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error(transparent)]
    Scope(#[from] ScopeError),
    #[error(transparent)]
    Fetcher(#[from] FetcherError),
    #[error(transparent)]
    Endpoint(#[from] super::EndpointError),
    #[error("the engine is closed")]
    Closed,
}

impl EngineError {
    /// Whether the surroundings (disk, model, device) are at fault rather than the request.
    #[must_use]
    pub fn is_environment(&self) -> bool {
        if let Self::Registry(error) = self {
            return error.is_environment();
        }
        !matches!(
            self,
            Self::Collection { .. }
                | Self::CollectionLine { .. }
                | Self::CollectionEmpty { .. }
                | Self::UnknownModel { .. }
                | Self::Url(_)
                | Self::Scope(_)
                | Self::NotIndexed { .. }
        )
    }
}
