use super::{ModelId, ModelKind};

/// What a model says when a step or its loading fails.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    message: String,
    kind: ErrorKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorKind {
    OutOfMemory,
    DeviceLost,
    Other,
}

impl ModelError {
    pub fn new(error: impl std::fmt::Display) -> Self {
        Self { message: error.to_string(), kind: ErrorKind::Other }
    }

    /// The device has no room; a smaller step may succeed.
    pub fn out_of_memory(error: impl std::fmt::Display) -> Self {
        Self { message: error.to_string(), kind: ErrorKind::OutOfMemory }
    }

    /// The device is gone, with everything on it.
    pub fn device_lost(error: impl std::fmt::Display) -> Self {
        Self { message: error.to_string(), kind: ErrorKind::DeviceLost }
    }

    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        self.kind == ErrorKind::OutOfMemory
    }

    #[must_use]
    pub fn is_device_lost(&self) -> bool {
        self.kind == ErrorKind::DeviceLost
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum GpuError {
    #[error("model {0} is not loaded")]
    ModelNotLoaded(ModelId),
    #[error("model {0} is already loaded; unload it first")]
    AlreadyLoaded(ModelId),
    #[error("model {id} is {kind}: it cannot {wanted}")]
    WrongKind { id: ModelId, kind: ModelKind, wanted: &'static str },
    #[error("model {id} cannot be loaded: {source}")]
    Load { id: ModelId, source: ModelError },
    #[error("model {id} failed: {source}")]
    Model { id: ModelId, source: ModelError },
    #[error(
        "the device has no room for model {id}: {source}; close other programs that use it, or \
         choose a smaller model"
    )]
    OutOfMemory { id: ModelId, source: ModelError },
    #[error("model {id} crashed: {message}; other requests go on")]
    Panicked { id: ModelId, message: String },
    #[error("a sequence of {tokens} tokens does not fit model {id}, which takes 1 to {tokens_max}")]
    Shape { id: ModelId, tokens: usize, tokens_max: usize },
    #[error("the device thread died while it ran this request on model {0}")]
    Died(ModelId),
    #[error("the device thread cannot be started: {0}")]
    Spawn(String),
    #[error("the device thread has stopped")]
    Stopped,
}

impl GpuError {
    /// The error of a step that `source` ended.
    pub(super) fn of_step(id: ModelId, source: ModelError) -> Self {
        if source.is_out_of_memory() {
            Self::OutOfMemory { id, source }
        } else {
            Self::Model { id, source }
        }
    }

    /// The error of a loading that `source` ended.
    pub(super) fn of_load(id: ModelId, source: ModelError) -> Self {
        if source.is_out_of_memory() {
            Self::OutOfMemory { id, source }
        } else {
            Self::Load { id, source }
        }
    }
}
