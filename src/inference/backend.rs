//! The operations that an encoder is made of, as each kind of device can fuse them.

pub mod candle;
pub mod cpu;
#[cfg(feature = "wgpu")]
pub mod wgpu;

use std::fmt::Debug;
use std::num::NonZeroUsize;

use super::{Alibi, Pooling, WeightView};
use crate::data::TokenBatch;
use crate::gpu::{DeviceInfo, ModelError};

#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    #[error("device {device} failed: {message}")]
    Device { device: String, message: String },
    #[error("device {device} has no memory left: {message}")]
    OutOfMemory { device: String, message: String },
    #[error("device {device} is gone: {message}")]
    Lost { device: String, message: String },
    #[error("token {id} is outside the vocabulary of {vocabulary}")]
    Vocabulary { id: u32, vocabulary: usize },
}

impl From<BackendError> for ModelError {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::OutOfMemory { .. } => Self::out_of_memory(error),
            BackendError::Lost { .. } => Self::device_lost(error),
            BackendError::Device { .. } | BackendError::Vocabulary { .. } => Self::new(error),
        }
    }
}

/// The numbers that a device computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    F16,
    F32,
}

impl Precision {
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 => 4,
        }
    }
}

/// What follows a projection element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    Identity,
    /// x · Φ(x) with the error function, not the tanh approximation (Hendrycks & Gimpel 2016).
    Gelu,
    /// GELU of the first half of a row times the second half: rows come out half as wide (GEGLU,
    /// Shazeer 2020).
    Geglu,
}

/// How every layer of a model attends.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// They divide the width.
    pub heads: usize,
    pub alibi: Option<Alibi>,
}

/// Lookup tables of a BERT: word `[vocabulary, width]`, position `[positions, width]` whose row 0 is a
/// sequence's first token, and the row of the one token type in use, `[width]`.
#[derive(Debug)]
pub struct EmbeddingTables<T, V> {
    pub word: T,
    /// `None` where attention alone knows positions.
    pub position: Option<T>,
    pub token_type: V,
}

/// Weight `[outputs, inputs]` and bias `[outputs]`.
#[derive(Debug)]
pub struct Linear<M, V> {
    pub weight: M,
    pub bias: Option<V>,
}

/// Layer normalization over the last axis (Ba et al. 2016): gain and bias `[width]`.
#[derive(Debug)]
pub struct LayerNorm<V> {
    pub gain: V,
    pub bias: V,
    pub epsilon: f64,
}

/// Weights on the host, ready to be brought to a device.
#[derive(Debug)]
pub struct Staged<T> {
    pub weights: T,
    /// What they will take of the device's memory.
    pub bytes: u64,
}

/// A device with weights on it. A forward begins with [`Backend::plan`], ends with [`Backend::pool`], and its rows
/// are there after [`Backend::finish`]; several may be under way. Activations are `[tokens, width]`, sequences laid end to end without
/// padding, so no operation but attention and pooling needs to know where one ends.
pub trait Backend {
    /// Activations on the device.
    type Tensor: Debug;
    /// Rows to look up.
    type Table: Debug;
    /// A weight matrix in the layout that the device multiplies fastest.
    type Matrix: Debug;
    /// A weight vector.
    type Vector: Debug;
    type StagedTable: Debug + Send;
    type StagedMatrix: Debug + Send;
    type StagedVector: Debug + Send;
    /// Where the sequences of a batch lie, as the device wants to know it.
    type Plan: Debug;
    /// Pooled rows that may still be being computed. Dropping them gives them up.
    type Pending: Debug;

    /// Converts a lookup table `[rows, width]`. Staging needs no device, so that another thread can do it
    /// before the device has a moment.
    ///
    /// # Errors
    /// When the host has no room.
    fn stage_table(
        precision: Precision,
        table: &WeightView<'_>,
    ) -> Result<Staged<Self::StagedTable>, BackendError>;

