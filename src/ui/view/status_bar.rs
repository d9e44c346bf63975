use dioxus::prelude::*;
use lodestone::config::Theme;

use super::button::Button;
use super::icon::Symbol;
use super::use_session;
use crate::ui::session::Phase;
use crate::ui::wording::counted;

/// Device and model, amounts, trouble, and the theme.
#[component]
pub fn StatusBar() -> Element {
    let session = use_session();
    let health = session.health.read();
    let phase = session.phase.read();
    let (state, model) = match &*phase {
        Phase::Failed { .. } => ("failed", "The index is not open".to_owned()),
        _ if health.failure().is_some() => ("failed", health.model()),
        _ if health.is_loading() => ("loading", health.model()),
        _ => ("ready", health.model()),
    };
    let working = session
        .activity
        .read()
        .current()
        .map(|job| if job.is_crawl() { "Crawling" } else { "Indexing" });
    rsx! {
        footer { id: "status", class: "status", aria_label: "Status",
            span { class: "status-model", "data-state": state, title: health.failure(),
                span { class: "dot", aria_hidden: "true" }
                "{model}"
            }
            if health.known {
                span { id: "amounts", class: "status-fact", "{health.amounts()}" }
                span { id: "indexing-state", class: "status-fact",
                    if let Some(working) = working { "{working}" } else if let Some(standing) = health.standing() { "{standing}" }
                }
            }
            for notice in health.notices.iter() {
                span { key: "{notice}", class: "status-fact", "{notice}" }
            }
            span { class: "status-space" }
            if health.skipped > 0 {
                Button {
                    id: "problems",
                    symbol: Symbol::Warning,
                    text: format!("{} not indexed", counted(health.skipped, "file")),
                    label: "Show what was not indexed, with reasons",
                    tone: "warning",
                    onpress: move |()| session.show_skipped(),
                }
            }
            ThemeSwitch {}
        }
    }
}

#[component]
fn ThemeSwitch() -> Element {
    let session = use_session();
    let current = session.settings.read().theme;
    let themes = [
        (Theme::System, "theme-system", Symbol::System, "Theme of the system"),
        (Theme::Light, "theme-light", Symbol::Light, "Light theme"),
        (Theme::Dark, "theme-dark", Symbol::Dark, "Dark theme"),
    ];
    rsx! {
        div { class: "theme-switch", role: "group", aria_label: "Theme",
            for (theme , id , symbol , label) in themes {
                Button {
                    key: "{id}",
                    id,
                    symbol,
                    label,
                    pressed: theme == current,
                    onpress: move |()| session.set_theme(theme),
                }
            }
        }
    }
}
