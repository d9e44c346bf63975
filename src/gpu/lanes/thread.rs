//! A thread that owns a device, and everything that lives on it.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tracing::{debug_span, error};

use super::super::budget::StepBudget;
use super::super::queue::{EmbedStep, GenerateStep, QueueLane, Step, Ticket};
use super::super::{
    DeviceKind, EncoderModel, Generation, GenerationStep, GpuError, Lane, Model, ModelError,
    ModelId, ModelInfo, ModelUpload, Priority,
};
use super::Shared;
use crate::data::Embedding;
use crate::telemetry::mark;

/// What lives on a device thread and nowhere else.
pub(super) struct DeviceThread {
    shared: Arc<Shared>,
    lane: Lane,
    step_target: Option<Duration>,
    models: HashMap<ModelId, (Model, StepBudget)>,
    /// Steps that the device has and that are not finished, oldest first.
    begun: VecDeque<Begun>,
    /// When the last of them was finished.
    finished_at: Instant,
    /// Answers that have begun here.
    sessions: HashMap<Ticket, Box<dyn Generation>>,
    /// The model that is coming to the device.
    uploading: Option<(ModelId, Box<dyn ModelUpload>)>,
    /// Whether the last turn was an upload's: they alternate with requests.
    uploaded_last: bool,
    /// Whether the models here run on the cores that searches need as well.
    shares_cores: bool,
}

struct Begun {
    step: EmbedStep,
    at: Instant,
}

enum Turn {
    Drop(ModelId, oneshot::Sender<()>),
    Upload,
    Step(Step),
    /// The oldest step that has begun is due.
    Finish,
    Stop,
}

impl DeviceThread {
    pub fn new(shared: Arc<Shared>, lane: Lane, step_target: Option<Duration>) -> Self {
        Self {
            shared,
            lane,
            step_target,
            models: HashMap::new(),
            begun: VecDeque::new(),
            finished_at: Instant::now(),
            sessions: HashMap::new(),
            uploading: None,
            uploaded_last: false,
            shares_cores: false,
        }
    }

    pub fn run(mut self) {
        loop {
            self.end_sessions();
            let turn = self.next_turn();
            self.uploaded_last = matches!(turn, Turn::Upload);
            match turn {
                Turn::Drop(id, done) => {
                    self.models.remove(&id);
                    // Nobody waits when it was a load that failed on another lane.
                    let _ = done.send(());
                }
                Turn::Upload => self.upload(),
                Turn::Step(Step::Embed(step)) => self.begin(step),
                Turn::Step(Step::Generate(step)) => self.generate(step),
                Turn::Finish => self.finish(),
                Turn::Stop => return,
            }
        }
    }

