//! Device threads that share one queue: what both schedulers are made of.

mod loading;
mod thread;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::hold::{Hold, Holds};
use super::queue::{EmbedWork, GenerateWork, Pending, Queue, Work};
use super::{
    BatchEmbedRequest, EmbedRequest, GenerateRequest, GpuError, GpuScheduler, Lane, ModelId,
    ModelInfo, ModelKind, ModelLoader, Priority, SchedulerStats, TokenStream,
};
use crate::data::{Embedding, TokenBatch};
use crate::telemetry::mark;
use loading::{Loading, Uploads};
use thread::DeviceThread;
use tracing::debug_span;

#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// Requests that may wait at once; more callers wait outside. Queries have a bound of their own,
    /// so a flood of files cannot keep them out.
    pub queue_max: usize,
    /// How long one step should take; by default what suits the device, see
    /// [`super::DeviceKind::step_target`].
    pub step_target: Option<Duration>,
    /// How long a [`Hold`] keeps background steps waiting at most: longer than any search, and a bound on
    /// what one that hangs would cost.
    pub hold_max: Duration,
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        Self { queue_max: 1_000, step_target: None, hold_max: Duration::from_millis(100) }
    }
}

/// Dropping it answers everything that waits with [`GpuError::Stopped`] and joins the threads, which
/// takes at most one step.
#[derive(Debug)]
pub(super) struct Lanes {
    shared: Arc<Shared>,
    places: Places,
    threads: Vec<JoinHandle<()>>,
}

/// Bounds on the requests that wait: one for queries, one for the rest.
#[derive(Debug)]
struct Places([Arc<Semaphore>; 2]);

impl Places {
    fn new(queue_max: usize) -> Self {
        Self([(); 2].map(|()| Arc::new(Semaphore::new(queue_max))))
    }

    async fn take(&self, priority: Priority) -> Result<OwnedSemaphorePermit, GpuError> {
        let places = &self.0[usize::from(priority != Priority::Immediate)];
        Arc::clone(places).acquire_owned().await.map_err(|_closed| GpuError::Stopped)
    }

    fn close(&self) {
        self.0.iter().for_each(|places| places.close());
    }
}

/// What the callers and the device threads share.
#[derive(Debug)]
struct Shared {
    lanes: usize,
    hold_max: Duration,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: Queue,
    holds: Holds,
    /// Loaded on every lane.
    models: HashMap<ModelId, ModelInfo>,
    loading: HashMap<ModelId, Loading>,
    /// What each lane has to bring to its device or to drop.
    uploads: Vec<Uploads>,
    stopped: bool,
}

impl Shared {
    /// A panic while the lock is held would leave whole values behind, so the poison is no danger.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends everything: whoever waits or comes later is told so at once. `died` when a device thread
    /// has crashed.
    fn stop(&self, died: bool) {
        let mut state = self.lock();
        state.stopped = true;
        state.models.clear();
        state.queue.stop(died);
        let loading = std::mem::take(&mut state.loading);
        drop(state);
        for loading in loading.into_values() {
            loading.fail(GpuError::Stopped);
        }
        self.wake.notify_all();
    }
}

impl State {
    /// The model, when it is loaded and of the kind that is wanted.
    fn model(
        &self,
        id: &ModelId,
        kind: ModelKind,
        wanted: &'static str,
    ) -> Result<&ModelInfo, GpuError> {
        if self.stopped {
            return Err(GpuError::Stopped);
        }
        let info = self.models.get(id).ok_or_else(|| GpuError::ModelNotLoaded(id.clone()))?;
        if info.kind != kind {
            return Err(GpuError::WrongKind { id: id.clone(), kind: info.kind, wanted });
        }
        Ok(info)
    }
}

