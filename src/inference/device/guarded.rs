//! An encoder that outlives its device.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tracing::warn;

use super::{Candidate, SelfTest, message, name, tested};
use crate::data::{Embedding, TokenBatch};
use crate::gpu::{EncoderModel, Lane, ModelError, ModelInfo};

/// Says why it runs where it does. When the device is gone, because its driver was updated or reset, say, or
/// an external GPU was unplugged, it opens the device again, the first time, or goes on with the next one.
///
/// The request at hand waits for that. It is rare, and there is nothing else that could answer it.
pub(super) struct Guarded {
    pub encoder: Box<dyn EncoderModel>,
    pub notices: Vec<String>,
    pub candidates: Arc<[Candidate]>,
    /// The candidate that the encoder is on.
    pub at: usize,
    pub lane: Lane,
    pub self_test: Arc<SelfTest>,
    /// Whether the device has been lost before.
    pub lost: bool,
}

impl EncoderModel for Guarded {
    fn info(&self) -> ModelInfo {
        let info = self.encoder.info();
        let notices = self.notices.iter().chain(&info.notices).cloned().collect();
        ModelInfo { notices, ..info }
    }

    fn embed(&mut self, batch: &TokenBatch) -> Result<Vec<Embedding>, ModelError> {
        match self.encoder.embed(batch) {
            Err(error) if error.is_device_lost() => {
                self.replace(error)?;
                self.encoder.embed(batch)
            }
            result => result,
        }
    }
}

impl Guarded {
    fn replace(&mut self, mut error: ModelError) -> Result<(), ModelError> {
        let first = if self.lost { self.at + 1 } else { self.at };
        self.lost = true;
        for at in first..self.candidates.len() {
            let kind = name(self.candidates[self.at].kind);
            warn!(device = kind, %error, "the device is gone");
            let load = catch_unwind(AssertUnwindSafe(|| self.load(at)));
            match load.unwrap_or_else(|panic| Err(ModelError::new(message(&*panic)))) {
                Ok(encoder) => {
                    if at > self.at {
                        self.notices.push(format!("{kind} is no longer used: {error}"));
                        (self.at, self.lost) = (at, false);
                    }
                    self.encoder = encoder;
                    return Ok(());
                }
                Err(next) => error = next,
            }
        }
        Err(error)
    }

    fn load(&self, at: usize) -> Result<Box<dyn EncoderModel>, ModelError> {
        let Candidate { kind, loader } = &self.candidates[at];
        let mut upload = loader.prepare(self.lane)?;
        let model = loop {
            if let Some(model) = upload.step()? {
                break model;
            }
        };
        tested(model, &self.self_test, self.self_test.expected(*kind, self.lane)?.as_deref())
    }
}
