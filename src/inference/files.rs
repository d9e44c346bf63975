use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::backend::candle::CandleBackend;
use super::{Encoder, EncoderConfig, Pooling, Weights, WeightsError, bundled};
use crate::config::ModelFiles;
use crate::gpu::{Lane, Model, ModelError, ModelId, ModelLoader, ModelUpload};
use crate::tokenization::{Tokenizer, TokenizerError};

#[derive(Debug, thiserror::Error)]
pub enum ModelFilesError {
    #[error("model file {path} cannot be read: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("model file {name} is damaged: {reason}; fetch the model again")]
    Damaged { name: String, reason: String },
    #[error("model {name} is of type {got:?}; only \"bert\" is supported")]
    Kind { name: String, got: String },
    #[error("model {name} pools in a way that is not supported; mean and CLS are")]
    Pooling { name: String },
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// The files of an embedding model, read but for its weights, which are mapped.
#[derive(Debug)]
pub struct EmbeddingModel {
    pub name: String,
    pub tokenizer: Arc<Tokenizer>,
    pub config: EncoderConfig,
    weights: Weights,
}

/// `sentence_bert_config.json` of sentence-transformers.
#[derive(Deserialize)]
struct LengthFile {
    max_seq_length: Option<usize>,
}

/// `1_Pooling/config.json` of sentence-transformers.
#[derive(Deserialize)]
struct PoolingFile {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
}

/// `config.json` of transformers.
#[derive(Deserialize)]
struct ConfigFile {
    model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f64,
}

impl EmbeddingModel {
    /// Reads what `files` names. The weights are checked when the model is loaded.
    ///
    /// # Errors
    /// When a file is missing, damaged, or of a kind that is not supported.
    pub fn open(files: &ModelFiles) -> Result<Self, ModelFilesError> {
        match files {
            ModelFiles::Bundled => {
                let length = Some((Path::new("sentence_bert_config.json"), bundled::LENGTH));
                let pooling = Some((Path::new("1_Pooling/config.json"), bundled::POOLING));
                let config = (Path::new("config.json"), bundled::CONFIG);
                Ok(Self {
                    name: bundled::NAME.to_owned(),
                    tokenizer: Arc::new(Tokenizer::from_bytes(bundled::TOKENIZER)?),
                    config: encoder_config(bundled::NAME, config, length, pooling)?,
                    weights: Weights::embedded(bundled::NAME, bundled::weights()),
                })
            }
            ModelFiles::Folder(folder) => Self::open_folder(folder),
        }
    }

    fn open_folder(folder: &Path) -> Result<Self, ModelFilesError> {
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        let read = |file: &str| {
            let path = folder.join(file);
            match std::fs::read(&path) {
                Ok(bytes) => Ok((path, bytes)),
                Err(source) => Err(ModelFilesError::Read { path, source }),
            }
        };
        let optional = |file: &str| match read(file) {
            Ok(found) => Ok(Some(found)),
            Err(ModelFilesError::Read { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        };
        let config = read("config.json")?;
        let length = optional("sentence_bert_config.json")?;
        let pooling = optional("1_Pooling/config.json")?;
        let tokenizer = Tokenizer::from_bytes(&read("tokenizer.json")?.1)?;
        let config = encoder_config(
            &name,
            (&config.0, &config.1),
            length.as_ref().map(|(path, bytes)| (path.as_path(), bytes.as_slice())),
            pooling.as_ref().map(|(path, bytes)| (path.as_path(), bytes.as_slice())),
        )?;
        let weights = Weights::map(&folder.join("model.safetensors"))?;
        Ok(Self { name, tokenizer: Arc::new(tokenizer), config, weights })
    }

    #[must_use]
    pub fn id(&self) -> ModelId {
        ModelId::Embedding(self.name.clone())
    }

    /// Gives what loads the model, on the CPU with `threads` threads.
    #[must_use]
    pub fn into_loader(self, threads: usize) -> Arc<dyn ModelLoader> {
        let Self { config, weights, .. } = self;
        Arc::new(EncoderLoader(EncoderUpload { config, weights: Arc::new(weights), threads }))
    }
}

struct EncoderLoader(EncoderUpload);

#[derive(Clone)]
struct EncoderUpload {
    config: EncoderConfig,
    weights: Arc<Weights>,
    threads: usize,
}

impl ModelLoader for EncoderLoader {
    fn prepare(&self, _lane: Lane) -> Result<Box<dyn ModelUpload>, ModelError> {
        Ok(Box::new(self.0.clone()))
    }
}

impl ModelUpload for EncoderUpload {
    fn step(&mut self) -> Result<Option<Model>, ModelError> {
        let backend = CandleBackend::cpu(self.threads).map_err(ModelError::new)?;
        let encoder = Encoder::load(backend, &self.weights, self.config.clone());
        Ok(Some(Model::Encoder(Box::new(encoder.map_err(ModelError::new)?))))
    }
}

fn encoder_config(
    name: &str,
    config: (&Path, &[u8]),
    length: Option<(&Path, &[u8])>,
    pooling: Option<(&Path, &[u8])>,
) -> Result<EncoderConfig, ModelFilesError> {
    let file: ConfigFile = parse(config)?;
    if file.model_type != "bert" {
        return Err(ModelFilesError::Kind { name: name.to_owned(), got: file.model_type });
    }
    let pooling = match pooling.map(parse::<PoolingFile>).transpose()? {
        None | Some(PoolingFile { pooling_mode_mean_tokens: true, .. }) => Pooling::Mean,
        Some(PoolingFile { pooling_mode_cls_token: true, .. }) => Pooling::Cls,
        Some(_) => return Err(ModelFilesError::Pooling { name: name.to_owned() }),
    };
    let length = length.map(parse::<LengthFile>).transpose()?.and_then(|l| l.max_seq_length);
    let positions = file.max_position_embeddings;
    Ok(EncoderConfig {
        vocabulary: file.vocab_size,
        width: file.hidden_size,
        layers: file.num_hidden_layers,
        heads: file.num_attention_heads,
        inner: file.intermediate_size,
        positions,
        token_types: file.type_vocab_size,
        norm_epsilon: file.layer_norm_eps,
        tokens_max: length.unwrap_or(positions).min(positions),
        pooling,
    })
}

fn parse<T: DeserializeOwned>((path, bytes): (&Path, &[u8])) -> Result<T, ModelFilesError> {
    serde_json::from_slice(bytes).map_err(|error| ModelFilesError::Damaged {
        name: path.display().to_string(),
        reason: error.to_string(),
    })
}
