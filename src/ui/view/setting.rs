use dioxus::prelude::*;

/// One thing to choose: what it is and what it means on the left, how to change it on the right.
#[component]
pub fn Setting(
    name: &'static str,
    #[props(into, default)] hint: String,
    children: Element,
) -> Element {
    rsx! {
        div { class: "setting",
            div { class: "setting-what",
                span { class: "setting-name", "{name}" }
                if !hint.is_empty() {
                    span { class: "setting-hint", "{hint}" }
                }
            }
            div { class: "setting-how", {children} }
        }
    }
}

/// A choice among a few, of which the text of each is its value.
#[component]
pub fn Choose(
    id: &'static str,
    label: &'static str,
    /// Values with their texts.
    choices: Vec<(String, String)>,
    value: String,
    onchoose: EventHandler<String>,
) -> Element {
    rsx! {
        span { class: "field choose",
            select {
                id,
                aria_label: "{label}",
                onchange: move |event| onchoose.call(event.value()),
                // Arrows choose; further out they would move in a list.
                onkeydown: |event| {
                    if !matches!(event.key(), Key::Escape | Key::Tab) && !event.modifiers().ctrl() && !event.modifiers().meta() {
                        event.stop_propagation();
                    }
                },
                for (choice , text) in choices {
                    option { key: "{choice}", value: "{choice}", selected: choice == value, "{text}" }
                }
            }
        }
    }
}

/// A question that stands in the place of what it is about.
#[component]
pub fn Question(
    text: String,
    yes: &'static str,
    yes_label: String,
    onyes: EventHandler<()>,
    onno: EventHandler<()>,
) -> Element {
    rsx! {
        div { class: "question", role: "alertdialog", aria_label: "{text}",
            p { class: "question-says", "{text}" }
            super::button::Button {
                id: "answer-no",
                text: "Keep",
                label: "Leave everything as it is",
                tone: "plain",
                onpress: move |()| onno.call(()),
            }
            super::button::Button {
                id: "answer-yes",
                text: yes,
                label: yes_label,
                tone: "danger",
                onpress: move |()| onyes.call(()),
            }
        }
    }
}
