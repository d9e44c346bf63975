use dioxus::prelude::*;

use super::icon::{Icon, Symbol};
use super::search::keep_typing;

/// The text box on top of a view; it takes the focus as it comes.
#[component]
pub fn TopBox(
    id: &'static str,
    symbol: Symbol,
    label: &'static str,
    placeholder: &'static str,
    /// What stands in it at first: the text lives in the page.
    begin: String,
    #[props(default)] class: &'static str,
    #[props(default = "text")] inputmode: &'static str,
    /// The element that says what is wrong with it.
    #[props(default)]
    trouble: Option<&'static str>,
    ontype: EventHandler<String>,
    /// Takes the keys before they become characters or commands of the window.
    #[props(default)]
    onkey: Option<EventHandler<KeyboardEvent>>,
    /// Buttons behind it.
    #[props(default)]
    children: Element,
) -> Element {
    rsx! {
        div { class: "query {class}",
            Icon { symbol }
            input {
                id,
                r#type: "text",
                inputmode,
                aria_label: label,
                aria_invalid: trouble.is_some().then_some("true"),
                aria_describedby: trouble,
                placeholder,
                autocomplete: "off",
                autocapitalize: "off",
                spellcheck: "false",
                initial_value: begin,
                onmounted: move |event| async move {
                    // Without the focus a person clicks into the box; nothing else is lost.
                    let _ = event.set_focus(true).await;
                },
                oninput: move |event| ontype.call(event.value()),
                onkeydown: move |event| match onkey {
                    Some(onkey) => onkey.call(event),
                    None => keep_typing(&event),
                },
            }
            {children}
        }
    }
}
