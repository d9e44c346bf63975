use dioxus::prelude::*;

use super::button::Button;
use super::empty::{Home, NothingFound, Welcome};
use super::icon::{Icon, Symbol};
use super::results::Results;
use super::use_session;
use crate::ui::dom::{QUERY_ID, RESULTS_ID};
use crate::ui::state::HITS_MAX;
use crate::ui::wording::{count, counted, is_address};

/// The query box with what it found.
#[component]
pub fn SearchView() -> Element {
    let session = use_session();
    let search = session.search.read();
    let body = if !search.hits().is_empty() {
        rsx! {
            Results {}
        }
    } else if search.is_blank() && session.health.read().is_empty() {
        rsx! {
            Welcome {}
        }
    } else if search.is_blank() {
        rsx! {
            Home {}
        }
    } else if search.answer().is_some() {
        rsx! {
            NothingFound {}
        }
    } else {
        VNode::empty()
    };
    rsx! {
        QueryBox {}
        Banner {}
        SiteOffer {}
        Summary {}
        {body}
    }
}

#[component]
fn QueryBox() -> Element {
    let session = use_session();
    let search = session.search.read();
    let chosen = (!search.hits().is_empty()).then(|| format!("hit-{}", search.selected()));
    rsx! {
        div { class: "query", "data-waiting": search.is_waiting(),
            Icon { symbol: Symbol::Search }
            input {
                id: QUERY_ID,
                r#type: "text",
                aria_label: "Search your files",
                aria_controls: RESULTS_ID,
                aria_autocomplete: "list",
                "aria-activedescendant": chosen,
                placeholder: "Ask a question or type words",
                autocomplete: "off",
                spellcheck: "false",
                initial_value: search.query().to_owned(),
                onmounted: move |event| async move {
                    // Without the focus a person clicks into the box; nothing else is lost.
                    let _ = event.set_focus(true).await;
                },
                oninput: move |event| session.type_query(event.value()),
                onkeydown: move |event| keep_typing(&event),
            }
            if !search.is_blank() {
                Button {
                    id: "clear-query",
                    symbol: Symbol::Close,
                    label: "Clear the query (Esc)",
                    onpress: move |()| session.clear_query(),
                }
            }
        }
    }
}

/// Characters typed into a box are not commands of the window.
pub fn keep_typing(event: &KeyboardEvent) {
    let modifiers = event.modifiers();
    if matches!(event.key(), Key::Character(_)) && !modifiers.ctrl() && !modifiers.meta() {
        event.stop_propagation();
    }
}

/// Trouble that changes what an answer is worth.
#[component]
fn Banner() -> Element {
    let session = use_session();
    let search = session.search.read();
    let health = session.health.read();
    let text = if let Some(problem) = search.problem() {
        Some(format!("This search failed: {problem}"))
    } else {
        health.failure().map(|reason| {
            format!("Searching by words only, because the model could not be loaded: {reason}")
        })
    };
    rsx! {
        if let Some(text) = text {
            p { class: "banner", role: "alert",
                Icon { symbol: Symbol::Warning }
                "{text}"
            }
        }
    }
}

/// Somebody who puts a web address into the query may want the site.
#[component]
fn SiteOffer() -> Element {
    let session = use_session();
    let address = session.search.read().query().trim().to_owned();
    if !is_address(&address) {
        return VNode::empty();
    }
    rsx! {
        p { class: "site-offer", role: "note",
            Icon { symbol: Symbol::Web }
            span { "This is a web address. Its pages can be made searchable." }
            Button {
                id: "offer-site",
                text: "Add the site",
                label: "Put the address into Web, where a site is added",
                tone: "link",
                onpress: move |()| session.offer_site(address.clone()),
            }
        }
    }
}

/// How much was found in how much, in one line.
#[component]
fn Summary() -> Element {
    let session = use_session();
    let search = session.search.read();
    let Some(answer) = search.answer().filter(|answer| !answer.hits.is_empty()) else {
        return VNode::empty();
    };
    let found = counted(answer.hits.len() as u64, "document");
    let found = if answer.hits.len() < HITS_MAX { found } else { format!("The best {found}") };
    let coverage = answer.coverage;
    let running = session.activity.read().current().is_some();
    let partly = coverage.indexed < coverage.known;
    let so_far = if running { " so far" } else { "" };
    let words_only = session.health.read().is_loading();
    rsx! {
        p { class: "summary", role: "status",
            span { "{found}" }
            if words_only {
                span { class: "summary-note", "by words, until the model is loaded" }
            }
            if partly {
                span { class: "summary-note",
                    "searched {count(coverage.indexed)} of {counted(coverage.known, \"document\")}{so_far}"
                }
            }
            span { class: "summary-time", "{answer.took_ms.round()} ms" }
        }
    }
}
