use dioxus::prelude::*;
use lodestone::engine::{RootState, RootStatus};

use super::button::Button;
use super::icon::{Icon, Symbol};
use super::use_session;

/// What was added, whether it is kept up to date, and what is left out of it.
#[component]
pub fn FolderRows() -> Element {
    let session = use_session();
    let library = session.library.read();
    rsx! {
        div { id: "library-rows", class: "rows", role: "list", aria_label: "Folders",
            "data-rows": "{library.folders.len()}",
            if library.folders.is_empty() {
                p { class: "rows-empty", "No folder was added yet. Drop one here." }
            }
            for folder in library.folders.iter() {
                FolderRow { key: "{folder.path.display()}", folder: folder.clone() }
            }
            if !library.folders.is_empty() {
                p { id: "exclusions", class: "rows-note",
                    "Left out of every folder: {library.exclusions.join(\", \")}, and what .gitignore "
                    "files exclude. Change the list with lode exclude."
                }
            }
        }
    }
}

#[component]
fn FolderRow(folder: RootStatus) -> Element {
    let session = use_session();
    let path = folder.path.display().to_string();
    let watched = !matches!(folder.state, RootState::Unwatched);
    let target = folder.path.clone();
    rsx! {
        div { class: "row row-skipped", role: "listitem",
            Icon { symbol: Symbol::Folder }
            span { class: "path", title: "{path}", "{path}" }
            span { class: "row-reason", {told(&folder.state)} }
            Button {
                text: if watched { "Stop watching" } else { "Watch" },
                label: if watched { format!("Leave {path} as it is") } else { format!("Keep {path} up to date") },
                tone: "plain",
                onpress: move |()| session.watch(target.clone(), !watched),
            }
        }
    }
}

fn told(state: &RootState) -> String {
    match state {
        RootState::Watched => "Watched".to_owned(),
        RootState::Rescanned { reason } => format!("Looked through every 5 minutes: {reason}"),
        RootState::Offline => "Offline; what was indexed of it is kept".to_owned(),
        RootState::Unwatched => "Not watched".to_owned(),
        RootState::Unattended => "Being looked through".to_owned(),
    }
}
