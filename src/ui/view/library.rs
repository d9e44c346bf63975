use dioxus::prelude::*;

use super::button::Button;
use super::folders::FolderRows;
use super::golden::GoldenRows;
use super::icon::{Icon, Symbol};
use super::library_row::{DocumentRow, SkippedRow};
use super::search::keep_typing;
use super::use_session;
use crate::ui::state::{LibraryTab, ROW_PX};
use crate::ui::wording::count;

/// What is indexed, and what is not and why.
#[component]
pub fn LibraryView() -> Element {
    let mut session = use_session();
    rsx! {
        div { class: "query",
            Icon { symbol: Symbol::Search }
            input {
                id: "library-filter",
                r#type: "text",
                aria_label: "Filter the library",
                placeholder: "Filter by title, path or type",
                autocomplete: "off",
                spellcheck: "false",
                onmounted: move |event| async move {
                    // Without the focus a person clicks into the box; nothing else is lost.
                    let _ = event.set_focus(true).await;
                    session.library.write().set_filter("");
                },
                oninput: move |event| session.library.write().set_filter(&event.value()),
                onkeydown: move |event| keep_typing(&event),
            }
        }
        Tabs {}
        match session.library.read().tab() {
            LibraryTab::Starred => rsx! {
                GoldenRows {}
            },
            LibraryTab::Folders => rsx! {
                FolderRows {}
            },
            LibraryTab::Documents | LibraryTab::Skipped => rsx! {
                Rows {}
            },
        }
    }
}

#[component]
fn Tabs() -> Element {
    let mut session = use_session();
    let library = session.library.read();
    let tabs = [
        (LibraryTab::Documents, "tab-documents", "Indexed", library.documents_total()),
        (LibraryTab::Skipped, "tab-skipped", "Not indexed", library.skipped_total()),
        (LibraryTab::Folders, "tab-folders", "Folders", library.folders.len()),
        (LibraryTab::Starred, "tab-starred", "Starred", session.golden.read().stars().len()),
    ];
    let current = library.tab();
    drop(library);
    rsx! {
        div { class: "tabs", role: "tablist", aria_label: "Lists",
            for (tab , id , name , total) in tabs {
                button {
                    key: "{id}",
                    id,
                    r#type: "button",
                    class: "tab",
                    role: "tab",
                    aria_selected: tab == current,
                    aria_controls: "library-rows",
                    onclick: move |_| session.library.write().show(tab),
                    onkeydown: |event| {
                        if event.key() == Key::Enter {
                            event.stop_propagation();
                        }
                    },
                    "{name}"
                    span { class: "tab-count", "{count(total as u64)}" }
                }
            }
        }
    }
}

/// The rows near the view, between two spaces as tall as the rows that are left out.
#[component]
fn Rows() -> Element {
    let mut session = use_session();
    let library = session.library.read();
    let window = library.window();
    let above_px = window.start as f64 * ROW_PX;
    let below_px = (library.rows() - window.end) as f64 * ROW_PX;
    let tab = library.tab();
    let empty = match (tab, library.rows() == 0 && library.loaded, library.is_filtered()) {
        (_, false, _) => None,
        (_, true, true) => Some("Nothing passes the filter."),
        (LibraryTab::Documents, ..) => Some("Nothing is indexed yet. Drop files or a folder here."),
        (LibraryTab::Skipped, ..) => Some("Everything that was added could be read."),
        (LibraryTab::Folders | LibraryTab::Starred, ..) => None,
    };
    rsx! {
        if tab == LibraryTab::Documents && empty.is_none() {
            div { class: "row row-head", aria_hidden: "true",
                span { "Title" }
                span { class: "cell-type", "Type" }
                span { class: "cell-number", "Passages" }
                span { class: "cell-number", "Size" }
                span { class: "cell-date", "Indexed" }
                span {}
            }
        }
        if tab == LibraryTab::Skipped && library.skipped_total() > 0 {
            p { class: "rows-note",
                Button {
                    id: "retry-all",
                    text: "Try all again",
                    label: "Try once more what could not be indexed",
                    tone: "plain",
                    onpress: move |()| session.retry(None),
                }
            }
        }
        div {
            id: "library-rows",
            class: "rows",
            role: if tab == LibraryTab::Documents { "table" } else { "list" },
            aria_label: if tab == LibraryTab::Documents { "Indexed documents" } else { "Not indexed" },
            "data-rows": "{library.rows()}",
            onscroll: move |event| {
                let height_px = f64::from(event.client_height());
                session.library.write().scrolled(event.scroll_top(), height_px);
            },
            if let Some(empty) = empty {
                p { class: "rows-empty", "{empty}" }
            }
            div { style: "height: {above_px}px" }
            match tab {
                LibraryTab::Documents => rsx! {
                    for entry in library.documents(window) {
                        DocumentRow {
                            key: "{entry.id}",
                            entry: entry.clone(),
                            asking: library.asking == Some(entry.id),
                            selected: library.selected == Some(entry.id),
                        }
                    }
                },
                LibraryTab::Skipped => rsx! {
                    for row in library.reasons(window) {
                        SkippedRow { key: "{row.source}", row: row.clone() }
                    }
                },
                LibraryTab::Folders | LibraryTab::Starred => rsx! {},
            }
            div { style: "height: {below_px}px" }
        }
    }
}
