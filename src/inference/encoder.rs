use super::backend::{Activation, Backend, BackendError, EmbeddingTables, LayerNorm, Linear};
use super::weights::Tensors;
use super::{WeightView, Weights, WeightsError};
use crate::data::{Embedding, TokenBatch};
use crate::gpu::{DeviceInfo, DeviceKind, EncoderModel, ModelError, ModelInfo, ModelKind};

/// How the rows of a sequence become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    Mean,
    /// The row of the first token.
    Cls,
}

/// The learned table of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positions {
    pub rows: usize,
    /// The row of a sequence's first token: 0 in BERT, 2 in XLM-RoBERTa.
    pub first: usize,
}

/// The shape of a BERT encoder (Devlin et al. 2019).
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderConfig {
    pub vocabulary: usize,
    /// Components of a row, and of an embedding.
    pub width: usize,
    pub layers: usize,
    pub heads: usize,
    /// Width between the two products of the feed-forward part.
    pub inner: usize,
    pub positions: Positions,
    pub token_types: usize,
    pub norm_epsilon: f64,
    /// Tokens of a sequence at most, special tokens included, as the model was trained.
    pub tokens_max: usize,
    pub pooling: Pooling,
}

#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// A BERT encoder on the device of `B`.
#[derive(Debug)]
pub struct Encoder<B: Backend> {
    backend: B,
    config: EncoderConfig,
    tables: EmbeddingTables<B::Matrix, B::Vector>,
    norm: LayerNorm<B::Vector>,
    layers: Vec<Layer<B>>,
    memory_bytes: u64,
}

#[derive(Debug)]
struct Layer<B: Backend> {
    /// Queries, keys and values in one product, `[3 · width, width]`.
    qkv: Linear<B::Matrix, B::Vector>,
    attended: Linear<B::Matrix, B::Vector>,
    attended_norm: LayerNorm<B::Vector>,
    up: Linear<B::Matrix, B::Vector>,
    down: Linear<B::Matrix, B::Vector>,
    down_norm: LayerNorm<B::Vector>,
}

impl<B: Backend> Encoder<B> {
    /// Brings the weights to the device.
    ///
    /// # Errors
    /// When a tensor is missing or misshapen, or the device has no room.
    pub fn load(
        backend: B,
        weights: &Weights,
        config: EncoderConfig,
    ) -> Result<Self, EncoderError> {
        let tensors = weights.tensors()?;
        let loader = Loader { backend: &backend, tensors: &tensors, config: &config };
        let tables = loader.tables()?;
        let norm = loader.norm("embeddings.LayerNorm")?;
        let layers = (0..config.layers).map(|at| loader.layer(at)).collect::<Result<_, _>>()?;
        let memory_bytes = tensors.parameters() as u64 * size_of::<f32>() as u64;
        Ok(Self { backend, config, tables, norm, layers, memory_bytes })
    }

    /// The forward pass: one embedding for each sequence of `batch`, in order.
    ///
    /// # Errors
    /// When the device fails, or a vector comes out without a direction.
    pub fn forward(&mut self, batch: &TokenBatch) -> Result<Vec<Embedding>, ModelError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.rows(batch).map_err(ModelError::new)?;
        let pooled = self.backend.pool(&rows, batch, self.config.pooling);
        let unit = |row| Embedding::normalized(row).map_err(ModelError::new);
        pooled.map_err(ModelError::new)?.into_iter().map(unit).collect()
    }

    fn rows(&mut self, batch: &TokenBatch) -> Result<B::Tensor, BackendError> {
        let backend = &mut self.backend;
        let mut x = backend.embed(batch, &self.tables, &self.norm)?;
        for layer in &self.layers {
            let qkv = backend.project(&x, &layer.qkv, Activation::Identity)?;
            let mixed = backend.attention(&qkv, batch, self.config.heads)?;
            x = backend.project_add_norm(&mixed, &layer.attended, &x, &layer.attended_norm)?;
            let inner = backend.project(&x, &layer.up, Activation::Gelu)?;
            x = backend.project_add_norm(&inner, &layer.down, &x, &layer.down_norm)?;
        }
        Ok(x)
    }
}

