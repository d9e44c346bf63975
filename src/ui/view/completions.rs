use dioxus::prelude::*;

use super::use_session;
use crate::ui::session::Session;
use crate::ui::wording::count;

/// The list that goes with the query box while a qualifier is typed.
pub const COMPLETIONS_ID: &str = "completions";

/// What the word at the caret may become.
#[component]
pub fn Completions() -> Element {
    let session = use_session();
    let completion = session.completion.read();
    if !completion.is_open() {
        return VNode::empty();
    }
    rsx! {
        ul {
            id: COMPLETIONS_ID,
            class: "completions",
            role: "listbox",
            aria_label: "Qualifiers",
            for (at , choice) in completion.choices().iter().cloned().enumerate() {
                li {
                    key: "{choice.text}",
                    id: "choice-{at}",
                    class: "choice-row",
                    role: "option",
                    aria_selected: completion.chosen() == Some(at),
                    // The box keeps the focus.
                    onmousedown: move |event| {
                        event.prevent_default();
                        session.take_choice(at);
                    },
                    span { class: "choice-label", dir: "auto", "{choice.label}" }
                    span { class: "choice-note", dir: "auto", title: "{choice.note}", "{choice.note}" }
                    if let Some(documents) = choice.documents {
                        span { class: "choice-count", "{count(documents)}" }
                    }
                }
            }
        }
    }
}

/// What a key does while the list is open; tells whether it was taken.
pub fn completion_key(session: &Session, event: &KeyboardEvent) -> bool {
    let completion = session.completion.peek();
    if !completion.is_open() || !event.modifiers().is_empty() {
        return false;
    }
    let chosen = completion.chosen();
    drop(completion);
    match event.key() {
        Key::ArrowDown => session.step_completion(1),
        Key::ArrowUp => session.step_completion(-1),
        Key::Tab => session.take_choice(chosen.unwrap_or(0)),
        Key::Enter if chosen.is_some() => session.take_choice(chosen.unwrap_or(0)),
        Key::Escape => session.close_completion(),
        _ => return false,
    }
    event.prevent_default();
    event.stop_propagation();
    true
}

#[cfg(test)]
mod tests {
    use lodestone::engine::{KnownValue, Vocabulary};

    use super::*;
    use crate::ui::view::search::SearchView;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Typing() -> Element {
        let mut session = use_session();
        use_hook(|| {
            let known = |value: &str, documents| KnownValue { value: value.to_owned(), documents };
            let mut completion = session.completion.write();
            completion.learn(Vocabulary {
                types: vec![known("pdf", 1_204), known("code", 3)],
                ..Vocabulary::default()
            });
            completion.typed("lock type:");
            completion.step(1);
        });
        rsx! {
            SearchView {}
        }
    }

    #[test]
    fn the_box_and_its_list_are_a_combobox() {
        let html = rendered(|| rsx! { Typing {} });
        for part in [
            r#"role="combobox""#,
            r#"aria-expanded="true""#,
            r#"aria-controls="completions""#,
            r#"aria-activedescendant="choice-0""#,
            r#"id="choice-0" class="choice-row" role="option" aria-selected=true"#,
            r#"id="choice-1" class="choice-row" role="option" aria-selected=false"#,
            ">1,204<",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let closed = rendered(|| rsx! { SearchView {} });
        assert!(closed.contains(r#"aria-expanded="false""#), "{closed}");
        assert!(!closed.contains("completions"), "{closed}");
    }
}
