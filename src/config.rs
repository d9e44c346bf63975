//! Typed settings: where data lies, which model is used, the limits, and what a person chose.

mod device;
mod settings;

// The faces see this module and not the platform.
pub use crate::platform::{DATA_DIR_VARIABLE, DirectoryError, data_dir};
pub use device::{
    DEVICE_VARIABLE, DeviceChoice, DeviceChoiceError, LANES_VARIABLE, lanes_from_environment,
};
pub use settings::{Settings, SettingsError, Theme};

use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Everything that the engine is opened with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Holds the store, the indexes and the settings; made when missing.
    pub data_dir: PathBuf,
    pub model: ModelFiles,
    /// A GGUF file with a language model; without one there is no chat.
    pub language_model: Option<PathBuf>,
    pub limits: Limits,
    /// Where models run; `None` asks the environment.
    pub device: Option<DeviceChoice>,
    /// Threads that a computation on the CPU may use; `None` takes every core.
    pub threads: Option<usize>,
    /// Device threads that share the work; each has the models in its own memory, on a device or a
    /// group of cores of its own. `None` asks the environment.
    pub lanes: Option<NonZeroUsize>,
}

impl Config {
    /// The defaults with the given data directory.
    #[must_use]
    pub fn new(data_dir: PathBuf) -> Self {
        Self {
            data_dir,
            model: ModelFiles::Bundled,
            language_model: None,
            limits: Limits::default(),
            device: None,
            threads: None,
            lanes: None,
        }
    }
}

/// Where the embedding model comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelFiles {
    /// all-MiniLM-L6-v2, part of the binary.
    #[default]
    Bundled,
    /// A folder with `config.json`, `tokenizer.json` and `model.safetensors`.
    Folder(PathBuf),
}

/// Bounds that keep one strange file from costing the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A larger file is skipped with a reason.
    pub file_bytes_max: u64,
    /// Folders nested deeper are not entered.
    pub depth_max: usize,
    /// Least free space on the disk of the data directory to go on indexing.
    pub disk_free_bytes_min: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes_max: 64 << 20, depth_max: 128, disk_free_bytes_min: 64 << 20 }
    }
}
