//! Which embedding models are loaded, and which of them answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tracing::{debug, warn};

use super::model::LoadedModel;
use super::stamp::ModelStamp;
use super::{Engine, EngineError, EngineEvent, ModelState};
use crate::gpu::ModelId;
use crate::storage;

/// A model that is loaded, or why it cannot be.
pub(super) type Loading = Result<LoadedModel, String>;

/// Two may be loaded at once: one answers, and the next one makes its vectors.
#[derive(Debug)]
pub(super) struct Models {
    /// By the store's name of their passages and vectors.
    known: Mutex<BTreeMap<String, Loading>>,
    current: watch::Sender<CurrentModel>,
    /// Targets that a switch was begun for here; one that was cancelled is not begun again by itself.
    begun: Mutex<BTreeSet<String>>,
    /// One at a time changes which model answers.
    turn: tokio::sync::Mutex<()>,
    loading: tokio::sync::Mutex<()>,
}

/// The model that answers.
#[derive(Clone, Debug)]
struct CurrentModel {
    name: String,
    stored: Option<storage::EmbeddingModel>,
    loading: Option<Loading>,
}

impl Models {
    pub fn new(name: String) -> Self {
        let current = CurrentModel { name, stored: None, loading: None };
        Self {
            known: Mutex::default(),
            current: watch::Sender::new(current),
            begun: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            loading: tokio::sync::Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Loading>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn of whoever loads: two would load the same model twice.
    pub async fn loading(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.loading.lock().await
    }

    pub fn note(&self, stored: &storage::EmbeddingModel, loading: Loading) {
        self.lock().insert(stored.name.clone(), loading);
    }

    /// The model that made these vectors; `None` while it is not known whether it can be had.
    pub fn of(&self, stored: &storage::EmbeddingModel) -> Option<Loading> {
        self.lock().get(&stored.name).cloned()
    }

    /// A loaded model, whatever it is used for.
    pub fn find(&self, is_it: impl Fn(&LoadedModel) -> bool) -> Option<LoadedModel> {
        self.lock().values().flatten().find(|loaded| is_it(loaded)).cloned()
    }

    /// Whether a switch to this target was not begun here before.
    pub fn begin(&self, target: &storage::EmbeddingModel) -> bool {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.insert(target.name.clone())
    }

    /// Takes out what no one needs any more.
    fn take_unused(&self, keep: &ModelId) -> Vec<LoadedModel> {
        let mut known = self.lock();
        let is_unused = |loading: &Loading| loading.as_ref().is_ok_and(|l| l.id != *keep);
        let unused: Vec<_> = known.values().filter(|l| is_unused(l)).flatten().cloned().collect();
        known.retain(|_, loading| loading.is_ok() && !is_unused(loading));
        unused
    }
}

impl Engine {
    /// Waits until the model is loaded or has failed.
    pub async fn wait_for_model(&self) -> ModelState {
        let mut current = self.inner.models.current.subscribe();
        // The sender lives as long as the engine.
        let _ = current.wait_for(|current| current.loading.is_some()).await;
        self.model_state()
    }

    #[must_use]
    pub fn model_state(&self) -> ModelState {
        let CurrentModel { name: model, loading, .. } = self.inner.models.current.borrow().clone();
        match loading {
            None => ModelState::Loading { model },
            Some(Ok(loaded)) => ModelState::Ready { model, device: loaded.device },
            Some(Err(reason)) => ModelState::Failed { model, reason },
        }
    }

    /// The model that answers, once it is loaded.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub(super) async fn model(&self) -> Result<LoadedModel, EngineError> {
        self.wait_for_model().await;
        let loading = self.inner.models.current.borrow().loading.clone();
        match loading {
            Some(Ok(model)) => Ok(model),
            Some(Err(reason)) => Err(EngineError::ModelUnavailable { reason }),
            None => Err(EngineError::Closed),
        }
    }

    /// What a query is to be embedded with, so that it can be compared with `vectors`; `None` while it
    /// loads.
    pub(super) fn query_model(&self, vectors: Option<&storage::EmbeddingModel>) -> Option<Loading> {
        match vectors {
            Some(stored) => self.inner.models.of(stored),
            None => self.inner.models.current.borrow().loading.clone(),
        }
    }

    /// Loads the model that answers, brings the indexes up to date, and then begins the switch to the
    /// model that was chosen, if that is another.
    pub(super) async fn start_models(self) {
        let turn = self.inner.models.turn.lock().await;
        let chosen = self.inner.config.model.name();
        let in_use = self.stored_model().await.unwrap_or_default();
        let name = in_use.as_ref().map_or(chosen.clone(), name_of);
        self.inner.models.current.send_modify(|current| current.name.clone_from(&name));
        self.emit(EngineEvent::Model(ModelState::Loading { model: name.clone() }));
        let (loaded, read) = tokio::join!(self.load_answering(in_use), self.read_indexes());
        if let Err(error) = &loaded {
            warn!(%error, "the embedding model cannot be used; search goes on by words");
        }
        // Another model than before has made the indexes start from scratch.
        if let Err(error) = read.and(self.catch_up().await) {
            warn!(%error, "the indexes cannot be brought up to date");
        }
        let differs = name != chosen
            || loaded.as_ref().map_or_else(
                |error| matches!(error, EngineError::ModelFilesChanged { .. }),
                |loaded| loaded.stored != loaded.today,
            );
        let stored = self.stored_model().await.unwrap_or_default();
        self.publish(name, stored, loaded.map_err(|error| error.to_string())).await;
        drop(turn);
        self.announce_change();
        if differs && self.inner.config.switches_model {
            drop(self.switch_model(self.inner.config.model.clone()));
        }
    }

    /// The model in use in the store, or the chosen one where none is.
    async fn load_answering(
        &self,
        in_use: Option<storage::EmbeddingModel>,
    ) -> Result<LoadedModel, EngineError> {
        let Some(stored) = in_use else {
            let loaded = self.load_model(&self.inner.config.model).await?;
            let (inner, chosen) = (Arc::clone(&self.inner), loaded.stored.clone());
            self.run_blocking(move || Ok(inner.store.choose_model(&chosen)?)).await?;
            return Ok(loaded);
        };
        let loading = self.load_stored(&stored).await;
        let noted = loading.as_ref().map(LoadedModel::clone).map_err(ToString::to_string);
        self.inner.models.note(&stored, noted);
        loading
    }

    /// Changes over when another model has come into use in the store, by whichever process: loads it,
    /// lets the indexes follow, and only then lets go of the model before it.
    pub(super) async fn follow_model(&self) -> Result<(), EngineError> {
        let turn = self.inner.models.turn.lock().await;
        let Some(stored) = self.stored_model().await? else { return Ok(()) };
        let is_current = self.inner.models.current.borrow().stored.as_ref() == Some(&stored);
        if is_current && self.inner.indexes.snapshot().model() == Some(&stored) {
            return Ok(());
        }
        if self.inner.models.of(&stored).is_none() {
            let loading = self.load_stored(&stored).await.map_err(|error| error.to_string());
            self.inner.models.note(&stored, loading);
        }
        self.catch_up().await?;
        if !is_current && self.inner.indexes.snapshot().model() == Some(&stored) {
            let loading = self.inner.models.of(&stored);
            let loading = loading.unwrap_or_else(|| Err("it was unloaded".to_owned()));
            self.publish(name_of(&stored), Some(stored), loading).await;
            drop(turn);
            self.announce_change();
        }
        Ok(())
    }

    /// Goes over from `model` to the one that is in use by now; `false` when it is the same.
    pub(super) async fn renew_model(&self, model: &mut LoadedModel) -> Result<bool, EngineError> {
        self.follow_model().await?;
        let before = std::mem::replace(model, self.model().await?);
        Ok(before.stored != model.stored)
    }

    /// Makes a model the one that answers, and lets go of the others.
    async fn publish(
        &self,
        name: String,
        stored: Option<storage::EmbeddingModel>,
        loading: Loading,
    ) {
        let keep = loading.as_ref().ok().map(|loaded| loaded.id.clone());
        let current = CurrentModel { name, stored, loading: Some(loading) };
        self.inner.models.current.send_replace(current);
        self.emit(EngineEvent::Model(self.model_state()));
        if let Some(keep) = keep {
            for unused in self.inner.models.take_unused(&keep) {
                self.unload(&unused).await;
            }
        }
        let inner = Arc::clone(&self.inner);
        let sweep = self.run_blocking(move || Ok(inner.store.sweep()?));
        if let Err(error) = sweep.await {
            // The next start tries again.
            debug!(%error, "vectors of an old model were not deleted");
        }
    }

    pub(super) async fn unload(&self, model: &LoadedModel) {
        if let Err(error) = self.inner.scheduler.unload_model(&model.id).await {
            debug!(%error, "a model was not unloaded");
        }
    }

    /// Forgets a model that nothing answers with.
    pub(super) async fn let_go(&self, model: &LoadedModel) {
        let answering = self.inner.models.current.borrow().loading.clone();
        if answering.is_some_and(|l| l.is_ok_and(|l| l.id == model.id)) {
            return;
        }
        self.inner.models.lock().remove(&model.stored.name);
        self.unload(model).await;
    }

    pub(super) async fn stored_model(
        &self,
    ) -> Result<Option<storage::EmbeddingModel>, EngineError> {
        let inner = Arc::clone(&self.inner);
        let read = move || Ok(inner.store.model()?.map(|stored| stored.model));
        self.run_blocking(read).await
    }
}

/// For people.
pub(super) fn name_of(stored: &storage::EmbeddingModel) -> String {
    ModelStamp::parse(&stored.name).map_or_else(|| stored.name.clone(), |stamp| stamp.name)
}
