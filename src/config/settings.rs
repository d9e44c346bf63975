use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Limits;

/// What a person chose in the application; `settings.json` in the data directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub theme: Theme,
    /// Share of the window's width that the reader takes, 0.2 ..= 0.8.
    pub reader_share: Option<f64>,
    /// Where the window was when it was closed.
    pub window: Option<WindowPlace>,
    /// Whether closing the window leaves the application in the tray, where folders are still followed.
    pub stays_in_tray: bool,
    /// Keys that bring the window to the front from anywhere, as `Ctrl+Alt+Space`; none when empty.
    pub summon_keys: String,
    /// What stood in the query box when the window was last used.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_query: String,
    /// Name of the embedding model; the bundled one when nothing was chosen.
    pub model: Option<String>,
    /// Folders of models that were added.
    pub model_folders: Vec<PathBuf>,
    /// Patterns as in a `.gitignore`, of what is left out of every folder.
    pub exclusions: Vec<String>,
    /// Whether indexing waits until a person lets it go on.
    pub paused: bool,
    pub on_battery: BatteryPolicy,
    /// Memory for the documents that are being indexed, in MB; the model and the indexes not counted.
    pub memory_mb: u64,
    /// A larger file is skipped.
    pub file_mb_max: u64,
    /// Where figures can be read in the text format of Prometheus, on this machine alone; off unless a
    /// person turned it on.
    pub metrics_address: Option<SocketAddr>,
    /// Size of everything in the window, in percent.
    pub zoom_percent: u16,
    /// Whether the hints of the first start were put away.
    pub hints_seen: bool,
}

/// A window on the desktop, in physical pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowPlace {
    pub x: i32,
    pub y: i32,
    /// Of what is inside its frame, as `height`.
    pub width: u32,
    pub height: u32,
    pub is_maximized: bool,
}

/// What indexing does while the machine runs on battery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatteryPolicy {
    /// Half of the time is left to the machine.
    #[default]
    Slow,
    GoOn,
    Pause,
}

impl Default for Settings {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            theme: Theme::default(),
            reader_share: None,
            window: None,
            stays_in_tray: false,
            summon_keys: "Ctrl+Alt+Space".to_owned(),
            last_query: String::new(),
            model: None,
            model_folders: Vec::new(),
            exclusions: limits.exclusions,
            paused: false,
            on_battery: BatteryPolicy::default(),
            memory_mb: limits.memory_bytes >> 20,
            file_mb_max: limits.file_bytes_max >> 20,
            metrics_address: None,
            zoom_percent: 100,
            hints_seen: false,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("settings {path} cannot be read: {source}; delete the file to start with defaults")]
    Read { path: PathBuf, source: io::Error },
    #[error("settings {path} are no valid JSON: {source}; mend or delete the file")]
    Parse { path: PathBuf, source: serde_json::Error },
    #[error("{pattern:?} is no pattern as in a .gitignore: {source}")]
    Pattern { pattern: String, source: ignore::Error },
    #[error("settings {path} cannot be written: {source}")]
    Write { path: PathBuf, source: io::Error },
}

impl Settings {
    /// # Errors
    /// When a pattern of [`Settings::exclusions`] does not parse.
    pub fn check_exclusion(pattern: &str) -> Result<(), SettingsError> {
        let parsed =
            ignore::overrides::OverrideBuilder::new("/").add(&format!("!{pattern}")).map(drop);
        parsed.map_err(|source| SettingsError::Pattern { pattern: pattern.to_owned(), source })
    }

    /// `limits` with what a person chose.
    #[must_use]
    pub fn limits(&self, limits: &Limits) -> Limits {
        Limits {
            file_bytes_max: self.file_mb_max << 20,
            memory_bytes: self.memory_mb << 20,
            exclusions: self.exclusions.clone(),
            ..limits.clone()
        }
    }

    fn path(data_dir: &Path) -> PathBuf {
        data_dir.join("settings.json")
    }

    /// Reads the settings of a data directory; a missing file gives the defaults.
    ///
    /// # Errors
    /// When the file is there and cannot be read or parsed.
    pub fn load(data_dir: &Path) -> Result<Self, SettingsError> {
        Ok(Self::load_if_there(data_dir)?.unwrap_or_default())
    }

    /// As [`Settings::load`]; `None` while nothing was chosen.
    ///
    /// # Errors
    /// When the file is there and cannot be read or parsed.
    pub fn load_if_there(data_dir: &Path) -> Result<Option<Self>, SettingsError> {
        let path = Self::path(data_dir);
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|source| SettingsError::Parse { path, source }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(SettingsError::Read { path, source }),
        }
    }

    /// Changes the settings as they are on disk now: the window and the command line each change
    /// their own part.
    ///
    /// # Errors
    /// As [`Settings::load`] and [`Settings::save`].
    pub fn update(data_dir: &Path, change: impl FnOnce(&mut Self)) -> Result<Self, SettingsError> {
        let path = data_dir.join("settings.lock");
        let lock = std::fs::create_dir_all(data_dir)
            .and_then(|()| std::fs::File::create(&path))
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|source| SettingsError::Write { path, source })?;
        let mut settings = Self::load(data_dir)?;
        change(&mut settings);
        settings.save(data_dir)?;
        drop(lock);
        Ok(settings)
    }

    /// Writes beside the old file and renames, so a crash leaves one of the two whole.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn save(&self, data_dir: &Path) -> Result<(), SettingsError> {
        let path = Self::path(data_dir);
        let write = || {
            let fresh = path.with_extension("json.new");
            std::fs::write(&fresh, serde_json::to_vec_pretty(self)?)?;
            std::fs::rename(&fresh, &path)
        };
        write().map_err(|source| SettingsError::Write { path: path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_round_trip_and_damage_is_named() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Settings::load(dir.path()).unwrap(), Settings::default());
        let chosen =
            Settings { theme: Theme::Dark, reader_share: Some(0.4), ..Settings::default() };
        chosen.save(dir.path()).unwrap();
        assert_eq!(Settings::load(dir.path()).unwrap(), chosen);
        Settings::update(dir.path(), |settings| settings.model = Some("a/b".into())).unwrap();
        let expected = Settings { model: Some("a/b".into()), ..chosen };
        assert_eq!(Settings::load(dir.path()).unwrap(), expected);
        std::fs::write(dir.path().join("settings.json"), "{").unwrap();
        let message = Settings::load(dir.path()).unwrap_err().to_string();
        assert!(message.contains("settings.json"), "{message}");
    }
}
