use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tracing::warn;

use super::{
    BatchEmbedRequest, EmbedRequest, GenerateRequest, GpuError, GpuScheduler, Hold, ModelId,
    ModelInfo, ModelLoader, SchedulerStats, TokenStream,
};
use crate::data::Embedding;

/// Starts a scheduler.
pub type Starter = dyn Fn() -> Result<Arc<dyn GpuScheduler>, GpuError> + Send + Sync;

/// A scheduler that comes back when its thread has died, with the models that it had.
///
/// Requests that waited then are put again and their callers notice nothing. Those that were running
/// get [`GpuError::Died`], because one of them may be the cause; answers that were being generated end
/// with [`GpuError::Stopped`].
pub struct RestartingScheduler {
    start: Box<Starter>,
    current: Mutex<Current>,
    /// Held by whoever restarts, so that one does.
    turn: tokio::sync::Mutex<()>,
    /// Restarts since a request last succeeded.
    in_vain: AtomicU32,
}

struct Current {
    /// Counts the schedulers that were started.
    number: u64,
    scheduler: Arc<dyn GpuScheduler>,
    loaders: BTreeMap<ModelId, Arc<dyn ModelLoader>>,
}

impl fmt::Debug for RestartingScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestartingScheduler").field("number", &self.lock().number).finish()
    }
}

impl RestartingScheduler {
    /// A device that dies again and again does no work; it is left alone after so many restarts
    /// without a single answer.
    const IN_VAIN_MAX: u32 = 3;

    /// Starts the first scheduler.
    ///
    /// # Errors
    /// As `start`.
    pub fn start(start: Box<Starter>) -> Result<Self, GpuError> {
        let current = Current { number: 0, scheduler: start()?, loaders: BTreeMap::new() };
        Ok(Self {
            start,
            current: Mutex::new(current),
            turn: tokio::sync::Mutex::default(),
            in_vain: AtomicU32::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> (u64, Arc<dyn GpuScheduler>) {
        let current = self.lock();
        (current.number, Arc::clone(&current.scheduler))
    }

    /// Runs `request`, on a new scheduler when the one that it waited for is dead.
    async fn run<T, F>(
        &self,
        request: impl Fn(Arc<dyn GpuScheduler>) -> F + Send + Sync,
    ) -> Result<T, GpuError>
    where
        T: Send,
        F: Future<Output = Result<T, GpuError>> + Send,
    {
        let (mut number, mut scheduler) = self.current();
        loop {
            match request(scheduler).await {
                Err(GpuError::Stopped) => (number, scheduler) = self.restarted(number).await?,
                Err(error) => return Err(error),
                Ok(answer) => {
                    self.in_vain.store(0, Ordering::Relaxed);
                    return Ok(answer);
                }
            }
        }
    }

    /// The scheduler that has taken the place of the dead one with this `number`.
    async fn restarted(&self, number: u64) -> Result<(u64, Arc<dyn GpuScheduler>), GpuError> {
        let _turn = self.turn.lock().await;
        let current = self.current();
        if current.0 != number {
            return Ok(current);
        }
        if self.in_vain.fetch_add(1, Ordering::Relaxed) >= Self::IN_VAIN_MAX {
            return Err(GpuError::Stopped);
        }
        warn!("the device thread has died; starting another");
        let scheduler = (self.start)()?;
        let loaders = self.lock().loaders.clone();
        for (id, loader) in loaders {
            scheduler.load_model(id, loader).await?;
        }
        let dead = {
            let mut current = self.lock();
            current.number += 1;
            std::mem::replace(&mut current.scheduler, Arc::clone(&scheduler))
        };
        // Joining its threads is not for an asynchronous worker.
        tokio::task::spawn_blocking(move || drop(dead));
        Ok((number + 1, scheduler))
    }
}

#[async_trait]
impl GpuScheduler for RestartingScheduler {
    async fn embed(&self, request: EmbedRequest) -> Result<Embedding, GpuError> {
        self.run(|scheduler| {
            let request = request.clone();
            async move { scheduler.embed(request).await }
        })
        .await
    }

    async fn embed_batch(&self, request: BatchEmbedRequest) -> Result<Vec<Embedding>, GpuError> {
        self.run(|scheduler| {
            let request = request.clone();
            async move { scheduler.embed_batch(request).await }
        })
        .await
    }

    async fn generate(&self, request: GenerateRequest) -> Result<TokenStream, GpuError> {
        self.run(|scheduler| {
            let request = request.clone();
            async move { scheduler.generate(request).await }
        })
        .await
    }

    fn hold(&self) -> Hold {
        self.current().1.hold()
    }

    async fn load_model(
        &self,
        id: ModelId,
        loader: Arc<dyn ModelLoader>,
    ) -> Result<ModelInfo, GpuError> {
        let info = self
            .run(|scheduler| {
                let (id, loader) = (id.clone(), Arc::clone(&loader));
                async move { scheduler.load_model(id, loader).await }
            })
            .await?;
        self.lock().loaders.insert(id, loader);
        Ok(info)
    }

    async fn unload_model(&self, id: &ModelId) -> Result<(), GpuError> {
        self.lock().loaders.remove(id);
        self.run(|scheduler| async move { scheduler.unload_model(id).await }).await
    }

    fn is_model_loaded(&self, id: &ModelId) -> bool {
        self.current().1.is_model_loaded(id)
    }

    fn is_ready(&self) -> bool {
        self.current().1.is_ready()
    }

    /// Of the scheduler that runs now.
    fn stats(&self) -> SchedulerStats {
        self.current().1.stats()
    }
}

#[cfg(test)]
mod tests;
