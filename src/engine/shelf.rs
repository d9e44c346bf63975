//! The models of this machine as the faces show them. None of it needs an open engine, so that a model
//! can be added while no other can be loaded.

use serde::Serialize;

use super::loaded::name_of;
use super::{Engine, EngineError};
use crate::config::{Config, Settings};
use crate::inference::registry::{self, Hub, KnownModel, KnownModelKind, RegistryError};
use crate::storage::Store;

pub use crate::inference::registry::FetchProgress;

/// A model of this machine: a row of `lode models --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelEntry {
    pub name: String,
    pub kind: KnownModelKind,
    /// Components of an embedding.
    #[serde(rename = "dimension")]
    pub dim: Option<usize>,
    /// Of its files.
    pub bytes: u64,
    /// `None` for the model in the binary.
    pub folder: Option<std::path::PathBuf>,
    #[serde(flatten)]
    pub state: ModelEntryState,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ModelEntryState {
    /// Searches use it.
    InUse,
    /// It is to be in use; so many percent of the documents have its vectors.
    Pending {
        percent: u8,
    },
    Available,
    Unusable {
        reason: String,
    },
}

/// Every model that is known.
///
/// # Errors
/// When the data directory cannot be read.
pub fn models(config: &Config) -> Result<Vec<ModelEntry>, EngineError> {
    let settings = Settings::load(&config.data_dir)?;
    let store = Store::open(&config.data_dir)?;
    let known = registry::list(&config.data_dir, &settings)?;
    known.into_iter().map(|known| entry(config, &store, known)).collect()
}

/// Makes a model known, as [`registry::add`]. Blocks.
///
/// # Errors
/// When it cannot be had or used.
pub fn add_model(
    config: &Config,
    what: &str,
    mut progress: impl FnMut(FetchProgress),
) -> Result<ModelEntry, EngineError> {
    let store = Store::open(&config.data_dir)?;
    let known = registry::add(&Hub::default(), what, &config.data_dir, &mut progress)?;
    entry(config, &store, known)
}

/// Forgets a model that is neither in use nor to be.
///
/// # Errors
/// When it is in use, part of the program, or not known.
pub fn remove_model(config: &Config, name: &str) -> Result<(), EngineError> {
    let store = Store::open(&config.data_dir)?;
    let in_use = store.model()?.map(|stored| stored.model);
    let pending = store.switch()?.map(|switch| switch.to);
    if in_use.iter().chain(&pending).any(|stored| name_of(stored) == name) {
        return Err(RegistryError::InUse { name: name.to_owned() }.into());
    }
    Ok(registry::forget(name, &config.data_dir)?)
}

fn entry(config: &Config, store: &Store, known: KnownModel) -> Result<ModelEntry, EngineError> {
    let KnownModel { files, kind, dim, bytes, problem } = known;
    let name = files.name();
    let in_use = match store.model()? {
        Some(stored) => name_of(&stored.model),
        None => config.model.name(),
    };
    let pending = store.switch()?.filter(|switch| name_of(&switch.to) == name);
    let state = match (problem, pending) {
        (Some(reason), _) => ModelEntryState::Unusable { reason },
        (None, Some(switch)) => {
            let percent = switch.embedded * 100 / switch.documents.max(1);
            ModelEntryState::Pending { percent: percent as u8 }
        }
        (None, None) if in_use == name => ModelEntryState::InUse,
        (None, None) => ModelEntryState::Available,
    };
    Ok(ModelEntry { name, kind, dim, bytes, folder: files.folder().map(Into::into), state })
}

impl Engine {
    /// As [`models`], in the background.
    ///
    /// # Errors
    /// As there.
    pub async fn models(&self) -> Result<Vec<ModelEntry>, EngineError> {
        let config = self.inner.config.clone();
        self.run_blocking(move || models(&config)).await
    }

    /// As [`add_model`], in the background.
    ///
    /// # Errors
    /// As there.
    pub async fn add_model(
        &self,
        what: String,
        progress: impl FnMut(FetchProgress) + Send + 'static,
    ) -> Result<ModelEntry, EngineError> {
        let config = self.inner.config.clone();
        self.run_blocking(move || add_model(&config, &what, progress)).await
    }

    /// As [`remove_model`], in the background.
    ///
    /// # Errors
    /// As there.
    pub async fn remove_model(&self, name: String) -> Result<(), EngineError> {
        let config = self.inner.config.clone();
        self.run_blocking(move || remove_model(&config, &name)).await
    }
}
