use std::rc::Rc;

use dioxus::prelude::*;
use lodestone::data::Source;

use super::block::{Block, Shared};
use super::button::Button;
use super::icon::{Icon, Symbol};
use super::use_session;
use crate::ui::dom::{self, READER_ID};
use crate::ui::keys::primary_name;
use crate::ui::state::OpenDocument;
use crate::ui::text::TextStyle;
use crate::ui::wording::{now, open_label, saved_copy, type_name};

/// Distance from the end of the text in the page at which the next part is put in.
const NEAR_END_PX: f64 = 1_200.0;

/// The document in hand with its passages marked.
#[component]
pub fn ReaderPane() -> Element {
    let session = use_session();
    // Each scroll that the state owes is done once the marks are in the page.
    let scrolls = use_memo(move || session.reader.read().scrolls());
    use_effect(move || {
        scrolls();
        dom::show_chosen();
    });
    let percent = session.pane.read().share() * 100.0;
    let reader = session.reader.read();
    rsx! {
        aside {
            id: READER_ID,
            class: "reader",
            style: "--reader-share: {percent:.2}%",
            tabindex: "-1",
            aria_label: "Reader",
            onkeydown: move |event| {
                match event.key() {
                    Key::Character(key) if key == "n" => session.step(1),
                    Key::Character(key) if key == "p" => session.step(-1),
                    Key::Escape => session.close_reader(),
                    // Scrolling the text, not moving in the results behind it.
                    Key::ArrowUp | Key::ArrowDown if event.modifiers().is_empty() => {}
                    Key::PageUp | Key::PageDown | Key::Home | Key::End | Key::Enter => {}
                    _ => return,
                }
                event.stop_propagation();
            },
            if let Some(problem) = reader.problem() {
                ReaderProblem { problem: problem.to_owned() }
            } else if let Some(open) = reader.document() {
                ReaderHead { open: Shared(Rc::clone(open)) }
                ReaderText { open: Shared(Rc::clone(open)) }
            }
        }
    }
}

#[component]
fn ReaderProblem(problem: String) -> Element {
    let session = use_session();
    rsx! {
        div { class: "empty", role: "alert",
            h1 { "This document cannot be shown" }
            p { "{problem}" }
            Button {
                text: "Close",
                label: "Close the reader",
                tone: "plain",
                onpress: move |()| session.close_reader(),
            }
        }
    }
}

#[component]
fn ReaderHead(open: Shared<OpenDocument>) -> Element {
    let session = use_session();
    let reader = session.reader.read();
    let view = &open.view;
    let path = view.source.path().map(std::path::Path::to_path_buf);
    let covering = !session.pane.read().is_wide();
    rsx! {
        header { class: "reader-head",
            div { class: "reader-names",
                if covering {
                    Button {
                        id: "reader-back",
                        symbol: Symbol::Back,
                        label: "Back to the list (Esc)",
                        onpress: move |()| session.close_reader(),
                    }
                }
                div { class: "reader-title",
                    h1 { dir: "auto", title: "{view.title}", "{view.title}" }
                    p { class: "path", title: "{view.source}", "{view.source}" }
                }
                if !covering {
                    Button {
                        id: "reader-close",
                        symbol: Symbol::Close,
                        label: "Close the reader",
                        onpress: move |()| session.close_reader(),
                    }
                }
            }
            if let Source::Web(live) = &view.source {
                p { id: "snapshot", class: "snapshot", role: "note",
                    Icon { symbol: Symbol::Web }
                    span { {saved_copy(view.indexed_at, now())} }
                    Button {
                        id: "open-live",
                        text: "Open the live page",
                        label: format!("Open {live} in the browser at this passage"),
                        tone: "link",
                        onpress: move |()| session.open_externally(),
                    }
                }
            }
            div { class: "reader-tools", role: "toolbar", aria_label: "Reader",
                Button {
                    id: "previous-passage",
                    symbol: Symbol::Up,
                    label: "Previous passage (Alt+↑, or P in the text)",
                    disabled: !reader.has_previous(),
                    onpress: move |()| session.step(-1),
                }
                Button {
                    id: "next-passage",
                    symbol: Symbol::Down,
                    label: "Next passage (Alt+↓, or N in the text)",
                    disabled: !reader.has_next(),
                    onpress: move |()| session.step(1),
                }
                span { id: "passage-place", class: "reader-place", role: "status", "{reader.place()}" }
                if let Some(locator) = reader.locator() {
                    span { class: "reader-locator", dir: "auto", title: "{locator}", "{locator}" }
                }
                span { class: "reader-type", {type_name(view.media_type)} }
                Button {
                    id: "reader-copy",
                    symbol: Symbol::Copy,
                    label: "Copy the passage",
                    copies: reader.chosen_text().unwrap_or_default(),
                    onpress: |()| {},
                }
                if let Some(path) = path {
                    Button {
                        id: "reader-reveal",
                        symbol: Symbol::Folder,
                        label: "Reveal in the file manager",
                        onpress: move |()| session.reveal(path.clone()),
                    }
                }
                Button {
                    id: "reader-open",
                    symbol: Symbol::Open,
                    label: format!("{} ({}+Enter)", open_label(&view.source), primary_name()),
                    onpress: move |()| session.open_externally(),
                }
            }
        }
    }
}

