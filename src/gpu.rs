//! The threads that own the devices, and the trait that everyone asks.
//!
//! Command buffers are unsafe or serialized across threads on most devices, so one thread owns a
//! device and the models on it, and what matters is the order of work: a search never waits for a
//! file. This module knows no model and no backend. It runs [`EncoderModel`]s, [`Generation`]s and
//! [`ModelUpload`]s one bounded step at a time and looks at the queue again before each step, so an
//! [`Priority::Immediate`] request waits for at most the step that is running.

mod budget;
mod error;
#[cfg(test)]
mod fake;
mod hold;
mod lanes;
mod model;
mod parallel;
mod queue;
mod request;
mod restart;
mod serial;
mod stats;
mod stop;
mod stream;

pub use error::{GpuError, ModelError};
pub use hold::Hold;
pub use lanes::SchedulerOptions;
pub use model::{
    DecoderModel, DeviceInfo, DeviceKind, EncoderModel, Generation, GenerationStep, Lane, Model,
    ModelInfo, ModelKind, ModelLoader, ModelUpload,
};
pub use parallel::ParallelScheduler;
pub use request::{BatchEmbedRequest, EmbedRequest, GenerateRequest, ModelId, Priority, Sampling};
pub use restart::{RestartingScheduler, Starter};
pub use serial::SerialScheduler;
pub use stats::{Histogram, SchedulerStats};
pub use stream::{FinishReason, TokenStream};

use std::sync::Arc;

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

    /// Continues a prompt with a language model, token by token; searches run between the tokens.
    ///
    /// Returns once the request is queued. Dropping the stream cancels the rest.
    async fn generate(&self, request: GenerateRequest) -> Result<TokenStream, GpuError>;

    /// Keeps background steps off the cores of the caller for a moment; see [`Hold`].
    fn hold(&self) -> Hold;

    /// Loads a model and keeps it under `id`; requests on other models run meanwhile.
    async fn load_model(
        &self,
        id: ModelId,
        loader: Arc<dyn ModelLoader>,
    ) -> Result<ModelInfo, GpuError>;

    /// Drops a model; what waits for it is answered with [`GpuError::ModelNotLoaded`].
    async fn unload_model(&self, id: &ModelId) -> Result<(), GpuError>;

    fn is_model_loaded(&self, id: &ModelId) -> bool;

    /// Whether at least one model is loaded and the device threads are alive.
    fn is_ready(&self) -> bool;

    fn stats(&self) -> SchedulerStats;
}

/// Makes a wrapper of [`lanes::Lanes`] a scheduler.
macro_rules! delegate_to_lanes {
    ($scheduler:ty) => {
        #[async_trait]
        impl GpuScheduler for $scheduler {
            async fn embed(&self, request: EmbedRequest) -> Result<Embedding, GpuError> {
                self.0.embed(request).await
            }

            async fn embed_batch(
                &self,
                request: BatchEmbedRequest,
            ) -> Result<Vec<Embedding>, GpuError> {
                self.0.embed_batch(request).await
            }

            async fn generate(&self, request: GenerateRequest) -> Result<TokenStream, GpuError> {
                self.0.generate(request).await
            }

            fn hold(&self) -> Hold {
                self.0.hold()
            }

            async fn load_model(
                &self,
                id: ModelId,
                loader: Arc<dyn ModelLoader>,
            ) -> Result<ModelInfo, GpuError> {
                self.0.load_model(id, loader).await
            }

            async fn unload_model(&self, id: &ModelId) -> Result<(), GpuError> {
                self.0.unload_model(id).await
            }

            fn is_model_loaded(&self, id: &ModelId) -> bool {
                self.0.is_model_loaded(id)
            }

            fn is_ready(&self) -> bool {
                self.0.is_ready()
            }

            fn stats(&self) -> SchedulerStats {
                self.0.stats()
            }
        }
    };
}

delegate_to_lanes!(SerialScheduler);
delegate_to_lanes!(ParallelScheduler);

#[cfg(test)]
mod tests;
