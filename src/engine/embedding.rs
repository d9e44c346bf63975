use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::model::LoadedModel;
use super::{Engine, EngineError};
use crate::data::{Embedding, TokenBatch};
use crate::gpu::{BatchEmbedRequest, Priority};
use crate::platform;

/// The vectors of some texts, and what making them cost.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// In the order of the texts.
    pub rows: Vec<Embedding>,
    pub dim: usize,
    pub tokens: u64,
    /// From the first text to the last vector; loading the model is not in it.
    pub seconds: f64,
    pub device: String,
}

/// Texts in one request.
const GROUP: usize = 64;

/// Requests on their way at once: every core tokenizes one while as many run or wait for the device, which on a GPU
/// has three steps at a time.
fn requests_max() -> usize {
    2 * platform::cores()
}

impl Engine {
    /// Embeds texts as passages; one longer than the model takes is cut.
    ///
    /// # Errors
    /// When the model is not available or fails.
    pub async fn embed(&self, texts: Vec<String>) -> Result<Embedded, EngineError> {
        let engine = self.clone();
        self.run(async move { engine.embed_here(texts).await }).await
    }

    async fn embed_here(&self, texts: Vec<String>) -> Result<Embedded, EngineError> {
        let model = self.model().await?;
        let started = Instant::now();
        let texts = Arc::new(texts);
        let groups = (0..texts.len()).step_by(GROUP).map(|start| {
            let (engine, model, texts) = (self.clone(), model.clone(), Arc::clone(&texts));
            async move {
                let id = model.id.clone();
                let range = start..texts.len().min(start + GROUP);
                let tokenize = move || tokenize(&model, &texts[range]);
                let batch = engine.run_blocking(tokenize).await?;
                let tokens = batch.tokens() as u64;
                let priority = Priority::Background;
                let request = BatchEmbedRequest { model_id: id, batch, priority };
                let rows = engine.inner.scheduler.embed_batch(request).await?;
                Ok::<_, EngineError>((rows, tokens))
            }
        });
        let done: Vec<(Vec<Embedding>, u64)> =
            stream::iter(groups).buffered(requests_max()).try_collect().await?;
        let seconds = started.elapsed().as_secs_f64();
        let tokens = done.iter().map(|(_, tokens)| tokens).sum();
        let rows: Vec<Embedding> = done.into_iter().flat_map(|(rows, _)| rows).collect();
        let dim = rows.first().map_or(0, Embedding::dim);
        Ok(Embedded { rows, dim, tokens, seconds, device: model.device })
    }
}

fn tokenize(model: &LoadedModel, texts: &[String]) -> Result<TokenBatch, EngineError> {
    let mut batch = TokenBatch::default();
    for text in texts {
        batch.push(&model.tokenizer.encode_passage(text, model.tokens_max)?);
    }
    Ok(batch)
}
