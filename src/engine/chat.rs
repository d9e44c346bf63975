use std::sync::Arc;

use tokio::sync::mpsc;
use tracing::debug_span;

use super::{Engine, EngineError};
use crate::config::DeviceChoice;
use crate::gpu::{FinishReason, GenerateRequest, ModelId, Priority, Sampling};
use crate::inference::{AnswerText, ChatMessage, ChatTemplate, GgufTokenizer, LanguageModel};
use crate::platform;

/// Pieces of text on their way to a reader who is slower than the model.
const PIECES_MAX: usize = 256;

/// How an answer is made.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatOptions {
    pub sampling: Sampling,
    /// Tokens of the answer at most; the model's context is a bound as well.
    pub tokens_max: usize,
    /// Texts that end the answer and are no part of it.
    pub stop: Vec<String>,
}

impl Default for ChatOptions {
    fn default() -> Self {
        Self { sampling: Sampling::greedy(), tokens_max: 512, stop: Vec::new() }
    }
}

/// An answer as it is written. Dropping it cancels the rest.
#[derive(Debug)]
pub struct ChatAnswer {
    pieces: mpsc::Receiver<Result<Piece, EngineError>>,
    ended: Option<ChatEnd>,
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatEnd {
    pub finish: FinishReason,
    pub prompt_tokens: usize,
    /// Of the answer, without the token that ended it.
    pub tokens: usize,
    pub device: String,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    End(ChatEnd),
}

impl ChatAnswer {
    /// The next piece of text, whole characters; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<String, EngineError>> {
        match self.pieces.recv().await? {
            Ok(Piece::Text(text)) => Some(Ok(text)),
            Ok(Piece::End(end)) => {
                self.ended = Some(end);
                None
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// `None` before the end, and after an error.
    #[must_use]
    pub fn ended(&self) -> Option<&ChatEnd> {
        self.ended.as_ref()
    }
}

/// The language model on the device, with what is needed to talk to it.
#[derive(Clone, Debug)]
pub(super) struct LoadedLanguageModel {
    id: ModelId,
    tokenizer: Arc<GgufTokenizer>,
    template: Arc<ChatTemplate>,
    device: String,
}

impl Engine {
    /// Continues a conversation with the language model of the configuration, which is loaded when it
    /// is asked for the first time.
    ///
    /// Trouble comes as a piece: there is no language model, it cannot be loaded, or it fails.
    #[must_use]
    pub fn chat(&self, messages: Vec<ChatMessage>, options: ChatOptions) -> ChatAnswer {
        let (sender, pieces) = mpsc::channel(PIECES_MAX);
        let engine = self.clone();
        self.spawn(async move {
            let gone = sender.clone();
            tokio::select! {
                answered = engine.answer(messages, options, &sender) => {
                    if let Err(error) = answered {
                        // Nobody may be listening any more.
                        let _ = sender.send(Err(error)).await;
                    }
                }
                // Drops the answer, and with it the tokens that are still to come.
                () = gone.closed() => {}
            }
        });
        ChatAnswer { pieces, ended: None }
    }

    async fn answer(
        &self,
        messages: Vec<ChatMessage>,
        options: ChatOptions,
        pieces: &mpsc::Sender<Result<Piece, EngineError>>,
    ) -> Result<(), EngineError> {
        let model = self.language_model().await?;
        let LoadedLanguageModel { id, tokenizer, template, device } = model;
        let encode = Arc::clone(&tokenizer);
        let prompt = self
            .run_blocking(move || {
                let _span = debug_span!("render_chat").entered();
                Ok(encode.encode(&template.render(&messages)?)?)
            })
            .await?;
        let prompt_tokens = prompt.len();
        let request = GenerateRequest {
            model_id: id,
            prompt,
            sampling: options.sampling,
            tokens_max: options.tokens_max,
            stop: tokenizer.ends().iter().map(|id| vec![*id]).collect(),
            priority: Priority::Interactive,
        };
        let mut stream = self.inner.scheduler.generate(request).await?;
        let (mut text, mut tokens) = (AnswerText::new(options.stop), 0);
        while let Some(token) = stream.next().await {
            tokens += 1;
            send(pieces, text.push(tokenizer.bytes(token?))).await;
            if text.ended() {
                break;
            }
        }
        send(pieces, text.finish()).await;
        let finish = stream.finish().unwrap_or(FinishReason::Stop);
        let end = ChatEnd { finish, prompt_tokens, tokens, device };
        let _ = pieces.send(Ok(Piece::End(end))).await;
        Ok(())
    }

    async fn language_model(&self) -> Result<LoadedLanguageModel, EngineError> {
        let model = &self.inner.language_model;
        model.get_or_try_init(|| self.load_language_model()).await.cloned()
    }

    async fn load_language_model(&self) -> Result<LoadedLanguageModel, EngineError> {
        let config = &self.inner.config;
        let path = config.language_model.clone().ok_or(EngineError::NoLanguageModel)?;
        let model = self
            .run_blocking(move || {
                let _span = debug_span!("open_language_model").entered();
                Ok(LanguageModel::open(&path)?)
            })
            .await?;
        let id = model.id();
        let (tokenizer, template) = (Arc::clone(&model.tokenizer), Arc::clone(&model.template));
        let choice = match config.device {
            Some(choice) => choice,
            None => DeviceChoice::from_environment()?,
        };
        let loader = model.into_loader(choice, config.threads.unwrap_or_else(platform::cores));
        let info = self.inner.scheduler.load_model(id.clone(), loader).await?;
        Ok(LoadedLanguageModel { id, tokenizer, template, device: info.device.name })
    }
}

async fn send(pieces: &mpsc::Sender<Result<Piece, EngineError>>, text: String) {
    if !text.is_empty() {
        // A reader who has gone ends the whole answer elsewhere.
        let _ = pieces.send(Ok(Piece::Text(text))).await;
    }
}
