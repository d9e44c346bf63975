use dioxus::prelude::*;
use lodestone::config::Theme;

use super::icon::{Icon, Symbol};
use super::keyboard::Keyboard;
use super::use_session;
use crate::ui::dom;
use crate::ui::keys::Command;
use crate::ui::state::{Action, Choice, Shown, View};

const LIST_ID: &str = "palette-list";

/// Every action, view, site and document by a few letters of its name.
#[component]
pub fn PaletteBox() -> Element {
    let mut session = use_session();
    let palette = session.palette.read();
    let selected = palette.selected();
    let chosen = (!palette.shown().is_empty()).then(|| row_id(selected));
    let found = palette.shown().len();
    rsx! {
        div { class: "veil veil-top", onclick: move |_| session.close_overlay(),
            div {
                id: "palette",
                class: "palette",
                role: "dialog",
                aria_modal: "true",
                aria_label: "Find any action, view or document",
                onclick: |event| event.stop_propagation(),
                onkeydown: move |event| {
                    // Nothing here is for the window below.
                    event.stop_propagation();
                    let by = match event.key() {
                        Key::ArrowDown => 1,
                        Key::ArrowUp => -1,
                        Key::PageDown => 5,
                        Key::PageUp => -5,
                        Key::Enter if !event.is_composing() => {
                            event.prevent_default();
                            return session.choose();
                        }
                        Key::Escape => return session.close_overlay(),
                        Key::Character(text) if text.eq_ignore_ascii_case("k") && (event.modifiers().ctrl() || event.modifiers().meta()) => {
                            event.prevent_default();
                            return session.close_overlay();
                        }
                        _ => return,
                    };
                    event.prevent_default();
                    session.palette.write().step(by);
                    dom::bring_into_view(&row_id(session.palette.peek().selected()));
                },
                div { class: "palette-query",
                    Icon { symbol: Symbol::Search }
                    input {
                        id: "palette-query",
                        r#type: "text",
                        role: "combobox",
                        aria_label: "Find any action, view or document",
                        aria_expanded: "true",
                        aria_controls: LIST_ID,
                        aria_autocomplete: "list",
                        "aria-activedescendant": chosen,
                        placeholder: "What do you want to do or open?",
                        autocomplete: "off",
                        spellcheck: "false",
                        onmounted: move |event| async move {
                            // Without the focus a person clicks into the box; nothing else is lost.
                            let _ = event.set_focus(true).await;
                        },
                        oninput: move |event| session.palette.write().type_text(&event.value()),
                    }
                }
                ul { id: LIST_ID, class: "palette-rows", role: "listbox", aria_label: "What was found",
                    for (at , shown) in palette.shown().iter().enumerate() {
                        PaletteRow { key: "{at}", at, shown: shown.clone(), selected: at == selected }
                    }
                }
                if found == 0 {
                    p { class: "palette-none", role: "status", "Nothing is called that." }
                }
            }
        }
    }
}

fn row_id(at: usize) -> String {
    format!("palette-{at}")
}

#[component]
fn PaletteRow(at: usize, shown: Shown, selected: bool) -> Element {
    let mut session = use_session();
    let Shown { row, letters } = shown;
    let symbol = symbol_of(&row.choice);
    rsx! {
        li {
            id: row_id(at),
            class: "palette-row",
            role: "option",
            aria_selected: selected,
            onclick: move |_| {
                session.palette.write().select(at);
                session.choose();
            },
            Icon { symbol }
            span { class: "palette-text", dir: "auto",
                for (at , part) in parts(&row.text, &letters).into_iter().enumerate() {
                    if part.1 {
                        mark { key: "{at}", "{part.0}" }
                    } else {
                        span { key: "{at}", "{part.0}" }
                    }
                }
            }
            if let Some(place) = &row.place {
                span { class: "path palette-place", title: "{place}", "{place}" }
            }
            if row.keys.is_empty() {
                span { class: "palette-group", "{row.group.name()}" }
            } else {
                Keyboard { keys: row.keys.clone() }
            }
        }
    }
}

fn symbol_of(choice: &Choice) -> Symbol {
    match choice {
        Choice::Command(Command::Show(view)) => match view {
            View::Search => Symbol::Search,
            View::Library => Symbol::Library,
            View::Web => Symbol::Web,
            View::Activity => Symbol::Activity,
            View::Settings => Symbol::Settings,
        },
        Choice::Command(_) => Symbol::Options,
        Choice::Query(_) => Symbol::Search,
        Choice::Site(_) => Symbol::Web,
        Choice::Document(_) => Symbol::Markdown,
        Choice::Action(action) => match action {
            Action::AddFiles => Symbol::AddFiles,
            Action::AddFolder => Symbol::AddFolder,
            Action::AddSite => Symbol::Web,
            Action::Pause => Symbol::Pause,
            Action::Resume => Symbol::Play,
            Action::RetryAll => Symbol::Refresh,
            Action::ShowSkipped => Symbol::Skipped,
            Action::Theme(Theme::Light) => Symbol::Light,
            Action::Theme(Theme::Dark) => Symbol::Dark,
            Action::Theme(Theme::System) => Symbol::System,
            Action::Export | Action::Import => Symbol::Disk,
            Action::Measure | Action::SelfTest => Symbol::Activity,
            Action::Diagnostics => Symbol::Copy,
            Action::ForgetHistory => Symbol::Remove,
            Action::About | Action::Hints => Symbol::Why,
        },
    }
}

/// A text in runs of characters that were typed and that were not.
fn parts(text: &str, letters: &[usize]) -> Vec<(String, bool)> {
    let mut parts: Vec<(String, bool)> = Vec::new();
    for (at, letter) in text.chars().enumerate() {
        let is_typed = letters.contains(&at);
        match parts.last_mut() {
            Some((part, typed)) if *typed == is_typed => part.push(letter),
            _ => parts.push((letter.to_string(), is_typed)),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Opened() -> Element {
        let mut session = use_session();
        use_hook(|| {
            let mut palette = session.palette.write();
            palette.open(false);
            palette.type_text("dark");
        });
        rsx! {
            PaletteBox {}
        }
    }

    #[test]
    fn the_palette_is_a_list_that_a_box_chooses_from() {
        let html = rendered(|| rsx! { Opened {} });
        for part in [
            "role=\"dialog\"",
            "role=\"combobox\"",
            "role=\"listbox\"",
            "aria-selected=true",
            "aria-activedescendant=\"palette-0\"",
            "<mark>Dark</mark>",
        ] {
            let plain = part.replace("=true", "=\"true\"");
            assert!(html.contains(part) || html.contains(&plain), "{part} in {html}");
        }
    }

    #[test]
    fn what_was_typed_is_marked_in_runs() {
        let marked = |text: &str, typed: bool| (text.to_owned(), typed);
        assert_eq!(
            parts("Index this", &[0, 6]),
            [marked("I", true), marked("ndex ", false), marked("t", true), marked("his", false),]
        );
        assert_eq!(parts("ab", &[]), [marked("ab", false)]);
    }
}
