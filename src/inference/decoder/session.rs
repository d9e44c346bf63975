use std::sync::Arc;

use tracing::debug_span;

use super::cache::KvCache;
use super::llama::Llama;
use super::sampler::Sampler;
use crate::gpu::{
    DecoderModel, Generation, GenerationStep, ModelError, ModelInfo, ModelKind, Sampling,
};
use crate::inference::backend::Backend as _;
use crate::inference::backend::candle::{self, CandleBackend};

/// Tokens of a prompt that are read in one step at most, which bounds what the scores of attention
/// take: heads x 512 x tokens so far x 4 bytes.
const READ_TOKENS_MAX: usize = 512;

/// Where a model runs, and why there.
#[derive(Debug)]
pub(super) struct Placement {
    /// Its pool is that of all operations but products with quantized matrices, for which candle has
    /// threads for the whole process.
    pub backend: CandleBackend,
    pub notices: Vec<String>,
}

/// A loaded language model. Its sessions share the weights and nothing else.
#[derive(Debug)]
pub(super) struct Decoder {
    shared: Arc<Shared>,
    memory_bytes: u64,
}

#[derive(Debug)]
struct Shared {
    llama: Llama,
    placement: Placement,
}

impl Decoder {
    pub fn new(llama: Llama, placement: Placement, memory_bytes: u64) -> Self {
        Self { shared: Arc::new(Shared { llama, placement }), memory_bytes }
    }
}

impl DecoderModel for Decoder {
    fn info(&self) -> ModelInfo {
        let Shared { llama, placement } = &*self.shared;
        ModelInfo {
            kind: ModelKind::Decoder,
            device: placement.backend.device(),
            dim: llama.config.width,
            tokens_max: llama.config.tokens_max,
            memory_bytes: self.memory_bytes,
            notices: placement.notices.clone(),
        }
    }

    fn start(
        &mut self,
        prompt: Vec<u32>,
        sampling: Sampling,
    ) -> Result<Box<dyn Generation>, ModelError> {
        let config = &self.shared.llama.config;
        if prompt.is_empty() {
            return Err(ModelError::new("there is no prompt to continue"));
        }
        if prompt.len() >= config.tokens_max {
            return Err(ModelError::new(format!(
                "a prompt of {} tokens leaves no room for an answer: the model's context holds {}; \
                 shorten the prompt",
                prompt.len(),
                config.tokens_max
            )));
        }
        if let Some(id) = prompt.iter().find(|id| **id as usize >= config.vocabulary) {
            let vocabulary = config.vocabulary;
            return Err(ModelError::new(format!(
                "token {id} is not in the vocabulary of {vocabulary} tokens"
            )));
        }
        Ok(Box::new(Session {
            cache: KvCache::new(config, &self.shared.llama.device),
            sampler: Sampler::new(&sampling)?,
            shared: Arc::clone(&self.shared),
            prompt_tokens: prompt.len(),
            history: prompt,
            logits: None,
        }))
    }
}

/// One answer in the making.
#[derive(Debug)]
struct Session {
    shared: Arc<Shared>,
    sampler: Sampler,
    cache: KvCache,
    /// Prompt and answer; those of the first `cache.tokens()` have been read.
    history: Vec<u32>,
    prompt_tokens: usize,
    /// Of the token behind the history, once all of it has been read.
    logits: Option<Vec<f32>>,
}

impl Generation for Session {
    fn step(&mut self, tokens_max: usize) -> Result<GenerationStep, ModelError> {
        let read = self.cache.tokens();
        if read < self.prompt_tokens {
            let tokens = (self.prompt_tokens - read).min(tokens_max.clamp(1, READ_TOKENS_MAX));
            self.read(tokens)?;
            return Ok(GenerationStep::Read { tokens });
        }
        let tokens_max = self.shared.llama.config.tokens_max;
        if self.history.len() >= tokens_max {
            return Err(ModelError::new(format!(
                "the model's context of {tokens_max} tokens is full"
            )));
        }
        // The last token is read only when another is asked for: most answers end with a token whose
        // continuation nobody wants.
        if self.logits.is_none() {
            self.read(1)?;
        }
        let logits = self.logits.take().unwrap_or_default();
        if let Some(at) = logits.iter().position(|logit| logit.is_nan()) {
            let position = self.history.len();
            return Err(ModelError::new(format!(
                "the score of token {at} at position {position} is not a number"
            )));
        }
        let token = self.sampler.choose(logits, &self.history).map_err(|e| model_error(&e))?;
        self.history.push(token);
        Ok(GenerationStep::Token(token))
    }
}

impl Session {
    /// Reads the next `count` tokens of the history; behind the last, scores what may follow.
    fn read(&mut self, count: usize) -> Result<(), ModelError> {
        let start = self.cache.tokens();
        let _span = debug_span!("decode", start, count).entered();
        let Shared { llama, placement } = &*self.shared;
        let ids = &self.history[start..start + count];
        let last = start + count == self.history.len();
        let cache = &mut self.cache;
        self.logits = placement.backend.run(|| {
            let rows = llama.read(ids, cache)?;
            last.then(|| llama.logits(&rows)).transpose()
        })?;
        Ok(())
    }
}

/// Tells a full device, after which a smaller step or another model may succeed, from other failures.
pub(super) fn model_error(error: &candle_core::Error) -> ModelError {
    let message = candle::message(error);
    if candle::is_full(&message) {
        ModelError::out_of_memory(message)
    } else {
        ModelError::new(message)
    }
}
