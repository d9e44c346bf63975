use tokio::sync::mpsc;

use super::GpuError;

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// A stop sequence came.
    Stop,
    /// The answer is as long as was asked for, or as the model's context allows.
    Length,
}

/// What the device thread sends.
#[derive(Clone, Debug)]
pub(super) enum Generated {
    Token(u32),
    Finished(FinishReason),
    Failed(GpuError),
}

/// The tokens of an answer as they are made. Dropping it cancels the rest.
#[derive(Debug)]
pub struct TokenStream {
    receiver: mpsc::Receiver<Generated>,
    finish: Option<FinishReason>,
    ended: bool,
}

impl TokenStream {
    /// The stream with the end that fills it, which has room for `tokens_max` tokens and the finish:
    /// the device thread never waits for a reader.
    pub(super) fn new(tokens_max: usize) -> (mpsc::Sender<Generated>, Self) {
        let (sender, receiver) = mpsc::channel(tokens_max + 1);
        (sender, Self { receiver, finish: None, ended: false })
    }

    /// The next token; `None` at the end, after which [`TokenStream::finish`] tells the reason.
    pub async fn next(&mut self) -> Option<Result<u32, GpuError>> {
        if self.ended {
            return None;
        }
        match self.receiver.recv().await {
            Some(Generated::Token(token)) => Some(Ok(token)),
            Some(Generated::Finished(reason)) => {
                self.ended = true;
                self.finish = Some(reason);
                None
            }
            Some(Generated::Failed(error)) => {
                self.ended = true;
                Some(Err(error))
            }
            None => {
                self.ended = true;
                Some(Err(GpuError::Stopped))
            }
        }
    }

    /// `None` before the end, and after an error.
    #[must_use]
    pub fn finish(&self) -> Option<FinishReason> {
        self.finish
    }
}
