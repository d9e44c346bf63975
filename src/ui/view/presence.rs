//! The window on the desktop: what calls it to the front, what sends it away, where it was.

use std::str::FromStr as _;

use dioxus::desktop::tao::event::Event;
use dioxus::desktop::trayicon::menu::MenuEvent;
use dioxus::desktop::{
    HotKeyState, ShortcutHandle, WindowCloseBehaviour, WindowEvent, use_muda_event_handler,
    use_tray_menu_event_handler, use_wry_event_handler, window,
};
use dioxus::prelude::*;
use global_hotkey::hotkey::HotKey;
use lodestone::config::Settings;
use lodestone::engine::Pace;

use crate::ui::session::Session;
use crate::ui::state::NoticeTone;
use crate::ui::tray::{self, Tray, TrayWish};
use crate::ui::{Start, dom, place};

/// Ties the window to the desktop; once, in the root component.
pub fn use_presence(session: &Session, start: &Start) {
    let session = *session;
    use_hook(|| {
        let place = session.settings.peek().window;
        place::bring_back(&window(), place);
        let wishes = start.take_wishes();
        spawn(async move {
            let Some(mut wishes) = wishes else { return };
            while let Some(wish) = wishes.recv().await {
                // The wishes of the start itself come to a window that is in front.
                to_front(&session);
                session.fulfill(wish);
            }
        });
    });
    use_closing(&session, start);
    use_tray(&session, start);
    use_summons(&session);
}

fn to_front(session: &Session) {
    let window = window();
    window.set_visible(true);
    window.set_minimized(false);
    window.set_focus();
    dom::focus_text(session.view.peek().input_id());
}

/// Keeps what has to be kept when the window closes, and ends what runs unless the tray keeps it.
fn use_closing(session: &Session, start: &Start) {
    let session = *session;
    let closing = start.clone();
    use_wry_event_handler(move |event, _| {
        if let Event::WindowEvent { event: WindowEvent::CloseRequested, .. } = event {
            keep_place(&session);
            window().set_visible(false);
            if !session.in_tray.cloned() {
                closing.close(&session);
            }
        }
    });
    let closing = start.clone();
    use_hook(|| {
        spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                closing.close(&session);
                std::process::exit(INTERRUPTED);
            }
        });
    });
}

/// What shells expect of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

fn keep_place(session: &Session) {
    let Ok(data_dir) = session.data_dir() else { return };
    let place = place::of(&window(), session.settings.peek().window);
    let mut settings = session.settings;
    settings.write().window = place;
    if let Err(error) = Settings::update(&data_dir, |settings| settings.window = place) {
        tracing::warn!(%error, "the place of the window is not remembered");
    }
}

fn use_tray(session: &Session, start: &Start) {
    let mut session = *session;
    let mut shown = use_signal(|| None::<Tray>);
    use_effect(move || {
        let is_wanted = session.settings.read().stays_in_tray;
        if is_wanted == shown.peek().is_some() {
            return;
        }
        let is_paused = session.activity.peek().pace == Pace::Paused;
        let tray = is_wanted.then(|| Tray::show(is_paused)).transpose();
        let tray = tray.unwrap_or_else(|error| {
            session.notify(NoticeTone::Warning, error.to_string());
            None
        });
        let stays = tray.is_some();
        session.in_tray.set(stays);
        window().set_close_behavior(if stays {
            WindowCloseBehaviour::WindowHides
        } else {
            WindowCloseBehaviour::WindowCloses
        });
        shown.set(tray);
    });
    use_effect(move || {
        let is_paused = session.activity.read().pace == Pace::Paused;
        if let Some(tray) = &*shown.read() {
            tray.set_paused(is_paused);
        }
    });
    let closing = start.clone();
    let chosen = use_callback(move |wish: TrayWish| match wish {
        TrayWish::Show => to_front(&session),
        TrayWish::Pause => session.pause(session.activity.peek().pace != Pace::Paused),
        TrayWish::Quit => {
            keep_place(&session);
            closing.close(&session);
            window().set_close_behavior(WindowCloseBehaviour::WindowCloses);
            window().close();
        }
    });
    let choose = move |event: &MenuEvent| {
        if let Some(wish) = tray::wish(event) {
            chosen(wish);
        }
    };
    // Which of the two tells of a tray's menu depends on the system.
    use_tray_menu_event_handler(choose);
    use_muda_event_handler(choose);
}

/// Registers the keys that call the window from anywhere, and follows the setting.
fn use_summons(session: &Session) {
    let mut session = *session;
    let mut held = use_signal(|| None::<(String, ShortcutHandle)>);
    let called = use_callback(move |state: HotKeyState| {
        if state != HotKeyState::Pressed {
            return;
        }
        let window = window();
        match (window.is_focused() && window.is_visible(), session.in_tray.cloned()) {
            (true, true) => window.set_visible(false),
            (true, false) => window.set_minimized(true),
            (false, _) => to_front(&session),
        }
    });
    use_effect(move || {
        let keys = session.settings.read().summon_keys.trim().to_owned();
        if held.peek().as_ref().is_some_and(|(held, _)| *held == keys) {
            return;
        }
        if let Some((_, handle)) = held.write().take() {
            handle.remove();
        }
        let mut trouble = None;
        if !keys.is_empty() {
            match register(&keys, called) {
                Ok(handle) => held.set(Some((keys, handle))),
                Err(reason) => trouble = Some(reason),
            }
        }
        session.summon_trouble.set(trouble);
    });
}

/// # Errors
/// Why the keys call nothing, for people.
fn register(keys: &str, called: Callback<HotKeyState>) -> Result<ShortcutHandle, String> {
    let hotkey = HotKey::from_str(keys).map_err(|error| {
        format!("{keys:?} names no keys ({error}); write them as Ctrl+Alt+Space")
    })?;
    // A desktop without a way to do it, and keys that another program holds, look the same from here.
    window().create_shortcut(hotkey, move |state| called.call(state)).map_err(|error| {
        tracing::debug!(?error, keys, "not registered");
        format!("this desktop does not give {keys} to Lodestone; another program may have them")
    })
}
