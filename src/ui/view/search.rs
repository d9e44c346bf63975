use dioxus::prelude::*;

use super::button::Button;
use super::chips::Chips;
use super::completions::{COMPLETIONS_ID, Completions, completion_key};
use super::empty::{Home, NothingFound, Welcome};
use super::icon::{Icon, Symbol};
use super::results::Results;
use super::use_session;
use crate::ui::dom::{self, QUERY_ID, RESULTS_ID};
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
    } else if search.is_home() && session.health.read().is_empty() {
        rsx! {
            Welcome {}
        }
    } else if search.is_home() {
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
        Chips {}
        Summary {}
        {body}
    }
}

#[component]
fn QueryBox() -> Element {
    let session = use_session();
    let search = session.search.read();
    let completion = session.completion.read();
    let hit = (!search.hits().is_empty()).then(|| format!("hit-{}", search.selected()));
    let chosen = completion.chosen().map(|chosen| format!("choice-{chosen}")).or(hit);
    let open = completion.is_open();
    // Of the answer on screen: where that is still the one before, a key changes nothing in the page.
    let answered = search.answer().map(|answer| answer.query.trim().to_owned());
    rsx! {
        div { class: "query", "data-late": search.steps_back(), "data-answered": answered,
            Icon { symbol: Symbol::Search }
            input {
                id: QUERY_ID,
                r#type: "text",
                dir: "auto",
                aria_label: "Search your files",
                role: "combobox",
                aria_controls: if open { COMPLETIONS_ID } else { RESULTS_ID },
                aria_expanded: "{open}",
                aria_autocomplete: "list",
                "aria-activedescendant": chosen,
                placeholder: "Ask a question or type words",
                autocomplete: "off",
                spellcheck: "false",
                initial_value: search.query().to_owned(),
                // Selected as well, so that typing replaces a query of the last time.
                onmounted: move |_| dom::focus_text(QUERY_ID),
                oninput: move |event| session.type_query(event.value()),
                onblur: move |_| session.close_completion(),
                onkeydown: move |event| {
                    if !completion_key(&session, &event) {
                        keep_typing(&event);
                    }
                },
            }
            if !search.is_home() {
                Button {
                    id: "clear-query",
                    symbol: Symbol::Close,
                    label: "Clear the query (Esc)",
                    onpress: move |()| session.clear_query(),
                }
            }
            Completions {}
        }
    }
}

/// Characters typed into a box are not commands of the window.
pub fn keep_typing(event: &KeyboardEvent) {
    let modifiers = event.modifiers();
    let types = matches!(event.key(), Key::Character(_) | Key::Home | Key::End);
    if types && !modifiers.ctrl() && !modifiers.meta() {
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
    let strong = answer.hits.iter().filter(|hit| !hit.is_weak).count();
    let from = if answer.is_cut { answer.considered.len() } else { strong };
    let found = counted(from as u64, "document");
    let found = match (from <= HITS_MAX, search.like()) {
        _ if strong == 0 => "Nothing relevant".to_owned(),
        (true, None) => found,
        (true, Some(_)) => format!("{found} like it"),
        (false, _) => format!("The best {HITS_MAX} of {}", count(from as u64)),
    };
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
                button {
                    id: "coverage",
                    class: "summary-note summary-link",
                    r#type: "button",
                    title: "Show what was not searched, with reasons",
                    onclick: move |_| session.show_skipped(),
                    onkeydown: |event| {
                        if event.key() == Key::Enter {
                            event.stop_propagation();
                        }
                    },
                    "searched {count(coverage.indexed)} of {counted(coverage.known, \"document\")}{so_far}"
                }
            }
            if search.has_held() {
                button {
                    id: "take-held",
                    class: "summary-note summary-link",
                    r#type: "button",
                    title: "A newer answer is there; nothing moves until you want it",
                    onclick: move |_| session.take_held(),
                    onkeydown: |event| {
                        if event.key() == Key::Enter {
                            event.stop_propagation();
                        }
                    },
                    "show the newer order"
                }
            }
            span { class: "summary-time", "{answer.took_ms.round()} ms" }
        }
    }
}
