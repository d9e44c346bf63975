//! Language models: prompts in, tokens out, one bounded step at a time.
//!
//! Everything about a model comes from its GGUF file: shape, weights, tokenizer and chat template.

mod cache;
mod config;
mod llama;
mod loader;
mod rope;
mod sampler;
mod session;
mod weights;

use std::path::Path;
use std::sync::Arc;

pub use config::DecoderConfig;

use super::chat::ChatTemplate;
use super::gguf::{GgufError, GgufFile, GgufTokenizer};
use crate::config::DeviceChoice;
use crate::gpu::{ModelId, ModelLoader};
use loader::LanguageModelLoader;

/// The file of a language model, read but for its weights.
#[derive(Debug)]
pub struct LanguageModel {
    /// Name of the file without its ending.
    pub name: String,
    pub tokenizer: Arc<GgufTokenizer>,
    pub template: Arc<ChatTemplate>,
    pub config: DecoderConfig,
    gguf: GgufFile,
}

impl LanguageModel {
    /// Reads metadata, tokenizer and chat template of a GGUF file.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or of a kind that is not supported.
    pub fn open(path: &Path) -> Result<Self, GgufError> {
        let mut gguf = GgufFile::open(path)?;
        let config = DecoderConfig::read(&gguf)?;
        let tokenizer = Arc::new(GgufTokenizer::read(&gguf)?);
        if tokenizer.vocabulary() != config.vocabulary {
            let (names, rows) = (tokenizer.vocabulary(), config.vocabulary);
            return Err(gguf.damaged(format!("it names {names} tokens and has weights of {rows}")));
        }
        let template = Arc::new(ChatTemplate::read(&gguf, &tokenizer)?);
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        gguf.forget_metadata();
        Ok(Self { name, tokenizer, template, config, gguf })
    }

    #[must_use]
    pub fn id(&self) -> ModelId {
        ModelId::Llm(self.name.clone())
    }

    /// Gives what brings the weights to the best device of `choice`; on the CPU with `threads` threads.
    #[must_use]
    pub fn into_loader(self, choice: DeviceChoice, threads: usize) -> Arc<dyn ModelLoader> {
        Arc::new(LanguageModelLoader { gguf: self.gguf, config: self.config, choice, threads })
    }
}

#[cfg(test)]
mod tests;
