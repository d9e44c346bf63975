use dioxus::prelude::*;
use lodestone::data::Source;
use lodestone::engine::{PageState, PageView};

use super::button::Button;
use super::icon::Symbol;
use super::use_session;
use crate::ui::keys::primary_name;
use crate::ui::wording::{ago, bytes, now, page_standing};

/// A page of a site, and what became of it.
#[component]
pub fn PageRow(page: PageView, selected: bool) -> Element {
    let session = use_session();
    let (word, reason) = page_standing(&page);
    let source = Source::Web(page.url.clone());
    let opened = source.clone();
    let tone = match page.state {
        PageState::Failed | PageState::Gone => "trouble",
        PageState::Indexed => "good",
        _ => "quiet",
    };
    // The host is that of the site, which stands above.
    let query = page.url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path = format!("{}{query}", page.url.path());
    let fetched = page.fetched_at.map(|at| ago(at, now()));
    let size = (page.bytes > 0).then(|| bytes(page.bytes));
    rsx! {
        div {
            class: "row row-page",
            role: "row",
            tabindex: "0",
            aria_label: "{path}, {word}",
            "data-selected": selected,
            onclick: {
                let page = page.clone();
                move |_| session.open_page(&page)
            },
            onkeydown: {
                let page = page.clone();
                move |event| {
                    let primary = event.modifiers().ctrl() || event.modifiers().meta();
                    match event.key() {
                        Key::Enter if primary => session.open_source(source.clone()),
                        Key::Enter => session.open_page(&page),
                        _ => return,
                    }
                    event.stop_propagation();
                }
            },
            div { class: "cell-page", role: "cell",
                if let Some(title) = &page.title {
                    span { class: "row-title", dir: "auto", title: "{title}", "{title}" }
                }
                span { class: "path", title: "{page.url}", "{path}" }
            }
            div { class: "cell-state", role: "cell", "data-tone": tone,
                span { class: "state-word", "{word}" }
                span { class: "state-reason", title: "{reason}", "{reason}" }
            }
            span { class: "cell-number cell-depth", role: "cell", "{page.depth}" }
            span { class: "cell-number cell-size", role: "cell", {size.unwrap_or_default()} }
            span { class: "cell-date", role: "cell", {fetched.unwrap_or_default()} }
            Button {
                symbol: Symbol::Open,
                label: format!("Open {} in the browser ({}+Enter)", page.url, primary_name()),
                onpress: move |()| session.open_source(opened.clone()),
            }
        }
    }
}
