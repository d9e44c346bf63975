//! The icon beside the clock, for those who let Lodestone follow their folders with the window closed.

use dioxus::desktop::icon_from_memory;
use dioxus::desktop::trayicon::menu::{
    CheckMenuItem, Menu, MenuEvent, MenuItem, PredefinedMenuItem,
};
use dioxus::desktop::trayicon::{Icon, TrayIcon, TrayIconBuilder};
use lodestone::config;

use super::assets;

const SHOW: &str = "show";
const PAUSE: &str = "pause";
const QUIT: &str = "quit";

/// There for as long as this is kept.
pub struct Tray {
    /// Taken away on drop.
    _icon: TrayIcon,
    pause: CheckMenuItem,
}

/// What is chosen in its menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrayWish {
    Show,
    /// Stops indexing, or lets it go on.
    Pause,
    Quit,
}

#[derive(Debug, thiserror::Error)]
pub enum TrayError {
    #[error("this desktop has no place for an icon (on Linux, install libayatana-appindicator3)")]
    NoTray,
    #[error("the icon cannot be shown: {0}")]
    Icon(#[from] dioxus::desktop::trayicon::Error),
    #[error("the menu of the icon cannot be made: {0}")]
    Menu(#[from] dioxus::desktop::trayicon::menu::Error),
}

impl Tray {
    /// # Errors
    /// When the desktop has no place for it.
    pub fn show(is_paused: bool) -> Result<Self, TrayError> {
        if !config::has_tray() {
            return Err(TrayError::NoTray);
        }
        let pause = CheckMenuItem::with_id(PAUSE, "Pause indexing", true, is_paused, None);
        let menu = Menu::with_items(&[
            &MenuItem::with_id(SHOW, "Search with Lodestone", true, None),
            &pause,
            &PredefinedMenuItem::separator(),
            &MenuItem::with_id(QUIT, "Quit Lodestone", true, None),
        ])?;
        let builder = TrayIconBuilder::new().with_menu(Box::new(menu)).with_tooltip("Lodestone");
        let builder = match icon_from_memory::<Icon>(assets::ICON_PNG) {
            Ok(icon) => builder.with_icon(icon),
            Err(_) => builder,
        };
        Ok(Self { _icon: builder.build()?, pause })
    }

    pub fn set_paused(&self, is_paused: bool) {
        self.pause.set_checked(is_paused);
    }
}

/// What a menu's event asks for, when it comes from this menu.
pub fn wish(event: &MenuEvent) -> Option<TrayWish> {
    match event.id.as_ref() {
        SHOW => Some(TrayWish::Show),
        PAUSE => Some(TrayWish::Pause),
        QUIT => Some(TrayWish::Quit),
        _ => None,
    }
}
