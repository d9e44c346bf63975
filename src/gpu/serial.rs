use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::{Semaphore, oneshot};
use tracing::{debug_span, error};

use super::budget::StepBudget;
use super::queue::{Pending, Queue, Step};
use super::{
    BatchEmbedRequest, EmbedRequest, GenerateRequest, GenerateResponse, GpuError, GpuScheduler,
    Model, ModelId, ModelInfo, ModelKind, ModelLoader, Priority, SchedulerStats,
};
use crate::data::{Embedding, TokenBatch};

#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// Requests that may wait at once; more callers wait outside. Queries have a bound of their own,
    /// so a flood of files cannot keep them out.
    pub queue_max: usize,
    /// How long one step should take.
    pub step_target: Duration,
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        Self { queue_max: 1_000, step_target: Duration::from_millis(40) }
    }
}

/// One named thread that owns the device and every model, and runs one step at a time.
///
/// Dropping it answers everything that waits with [`GpuError::Stopped`] and joins the thread, which
/// takes at most one step.
#[derive(Debug)]
pub struct SerialScheduler {
    shared: Arc<Shared>,
    places: [Arc<Semaphore>; 2],
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: Queue,
    controls: Vec<Control>,
    models: HashMap<ModelId, ModelInfo>,
    stopped: bool,
}

enum Control {
    Load {
        id: ModelId,
        loader: Box<dyn ModelLoader>,
        reply: oneshot::Sender<Result<ModelInfo, GpuError>>,
    },
    Unload {
        id: ModelId,
        reply: oneshot::Sender<Result<(), GpuError>>,
    },
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Load { id, .. } => write!(f, "Load({id})"),
            Self::Unload { id, .. } => write!(f, "Unload({id})"),
        }
    }
}

impl Shared {
    /// A panic while the lock is held would leave whole values behind, so the poison is no danger.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SerialScheduler {
    /// Starts the thread `gpu-scheduler`.
    ///
    /// # Errors
    /// [`GpuError::Spawn`] when the system refuses a thread.
    pub fn start(options: &SchedulerOptions) -> Result<Self, GpuError> {
        let shared = Arc::new(Shared { state: Mutex::default(), wake: Condvar::new() });
        let on_thread = Arc::clone(&shared);
        let target = options.step_target;
        let thread = std::thread::Builder::new()
            .name("gpu-scheduler".to_owned())
            .spawn(move || DeviceThread::new(on_thread, target).run())
            .map_err(|error| GpuError::Spawn(error.to_string()))?;
        let places = [(); 2].map(|()| Arc::new(Semaphore::new(options.queue_max)));
        Ok(Self { shared, places, thread: Some(thread) })
    }

    async fn submit(
        &self,
        model: ModelId,
        batch: TokenBatch,
        priority: Priority,
    ) -> Result<Vec<Embedding>, GpuError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let places = &self.places[usize::from(priority != Priority::Immediate)];
        let permit =
            Arc::clone(places).acquire_owned().await.map_err(|_closed| GpuError::Stopped)?;
        let (reply, answer) = oneshot::channel();
        {
            let mut state = self.shared.lock();
            if state.stopped {
                return Err(GpuError::Stopped);
            }
            check(&state.models, &model, &batch)?;
            let queued_at = Instant::now();
            let permit = Some(permit);
            state.queue.push(Pending { model, batch, priority, reply, queued_at, permit });
        }
        self.shared.wake.notify_one();
        answer.await.unwrap_or(Err(GpuError::Stopped))
    }

    fn control(&self, control: Control) -> Result<(), GpuError> {
        let mut state = self.shared.lock();
        if state.stopped {
            return Err(GpuError::Stopped);
        }
        state.controls.push(control);
        drop(state);
        self.shared.wake.notify_one();
        Ok(())
    }
}

