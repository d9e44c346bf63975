use dioxus::prelude::*;

use super::icon::{Icon, Symbol};
use super::use_session;
use crate::ui::keys::primary_name;
use crate::ui::state::View;

const MARK: &str = include_str!("../../../assets/icons/lodestone.svg");

/// The views, and what adds to the index.
#[component]
pub fn Rail() -> Element {
    let session = use_session();
    rsx! {
        nav { class: "rail", aria_label: "Views",
            span { class: "rail-mark", aria_hidden: "true", dangerous_inner_html: MARK }
            for (at , view) in View::ALL.into_iter().enumerate() {
                RailButton {
                    key: "{at}",
                    id: look(view).0,
                    symbol: look(view).1,
                    text: view.name(),
                    tip: format!("{} ({}+{})", view.name(), primary_name(), at + 1),
                    current: session.view.cloned() == view,
                    onpress: move |()| session.show(view),
                }
            }
            span { class: "rail-space" }
            RailButton {
                id: "add-files",
                symbol: Symbol::AddFiles,
                text: "Files",
                tip: "Choose files to index",
                onpress: move |()| session.pick_files(),
            }
            RailButton {
                id: "add-folder",
                symbol: Symbol::AddFolder,
                text: "Folder",
                tip: "Choose folders to index",
                onpress: move |()| session.pick_folders(),
            }
        }
    }
}

fn look(view: View) -> (&'static str, Symbol) {
    match view {
        View::Search => ("rail-search", Symbol::Search),
        View::Library => ("rail-library", Symbol::Library),
        View::Web => ("rail-web", Symbol::Web),
        View::Activity => ("rail-activity", Symbol::Activity),
        View::Settings => ("rail-settings", Symbol::Settings),
    }
}

#[component]
fn RailButton(
    id: &'static str,
    symbol: Symbol,
    text: &'static str,
    tip: String,
    #[props(default)] current: bool,
    onpress: EventHandler<()>,
) -> Element {
    rsx! {
        button {
            id,
            class: "rail-button",
            r#type: "button",
            title: "{tip}",
            aria_label: "{tip}",
            aria_current: current.then_some("page"),
            onclick: move |_| onpress.call(()),
            onkeydown: move |event| {
                if event.key() == Key::Enter {
                    event.stop_propagation();
                }
            },
            Icon { symbol }
            span { class: "rail-text", "{text}" }
        }
    }
}
