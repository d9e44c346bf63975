//! An encoder that outlives its device.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tracing::warn;

use super::{Candidate, SelfTest, message, name, tested};
use crate::data::{Embedding, TokenBatch};
use crate::gpu::{EncoderModel, Lane, ModelError, ModelInfo};

/// Says why it runs where it does. When the device is gone, because its driver was updated or reset, say, or
/// an external GPU was unplugged, it opens the device again, the first time, or goes on with the next one.
///
/// What had begun begins again there, and waits for that. It is rare, and there is nothing else that could answer it.
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
    /// What has begun and is not finished, oldest first.
    pub begun: VecDeque<Begun>,
}

pub(super) struct Begun {
    batch: TokenBatch,
    /// Why it did not begin again when its device was gone.
    outcome: Result<(), ModelError>,
}

impl EncoderModel for Guarded {
    fn info(&self) -> ModelInfo {
        let info = self.encoder.info();
        let notices = self.notices.iter().chain(&info.notices).cloned().collect();
        ModelInfo { notices, ..info }
    }

    fn depth(&self) -> NonZeroUsize {
        self.encoder.depth()
    }

    fn batch_tokens_max(&self) -> usize {
        self.encoder.batch_tokens_max()
    }

    fn begin(&mut self, batch: &TokenBatch) -> Result<(), ModelError> {
        match self.encoder.begin(batch) {
            Err(error) if error.is_device_lost() => {
                self.replace(error)?;
                self.begin_again();
                self.encoder.begin(batch)?;
            }
            outcome => outcome?,
        }
        self.begun.push_back(Begun { batch: batch.clone(), outcome: Ok(()) });
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<Embedding>, ModelError> {
        let oldest = self.begun.pop_front();
        let Begun { batch, outcome } =
            oldest.ok_or_else(|| ModelError::new("no batch has begun"))?;
        outcome?;
        match self.encoder.finish() {
            Err(error) if error.is_device_lost() => {
                self.replace(error)?;
                let rows = self.encoder.embed(&batch);
                self.begin_again();
                rows
            }
            rows => rows,
        }
    }
}

impl Guarded {
    /// Begins on a new device what the old one has taken with it.
    fn begin_again(&mut self) {
        for Begun { batch, outcome } in &mut self.begun {
            *outcome = self.encoder.begin(batch);
        }
    }

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
