//! `lode chat`: a question to a language model, the answer as it is written.

use lodestone::engine::{ChatEnd, ChatMessage, ChatOptions, Engine, FinishReason, Role, Sampling};
use serde::Serialize;

use crate::arguments::{ChatArguments, Common};
use crate::failure::{Exit, Failure};
use crate::output::{Output, printable};

/// A line of JSON: pieces of the answer, and behind them how it ended.
#[derive(Serialize)]
#[serde(untagged)]
enum Line {
    Piece { text: String },
    End { finish: &'static str, prompt_tokens: usize, tokens: usize, device: String },
}

pub async fn run(
    common: &Common,
    output: &Output,
    arguments: ChatArguments,
) -> Result<Exit, Failure> {
    let ChatArguments { question, model, system, tokens_max, temperature, seed } = arguments;
    let mut config = common.config()?;
    config.language_model = Some(std::path::absolute(model).map_err(Failure::usage)?);
    let engine = Engine::open(config)?;
    let options = ChatOptions {
        sampling: Sampling { temperature, seed, ..Sampling::greedy() },
        tokens_max: tokens_max as usize,
        stop: Vec::new(),
    };
    let system = system.map(|content| ChatMessage { role: Role::System, content });
    let messages = system.into_iter().chain([ChatMessage::user(question)]).collect();
    let mut answer = engine.chat(messages, options);
    while let Some(piece) = answer.next().await {
        output.print(&Line::Piece { text: piece? }, |line, _| render(line))?;
    }
    if let Some(end) = answer.ended().cloned() {
        let ChatEnd { finish, prompt_tokens, tokens, device } = end;
        let finish = match finish {
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
        };
        let end = Line::End { finish, prompt_tokens, tokens, device };
        output.print(&end, |line, _| render(line))?;
    }
    Ok(Exit::Done)
}

fn render(line: &Line) -> String {
    match line {
        Line::Piece { text } => printable(text),
        // The answer itself ends without a line break.
        Line::End { .. } => "\n".to_owned(),
    }
}
