use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use super::{ModelError, Sampling};
use crate::data::{Embedding, TokenBatch};

/// A loaded model as the scheduler sees it.
///
/// It is made, used and dropped on the device thread alone, so it need not be [`Send`].
pub enum Model {
    Encoder(Box<dyn EncoderModel>),
    Decoder(Box<dyn DecoderModel>),
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Model").field(&self.info()).finish()
    }
}

impl Model {
    #[must_use]
    pub fn info(&self) -> ModelInfo {
        match self {
            Self::Encoder(model) => model.info(),
            Self::Decoder(model) => model.info(),
        }
    }
}

/// Turns sequences into vectors.
pub trait EncoderModel {
    fn info(&self) -> ModelInfo;

    /// Batches that may be begun before the first of them is finished: more than one on a device that is given
    /// the next while it computes.
    fn depth(&self) -> NonZeroUsize {
        NonZeroUsize::MIN
    }

    /// Tokens of one batch at most; a longer sequence is a batch by itself.
    fn batch_tokens_max(&self) -> usize {
        usize::MAX
    }

    /// Begins to embed every sequence of `batch`; a device without a queue of its own computes here. What has
    /// begun cannot be interrupted, so its size is the bound on how long a search waits.
    ///
    /// # Errors
    /// When the device fails; the requests in this batch fail with it and no others.
    fn begin(&mut self, batch: &TokenBatch) -> Result<(), ModelError>;

    /// The vectors of the oldest batch that has begun and is not finished, in the order of its sequences.
    ///
    /// # Errors
    /// As [`EncoderModel::begin`].
    fn finish(&mut self) -> Result<Vec<Embedding>, ModelError>;

    /// Embeds a batch of any size, when nothing else has begun.
    ///
    /// # Errors
    /// As [`EncoderModel::begin`].
    fn embed(&mut self, batch: &TokenBatch) -> Result<Vec<Embedding>, ModelError> {
        let (depth, mut pieces) = (self.depth().get(), batch.pieces(self.batch_tokens_max()));
        let mut rows = Ok(Vec::with_capacity(batch.sequences()));
        let mut begun = 0;
        loop {
            // After an error nothing more begins, and what has begun is taken out of the way.
            let room = begun < depth && rows.is_ok();
            let more = match room.then(|| pieces.next()).flatten() {
                Some(piece) => self.begin(&piece).map(|()| {
                    begun += 1;
                    Vec::new()
                }),
                None if begun == 0 => return rows,
                None => {
                    begun -= 1;
                    self.finish()
                }
            };
            rows = rows.and_then(|mut rows: Vec<Embedding>| {
                rows.append(&mut more?);
                Ok(rows)
            });
        }
    }
}

/// Continues sequences.
pub trait DecoderModel {
    fn info(&self) -> ModelInfo;

    /// Starts a session, which costs next to nothing: the prompt is read step by step. Sessions do
    /// not disturb each other.
    ///
    /// # Errors
    /// When the device has no room for another session.
    fn start(
        &mut self,
        prompt: Vec<u32>,
        sampling: Sampling,
    ) -> Result<Box<dyn Generation>, ModelError>;
}

/// One session of a decoder. It keeps what it needs of the model.
pub trait Generation {
    /// Reads at most `tokens_max` (at least one) tokens of the prompt or, once that has been read,
    /// gives the next token.
    ///
    /// # Errors
    /// When the device fails; the session has then ended.
    fn step(&mut self, tokens_max: usize) -> Result<GenerationStep, ModelError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationStep {
    /// So many tokens of the prompt were read.
    Read {
        tokens: usize,
    },
    Token(u32),
}

/// Makes a model in two parts, so that no search waits while another model loads.
pub trait ModelLoader: Send + Sync {
    /// What needs no device: reading, checking, converting. Runs on a thread of its own, once for
    /// each lane.
    ///
    /// # Errors
    /// When files are missing or damaged.
    fn prepare(&self, lane: Lane) -> Result<Box<dyn ModelUpload>, ModelError>;
}

/// Brings a prepared model to the device, on the device thread.
pub trait ModelUpload: Send {
    /// One bounded step; `None` as long as there is more to do.
    ///
    /// # Errors
    /// When the device fails or has no room.
    fn step(&mut self) -> Result<Option<Model>, ModelError>;
}

/// One device thread among those that share a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    pub index: usize,
    pub lanes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    Encoder,
    Decoder,
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encoder => "an embedding model",
            Self::Decoder => "a language model",
        })
    }
}

/// In the order in which they are preferred: on one GPU, wgpu embeds three times what candle does through CUDA
/// (docs/performance.md). Through Metal nobody has compared them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceKind {
    Metal,
    Wgpu,
    Cuda,
    Cpu,
}

impl DeviceKind {
    /// How long one step should take. A search may have to wait for it, and on a GPU of wgpu for as many as are
    /// begun at once ([`EncoderModel::depth`]).
    #[must_use]
    pub fn step_target(self) -> Duration {
        match self {
            Self::Wgpu => Duration::from_millis(5),
            Self::Metal | Self::Cuda => Duration::from_millis(10),
            Self::Cpu => Duration::from_millis(20),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    pub kind: DeviceKind,
    /// For people: "CPU, 2 threads".
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    pub kind: ModelKind,
    pub device: DeviceInfo,
    /// Components of an embedding; of a decoder, the width of a row.
    pub dim: usize,
    /// Tokens of the longest sequence, special tokens included; of a decoder, prompt and answer.
    pub tokens_max: usize,
    /// Weights on the device.
    pub memory_bytes: u64,
    /// Why it runs here and not on a better device; empty when there was none to prefer.
    pub notices: Vec<String>,
}