impl<B: Backend> EncoderModel for Encoder<B> {
    fn info(&self) -> ModelInfo {
        ModelInfo {
            kind: ModelKind::Encoder,
            device: DeviceInfo { kind: DeviceKind::Cpu, name: self.backend.device() },
            dim: self.config.width,
            tokens_max: self.config.tokens_max,
            memory_bytes: self.memory_bytes,
            notices: Vec::new(),
        }
    }

    fn embed(&mut self, batch: &TokenBatch) -> Result<Vec<Embedding>, ModelError> {
        self.forward(batch)
    }
}

/// Finds the tensors of a BERT by the names that transformers gives them.
struct Loader<'a, B: Backend> {
    backend: &'a B,
    tensors: &'a Tensors<'a>,
    config: &'a EncoderConfig,
}

impl<B: Backend> Loader<'_, B> {
    fn tables(&self) -> Result<EmbeddingTables<B::Matrix, B::Vector>, EncoderError> {
        let EncoderConfig { vocabulary, positions, token_types, width, .. } = *self.config;
        let table = |name: &str, rows: usize| {
            self.tensors.get(&format!("embeddings.{name}_embeddings.weight"), &[rows, width])
        };
        let types = table("token_type", token_types)?;
        let first_row = WeightView {
            shape: vec![width],
            dtype: types.dtype,
            bytes: &types.bytes[..types.bytes.len() / token_types],
        };
        // The first token's row becomes row 0.
        let stored = table("position", positions.rows)?;
        let row_bytes = stored.bytes.len() / positions.rows;
        let used = WeightView {
            shape: vec![positions.rows - positions.first, width],
            dtype: stored.dtype,
            bytes: &stored.bytes[positions.first * row_bytes..],
        };
        Ok(EmbeddingTables {
            word: self.backend.matrix(&[table("word", vocabulary)?])?,
            position: self.backend.matrix(&[used])?,
            token_type: self.backend.vector(&[first_row])?,
        })
    }

    fn layer(&self, at: usize) -> Result<Layer<B>, EncoderError> {
        let EncoderConfig { width, inner, .. } = *self.config;
        let name = |part: &str| format!("encoder.layer.{at}.{part}");
        let qkv = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
        Ok(Layer {
            qkv: self.linear(&qkv, width, width)?,
            attended: self.linear(&[name("attention.output.dense")], width, width)?,
            attended_norm: self.norm(&name("attention.output.LayerNorm"))?,
            up: self.linear(&[name("intermediate.dense")], inner, width)?,
            down: self.linear(&[name("output.dense")], width, inner)?,
            down_norm: self.norm(&name("output.LayerNorm"))?,
        })
    }

    /// Layers with the same inputs, stacked into one.
    fn linear(
        &self,
        names: &[String],
        outputs: usize,
        inputs: usize,
    ) -> Result<Linear<B::Matrix, B::Vector>, EncoderError> {
        let part = |suffix: &str, shape: &[usize]| -> Result<Vec<_>, WeightsError> {
            names.iter().map(|name| self.tensors.get(&format!("{name}.{suffix}"), shape)).collect()
        };
        Ok(Linear {
            weight: self.backend.matrix(&part("weight", &[outputs, inputs])?)?,
            bias: self.backend.vector(&part("bias", &[outputs])?)?,
        })
    }

    fn norm(&self, name: &str) -> Result<LayerNorm<B::Vector>, EncoderError> {
        let vector = |suffix: &str| -> Result<B::Vector, EncoderError> {
            let view = self.tensors.get(&format!("{name}.{suffix}"), &[self.config.width])?;
            Ok(self.backend.vector(&[view])?)
        };
        let epsilon = self.config.norm_epsilon;
        Ok(LayerNorm { gain: vector("weight")?, bias: vector("bias")?, epsilon })
    }
}

#[cfg(test)]
mod tests;
