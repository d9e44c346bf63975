use dioxus::prelude::*;

use super::icon::{Icon, Symbol};
use super::library_row::{DocumentRow, SkippedRow};
use super::use_session;
use crate::ui::state::{Column, LibraryTab, ROW_PX};

/// The heads of the columns, which sort by them.
#[component]
fn Heads() -> Element {
    let mut session = use_session();
    let sort = session.library.read().sort();
    rsx! {
        div { class: "row row-head row-document", role: "row", aria_rowindex: "1",
            for column in Column::ALL {
                {
                    let (name, class) = head(column);
                    let order = match (sort.column == column, sort.descending) {
                        (false, _) => "none",
                        (true, true) => "descending",
                        (true, false) => "ascending",
                    };
                    rsx! {
                        div { key: "{name}", class: "{class}", role: "columnheader", aria_sort: order,
                            button {
                                class: "head-button",
                                r#type: "button",
                                title: "Sort by {name.to_lowercase()}",
                                onclick: move |_| session.library.write().sort_by(column),
                                onkeydown: |event| {
                                    if matches!(event.key(), Key::Enter) {
                                        event.stop_propagation();
                                    }
                                },
                                "{name}"
                                if order != "none" {
                                    Icon { symbol: if sort.descending { Symbol::Down } else { Symbol::Up } }
                                }
                            }
                        }
                    }
                }
            }
            span {}
        }
    }
}

fn head(column: Column) -> (&'static str, &'static str) {
    match column {
        Column::Title => ("Title", "cell-head"),
        Column::Status => ("Status", "cell-status"),
        Column::Kind => ("Type", "cell-type"),
        Column::Passages => ("Passages", "cell-number cell-passages"),
        Column::Size => ("Size", "cell-number cell-size"),
        Column::Indexed => ("Indexed", "cell-date"),
    }
}

/// The rows near the view, between two spaces as tall as the rows that are left out.
#[component]
pub fn Rows() -> Element {
    let mut session = use_session();
    let library = session.library.read();
    let window = library.window();
    let above_px = window.start as f64 * ROW_PX;
    let below_px = (library.rows() - window.end) as f64 * ROW_PX;
    let tab = library.tab();
    let is_table = tab == LibraryTab::Documents;
    let empty = match (tab, library.rows() == 0 && library.loaded, library.is_filtered()) {
        (_, false, _) => None,
        (_, true, true) => Some("Nothing passes the filter."),
        (LibraryTab::Documents, ..) => Some("Nothing is indexed yet. Drop files or a folder here."),
        (LibraryTab::Skipped, ..) => Some("Everything that was added could be read."),
        (LibraryTab::Folders | LibraryTab::Starred, ..) => None,
    };
    rsx! {
        div {
            class: "table",
            role: if is_table { "table" } else { "presentation" },
            aria_label: is_table.then_some("Indexed documents"),
            aria_rowcount: is_table.then(|| (library.rows() + 1).to_string()),
            if is_table && empty.is_none() {
                Heads {}
            }
            div {
                id: "library-rows",
                class: "rows",
                role: if is_table { "rowgroup" } else { "list" },
                aria_label: (!is_table).then_some("Not indexed"),
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
                        for (row , entry) in window.clone().zip(library.documents(window)) {
                            DocumentRow {
                                key: "{entry.id}",
                                entry: entry.clone(),
                                row,
                                picked: library.is_picked(entry.id),
                                selected: library.selected == Some(entry.id),
                                outdated: library.outdated(entry).map(str::to_owned),
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
}
