use dioxus::prelude::*;

use super::button::Button;
use super::icon::Symbol;
use super::search::keep_typing;
use super::use_session;
use crate::ui::dom;

const INPUT_ID: &str = "add-exclusion";

/// What is left out of every folder, and how to change it.
#[component]
pub fn Exclusions() -> Element {
    let session = use_session();
    let mut pattern = use_signal(String::new);
    let patterns = session.settings.read().exclusions.clone();
    let trouble = session.options.read().exclusion_trouble.clone();
    let add = move || {
        let typed = pattern.peek().clone();
        if session.add_exclusion(&typed) {
            dom::set_text(INPUT_ID, "");
        }
    };
    rsx! {
        section { class: "panel", aria_label: "Left out of every folder",
            div { class: "panel-head",
                h2 { "Left out of every folder" }
                Button {
                    id: "reset-exclusions",
                    text: "Reset",
                    label: "Go back to the list that Lodestone comes with",
                    onpress: move |()| session.reset_exclusions(),
                }
            }
            ul { class: "patterns", role: "list",
                for known in patterns {
                    li { key: "{known}", class: "pattern",
                        code { "{known}" }
                        Button {
                            symbol: Symbol::Close,
                            label: format!("Leave {known} out no longer"),
                            onpress: {
                                let known = known.clone();
                                move |()| session.remove_exclusion(&known)
                            },
                        }
                    }
                }
            }
            form {
                class: "add-model",
                onsubmit: move |event| {
                    event.prevent_default();
                    add();
                },
                span { class: "field",
                    input {
                        id: INPUT_ID,
                        r#type: "text",
                        aria_label: "Pattern to leave out, as in a .gitignore",
                        aria_invalid: trouble.is_some().then_some("true"),
                        placeholder: "As in a .gitignore: *.log, cache/",
                        autocomplete: "off",
                        spellcheck: "false",
                        oninput: move |event| pattern.set(event.value()),
                        onkeydown: move |event| {
                            keep_typing(&event);
                            if event.key() == Key::Enter {
                                event.stop_propagation();
                            }
                        },
                    }
                }
                Button {
                    id: "leave-out",
                    text: "Leave out",
                    label: "Leave out what matches this pattern, of every folder",
                    tone: "plain",
                    onpress: move |()| add(),
                }
            }
            if let Some(trouble) = &trouble {
                p { class: "field-trouble", role: "alert", "{trouble}" }
            }
            p { class: "setting-hint",
                "What .gitignore files name is left out as well. Watched folders are looked through again when this changes."
            }
        }
    }
}
