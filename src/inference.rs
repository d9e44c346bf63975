//! Models and the backends that run them.
//!
//! A forward pass is written once against [`Backend`], a handful of fused operations; what differs
//! between devices lives behind that trait. Models implement [`crate::gpu::EncoderModel`] and run on the
//! device thread only.

pub mod backend;
mod bundled;
mod chat;
mod decoder;
mod device;
mod encoder;
mod files;
mod gguf;
pub mod registry;
mod weights;

pub use backend::Backend;
pub use chat::{AnswerText, ChatError, ChatMessage, ChatTemplate, Role};
pub use decoder::{DecoderConfig, LanguageModel};
pub use encoder::{Alibi, Encoder, EncoderConfig, EncoderLoader, FeedForward, Pooling, Positions};
pub use files::{EmbeddingModel, ModelFilesError};
pub use gguf::{GgufError, GgufFile, GgufTokenizer, TokenizerKind};
pub use weights::{WeightView, Weights, WeightsError};
