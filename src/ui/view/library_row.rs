use dioxus::prelude::*;
use lodestone::engine::{LibraryEntry, Skipped};

use super::button::Button;
use super::icon::{Icon, Symbol};
use super::use_session;
use crate::ui::session::Session;
use crate::ui::wording::{ago, bytes, count, now, type_name};

/// A document of the library.
#[component]
pub fn DocumentRow(
    entry: LibraryEntry,
    /// Position among the rows that pass the filter.
    row: usize,
    picked: bool,
    selected: bool,
    /// Why what is searchable is an older version.
    outdated: Option<String>,
) -> Element {
    let mut session = use_session();
    let id = entry.id;
    let (state, tip) = match outdated {
        Some(reason) => {
            ("Older version", format!("The file as it is now could not be read: {reason}"))
        }
        None => ("Searchable", "All of it is found".to_owned()),
    };
    rsx! {
        div {
            id: "row-{row}",
            class: "row row-document",
            role: "row",
            tabindex: "0",
            aria_rowindex: "{row + 2}",
            aria_label: "{entry.title}, {state}",
            aria_selected: "{picked}",
            "data-selected": selected,
            "data-picked": picked,
            onclick: move |event| {
                let modifiers = event.modifiers();
                if modifiers.shift() {
                    session.library.write().pick_to(row);
                } else if modifiers.ctrl() || modifiers.meta() {
                    session.library.write().pick(row, true);
                } else {
                    session.read_document(id);
                }
            },
            onkeydown: move |event| row_key(session, &event, row, id),
            div { class: "cell-title", role: "cell",
                button {
                    class: "pick",
                    r#type: "button",
                    tabindex: "-1",
                    role: "checkbox",
                    aria_checked: "{picked}",
                    aria_label: "Select {entry.title}",
                    onclick: move |event| {
                        event.stop_propagation();
                        if event.modifiers().shift() {
                            session.library.write().pick_to(row);
                        } else {
                            session.library.write().pick(row, true);
                        }
                    },
                    Icon { symbol: if picked { Symbol::Picked } else { Symbol::of_type(entry.media_type) } }
                }
                span { class: "row-title", dir: "auto", title: "{entry.title}", "{entry.title}" }
                span { class: "path", title: "{entry.source}", "{entry.source}" }
            }
            span { class: "cell-status", role: "cell", title: "{tip}",
                "data-tone": if state == "Searchable" { "good" } else { "trouble" },
                "{state}"
            }
            span { class: "cell-type", role: "cell", {type_name(entry.media_type)} }
            span { class: "cell-number cell-passages", role: "cell", "{count(entry.passages)}" }
            span { class: "cell-number cell-size", role: "cell", "{bytes(entry.bytes)}" }
            span { class: "cell-date", role: "cell", "{ago(entry.indexed_at, now())}" }
            Button {
                symbol: Symbol::Remove,
                label: format!("Remove {} from the index (Delete)", entry.title),
                onpress: move |()| session.remove_picked(Some(id)),
            }
        }
    }
}

/// The keys of a list whose rows can be picked.
fn row_key(
    mut session: Session,
    event: &KeyboardEvent,
    row: usize,
    id: lodestone::data::DocumentId,
) {
    let modifiers = event.modifiers();
    let (shift, primary) = (modifiers.shift(), modifiers.ctrl() || modifiers.meta());
    let from = shift.then_some(row);
    let (last, page) = {
        let library = session.library.peek();
        (library.rows().saturating_sub(1), library.page())
    };
    match event.key() {
        Key::Enter if !primary => session.read_document(id),
        Key::Delete | Key::Backspace => session.remove_picked(Some(id)),
        Key::Character(key) if key == " " => session.library.write().pick(row, true),
        Key::Character(key) if primary && key.eq_ignore_ascii_case("a") => {
            session.library.write().pick_all();
        }
        Key::ArrowDown => session.move_to_row(row + 1, from),
        // Above the first row is the box that filters them.
        Key::ArrowUp if row == 0 && from.is_none() => return,
        Key::ArrowUp => session.move_to_row(row.saturating_sub(1), from),
        Key::PageDown => session.move_to_row(row + page, from),
        Key::PageUp => session.move_to_row(row.saturating_sub(page), from),
        Key::Home => session.move_to_row(0, from),
        Key::End => session.move_to_row(last, from),
        _ => return,
    }
    event.prevent_default();
    event.stop_propagation();
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
        div { class: "row row-skipped", role: "listitem", tabindex: "0",
            Icon { symbol: Symbol::Skipped }
            span { class: "path", dir: "auto", title: "{row.source}", "{row.source}" }
            span { class: "row-reason", title: "{row.reason}", "{row.reason}{times}" }
            Button {
                text: "Retry",
                label: format!("Try {} again", row.source),
                tone: "plain",
                onpress: move |()| session.retry(Some(source.clone())),
            }
        }
    }
}
