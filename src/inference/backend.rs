//! The operations that an encoder is made of, as each kind of device can fuse them.

pub mod candle;

use std::fmt::Debug;

use super::{Pooling, WeightView};
use crate::data::TokenBatch;

#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    #[error("device {device} failed: {message}")]
    Device { device: String, message: String },
    #[error("token {id} is outside the vocabulary of {vocabulary}")]
    Vocabulary { id: u32, vocabulary: usize },
}

/// What follows a projection element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    Identity,
    /// x · Φ(x) with the error function, not the tanh approximation (Hendrycks & Gimpel 2016).
    Gelu,
}

/// Lookup tables of a BERT: word `[vocabulary, width]`, position `[positions, width]`, and the row of
/// the one token type in use, `[width]`.
#[derive(Debug)]
pub struct EmbeddingTables<M, V> {
    pub word: M,
    pub position: M,
    pub token_type: V,
}

/// Weight `[outputs, inputs]` and bias `[outputs]`.
#[derive(Debug)]
pub struct Linear<M, V> {
    pub weight: M,
    pub bias: V,
}

/// Layer normalization over the last axis (Ba et al. 2016): gain and bias `[width]`.
#[derive(Debug)]
pub struct LayerNorm<V> {
    pub gain: V,
    pub bias: V,
    pub epsilon: f64,
}

/// A device with weights on it. Activations are `[tokens, width]`, sequences laid end to end without
/// padding, so no operation but attention and pooling needs to know where one ends.
pub trait Backend {
    /// Activations on the device.
    type Tensor: Debug;
    /// A weight matrix in the layout that the device multiplies fastest.
    type Matrix: Debug;
    /// A weight vector.
    type Vector: Debug;

    /// For people: "CPU, 2 threads".
    fn device(&self) -> String;

    /// Brings matrices `[rows, columns]` with equal columns to the device, one below the other.
    ///
    /// # Errors
    /// When the device has no room.
    fn matrix(&self, parts: &[WeightView<'_>]) -> Result<Self::Matrix, BackendError>;

    /// Brings vectors to the device, end to end.
    ///
    /// # Errors
    /// When the device has no room.
    fn vector(&self, parts: &[WeightView<'_>]) -> Result<Self::Vector, BackendError>;

    /// Word + position + token type, then the norm.
    ///
    /// # Errors
    /// When an id is outside the vocabulary or the device fails.
    fn embed(
        &mut self,
        batch: &TokenBatch,
        tables: &EmbeddingTables<Self::Matrix, Self::Vector>,
        norm: &LayerNorm<Self::Vector>,
    ) -> Result<Self::Tensor, BackendError>;

    /// activation(x · weightᵀ + bias).
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

    /// softmax(q · kᵀ / √d) · v for every head of every sequence over its own tokens. `qkv` is
    /// `[tokens, 3 · width]` with the queries of all heads first, then keys, then values.
    ///
    /// # Errors
    /// When the device fails.
    fn attention(
        &mut self,
        qkv: &Self::Tensor,
        batch: &TokenBatch,
        heads: usize,
    ) -> Result<Self::Tensor, BackendError>;

    /// One row of `width` for every sequence, back on the host; not normalized.
    ///
    /// # Errors
    /// When the device fails.
    fn pool(
        &mut self,
        x: &Self::Tensor,
        batch: &TokenBatch,
        pooling: Pooling,
    ) -> Result<Vec<Vec<f32>>, BackendError>;
}