/// Refuses at once what the model could not run, so that it never costs a step.
fn check(
    models: &HashMap<ModelId, ModelInfo>,
    id: &ModelId,
    batch: &TokenBatch,
) -> Result<(), GpuError> {
    let info = models.get(id).ok_or_else(|| GpuError::ModelNotLoaded(id.clone()))?;
    if info.kind != ModelKind::Encoder {
        return Err(GpuError::WrongKind { id: id.clone(), kind: info.kind, wanted: "embed" });
    }
    let fits = |tokens: &usize| (1..=info.tokens_max).contains(tokens);
    match batch.ranges().map(|range| range.len()).find(|tokens| !fits(tokens)) {
        Some(tokens) => {
            Err(GpuError::Shape { id: id.clone(), tokens, tokens_max: info.tokens_max })
        }
        None => Ok(()),
    }
}

impl Drop for SerialScheduler {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.wake.notify_one();
        self.places.iter().for_each(|places| places.close());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was logged where it happened.
            let _ = thread.join();
        }
    }
}

#[async_trait]
impl GpuScheduler for SerialScheduler {
    async fn embed(&self, request: EmbedRequest) -> Result<Embedding, GpuError> {
        let EmbedRequest { model_id, tokens, priority } = request;
        if tokens.is_empty() {
            let tokens_max = self.shared.lock().models.get(&model_id).map_or(0, |m| m.tokens_max);
            return Err(GpuError::Shape { id: model_id, tokens: 0, tokens_max });
        }
        let mut batch = TokenBatch::default();
        batch.push(&tokens);
        let mut embeddings = self.submit(model_id, batch, priority).await?;
        embeddings.pop().ok_or(GpuError::Stopped)
    }

    async fn embed_batch(&self, request: BatchEmbedRequest) -> Result<Vec<Embedding>, GpuError> {
        self.submit(request.model_id, request.batch, request.priority).await
    }

    async fn generate(&self, request: GenerateRequest) -> Result<GenerateResponse, GpuError> {
        let state = self.shared.lock();
        let id = request.model_id;
        match state.models.get(&id) {
            None if state.stopped => Err(GpuError::Stopped),
            None => Err(GpuError::ModelNotLoaded(id)),
            Some(info) => Err(GpuError::WrongKind { id, kind: info.kind, wanted: "generate" }),
        }
    }

    async fn load_model(
        &self,
        id: ModelId,
        loader: Box<dyn ModelLoader>,
    ) -> Result<ModelInfo, GpuError> {
        let (reply, answer) = oneshot::channel();
        self.control(Control::Load { id, loader, reply })?;
        answer.await.unwrap_or(Err(GpuError::Stopped))
    }

    async fn unload_model(&self, id: &ModelId) -> Result<(), GpuError> {
        let (reply, answer) = oneshot::channel();
        self.control(Control::Unload { id: id.clone(), reply })?;
        answer.await.unwrap_or(Err(GpuError::Stopped))
    }

    fn is_model_loaded(&self, id: &ModelId) -> bool {
        self.shared.lock().models.contains_key(id)
    }

    fn is_ready(&self) -> bool {
        let state = self.shared.lock();
        !state.stopped && !state.models.is_empty()
    }

    fn stats(&self) -> SchedulerStats {
        let state = self.shared.lock();
        let mut models: Vec<_> =
            state.models.iter().map(|(id, info)| (id.to_string(), info.device.clone())).collect();
        models.sort();
        let memory_bytes = state.models.values().map(|info| info.memory_bytes).sum();
        SchedulerStats { models, memory_bytes, ..state.queue.stats() }
    }
}

/// What lives on the device thread and nowhere else.
struct DeviceThread {
    shared: Arc<Shared>,
    models: HashMap<ModelId, (Box<dyn Model>, StepBudget)>,
    step_target: Duration,
}

enum Turn {
    Control(Control),
    Step(Step),
    Stop,
}

impl DeviceThread {
    fn new(shared: Arc<Shared>, step_target: Duration) -> Self {
        Self { shared, models: HashMap::new(), step_target }
    }

