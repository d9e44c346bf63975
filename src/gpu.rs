//! The thread that owns the device, and the trait that everyone asks.
//!
//! Command buffers are unsafe or serialized across threads on most devices, so one thread owns the
//! device and the models, and what matters is the order of work: a search never waits for a file.
//! This module knows no model and no backend. It runs [`Model`]s one bounded step at a time and looks
//! at the queue again before each step, so an [`Priority::Immediate`] request waits for at most the
//! step that is running.

mod budget;
mod error;
mod model;
mod queue;
mod request;
mod serial;
mod stats;

pub use error::{GpuError, ModelError};
pub use model::{Model, ModelInfo, ModelKind, ModelLoader};
pub use request::{
    BatchEmbedRequest, EmbedRequest, GenerateRequest, GenerateResponse, ModelId, Priority,
};
pub use serial::{SchedulerOptions, SerialScheduler};
pub use stats::{Histogram, SchedulerStats};

use async_trait::async_trait;

use crate::data::Embedding;

/// Everything that may be asked of the device, whatever executes it.
#[async_trait]
pub trait GpuScheduler: Send + Sync {
    /// Embeds one sequence.
    async fn embed(&self, request: EmbedRequest) -> Result<Embedding, GpuError>;

    /// Embeds every sequence of a batch; the answer has their order.
    ///
    /// A whole file is one request: it is cut into steps by a token budget, and other requests run
    /// between them. Dropping the future cancels what has not run.
    async fn embed_batch(&self, request: BatchEmbedRequest) -> Result<Vec<Embedding>, GpuError>;

    /// Continues a prompt with a language model.
    async fn generate(&self, request: GenerateRequest) -> Result<GenerateResponse, GpuError>;

    /// Runs `loader` on the device thread and keeps the model under `id`.
    async fn load_model(
        &self,
        id: ModelId,
        loader: Box<dyn ModelLoader>,
    ) -> Result<ModelInfo, GpuError>;

    async fn unload_model(&self, id: &ModelId) -> Result<(), GpuError>;

    fn is_model_loaded(&self, id: &ModelId) -> bool;

    /// Whether at least one model is loaded and the device thread is alive.
    fn is_ready(&self) -> bool;

    fn stats(&self) -> SchedulerStats;
}
