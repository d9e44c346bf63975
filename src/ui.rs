//! The window: components over plain state, one bridge to the engine.
//!
//! Sees only `lodestone::{engine, data, config}`. `state` and `text` know nothing of the window,
//! `session` holds the state as signals with the actions on it, `view` renders.

mod assets;
mod bridge;
mod dom;
#[cfg(test)]
mod fixture;
mod keys;
mod session;
mod state;
mod text;
mod view;
mod wording;

use std::path::PathBuf;
use std::sync::Arc;

use dioxus::LaunchBuilder;
use dioxus::desktop::tao::window::Icon;
use dioxus::desktop::{Config, LogicalSize, WindowBuilder, icon_from_memory};
use lodestone::config::{self, Settings, Theme};
use lodestone::engine::telemetry;

/// What the window starts with.
#[derive(Clone)]
pub struct Start {
    /// Where the index lies, or why there is no place for it.
    pub data_dir: Result<PathBuf, String>,
    pub settings: Settings,
    /// Why the settings are the defaults, when a person had made others.
    pub trouble: Option<String>,
    pub telemetry: Arc<telemetry::Guard>,
}

/// Opens the window and stays until it is closed.
pub fn run(telemetry: telemetry::Guard) {
    let start = Start::read(telemetry);
    LaunchBuilder::desktop()
        .with_cfg(window(start.settings.theme))
        .with_context(start)
        .launch(view::App);
}

impl Start {
    fn read(telemetry: telemetry::Guard) -> Self {
        let telemetry = Arc::new(telemetry);
        let data_dir = config::data_dir().map_err(|error| error.to_string());
        let settings = data_dir.as_ref().map_or_else(
            |_| Ok(Settings::default()),
            |data_dir| Settings::load(data_dir).map_err(|error| error.to_string()),
        );
        match settings {
            Ok(settings) => Self { data_dir, settings, trouble: None, telemetry },
            Err(trouble) => {
                Self { data_dir, settings: Settings::default(), trouble: Some(trouble), telemetry }
            }
        }
    }
}

fn window(theme: Theme) -> Config {
    let builder = WindowBuilder::new()
        .with_title("Lodestone")
        .with_inner_size(LogicalSize::new(1280.0, 800.0))
        .with_min_inner_size(LogicalSize::new(560.0, 420.0));
    let mut config = Config::new()
        .with_window(builder)
        .with_custom_index(assets::INDEX.to_owned())
        .with_custom_head(assets::head())
        .with_background_color(background(theme))
        .with_disable_context_menu(true);
    // On macOS the menu bar also carries the keys for copy, paste and quit.
    if std::env::consts::OS != "macos" {
        config = config.with_menu(None);
    }
    match icon_from_memory::<Icon>(assets::ICON_PNG) {
        Ok(icon) => config.with_icon(icon),
        Err(_) => config,
    }
}

/// What is seen before the first paint: the surface of the chosen theme.
fn background(theme: Theme) -> (u8, u8, u8, u8) {
    match theme {
        Theme::Dark => (0x15, 0x18, 0x1b, 0xff),
        Theme::Light | Theme::System => (0xfb, 0xfb, 0xfa, 0xff),
    }
}