    fn next_turn(&mut self) -> Turn {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        loop {
            if state.stopped {
                return Turn::Stop;
            }
            let state_now = &mut *state;
            let uploads = &mut state_now.uploads[self.lane.index];
            if let Some((id, done)) = uploads.unwanted.pop() {
                return Turn::Drop(id, done);
            }
            if !self.has_room() {
                return Turn::Finish;
            }
            if self.uploading.is_none() {
                self.uploading = uploads.ready.pop_front();
            }
            let on_lane = |id: &ModelId| self.models.contains_key(id);
            let upload_next = self.uploading.is_some() && !self.uploaded_last;
            if upload_next && !state_now.queue.has_immediate(self.lane.index, on_lane) {
                return Turn::Upload;
            }
            let budget = |id: &ModelId| self.models.get(id).map(|(_, budget)| budget.tokens());
            let now = Instant::now();
            let held = state_now.holds.left(now).filter(|_| self.shares_cores);
            let lane = QueueLane { index: self.lane.index, background: held.is_none() };
            if let Some(step) = state_now.queue.next_step(lane, budget, now) {
                return Turn::Step(step);
            }
            if !self.begun.is_empty() {
                return Turn::Finish;
            }
            if self.uploading.is_some() {
                return Turn::Upload;
            }
            state = match held {
                None => shared.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let woken = shared.wake.wait_timeout(state, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Drops the sessions whose reader has gone.
    fn end_sessions(&mut self) {
        if self.sessions.is_empty() {
            return;
        }
        let state = self.shared.lock();
        let ended: Vec<Ticket> =
            self.sessions.keys().filter(|ticket| !state.queue.holds(**ticket)).copied().collect();
        drop(state);
        for ticket in ended {
            self.sessions.remove(&ticket);
        }
    }

    /// Whether the device may be given one more step. What somebody waits for is finished first.
    fn has_room(&self) -> bool {
        let is_awaited = |begun: &Begun| begun.step.priority == Priority::Immediate;
        self.begun.iter().all(|begun| {
            let depth = match self.models.get(&begun.step.model) {
                Some((Model::Encoder(model), _)) => model.depth().get(),
                _ => 1,
            };
            self.begun.len() < depth && !is_awaited(begun)
        })
    }

    /// Gives a step to the device, which may be over when this returns or only have begun.
    fn begin(&mut self, step: EmbedStep) {
        let at = Instant::now();
        let _span = debug_span!(
            "step",
            model = %step.model,
            priority = ?step.priority,
            tokens = step.batch.tokens(),
            sequences = step.batch.sequences(),
            requests = step.requests().len(),
        )
        .entered();
        step.requests().for_each(mark::flow_ends);
        match self.on_encoder(&step.model, |encoder| encoder.begin(&step.batch)) {
            Ok(()) => self.begun.push_back(Begun { step, at }),
            Err(error) => self.complete(&step, Err(error), at.elapsed()),
        }
    }

    /// Waits for the oldest step that has begun.
    fn finish(&mut self) {
        let Some(Begun { step, at }) = self.begun.pop_front() else { return };
        let _span = debug_span!("finish_step", tokens = step.batch.tokens()).entered();
        let rows = self.on_encoder(&step.model, |encoder| encoder.finish());
        let result = rows.and_then(|rows| check_rows(&step.model, rows, step.batch.sequences()));
        // A device computes one step after another, so the time of this one began no earlier than the one
        // before was over.
        let began = at.max(self.finished_at);
        self.finished_at = Instant::now();
        self.complete(&step, result, self.finished_at - began);
    }

    fn on_encoder<T>(
        &mut self,
        id: &ModelId,
        work: impl FnOnce(&mut dyn EncoderModel) -> Result<T, ModelError>,
    ) -> Result<T, GpuError> {
        let Some((Model::Encoder(model), _)) = self.models.get_mut(id) else {
            return Err(GpuError::ModelNotLoaded(id.clone()));
        };
        flatten(id, catch_unwind(AssertUnwindSafe(|| work(&mut **model))))
    }

    fn complete(
        &mut self,
        step: &EmbedStep,
        result: Result<Vec<Embedding>, GpuError>,
        took: Duration,
    ) {
        let tokens = step.batch.tokens();
        if let Some((_, budget)) = self.models.get_mut(&step.model) {
            match &result {
                Ok(_) => budget.record(tokens, took),
                Err(GpuError::OutOfMemory { .. }) => budget.shrink(tokens),
                // It may have failed at once: taken for speed, that would make the next steps too long for a
                // search to wait for.
                Err(_) => {}
            }
        }
        mark::tokens_per_second(tokens as f64 / took.as_secs_f64());
        let mut state = self.shared.lock();
        state.queue.complete_embed(step, result, took);
        mark::queue_depth(state.queue.depth());
        drop(state);
        self.wake_other_lanes();
    }

    fn generate(&mut self, mut step: GenerateStep) {
        let started = Instant::now();
        let _span =
            debug_span!("generate_step", model = %step.model, priority = ?step.priority).entered();
        let begun = match step.prompt.take() {
            Some((prompt, sampling)) => self.begin_answer(&step, prompt, sampling),
            None => Ok(()),
        };
        let result = begun.and_then(|()| {
            let session = self.sessions.get_mut(&step.ticket);
            let session = session.ok_or_else(|| GpuError::ModelNotLoaded(step.model.clone()))?;
            let outcome = catch_unwind(AssertUnwindSafe(|| session.step(step.tokens_max)));
            flatten(&step.model, outcome)
        });
        if let (Ok(GenerationStep::Read { tokens }), Some((_, budget))) =
            (&result, self.models.get_mut(&step.model))
        {
            budget.record(*tokens, started.elapsed());
        }
        if result.is_err() {
            self.sessions.remove(&step.ticket);
        }
        self.shared.lock().queue.complete_generate(&step, result, started.elapsed());
        self.wake_other_lanes();
    }

    fn begin_answer(
        &mut self,
        step: &GenerateStep,
        prompt: Vec<u32>,
        sampling: super::super::Sampling,
    ) -> Result<(), GpuError> {
        let Some((Model::Decoder(model), _)) = self.models.get_mut(&step.model) else {
            return Err(GpuError::ModelNotLoaded(step.model.clone()));
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| model.start(prompt, sampling)));
        self.sessions.insert(step.ticket, flatten(&step.model, outcome)?);
        Ok(())
    }

    /// A step that failed is put back, and another lane may have room for it.
    fn wake_other_lanes(&self) {
        if self.lane.lanes > 1 {
            self.shared.wake.notify_all();
        }
    }

    fn upload(&mut self) {
        let Some((id, mut upload)) = self.uploading.take() else { return };
        let _span = debug_span!("upload_model", model = %id, lane = self.lane.index).entered();
        let result = match catch_unwind(AssertUnwindSafe(|| upload.step())) {
            Ok(Ok(None)) => {
                self.uploading = Some((id, upload));
                return;
            }
            Ok(Ok(Some(model))) => Ok(self.keep(id.clone(), model)),
            Ok(Err(source)) => Err(GpuError::of_load(id.clone(), source)),
            Err(panic) => {
                Err(GpuError::Panicked { id: id.clone(), message: panic_message(&*panic) })
            }
        };
        self.shared.loaded(&id, result);
    }

    fn keep(&mut self, id: ModelId, model: Model) -> ModelInfo {
        let info = model.info();
        self.shares_cores |= info.device.kind == DeviceKind::Cpu;
        let target = self.step_target.unwrap_or(info.device.kind.step_target());
        let tokens_max = match &model {
            Model::Encoder(model) => model.batch_tokens_max(),
            Model::Decoder(_) => usize::MAX,
        };
        self.models.insert(id, (model, StepBudget::new(target, tokens_max)));
        info
    }
}

impl Drop for DeviceThread {
    /// Runs also when the loop itself panics: nobody is left waiting for a thread that is gone.
    fn drop(&mut self) {
        let died = std::thread::panicking();
        if died {
            error!(lane = self.lane.index, "a device thread has crashed");
        }
        self.shared.stop(died);
    }
}

/// What a model gave, or the error of its request.
fn flatten<T>(
    id: &ModelId,
    outcome: std::thread::Result<Result<T, ModelError>>,
) -> Result<T, GpuError> {
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(source)) => Err(GpuError::of_step(id.clone(), source)),
        Err(panic) => Err(GpuError::Panicked { id: id.clone(), message: panic_message(&*panic) }),
    }
}

fn check_rows(
    id: &ModelId,
    rows: Vec<Embedding>,
    sequences: usize,
) -> Result<Vec<Embedding>, GpuError> {
    if rows.len() == sequences {
        return Ok(rows);
    }
    let source = ModelError::new(format!("{} embeddings for {sequences} sequences", rows.len()));
    Err(GpuError::Model { id: id.clone(), source })
}

pub(super) fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
