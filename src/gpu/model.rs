use std::fmt;

use super::ModelError;
use crate::data::{Embedding, TokenBatch};

/// A loaded model as the scheduler sees it.
///
/// It is made, used and dropped on the device thread alone, so it need not be [`Send`].
pub trait Model {
    fn info(&self) -> ModelInfo;

    /// Embeds every sequence of `batch` in one go, in order. A step that has started cannot be
    /// interrupted, so the size of `batch` is the bound on how long a search waits.
    ///
    /// # Errors
    /// When the device fails; the requests in this batch fail with it and no others.
    fn embed(&mut self, batch: &TokenBatch) -> Result<Vec<Embedding>, ModelError>;
}

/// Makes a model on the device thread.
pub trait ModelLoader: Send {
    /// # Errors
    /// When files are missing or damaged, or the device has no room.
    fn load(self: Box<Self>) -> Result<Box<dyn Model>, ModelError>;
}

impl<F> ModelLoader for F
where
    F: FnOnce() -> Result<Box<dyn Model>, ModelError> + Send,
{
    fn load(self: Box<Self>) -> Result<Box<dyn Model>, ModelError> {
        self()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    Encoder,
    Decoder,
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encoder => "an embedding model",
            Self::Decoder => "a language model",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    pub kind: ModelKind,
    /// For people: "CPU, 2 threads".
    pub device: String,
    /// Components of an embedding.
    pub dim: usize,
    /// Tokens of the longest sequence, special tokens included.
    pub tokens_max: usize,
    /// Weights on the device.
    pub memory_bytes: u64,
}
