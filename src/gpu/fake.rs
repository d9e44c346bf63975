//! Models that a test holds in its hand.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};

use super::{
    DecoderModel, DeviceInfo, DeviceKind, EncoderModel, Generation, GenerationStep, Lane, Model,
    ModelError, ModelId, ModelInfo, ModelKind, ModelLoader, ModelUpload, Sampling,
};
use crate::data::{Embedding, TokenBatch};

pub(super) fn encoder_id() -> ModelId {
    ModelId::Embedding("fake".to_owned())
}

pub(super) fn decoder_id() -> ModelId {
    ModelId::Llm("writer".to_owned())
}

/// Where a device thread waits until the test lets it go on.
#[derive(Debug, Default)]
pub(super) struct Gate {
    passes: Mutex<usize>,
    opened: Condvar,
}

impl Gate {
    pub fn let_through(&self, passes: usize) {
        let mut held = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        *held = held.saturating_add(passes);
        self.opened.notify_all();
    }

    pub fn open(&self) {
        self.let_through(usize::MAX);
    }

    pub fn pass(&self) {
        let held = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut held = self.opened.wait_while(held, |passes| *passes == 0).unwrap();
        if *held < usize::MAX {
            *held -= 1;
        }
    }
}

/// A step that has started: the thread it runs on and the first token that it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Started {
    pub thread: String,
    pub token: u32,
}

/// Reports the start of each step, then waits at the gate.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    pub gate: Arc<Gate>,
    started: mpsc::Sender<Started>,
}

impl Steps {
    pub fn new() -> (Self, mpsc::Receiver<Started>) {
        let (started, receiver) = mpsc::channel();
        (Self { gate: Arc::default(), started }, receiver)
    }

    fn start(&self, token: u32) {
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        // A test that no longer listens still lets its scheduler end.
        let _ = self.started.send(Started { thread, token });
    }

    fn step(&self, token: u32) {
        self.start(token);
        self.gate.pass();
    }
}

pub(super) const PANICS: u32 = 666;
pub(super) const FAILS: u32 = 13;
/// Takes the device thread with it.
pub(super) const KILLS: u32 = 999;

/// Panics once more when it is dropped, which is after the panic was caught.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the thread dies");
    }
}

fn info(kind: ModelKind) -> ModelInfo {
    ModelInfo {
        kind,
        device: DeviceInfo { kind: DeviceKind::Cpu, name: "fake".to_owned() },
        dim: 2,
        tokens_max: 64,
        memory_bytes: 7,
        notices: Vec::new(),
    }
}

/// Embeds a sequence as the direction (its first id, its length).
struct FakeEncoder {
    steps: Steps,
    /// A device of depth 1 computes as it begins, and waits at the gate there.
    depth: NonZeroUsize,
    begun: VecDeque<Result<Vec<Embedding>, ModelError>>,
}

impl EncoderModel for FakeEncoder {
    fn info(&self) -> ModelInfo {
        info(ModelKind::Encoder)
    }

    fn depth(&self) -> NonZeroUsize {
        self.depth
    }

    fn begin(&mut self, batch: &TokenBatch) -> Result<(), ModelError> {
        self.steps.start(batch.ids()[0]);
        if self.depth == NonZeroUsize::MIN {
            self.steps.gate.pass();
        }
        assert!(!batch.ids().contains(&PANICS), "boom");
        if batch.ids().contains(&KILLS) {
            std::panic::panic_any(Bomb);
        }
        let rows = if batch.ids().contains(&FAILS) {
            Err(ModelError::new("unlucky"))
        } else {
            batch
                .ranges()
                .map(|range| vec![batch.ids()[range.start] as f32, range.len() as f32])
                .map(|values| Embedding::normalized(values).map_err(ModelError::new))
                .collect()
        };
        self.begun.push_back(rows);
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<Embedding>, ModelError> {
        if self.depth > NonZeroUsize::MIN {
            self.steps.gate.pass();
        }
        self.begun.pop_front().unwrap()
    }
}

/// Continues a prompt with its last token plus one, plus two and so on.
struct FakeDecoder(Steps);

struct FakeSession {
    steps: Steps,
    unread: usize,
    next: u32,
}

impl DecoderModel for FakeDecoder {
    fn info(&self) -> ModelInfo {
        info(ModelKind::Decoder)
    }

    fn start(
        &mut self,
        prompt: Vec<u32>,
        _sampling: Sampling,
    ) -> Result<Box<dyn Generation>, ModelError> {
        let next = prompt[prompt.len() - 1] + 1;
        let steps = self.0.clone();
        Ok(Box::new(FakeSession { steps, unread: prompt.len(), next }))
    }
}

impl Generation for FakeSession {
    fn step(&mut self, tokens_max: usize) -> Result<GenerationStep, ModelError> {
        self.steps.step(self.next);
        assert!(self.next != PANICS, "boom");
        if self.unread > 0 {
            let tokens = self.unread.min(tokens_max);
            self.unread -= tokens;
            return Ok(GenerationStep::Read { tokens });
        }
        self.next += 1;
        Ok(GenerationStep::Token(self.next - 1))
    }
}

/// Makes its model on the device thread.
struct FakeLoader<P, U> {
    prepare: P,
    upload: U,
}

struct FakeUpload<U>(U);

impl<P, U> ModelLoader for FakeLoader<P, U>
where
    P: Fn(Lane) -> Result<(), ModelError> + Send + Sync,
    U: FnMut() -> Result<Option<Model>, ModelError> + Clone + Send + Sync + 'static,
{
    fn prepare(&self, lane: Lane) -> Result<Box<dyn ModelUpload>, ModelError> {
        (self.prepare)(lane)?;
        Ok(Box::new(FakeUpload(self.upload.clone())))
    }
}

impl<U> ModelUpload for FakeUpload<U>
where
    U: FnMut() -> Result<Option<Model>, ModelError> + Send,
{
    fn step(&mut self) -> Result<Option<Model>, ModelError> {
        (self.0)()
    }
}

pub(super) fn loader(
    prepare: impl Fn(Lane) -> Result<(), ModelError> + Send + Sync + 'static,
    upload: impl FnMut() -> Result<Option<Model>, ModelError> + Clone + Send + Sync + 'static,
) -> Arc<dyn ModelLoader> {
    Arc::new(FakeLoader { prepare, upload })
}

pub(super) fn encoder(steps: &Steps) -> Arc<dyn ModelLoader> {
    encoder_of_depth(NonZeroUsize::MIN, steps)
}

pub(super) fn encoder_of_depth(depth: NonZeroUsize, steps: &Steps) -> Arc<dyn ModelLoader> {
    let steps = steps.clone();
    let make = move || FakeEncoder { steps: steps.clone(), depth, begun: VecDeque::new() };
    loader(|_| Ok(()), move || Ok(Some(Model::Encoder(Box::new(make())))))
}

pub(super) fn decoder(steps: &Steps) -> Arc<dyn ModelLoader> {
    let steps = steps.clone();
    loader(|_| Ok(()), move || Ok(Some(Model::Decoder(Box::new(FakeDecoder(steps.clone()))))))
}
