use dioxus::prelude::*;
use lodestone::engine::{SiteState, SiteView};

use super::button::Button;
use super::icon::{Icon, Symbol};
use super::use_session;
use crate::ui::dom;
use crate::ui::session::SiteWish;
use crate::ui::wording::{counted, coverage, now, pages_wanted, site_name, site_standing};

/// A site: where it is, how it stands, how much of it is searchable, and what can be done.
#[component]
pub fn SiteRow(site: SiteView, asking: bool) -> Element {
    let session = use_session();
    let id = site.id;
    let name = site_name(&site.start);
    let address = site.start.to_string();
    rsx! {
        div {
            class: "row row-site",
            role: "listitem",
            tabindex: "0",
            aria_label: "{name}",
            onclick: move |_| session.choose_site(id),
            onkeydown: move |event| {
                match event.key() {
                    Key::Enter => session.choose_site(id),
                    Key::Delete => session.ask_site_removal(id),
                    _ => return,
                }
                event.stop_propagation();
            },
            div { class: "cell-title",
                Icon { symbol: Symbol::Web }
                span { class: "row-title", title: "{name}", "{name}" }
                span { class: "path", title: "{address}", "{address}" }
            }
            if asking {
                RemovalQuestion { site }
            } else {
                Standing { site: site.clone() }
                Coverage { site: site.clone() }
                SiteActions { site, texts: false }
            }
        }
    }
}

/// How a site stands.
#[component]
pub fn Standing(site: SiteView) -> Element {
    let (word, facts) = if use_session().web.read().is_pausing(site.id) {
        ("Pausing", "after the pages in hand".to_owned())
    } else {
        site_standing(&site, now())
    };
    let state = match site.state {
        SiteState::Crawling { .. } => "crawling",
        SiteState::Paused => "paused",
        SiteState::Waiting { .. } => "waiting",
        SiteState::Done => "done",
    };
    rsx! {
        div { class: "standing", "data-state": state,
            span { class: "standing-word",
                span { class: "dot", aria_hidden: "true" }
                "{word}"
            }
            span { class: "standing-facts", title: "{facts}", "{facts}" }
        }
    }
}

/// How much of a site is searchable, in words and as a line.
#[component]
pub fn Coverage(site: SiteView) -> Element {
    let known = pages_wanted(&site).max(1);
    let percent = site.searchable as f64 / known as f64 * 100.0;
    rsx! {
        div { class: "coverage",
            span { class: "coverage-text", {coverage(&site)} }
            span { class: "coverage-line", aria_hidden: "true",
                span { class: "coverage-fill", style: "width: {percent:.1}%" }
            }
        }
    }
}

/// What can be done with a site, as icons in a row and with words on its own page.
#[component]
pub fn SiteActions(site: SiteView, texts: bool) -> Element {
    let session = use_session();
    let id = site.id;
    let name = site_name(&site.start);
    let text = |text: &str| texts.then(|| text.to_owned());
    let tone = if texts { "plain" } else { "quiet" };
    let editing = session.web.read().editing.is_some();
    let pausing = session.web.read().is_pausing(id);
    let (wish, symbol, word, spoken) = match site.state {
        SiteState::Crawling { .. } | SiteState::Waiting { .. } => {
            (SiteWish::Pause, Symbol::Pause, "Pause", format!("Pause {name}"))
        }
        SiteState::Paused => (SiteWish::Resume, Symbol::Play, "Resume", format!("Resume {name}")),
        SiteState::Done => {
            let spoken = format!("Check {name} for changes");
            (SiteWish::Check, Symbol::Refresh, "Check for changes", spoken)
        }
    };
    rsx! {
        div { class: "site-actions", role: "group", aria_label: "What to do with {name}",
            Button {
                symbol,
                text: text(word),
                label: spoken,
                tone,
                disabled: wish == SiteWish::Pause && pausing,
                onpress: move |()| session.wish(id, wish),
            }
            Button {
                symbol: Symbol::Options,
                text: text("Options"),
                label: format!("Options of {name}"),
                tone,
                pressed: texts.then_some(editing),
                onpress: move |()| session.edit_rules(id),
            }
            Button {
                symbol: Symbol::Remove,
                text: text("Remove"),
                label: format!("Remove {name} from the index"),
                tone,
                onpress: move |()| session.ask_site_removal(id),
            }
        }
    }
}

/// Asks once before a site goes.
#[component]
pub fn RemovalQuestion(site: SiteView) -> Element {
    let session = use_session();
    let name = site_name(&site.start);
    let pages = if site.searchable > 0 {
        format!(" and its {}", counted(site.searchable, "page"))
    } else {
        String::new()
    };
    // The safe answer takes the next key.
    use_effect(|| dom::focus("keep"));
    rsx! {
        div { class: "row-question", role: "alertdialog", aria_label: "Remove {name}?",
            onclick: |event| event.stop_propagation(),
            span { class: "question-text", "Remove {name}{pages} from the index?" }
            Button {
                id: "confirm-remove",
                text: "Remove",
                label: format!("Remove {name}{pages} from the index"),
                tone: "danger",
                onpress: move |()| session.remove_asked_site(),
            }
            Button {
                id: "keep",
                text: "Keep",
                label: "Keep the site (Esc)",
                tone: "plain",
                onpress: move |()| session.keep_site(),
            }
        }
    }
}
