//! Text to tokens with byte offsets, once a document.
//!
//! One [`Tokenizer`] is shared by every thread and never cloned. What it makes is cut by the chunker
//! and packed for the encoder; neither asks for a text again.

pub mod batch;
mod familiarity;
mod tokenizer;

pub use tokenizer::{Prompts, SpecialTokens, Tokenizer, TokenizerError};