#[component]
fn ReaderText(open: Shared<OpenDocument>) -> Element {
    let mut session = use_session();
    let marks = use_memo(move || Rc::new(session.reader.read().marks()));
    let marks = Shared(marks.cloned());
    let shown = session.reader.read().shown();
    let has_earlier = shown.start > 0 && !session.reader.read().is_filling();
    let face = match open.layout.style {
        TextStyle::Prose => "prose",
        TextStyle::Plain => "plain",
        TextStyle::Columns => "columns",
        TextStyle::Code => "source",
    };
    let blocks = open.layout.blocks.len();
    rsx! {
        div {
            id: "reader-text",
            class: "reader-text",
            tabindex: "0",
            aria_label: "Text of the document",
            onscroll: move |event| {
                let below = f64::from(event.scroll_height() - event.client_height());
                if below - event.scroll_top() < NEAR_END_PX && shown.end < blocks {
                    session.reader.write().extend_down();
                }
            },
            article { class: "text {face}",
                if has_earlier {
                    Button {
                        id: "show-earlier",
                        text: "Show earlier text",
                        label: "Show the text before this",
                        tone: "plain",
                        onpress: move |()| session.reader.write().extend_up(),
                    }
                }
                for at in shown.clone() {
                    Block { key: "{at}", open: open.clone(), at, marks: marks.clone() }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ui::fixture;
    use crate::ui::state::Target;
    use crate::ui::view::tests::rendered;

    use super::*;

    #[component]
    fn OpenReader() -> Element {
        let mut session = use_session();
        use_hook(|| {
            let found = vec![fixture::passage(1), fixture::passage(2)];
            let target = Target { id: fixture::document().id, found };
            let mut reader = session.reader.write();
            let sequence = reader.show(target).unwrap();
            reader.accept(sequence, Ok(fixture::open_document()));
        });
        rsx! {
            ReaderPane {}
        }
    }

    #[component]
    fn SavedPage() -> Element {
        let mut session = use_session();
        use_hook(|| {
            let mut view = fixture::document();
            view.source = Source::from_key("https://docs.test/book/ch1.html").unwrap();
            let mut reader = session.reader.write();
            let sequence = reader.show(Target::whole(view.id)).unwrap();
            reader.accept(sequence, Ok(OpenDocument::new(view)));
        });
        rsx! {
            ReaderPane {}
        }
    }

    #[test]
    fn a_page_says_that_it_is_a_saved_copy_and_leads_to_the_live_one() {
        let html = rendered(|| rsx! { SavedPage {} });
        for part in [
            "Saved copy, read on Jan 1, 1970",
            "Open the live page",
            "https://docs.test/book/ch1.html",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let file = rendered(|| rsx! { OpenReader {} });
        assert!(!file.contains("Saved copy"), "a file is what it is: {file}");
        assert!(file.contains(r#"<p class="block chosen" dir="auto">"#), "{file}");
    }

    #[test]
    fn the_reader_lays_out_the_text_and_marks_exactly() {
        let html = rendered(|| rsx! { OpenReader {} });
        for part in [
            "<code class=\"inline\">",
            ">Match 1 of 2<",
            "<mark class=\"seg sentence\">owners</mark>",
            "id=\"chosen-passage\"",
            "<em>",
            "<li dir=\"auto\">",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert_eq!(html.matches("id=\"chosen-passage\"").count(), 1);
        let chosen = html.matches("block chosen").count();
        assert_eq!(chosen, 1, "the paragraph of the chosen passage and no other");
    }
}
