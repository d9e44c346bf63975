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
use super::device::{self, Candidate, DeviceLoader, Oracle, SelfTest};
use super::{EncoderConfig, EncoderLoader, Weights, WeightsError, bundled};
use crate::config::{DeviceChoice, ModelFiles};
use crate::data::TokenBatch;
use crate::gpu::{DeviceKind, Lane, ModelId, ModelLoader};
use crate::platform::Simd;
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

/// The JinaBERT that has an id of its own.
const JINA_BERT: &str = "jina-embeddings-v2-small-en";

/// The files of an embedding model, read but for its weights, which are mapped.
#[derive(Debug)]
pub struct EmbeddingModel {
    pub name: String,
    /// Knows the model's prompts.
    pub tokenizer: Arc<Tokenizer>,
    pub config: EncoderConfig,
    weights: Weights,
    /// Vectors that came with the model.
    self_test: Option<SelfTest>,
    #[cfg_attr(not(feature = "wgpu"), expect(dead_code, reason = "only wgpu keeps something"))]
    data_dir: Option<PathBuf>,
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
            ModelFiles::Downloaded { name, folder } => {
                Self::read(&name.to_string(), &FileSource::Folder(folder))
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
        let self_test = source.find_json("self-test.json")?.map(SelfTest::stored).transpose();
        let self_test = self_test.map_err(|reason| source.damaged("self-test.json", reason))?;
        let (name, tokenizer) = (name.to_owned(), Arc::new(tokenizer));
        Ok(Self { name, tokenizer, config, weights, self_test, data_dir: None })
    }

    #[must_use]
    pub fn id(&self) -> ModelId {
        match self.name.as_str() {
            JINA_BERT => ModelId::JinaBert,
            name => ModelId::Embedding(name.to_owned()),
        }
    }

    /// Keeps in the data directory what devices were found to do, which is otherwise tried at every start.
    #[must_use]
    pub fn remembering(self, data_dir: PathBuf) -> Self {
        Self { data_dir: Some(data_dir), ..self }
    }

    /// Gives what loads the model, on the device that `choice` asks for or the best that works; lanes on
    /// the CPU share `threads`.
    ///
    /// # Errors
    /// When the tokenizer does not take the text of the self-test.
    pub fn into_loader(
        self,
        choice: DeviceChoice,
        threads: usize,
    ) -> Result<Arc<dyn ModelLoader>, ModelFilesError> {
        let (weights, config) = (Arc::new(self.weights), self.config);
        let candidate = |kind: DeviceKind| -> Arc<dyn ModelLoader> {
            let (weights, config) = (Arc::clone(&weights), config.clone());
            if kind == DeviceKind::Cpu {
                return device::cpu_loader(weights, config, Simd::detect(), threads);
            }
            #[cfg(feature = "wgpu")]
            if kind == DeviceKind::Wgpu {
                return device::wgpu_loader(weights, config, self.data_dir.clone());
            }
            let open = Arc::new(move |lane: Lane| CandleBackend::open(kind, lane.index, 1));
            let precision = CandleBackend::precision(kind);
            Arc::new(EncoderLoader::new(weights, config, precision, open))
        };
        let (kinds, notice) = device::order(choice, &device::for_encoders(choice));
        let candidates = kinds.into_iter().map(|kind| Candidate { kind, loader: candidate(kind) });
        let self_test = match self.self_test {
            Some(stored) => stored,
            None => SelfTest {
                batch: self_test_batch(&self.tokenizer, config.tokens_max)?,
                oracle: Oracle::Cpu(candidate(DeviceKind::Cpu)),
            },
        };
        let self_test = Arc::new(self_test);
        Ok(Arc::new(DeviceLoader { candidates: candidates.collect(), self_test, notice }))
    }
}

/// A short text and a longer one, so that a device that pads has something to pad.
fn self_test_batch(tokenizer: &Tokenizer, tokens_max: usize) -> Result<TokenBatch, TokenizerError> {
    const SHORT: &str = "shared ownership";
    const LONG: &str = "In Rust a value that has more than one owner is wrapped in an Arc, and a \
                        value that more than one thread may change is guarded by a Mutex.";
    let mut batch = TokenBatch::default();
    batch.push(&tokenizer.encode_query(SHORT, tokens_max)?);
    batch.push(&tokenizer.encode_passage(LONG, tokens_max)?);
    Ok(batch)
}

#[cfg(test)]
mod tests;
