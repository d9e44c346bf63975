//! Typed settings: where data lies, which model is used, the limits, and what a person chose.

mod device;
mod models;
mod settings;

// The faces see this module and not the platform.
pub use crate::platform::{
    DATA_DIR_VARIABLE, DirectoryError, data_dir, has_tray, prepare_data_dir,
};
pub use device::{
    DEVICE_VARIABLE, DeviceChoice, DeviceChoiceError, GPU_DEPTH_VARIABLE, GPU_PROFILE_VARIABLE,
    GPU_VARIABLE, LANES_VARIABLE, gpu_depth_from_environment, gpu_from_environment,
    gpu_profile_from_environment, lanes_from_environment,
};
pub(crate) use models::downloads;
pub use models::{BUNDLED_MODEL, HubName, ModelFiles};
pub use settings::{BatteryPolicy, Settings, SettingsError, Theme, WindowPlace};

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
    /// Whether a switch of the embedding model is begun or taken up again; a command that is over in
    /// a second leaves it to the others.
    pub switches_model: bool,
    /// Whether runs that were interrupted are taken up again and watched folders kept up to date; for
    /// processes that stay.
    pub keeps_up: bool,
    /// The program that reads binary formats for this one; `None` for the running program.
    pub reader_program: Option<PathBuf>,
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
            switches_model: true,
            keeps_up: false,
            reader_program: None,
        }
    }

    /// The same with what a person chose, as it stands in the data directory.
    ///
    /// # Errors
    /// When the settings are there and cannot be read.
    pub fn load(data_dir: PathBuf) -> Result<Self, SettingsError> {
        let settings = Settings::load(&data_dir)?;
        let chosen =
            settings.model.as_deref().and_then(|name| settings.model_named(name, &data_dir));
        let limits = settings.limits(&Limits::default());
        Ok(Self { model: chosen.unwrap_or_default(), limits, ..Self::new(data_dir) })
    }
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
    /// Memory for the documents that are on their way to the index, their vectors included; the model
    /// and the indexes are not counted. A document that needs more goes alone.
    pub memory_bytes: u64,
    /// Patterns as in a `.gitignore`; what they match is left out.
    pub exclusions: Vec<String>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes_max: 64 << 20,
            depth_max: 128,
            disk_free_bytes_min: 64 << 20,
            memory_bytes: 512 << 20,
            exclusions: default_exclusions(),
        }
    }
}

/// What is left out of every folder until a person says otherwise: what programs make for themselves.
fn default_exclusions() -> Vec<String> {
    let patterns = [
        "node_modules/",
        "__pycache__/",
        "venv/",
        "site-packages/",
        "target/debug/",
        "target/release/",
        "*.tmp",
        "*.temp",
        "*.swp",
        "*~",
        "~$*",
        "*.part",
        "*.crdownload",
        "Thumbs.db",
        "desktop.ini",
        "$RECYCLE.BIN/",
        "System Volume Information/",
        "lost+found/",
    ];
    patterns.map(str::to_owned).to_vec()
}
