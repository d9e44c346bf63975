use dioxus::prelude::*;
use lodestone::engine::{RootState, RootStatus, SiteView};

use super::button::Button;
use super::icon::{Icon, Symbol};
use super::use_session;
use crate::ui::state::View;
use crate::ui::wording::{counted, now, site_name, site_standing};

/// What was added, whether it is kept up to date, and what is left out of it.
#[component]
pub fn FolderRows() -> Element {
    let session = use_session();
    let library = session.library.read();
    rsx! {
        div { id: "library-rows", class: "rows", role: "list", aria_label: "Folders and sites",
            "data-rows": "{library.places_total()}",
            if library.places_total() == 0 && library.loaded {
                p { class: "rows-empty", "No folder was added yet. Drop one here." }
            }
            for (folder , documents) in library.folders() {
                FolderRow { key: "{folder.path.display()}", folder: folder.clone(), documents }
            }
            for site in library.sites.iter() {
                SiteLine { key: "{site.id.get()}", site: site.clone() }
            }
            if library.places_total() > 0 {
                p { id: "exclusions", class: "rows-note",
                    "Left out of every folder: {library.exclusions.join(\", \")}, and what .gitignore "
                    "files exclude. Change the list with lode exclude."
                }
            }
        }
    }
}

#[component]
fn FolderRow(folder: RootStatus, documents: u64) -> Element {
    let session = use_session();
    let path = folder.path.display().to_string();
    let watched = !matches!(folder.state, RootState::Unwatched);
    let [target, again, leaving] = [(); 3].map(|()| folder.path.clone());
    rsx! {
        div { class: "row row-place", role: "listitem", tabindex: "0",
            Icon { symbol: Symbol::Folder }
            span { class: "path", dir: "auto", title: "{path}", "{path}" }
            span { class: "cell-number", {counted(documents, "document")} }
            span { class: "row-reason", {told(&folder.state)} }
            Button {
                symbol: Symbol::Refresh,
                label: format!("Look through {path} for changes"),
                onpress: move |()| session.index(vec![again.clone()]),
            }
            Button {
                symbol: Symbol::Remove,
                label: format!("Remove {path} from the index; the files stay"),
                onpress: move |()| session.remove_folder(leaving.clone()),
            }
            Button {
                text: if watched { "Stop watching" } else { "Watch" },
                label: if watched { format!("Leave {path} as it is") } else { format!("Keep {path} up to date") },
                tone: "plain",
                onpress: move |()| session.watch(target.clone(), !watched),
            }
        }
    }
}

/// A site among what was added; everything else of it is in Web.
#[component]
fn SiteLine(site: SiteView) -> Element {
    let session = use_session();
    let (word, facts) = site_standing(&site, now());
    let name = site_name(&site.start);
    let id = site.id;
    rsx! {
        div { class: "row row-place", role: "listitem", tabindex: "0",
            Icon { symbol: Symbol::Web }
            span { class: "path", title: "{site.start}", "{name}" }
            span { class: "cell-number", {counted(site.searchable, "page")} }
            span { class: "row-reason", title: "{facts}", "{word}, {facts}" }
            span {}
            span {}
            Button {
                text: "Show",
                label: format!("Show the pages of {name}"),
                tone: "plain",
                onpress: move |()| {
                    session.show(View::Web);
                    session.choose_site(id);
                },
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
