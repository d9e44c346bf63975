use dioxus::prelude::*;

use super::button::Button;
use super::chips::ChipToggle;
use super::folders::FolderRows;
use super::golden::GoldenRows;
use super::icon::Symbol;
use super::library_table::Rows;
use super::top_box::TopBox;
use super::use_session;
use crate::ui::state::LibraryTab;
use crate::ui::wording::{count, type_name};

/// Kinds that are offered as chips: as many as stand in a line.
const KINDS_MAX: usize = 8;

/// What is indexed, and what is not and why.
#[component]
pub fn LibraryView() -> Element {
    let mut session = use_session();
    let filter = session.library.peek().filter().to_owned();
    rsx! {
        TopBox {
            id: "library-filter",
            symbol: Symbol::Search,
            label: "Filter the library",
            placeholder: "Filter by title, path or type",
            begin: filter,
            ontype: move |text: String| session.library.write().set_filter(&text),
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
                // The one takes the place of the other, so that no row moves under the pointer.
                if session.library.read().picked_count() > 0 {
                    PickedBar {}
                } else {
                    Narrowing {}
                }
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
        (LibraryTab::Folders, "tab-folders", "Folders and sites", library.places_total()),
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

/// What narrows the list: kinds of documents, or reasons.
#[component]
fn Narrowing() -> Element {
    let mut session = use_session();
    let library = session.library.read();
    match library.tab() {
        LibraryTab::Documents => {
            let kinds = library.kinds();
            let current = library.kind();
            // One kind narrows nothing.
            if kinds.len() < 2 {
                return VNode::empty();
            }
            rsx! {
                div { class: "chips", role: "group", aria_label: "Kinds of documents",
                    for (kind , total) in kinds.into_iter().take(KINDS_MAX) {
                        ChipToggle {
                            key: "{kind}",
                            symbol: Symbol::of_type(kind),
                            label: type_name(kind),
                            total: total as u64,
                            on: current == Some(kind),
                            onpress: move |on: bool| session.library.write().set_kind(on.then_some(kind)),
                        }
                    }
                }
            }
        }
        LibraryTab::Skipped => {
            let ledger = library.ledger();
            let current = library.reason().map(str::to_owned);
            if ledger.is_empty() {
                return VNode::empty();
            }
            rsx! {
                div { id: "ledger", class: "chips", role: "group", aria_label: "Reasons",
                    for group in ledger {
                        ChipToggle {
                            key: "{group.reason}",
                            symbol: Symbol::Warning,
                            label: capitalized(&group.reason),
                            total: group.sources as u64,
                            on: current.as_ref() == Some(&group.reason),
                            onpress: move |on: bool| {
                                let reason = on.then(|| group.reason.clone());
                                session.library.write().set_reason(reason);
                            },
                        }
                    }
                    span { class: "chips-space" }
                    Button {
                        id: "retry-all",
                        symbol: Symbol::Refresh,
                        text: if library.is_filtered() { "Retry these" } else { "Retry all" },
                        label: "Try once more what is listed here",
                        tone: "plain",
                        onpress: move |()| session.retry_listed(),
                    }
                }
            }
        }
        LibraryTab::Folders | LibraryTab::Starred => VNode::empty(),
    }
}

/// What can be done with the rows that are picked.
#[component]
fn PickedBar() -> Element {
    let mut session = use_session();
    let picked = session.library.read().picked_count();
    rsx! {
        div { id: "picked", class: "picked-bar", role: "toolbar", aria_label: "Selected documents",
            span { class: "picked-count", role: "status", "{count(picked as u64)} selected" }
            Button {
                id: "reindex-picked",
                symbol: Symbol::Refresh,
                text: "Index again",
                label: "Read the selected files again",
                tone: "plain",
                onpress: move |()| session.reindex_picked(),
            }
            Button {
                id: "remove-picked",
                symbol: Symbol::Remove,
                text: "Remove",
                label: "Remove the selected documents from the index; the files stay",
                tone: "plain",
                onpress: move |()| session.remove_picked(None),
            }
            Button {
                id: "unpick",
                symbol: Symbol::Close,
                label: "Select nothing (Esc)",
                onpress: move |()| session.library.write().unpick(),
            }
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use lodestone::engine::Skipped;

    use super::*;
    use crate::ui::fixture::entry;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Three(tab: LibraryTab, picked: bool) -> Element {
        let mut session = use_session();
        use_hook(|| {
            let mut library = session.library.write();
            let mut book = entry("book.pdf");
            book.media_type = lodestone::data::MediaType::Pdf;
            let skipped = |source: &str, reason: &str| Skipped {
                source: source.into(),
                reason: reason.into(),
                attempts: 2,
            };
            library.refresh(
                vec![entry("a.md"), entry("b.md"), book],
                vec![
                    skipped("/docs/b.md", "the file is damaged: no end; get it again"),
                    skipped("/x", "binary"),
                ],
            );
            library.show(tab);
            if picked {
                library.pick(1, false);
            }
        });
        rsx! {
            LibraryView {}
        }
    }

    fn assert_holds(html: &str, parts: &[&str]) {
        for part in parts {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn documents_are_a_table_that_sorts_narrows_and_picks() {
        let html = rendered(|| rsx! { Three { tab: LibraryTab::Documents, picked: false } });
        assert_holds(&html, &[r#"role="table""#, r#"aria-rowcount="4""#, r#"role="rowgroup""#]);
        assert_holds(&html, &[r#"role="columnheader" aria-sort="ascending""#, ">Passages<"]);
        assert_holds(&html, &[">Older version<", ">Searchable<"]);
        assert_holds(&html, &[r#"aria-label="Markdown, 2" aria-pressed="false""#]);
        assert!(!html.contains(r#"aria-checked="true""#), "{html}");
        let picked = rendered(|| rsx! { Three { tab: LibraryTab::Documents, picked: true } });
        assert_holds(&picked, &["1 selected", "Index again", r#"aria-checked="true""#]);
        assert!(!picked.contains("Markdown, 2"), "the one takes the place of the other: {picked}");
    }

    #[test]
    fn the_ledger_names_reasons_and_offers_to_try_again() {
        let html = rendered(|| rsx! { Three { tab: LibraryTab::Skipped, picked: true } });
        assert_holds(&html, &[">The file is damaged<", ">Binary<", "Retry all", ">Retry<"]);
        assert_holds(&html, &["tried 2 times"]);
        assert!(!html.contains("columnheader"), "{html}");
    }
}