    /// Converts matrices `[outputs, inputs]` of equal shape, one below the other. Two of them are multiplied with
    /// [`Activation::Geglu`], and with nothing else.
    ///
    /// # Errors
    /// When the host has no room.
    fn stage_matrix(
        precision: Precision,
        parts: &[WeightView<'_>],
    ) -> Result<Staged<Self::StagedMatrix>, BackendError>;

    /// Converts vectors, one behind the other.
    ///
    /// # Errors
    /// When the host has no room.
    fn stage_vector(
        precision: Precision,
        parts: &[WeightView<'_>],
    ) -> Result<Staged<Self::StagedVector>, BackendError>;

    fn device(&self) -> DeviceInfo;

    /// Why it computes in another way than the best that the device offers.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// Forwards that may be begun before the first of them is finished.
    fn depth(&self) -> NonZeroUsize {
        NonZeroUsize::MIN
    }

    /// Tokens of one forward at most, unless a single sequence is longer.
    fn batch_tokens_max(&self) -> usize {
        usize::MAX
    }

    /// Brings a table to the device.
    ///
    /// # Errors
    /// When the device has no room.
    fn table(&self, staged: Self::StagedTable) -> Result<Self::Table, BackendError>;

    /// Brings a matrix to the device.
    ///
    /// # Errors
    /// When the device has no room.
    fn matrix(&self, staged: Self::StagedMatrix) -> Result<Self::Matrix, BackendError>;

    /// Brings a vector to the device.
    ///
    /// # Errors
    /// When the device has no room.
    fn vector(&self, staged: Self::StagedVector) -> Result<Self::Vector, BackendError>;

    /// Says where the sequences of `batch` lie, once for all layers of a forward pass.
    ///
    /// # Errors
    /// When the device fails.
    fn plan(
        &mut self,
        batch: &TokenBatch,
        attention: &Attention,
    ) -> Result<Self::Plan, BackendError>;

    /// Word + position + token type, then the norm.
    ///
    /// # Errors
    /// When an id is outside the vocabulary or the device fails.
    fn embed(
        &mut self,
        batch: &TokenBatch,
        plan: &Self::Plan,
        tables: &EmbeddingTables<Self::Table, Self::Vector>,
        norm: &LayerNorm<Self::Vector>,
    ) -> Result<Self::Tensor, BackendError>;

    /// activation(x · weightᵀ + bias): `[tokens, inputs]` to `[tokens, outputs]`, half of that with
    /// [`Activation::Geglu`], whose matrix was staged as two parts.
    ///
    /// # Errors
    /// When the device fails.
    fn project(
        &mut self,
        x: &Self::Tensor,
        linear: &Linear<Self::Matrix, Self::Vector>,
        activation: Activation,
    ) -> Result<Self::Tensor, BackendError>;

    /// norm(x · weightᵀ + bias + residual).
    ///
    /// # Errors
    /// When the device fails.
    fn project_add_norm(
        &mut self,
        x: &Self::Tensor,
        linear: &Linear<Self::Matrix, Self::Vector>,
        residual: &Self::Tensor,
        norm: &LayerNorm<Self::Vector>,
    ) -> Result<Self::Tensor, BackendError>;

    /// softmax(q · kᵀ / √d + bias) · v for every head of every sequence over its own tokens, where the
    /// bias is that of [`Alibi`] or nothing. `qkv` is `[tokens, 3 · width]` with the queries of all
    /// heads first, then keys, then values; the result is `[tokens, width]`. Memory grows with the
    /// length of a sequence, not with its square.
    ///
    /// # Errors
    /// When the device fails.
    fn attention(
        &mut self,
        qkv: &Self::Tensor,
        plan: &Self::Plan,
        attention: &Attention,
    ) -> Result<Self::Tensor, BackendError>;

    /// One row of `width` for every sequence, in the order of the batch; not normalized. With it a forward
    /// is complete, and a device may begin with it.
    ///
    /// # Errors
    /// When the device fails.
    fn pool(
        &mut self,
        x: &Self::Tensor,
        plan: &Self::Plan,
        pooling: Pooling,
    ) -> Result<Self::Pending, BackendError>;

    /// Pooled rows back on the host; the one operation that waits for the device.
    ///
    /// # Errors
    /// When the device fails.
    fn finish(&mut self, pending: Self::Pending) -> Result<Vec<Vec<f32>>, BackendError>;
}
