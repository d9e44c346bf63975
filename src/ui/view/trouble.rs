use dioxus::prelude::*;

use super::button::Button;
use super::icon::{Icon, Symbol};
use super::use_session;

/// The index could not be opened: says what is wrong and what can be done.
#[component]
pub fn Trouble(reason: String) -> Element {
    let session = use_session();
    let data_dir = session.data_dir();
    rsx! {
        main { id: "trouble", class: "content trouble", role: "alert",
            div { class: "empty",
                Icon { symbol: Symbol::Disk }
                h1 { "The index could not be opened" }
                p { class: "trouble-reason", "{reason}" }
                p { "Your own files are untouched." }
                if let Ok(data_dir) = &data_dir {
                    p { class: "path", "{data_dir.display()}" }
                }
                div { class: "empty-actions",
                    Button {
                        id: "retry-open",
                        text: "Try again",
                        label: "Open the index once more",
                        tone: "primary",
                        onpress: move |()| session.reopen(),
                    }
                    if let Ok(data_dir) = data_dir {
                        Button {
                            symbol: Symbol::Folder,
                            text: "Show the folder",
                            label: "Reveal the index in the file manager",
                            tone: "plain",
                            onpress: move |()| session.reveal(data_dir.clone()),
                        }
                    }
                }
            }
        }
    }
}