    fn run(mut self) {
        loop {
            match self.next_turn() {
                Turn::Control(Control::Load { id, loader, reply }) => {
                    let _ = reply.send(self.load(id, loader));
                }
                Turn::Control(Control::Unload { id, reply }) => {
                    let _ = reply.send(self.unload(&id));
                }
                Turn::Step(step) => self.step(&step),
                Turn::Stop => return,
            }
        }
    }

    fn next_turn(&self) -> Turn {
        let mut state = self.shared.lock();
        loop {
            if state.stopped {
                return Turn::Stop;
            }
            if !state.controls.is_empty() {
                return Turn::Control(state.controls.remove(0));
            }
            let budget = |id: &ModelId| self.models.get(id).map_or(1, |(_, b)| b.tokens());
            if let Some(step) = state.queue.next_step(budget, Instant::now()) {
                return Turn::Step(step);
            }
            state = self.shared.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn step(&mut self, step: &Step) {
        let started = Instant::now();
        let _span = debug_span!(
            "step",
            model = %step.model,
            priority = ?step.priority,
            tokens = step.batch.tokens(),
            sequences = step.batch.sequences(),
            requests = step.requests(),
        )
        .entered();
        let result = match self.models.get_mut(&step.model) {
            None => Err(GpuError::ModelNotLoaded(step.model.clone())),
            Some((model, budget)) => {
                let outcome = catch_unwind(AssertUnwindSafe(|| model.embed(&step.batch)));
                budget.record(step.batch.tokens(), started.elapsed());
                checked(step, outcome)
            }
        };
        self.shared.lock().queue.complete(step, result, started.elapsed());
    }

    fn load(&mut self, id: ModelId, loader: Box<dyn ModelLoader>) -> Result<ModelInfo, GpuError> {
        if self.models.contains_key(&id) {
            return Err(GpuError::AlreadyLoaded(id));
        }
        let _span = debug_span!("load_model", model = %id).entered();
        let model = match catch_unwind(AssertUnwindSafe(|| loader.load())) {
            Ok(Ok(model)) => model,
            Ok(Err(source)) => return Err(GpuError::Load { id, source }),
            Err(panic) => return Err(GpuError::Panicked { id, message: message(&*panic) }),
        };
        let info = model.info();
        self.models.insert(id.clone(), (model, StepBudget::new(self.step_target)));
        self.shared.lock().models.insert(id, info.clone());
        Ok(info)
    }

    fn unload(&mut self, id: &ModelId) -> Result<(), GpuError> {
        self.models.remove(id).ok_or_else(|| GpuError::ModelNotLoaded(id.clone()))?;
        let mut state = self.shared.lock();
        state.models.remove(id);
        state.queue.fail_model(id);
        Ok(())
    }
}

impl Drop for DeviceThread {
    /// Runs also when the loop itself panics: nobody is left waiting for a thread that is gone.
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if std::thread::panicking() {
            error!("the device thread has crashed");
        }
        state.stopped = true;
        state.models.clear();
        state.queue.fail_all(&GpuError::Stopped);
        state.controls.clear();
    }
}

fn checked(
    step: &Step,
    outcome: std::thread::Result<Result<Vec<Embedding>, super::ModelError>>,
) -> Result<Vec<Embedding>, GpuError> {
    let id = || step.model.clone();
    match outcome {
        Ok(Ok(embeddings)) if embeddings.len() == step.batch.sequences() => Ok(embeddings),
        Ok(Ok(embeddings)) => {
            let (got, want) = (embeddings.len(), step.batch.sequences());
            let source = super::ModelError::new(format!("{got} embeddings for {want} sequences"));
            Err(GpuError::Model { id: id(), source })
        }
        Ok(Err(source)) => Err(GpuError::Model { id: id(), source }),
        Err(panic) => Err(GpuError::Panicked { id: id(), message: message(&*panic) }),
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests;
