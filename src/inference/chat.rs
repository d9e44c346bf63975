//! Conversations: what a language model reads of them, and its answer as text.

mod text;

use std::fmt;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, Value, context};
use minijinja_contrib::pycompat::unknown_method_callback;

pub use text::AnswerText;

use super::gguf::{GgufError, GgufFile, GgufTokenizer};

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    pub role: Role,
    pub content: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Tells the model how to behave.
    System,
    User,
    Assistant,
}

impl Role {
    /// As chat templates call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl ChatMessage {
    #[must_use]
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: Role::User, content: content.into() }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("the model's chat template refuses this conversation: {reason}")]
    Refused { reason: String },
    #[error("the model's chat template cannot be used: {reason}; take a model with another")]
    Template { reason: String },
}

/// The template in Jinja with which a model was trained to read conversations.
pub struct ChatTemplate {
    environment: Environment<'static>,
    bos: String,
    eos: String,
}

impl fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatTemplate")
            .field("bos", &self.bos)
            .field("eos", &self.eos)
            .finish_non_exhaustive()
    }
}

impl ChatTemplate {
    const KEY: &str = "tokenizer.chat_template";
    const NAME: &str = "chat";
    /// Steps that rendering may take: a file from anywhere must not hold a thread for ever. Real
    /// templates take some hundreds for a message.
    const FUEL: u64 = 10_000_000;

    /// Takes the template out of a file.
    ///
    /// # Errors
    /// When there is none, or it is no Jinja.
    pub fn read(gguf: &GgufFile, tokenizer: &GgufTokenizer) -> Result<Self, GgufError> {
        let source = gguf.text(Self::KEY)?.to_owned();
        Self::parse(source, tokenizer.bos_text(), tokenizer.eos_text())
            .map_err(|error| gguf.damaged(error.to_string()))
    }

    /// Reads a template as the `transformers` library would, with the texts of the tokens that begin
    /// and end a text.
    ///
    /// # Errors
    /// When it is no Jinja.
    pub fn parse(source: String, bos: &str, eos: &str) -> Result<Self, ChatError> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment
            .set_syntax(syntax.map_err(|error| ChatError::Template { reason: described(&error) })?);
        environment.set_fuel(Some(Self::FUEL));
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_function("raise_exception", |reason: String| -> Result<Value, _> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, REFUSED.to_owned() + &reason))
        });
        environment
            .add_template_owned(Self::NAME, source)
            .map_err(|error| ChatError::Template { reason: described(&error) })?;
        Ok(Self { environment, bos: bos.to_owned(), eos: eos.to_owned() })
    }

    /// The conversation as the model reads it, up to where its answer begins.
    ///
    /// # Errors
    /// When the template refuses the conversation, or asks for something that is not there.
    pub fn render(&self, messages: &[ChatMessage]) -> Result<String, ChatError> {
        let messages: Vec<Value> = messages
            .iter()
            .map(|message| context! { role => message.role.name(), content => message.content.as_str() })
            .collect();
        let values = context! {
            messages,
            bos_token => self.bos.as_str(),
            eos_token => self.eos.as_str(),
            add_generation_prompt => true,
        };
        let template = self.environment.get_template(Self::NAME);
        template.and_then(|template| template.render(values)).map_err(|error| {
            match error.detail().and_then(|detail| detail.strip_prefix(REFUSED)) {
                Some(reason) => ChatError::Refused { reason: reason.to_owned() },
                None => ChatError::Template { reason: described(&error) },
            }
        })
    }
}

/// Marks errors that the template raised itself.
const REFUSED: &str = "refused: ";

/// With the line, as the template has lines and the person has not written it.
fn described(error: &minijinja::Error) -> String {
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    let line = error.line().map(|line| format!(", line {line}")).unwrap_or_default();
    format!("{}{detail}{line}", error.kind())
}

#[cfg(test)]
mod tests;