impl Lanes {
    /// Starts a thread for each name.
    ///
    /// # Errors
    /// [`GpuError::Spawn`] when the system refuses a thread.
    pub fn start(options: &SchedulerOptions, names: Vec<String>) -> Result<Self, GpuError> {
        let lanes = names.len();
        let uploads = std::iter::repeat_with(Uploads::default).take(lanes).collect();
        let state = Mutex::new(State { uploads, ..State::default() });
        let hold_max = options.hold_max;
        let shared = Arc::new(Shared { lanes, hold_max, state, wake: Condvar::new() });
        let mut started = Self { shared, places: Places::new(options.queue_max), threads: vec![] };
        for (index, name) in names.into_iter().enumerate() {
            let lane = Lane { index, lanes };
            let (shared, target) = (Arc::clone(&started.shared), options.step_target);
            let thread = std::thread::Builder::new()
                .name(name)
                .spawn(move || DeviceThread::new(shared, lane, target).run())
                .map_err(|error| GpuError::Spawn(error.to_string()))?;
            started.threads.push(thread);
        }
        Ok(started)
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
        let permit = Some(self.places.take(priority).await?);
        let (reply, answer) = oneshot::channel();
        {
            let mut state = self.shared.lock();
            let info = state.model(&model, ModelKind::Encoder, "embed")?;
            let lengths = batch.ranges().map(|range| range.len());
            check_lengths(&model, info.tokens_max, lengths)?;
            let (tokens, sequences) = (batch.tokens(), batch.sequences());
            let work = Work::Embed(EmbedWork::new(batch, reply));
            let queued_at = Instant::now();
            let _span = debug_span!("submit", ?priority, tokens, sequences).entered();
            let ticket = state.queue.push(Pending { model, priority, queued_at, permit, work });
            mark::flow_begins(ticket);
            mark::queue_depth(state.queue.depth());
        }
        self.shared.wake.notify_all();
        answer.await.unwrap_or(Err(GpuError::Stopped))
    }
}

/// Refuses at once what the model could not run, so that it never costs a step.
fn check_lengths(
    id: &ModelId,
    tokens_max: usize,
    mut lengths: impl Iterator<Item = usize>,
) -> Result<(), GpuError> {
    match lengths.find(|tokens| !(1..=tokens_max).contains(tokens)) {
        Some(tokens) => Err(GpuError::Shape { id: id.clone(), tokens, tokens_max }),
        None => Ok(()),
    }
}

impl Lanes {
    /// Answers everything that waits or comes later with [`GpuError::Stopped`].
    pub fn stop(&self) {
        self.places.close();
        self.shared.stop(false);
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            // A panic of the thread was logged where it happened.
            let _ = thread.join();
        }
    }
}

#[async_trait]
impl GpuScheduler for Lanes {
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

    async fn generate(&self, request: GenerateRequest) -> Result<TokenStream, GpuError> {
        let GenerateRequest { model_id: model, prompt, sampling, tokens_max, stop, priority } =
            request;
        let permit = Some(self.places.take(priority).await?);
        let stream = {
            let mut state = self.shared.lock();
            let info = state.model(&model, ModelKind::Decoder, "generate")?;
            // At least one token of the context is left for the answer.
            let prompt_max = info.tokens_max.saturating_sub(1);
            check_lengths(&model, prompt_max, std::iter::once(prompt.len()))?;
            let tokens_max = tokens_max.clamp(1, info.tokens_max - prompt.len());
            let (output, stream) = TokenStream::new(tokens_max);
            let work = GenerateWork::new((prompt, sampling), tokens_max, stop, output);
            let (work, queued_at) = (Work::Generate(work), Instant::now());
            state.queue.push(Pending { model, priority, queued_at, permit, work });
            stream
        };
        self.shared.wake.notify_all();
        Ok(stream)
    }

    fn hold(&self) -> Hold {
        self.shared.lock().holds.add(Instant::now(), self.shared.hold_max);
        let shared = Arc::clone(&self.shared);
        Hold::new(move || {
            if shared.lock().holds.release() {
                shared.wake.notify_all();
            }
        })
    }

    async fn load_model(
        &self,
        id: ModelId,
        loader: Arc<dyn ModelLoader>,
    ) -> Result<ModelInfo, GpuError> {
        let answer = loading::start(&self.shared, &id, &loader)?;
        answer.await.unwrap_or(Err(GpuError::Stopped))
    }

    async fn unload_model(&self, id: &ModelId) -> Result<(), GpuError> {
        let dropped = {
            let mut state = self.shared.lock();
            if state.stopped {
                return Err(GpuError::Stopped);
            }
            state.models.remove(id).ok_or_else(|| GpuError::ModelNotLoaded(id.clone()))?;
            state.queue.fail_model(id);
            let drop_on = |uploads: &mut Uploads| uploads.drop_model(id.clone());
            state.uploads.iter_mut().map(drop_on).collect::<Vec<_>>()
        };
        self.shared.wake.notify_all();
        for dropped in dropped {
            dropped.await.map_err(|_gone| GpuError::Stopped)?;
        }
        Ok(())
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
            state.models.iter().map(|(id, info)| (id.clone(), info.clone())).collect();
        models.sort_by(|(a, _), (b, _)| a.cmp(b));
        let on_one_lane: u64 = state.models.values().map(|info| info.memory_bytes).sum();
        let memory_bytes = on_one_lane * self.shared.lanes as u64;
        SchedulerStats { models, memory_bytes, ..state.queue.stats() }
    }
}
