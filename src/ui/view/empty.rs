use dioxus::prelude::*;

use super::button::Button;
use super::icon::{Icon, Symbol};
use super::keyboard::Keyboard;
use super::use_session;
use crate::ui::keys::{BINDINGS, Command};
use crate::ui::wording::{count, counted};

/// Nothing is indexed yet: teaches the one action that changes this.
#[component]
pub fn Welcome() -> Element {
    let session = use_session();
    rsx! {
        div { id: "welcome", class: "empty",
            div { class: "empty-drop",
                Icon { symbol: Symbol::AddFolder }
                h1 { "Drop a folder here" }
                p {
                    "Lodestone reads the files in it and finds passages by what they mean, "
                    "not only by their words. Nothing leaves this machine."
                }
                div { class: "empty-actions",
                    Button {
                        symbol: Symbol::AddFolder,
                        text: "Choose a folder",
                        label: "Choose folders to index",
                        tone: "primary",
                        onpress: move |()| session.pick_folders(),
                    }
                    Button {
                        symbol: Symbol::AddFiles,
                        text: "Choose files",
                        label: "Choose files to index",
                        tone: "plain",
                        onpress: move |()| session.pick_files(),
                    }
                }
            }
        }
    }
}

/// Keys that somebody who searches wants first.
const FIRST_KEYS: [Command; 5] = [
    Command::Move(1),
    Command::Open,
    Command::OpenExternally,
    Command::Step(1),
    Command::FocusInput,
];

/// Nothing is asked yet.
#[component]
pub fn Home() -> Element {
    let session = use_session();
    let health = session.health.read();
    rsx! {
        div { id: "home", class: "empty",
            if health.known {
                p { class: "empty-lead", "{counted(health.documents, \"document\")} to search" }
            }
            dl { class: "keys",
                for (at , binding) in BINDINGS.iter().enumerate().filter(|(_, binding)| FIRST_KEYS.contains(&binding.command)) {
                    div { key: "{at}", class: "keys-row",
                        dt {
                            Keyboard { keys: binding.presses[0].shown() }
                        }
                        dd { "{binding.what}" }
                    }
                }
            }
        }
    }
}

/// The answer is that there is none.
#[component]
pub fn NothingFound() -> Element {
    let session = use_session();
    let search = session.search.read();
    let weaker = search.answer().map_or(0, |answer| answer.weaker as u64);
    let running = session.activity.read().current().is_some();
    rsx! {
        div { id: "nothing-found", class: "empty", role: "status",
            if weaker > 0 {
                h1 { "Nothing relevant" }
                p { "{counted(weaker, \"document\")} touch the subject, too far from the question to help." }
                div { class: "empty-actions",
                    Button {
                        id: "show-weaker",
                        text: format!("Show {} weaker", count(weaker)),
                        label: "Show what is only loosely related",
                        tone: "plain",
                        onpress: move |()| session.show_weaker(true),
                    }
                }
            } else {
                h1 { "Nothing found" }
                p { "Other words may help, or a shorter question." }
            }
            if running {
                p { "Indexing goes on; this answer follows it." }
            }
        }
    }
}
