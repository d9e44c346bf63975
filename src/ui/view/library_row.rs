use dioxus::prelude::*;
use lodestone::engine::{LibraryEntry, Skipped};

use super::button::Button;
use super::icon::{Icon, Symbol};
use super::use_session;
use crate::ui::dom;
use crate::ui::wording::{ago, bytes, count, now, type_name};

/// A document of the library.
#[component]
pub fn DocumentRow(entry: LibraryEntry, asking: bool, selected: bool) -> Element {
    let session = use_session();
    let id = entry.id;
    rsx! {
        div {
            class: "row",
            role: "row",
            tabindex: "0",
            "data-selected": selected,
            onclick: move |_| session.read_document(id),
            onkeydown: move |event| {
                match event.key() {
                    Key::Enter => session.read_document(id),
                    Key::Delete => session.ask_removal(id),
                    _ => return,
                }
                event.stop_propagation();
            },
            div { class: "cell-title", role: "cell",
                Icon { symbol: Symbol::of_type(entry.media_type) }
                span { class: "row-title", dir: "auto", "{entry.title}" }
                span { class: "path", title: "{entry.source}", "{entry.source}" }
            }
            if asking {
                Question {}
            } else {
                span { class: "cell-type", role: "cell", {type_name(entry.media_type)} }
                span { class: "cell-number", role: "cell", "{count(entry.passages)}" }
                span { class: "cell-number", role: "cell", "{bytes(entry.bytes)}" }
                span { class: "cell-date", role: "cell", "{ago(entry.indexed_at, now())}" }
                Button {
                    symbol: Symbol::Remove,
                    label: format!("Remove {} from the index", entry.title),
                    onpress: move |()| session.ask_removal(id),
                }
            }
        }
    }
}

#[component]
fn Question() -> Element {
    let session = use_session();
    // The safe answer takes the next key.
    use_effect(|| dom::focus("keep"));
    rsx! {
        div { class: "row-question", role: "alertdialog", aria_label: "Remove from the index?",
            span { "Remove from the index? The file stays." }
            Button {
                id: "confirm-remove",
                text: "Remove",
                label: "Remove from the index",
                tone: "danger",
                onpress: move |()| session.remove_asked(),
            }
            Button {
                id: "keep",
                text: "Keep",
                label: "Keep in the index (Esc)",
                tone: "plain",
                onpress: move |()| session.keep(),
            }
        }
    }
}

/// A source that is not searchable, and why.
#[component]
pub fn SkippedRow(row: Skipped) -> Element {
    let session = use_session();
    let source = row.source.clone();
    let times = match row.attempts {
        0 | 1 => String::new(),
        attempts => format!(" (tried {attempts} times)"),
    };
    rsx! {
        div { class: "row row-skipped", role: "listitem",
            Icon { symbol: Symbol::Skipped }
            span { class: "path", title: "{row.source}", "{row.source}" }
            span { class: "row-reason", title: "{row.reason}", "{row.reason}{times}" }
            Button {
                text: "Try again",
                label: format!("Try {} again", row.source),
                tone: "plain",
                onpress: move |()| session.retry(Some(source.clone())),
            }
        }
    }
}
