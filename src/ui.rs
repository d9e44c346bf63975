//! The window: components over plain state, one bridge to the engine.
//!
//! Sees only `lodestone::{engine, data, config}`. `state` and `text` know nothing of the window,
//! `session` holds the state as signals with the actions on it, `view` renders.

mod arguments;
mod assets;
mod bridge;
mod dom;
#[cfg(test)]
mod fixture;
mod instance;
mod keys;
mod place;
mod session;
mod state;
mod text;
mod tray;
mod turn;
mod view;
mod wording;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dioxus::LaunchBuilder;
use dioxus::desktop::tao::window::Icon;
use dioxus::desktop::{Config, icon_from_memory};
use lodestone::config::{self, Settings, Theme};
use lodestone::engine::telemetry;
use tokio::sync::mpsc::{self, Receiver};

use arguments::Wish;
use instance::{Instance, InstanceError};
use session::Session;

/// What the window starts with.
#[derive(Clone)]
pub struct Start {
    /// Where the index lies, or why there is no place for it.
    pub data_dir: Result<PathBuf, String>,
    pub settings: Settings,
    /// Why the settings are the defaults, when a person had made others.
    pub trouble: Option<String>,
    telemetry: Arc<telemetry::Guard>,
    /// Whether the process is about to end, and takes nothing over any more.
    is_closing: Arc<AtomicBool>,
    wishes: Arc<Mutex<Option<Receiver<Wish>>>>,
}

/// Opens the window and stays until it is closed, or hands the arguments to the window that is open.
///
/// # Errors
/// When the arguments cannot be read, or another window does not answer.
pub fn run(
    arguments: impl Iterator<Item = OsString>,
    telemetry: telemetry::Guard,
) -> anyhow::Result<()> {
    let wish = match arguments::parse(arguments)? {
        arguments::Start::Open(wish) => wish,
        arguments::Start::Help => return Ok(print(arguments::USAGE)?),
        arguments::Start::Version => {
            return Ok(print(concat!("lodestone ", env!("CARGO_PKG_VERSION"), "\n"))?);
        }
    };
    let mut start = Start::read(telemetry);
    let (ring, wishes) = mpsc::channel(WISHES_MAX);
    if let Ok(data_dir) = &start.data_dir {
        match instance::claim(data_dir, &wish) {
            Ok(Instance::Another) => return Ok(()),
            Ok(Instance::First(doorbell)) => {
                let ring = ring.clone();
                let is_closing = Arc::clone(&start.is_closing);
                doorbell.answer(move |wish| {
                    !is_closing.load(Ordering::Relaxed) && ring.blocking_send(wish).is_ok()
                })?;
            }
            Err(error @ InstanceError::Silent { .. }) => return Err(error.into()),
            // The window says what is wrong with the directory, and what to do.
            Err(error) => tracing::warn!(%error, "another window would not be noticed"),
        }
    }
    if !wish.is_empty() {
        ring.try_send(wish)?;
    }
    start.wishes = Arc::new(Mutex::new(Some(wishes)));
    LaunchBuilder::desktop()
        .with_cfg(window(&start.settings))
        .with_context(start)
        .launch(view::App);
    Ok(())
}

/// Starts that may call at the door before the window looks.
const WISHES_MAX: usize = 64;

fn print(text: &str) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())
}

impl Start {
    fn read(telemetry: telemetry::Guard) -> Self {
        let telemetry = Arc::new(telemetry);
        let data_dir = config::data_dir().map_err(|error| error.to_string());
        let settings = data_dir.as_ref().map_or_else(
            |_| Ok(Settings::default()),
            |data_dir| Settings::load(data_dir).map_err(|error| error.to_string()),
        );
        let (settings, trouble) = match settings {
            Ok(settings) => (settings, None),
            Err(trouble) => (Settings::default(), Some(trouble)),
        };
        Self {
            data_dir,
            settings,
            trouble,
            telemetry,
            is_closing: Arc::default(),
            wishes: Arc::default(),
        }
    }

    /// Ends what runs, because the process is about to: it leaves through `exit`, which drops nothing.
    pub fn close(&self, session: &Session) {
        self.is_closing.store(true, Ordering::Relaxed);
        session.close();
        self.telemetry.flush();
    }

    /// What is wished from now on; `None` when somebody has asked before.
    pub fn take_wishes(&self) -> Option<Receiver<Wish>> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn window(settings: &Settings) -> Config {
    let mut config = Config::new()
        .with_window(place::builder(settings.window))
        .with_custom_index(assets::INDEX.to_owned())
        .with_custom_head(assets::head())
        .with_background_color(background(settings.theme))
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
