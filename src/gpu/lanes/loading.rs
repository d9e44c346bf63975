//! How a model comes to every lane while the lanes go on working.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::oneshot;
use tracing::debug_span;

use super::super::{GpuError, Lane, ModelId, ModelInfo, ModelLoader, ModelUpload};
use super::{Shared, thread};

type LoadReply = oneshot::Sender<Result<ModelInfo, GpuError>>;

/// A model that is on its way to the lanes.
#[derive(Debug)]
pub(super) struct Loading {
    lanes_left: usize,
    /// Of the first lane that has it.
    info: Option<ModelInfo>,
    error: Option<GpuError>,
    reply: LoadReply,
}

impl Loading {
    pub fn fail(self, error: GpuError) {
        // The caller may have gone; then nobody wants the answer.
        let _ = self.reply.send(Err(error));
    }
}

/// What a lane has to bring to its device, and what to drop from it.
#[derive(Default)]
pub(super) struct Uploads {
    pub ready: VecDeque<(ModelId, Box<dyn ModelUpload>)>,
    pub unwanted: Vec<(ModelId, oneshot::Sender<()>)>,
}

impl std::fmt::Debug for Uploads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ready: Vec<_> = self.ready.iter().map(|(id, _)| id).collect();
        f.debug_struct("Uploads").field("ready", &ready).finish_non_exhaustive()
    }
}

impl Uploads {
    /// Asks for a model to be dropped; the answer comes when it is.
    pub fn drop_model(&mut self, id: ModelId) -> oneshot::Receiver<()> {
        let (done, dropped) = oneshot::channel();
        self.unwanted.push((id, done));
        dropped
    }
}

/// Starts preparing a model for every lane, each on a thread of its own. It is loaded once all of them
/// have it, whether or not the caller still waits.
pub(super) fn start(
    shared: &Arc<Shared>,
    id: &ModelId,
    loader: &Arc<dyn ModelLoader>,
) -> Result<oneshot::Receiver<Result<ModelInfo, GpuError>>, GpuError> {
    let (reply, answer) = oneshot::channel();
    {
        let mut state = shared.lock();
        if state.stopped {
            return Err(GpuError::Stopped);
        }
        if state.models.contains_key(id) || state.loading.contains_key(id) {
            return Err(GpuError::AlreadyLoaded(id.clone()));
        }
        let loading = Loading { lanes_left: shared.lanes, info: None, error: None, reply };
        state.loading.insert(id.clone(), loading);
    }
    for index in 0..shared.lanes {
        let lane = Lane { index, lanes: shared.lanes };
        let (on_thread, loader, model) = (Arc::clone(shared), Arc::clone(loader), id.clone());
        let spawned = std::thread::Builder::new()
            .name("model-loader".to_owned())
            .spawn(move || prepare(&on_thread, lane, model, &*loader));
        if let Err(error) = spawned {
            shared.loaded(id, Err(GpuError::Spawn(error.to_string())));
        }
    }
    Ok(answer)
}

fn prepare(shared: &Shared, lane: Lane, id: ModelId, loader: &dyn ModelLoader) {
    let _span = debug_span!("prepare_model", model = %id, lane = lane.index).entered();
    match catch_unwind(AssertUnwindSafe(|| loader.prepare(lane))) {
        Ok(Ok(upload)) => {
            shared.lock().uploads[lane.index].ready.push_back((id, upload));
            shared.wake.notify_all();
        }
        Ok(Err(source)) => shared.loaded(&id, Err(GpuError::of_load(id.clone(), source))),
        Err(panic) => {
            let message = thread::panic_message(&*panic);
            shared.loaded(&id, Err(GpuError::Panicked { id: id.clone(), message }));
        }
    }
}

impl Shared {
    /// Notes that a lane has the model, or cannot have it, and answers once all have said so.
    pub fn loaded(&self, id: &ModelId, result: Result<ModelInfo, GpuError>) {
        let mut state = self.lock();
        let Some(loading) = state.loading.get_mut(id) else { return };
        loading.lanes_left -= 1;
        match result {
            Ok(info) => drop(loading.info.get_or_insert(info)),
            Err(error) => drop(loading.error.get_or_insert(error)),
        }
        if loading.lanes_left > 0 {
            return;
        }
        let Some(Loading { info, error, reply, .. }) = state.loading.remove(id) else { return };
        let result = match (info, error) {
            (Some(info), None) => {
                state.models.insert(id.clone(), info.clone());
                Ok(info)
            }
            (_, error) => {
                // Those lanes that have it drop it; nobody waits for that.
                for uploads in &mut state.uploads {
                    drop(uploads.drop_model(id.clone()));
                }
                Err(error.unwrap_or(GpuError::Stopped))
            }
        };
        drop(state);
        self.wake.notify_all();
        let _ = reply.send(result);
    }
}
