//! The files of an embedding model, as Hugging Face and sentence-transformers lay them out.

mod architecture;
mod familiar;
mod sentence;
mod source;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use self::familiar::Familiar;
use self::source::FileSource;
use super::backend::candle::CandleBackend;
use super::{EncoderConfig, EncoderLoader, Weights, WeightsError, bundled};
use crate::config::ModelFiles;
use crate::gpu::{DeviceKind, ModelId, ModelLoader};
use crate::tokenization::{Tokenizer, TokenizerError};

#[derive(Debug, thiserror::Error)]
pub enum ModelFilesError {
    #[error("model file {path} cannot be read: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("model file {path} is damaged: {reason}; fetch the model again")]
    Damaged { path: PathBuf, reason: String },
    #[error("model file {path} is of a kind that is not supported: {reason}")]
    Unsupported { path: PathBuf, reason: String },
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// The files of an embedding model, read but for its weights, which are mapped.
#[derive(Debug)]
pub struct EmbeddingModel {
    pub name: String,
    /// Knows the model's prompts.
    pub tokenizer: Arc<Tokenizer>,
    pub config: EncoderConfig,
    weights: Weights,
}

impl EmbeddingModel {
    /// Reads what `files` names. The weights are checked when the model is loaded.
    ///
    /// # Errors
    /// When a file is missing, damaged, or of a kind that is not supported.
    pub fn open(files: &ModelFiles) -> Result<Self, ModelFilesError> {
        match files {
            ModelFiles::Bundled => Self::read(bundled::NAME, &FileSource::Bundled),
            ModelFiles::Folder(folder) => {
                let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
                Self::read(&name, &FileSource::Folder(folder))
            }
        }
    }

    fn read(name: &str, source: &FileSource<'_>) -> Result<Self, ModelFilesError> {
        let familiar = Familiar::find(name);
        let mut config = architecture::read(source, sentence::pooling(source, familiar)?)?;
        if let Some(tokens_max) = sentence::tokens_max(source)? {
            config.tokens_max = config.tokens_max.min(tokens_max);
        }
        let tokenizer = Tokenizer::from_bytes(&source.read("tokenizer.json")?)?
            .with_prompts(&sentence::prompts(source, familiar)?)?;
        let weights = source.weights()?;
        Ok(Self { name: name.to_owned(), tokenizer: Arc::new(tokenizer), config, weights })
    }

    #[must_use]
    pub fn id(&self) -> ModelId {
        ModelId::Embedding(self.name.clone())
    }

    /// Gives what loads the model, on the CPU with `threads` threads.
    #[must_use]
    pub fn into_loader(self, threads: usize) -> Arc<dyn ModelLoader> {
        let open = Arc::new(move |_lane| CandleBackend::cpu(threads));
        let precision = CandleBackend::precision(DeviceKind::Cpu);
        Arc::new(EncoderLoader::new(Arc::new(self.weights), self.config, precision, open))
    }
}

#[cfg(test)]
mod tests;
