//! Encoders of the BERT family: one forward pass, written against [`Backend`].

mod alibi;
mod parameters;
mod upload;

pub use alibi::Alibi;
pub use upload::EncoderLoader;

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use self::parameters::Parameters;
use super::WeightsError;
use super::backend::{Activation, Attention, Backend, BackendError};
use crate::data::{Embedding, TokenBatch};
use crate::gpu::{EncoderModel, ModelError, ModelInfo, ModelKind};

/// How the rows of a sequence become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    Mean,
    /// The row of the first token.
    Cls,
}

/// How a model knows where in a sequence a token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// A learned table of `rows`, of which a sequence's first token takes row `first`: 0 in BERT, 2 in
    /// XLM-RoBERTa.
    Learned { rows: usize, first: usize },
    /// By [`Alibi`].
    Alibi,
}

/// What stands between the attentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedForward {
    /// Devlin et al. 2019.
    Gelu,
    /// Shazeer 2020: the first product is twice as wide, without a bias.
    Geglu,
}

/// The shape of a BERT encoder (Devlin et al. 2019) or JinaBERT v2 (Günther et al. 2023).
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderConfig {
    pub vocabulary: usize,
    /// Components of a row, and of an embedding.
    pub width: usize,
    pub layers: usize,
    pub heads: usize,
    /// Inputs of the second product of the feed-forward part.
    pub inner: usize,
    pub feed_forward: FeedForward,
    pub positions: Positions,
    pub token_types: usize,
    pub norm_epsilon: f64,
    /// Tokens of a sequence at most, special tokens included, as the model was trained.
    pub tokens_max: usize,
    pub pooling: Pooling,
}

impl EncoderConfig {
    fn attention(&self) -> Attention {
        let alibi = (self.positions == Positions::Alibi).then(|| Alibi::new(self.heads));
        Attention { heads: self.heads, alibi }
    }

    fn activation(&self) -> Activation {
        match self.feed_forward {
            FeedForward::Gelu => Activation::Gelu,
            FeedForward::Geglu => Activation::Geglu,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl From<EncoderError> for ModelError {
    fn from(error: EncoderError) -> Self {
        match error {
            EncoderError::Weights(error) => Self::new(error),
            EncoderError::Backend(error) => error.into(),
        }
    }
}

/// An encoder on the device of `B`.
#[derive(Debug)]
pub struct Encoder<B: Backend> {
    backend: B,
    config: EncoderConfig,
    attention: Attention,
    parameters: Parameters<B::Table, B::Matrix, B::Vector>,
    memory_bytes: u64,
    /// Forwards whose rows are still to be asked for, oldest first.
    begun: VecDeque<B::Pending>,
}

impl<B: Backend> Encoder<B> {
    /// The device, to ask what it has done.
    #[cfg(all(test, feature = "wgpu"))]
    pub(in crate::inference) fn backend(&mut self) -> &mut B {
        &mut self.backend
    }

    /// The forward pass, given to the device.
    fn forward(&mut self, batch: &TokenBatch) -> Result<B::Pending, BackendError> {
        let activation = self.config.activation();
        let Self { backend, attention, parameters, .. } = self;
        let plan = backend.plan(batch, attention)?;
        let mut x = backend.embed(batch, &plan, &parameters.tables, &parameters.norm)?;
        for layer in &parameters.layers {
            let qkv = backend.project(&x, &layer.qkv, Activation::Identity)?;
            let mixed = backend.attention(&qkv, &plan, attention)?;
            x = backend.project_add_norm(&mixed, &layer.attended, &x, &layer.attended_norm)?;
            let inner = backend.project(&x, &layer.up, activation)?;
            x = backend.project_add_norm(&inner, &layer.down, &x, &layer.down_norm)?;
        }
        backend.pool(&x, &plan, self.config.pooling)
    }

    /// Rows of the oldest batch that has begun, as they were pooled.
    fn pooled(&mut self) -> Result<Vec<Vec<f32>>, ModelError> {
        let oldest = self.begun.pop_front();
        let oldest = oldest.ok_or_else(|| ModelError::new("no batch has begun"))?;
        Ok(self.backend.finish(oldest)?)
    }
}

impl<B: Backend> EncoderModel for Encoder<B> {
    fn info(&self) -> ModelInfo {
        ModelInfo {
            kind: ModelKind::Encoder,
            device: self.backend.device(),
            dim: self.config.width,
            tokens_max: self.config.tokens_max,
            memory_bytes: self.memory_bytes,
            notices: self.backend.notices(),
        }
    }

    fn depth(&self) -> NonZeroUsize {
        self.backend.depth()
    }

    fn batch_tokens_max(&self) -> usize {
        self.backend.batch_tokens_max()
    }

    fn begin(&mut self, batch: &TokenBatch) -> Result<(), ModelError> {
        let pending = self.forward(batch)?;
        self.begun.push_back(pending);
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<Embedding>, ModelError> {
        let unit = |row| Embedding::normalized(row).map_err(ModelError::new);
        self.pooled()?.into_iter().map(unit).collect()
    }
}

#[cfg(test)]
mod tests;
