//! Models and the backends that run them.
//!
//! A forward pass is written once against [`Backend`], a handful of fused operations; what differs
//! between devices lives behind that trait. Models implement [`crate::gpu::EncoderModel`] and run on the
//! device thread only.

pub mod backend;
mod bundled;
mod device;
mod encoder;
mod files;
mod weights;

pub use backend::Backend;
pub use encoder::{Alibi, Encoder, EncoderConfig, EncoderLoader, FeedForward, Pooling, Positions};
pub use files::{EmbeddingModel, ModelFilesError};
pub use weights::{WeightView, Weights, WeightsError};
