use dioxus::prelude::*;

use super::icon::{Icon, Symbol};

/// A button. Without `text` it shows its icon alone and `label` is its tip and its spoken name.
#[component]
pub fn Button(
    onpress: EventHandler<()>,
    label: String,
    #[props(default)] id: Option<&'static str>,
    #[props(default)] symbol: Option<Symbol>,
    #[props(default)] text: Option<String>,
    #[props(default = "quiet")] tone: &'static str,
    /// Whether it is on, for a button that switches something.
    #[props(default)]
    pressed: Option<bool>,
    #[props(default)] disabled: bool,
    /// Text that goes to the clipboard with the press.
    #[props(default)]
    copies: Option<String>,
) -> Element {
    let shape = if text.is_some() { "" } else { "icon-only" };
    rsx! {
        button {
            id,
            class: "button {tone} {shape}",
            r#type: "button",
            title: "{label}",
            aria_label: "{label}",
            aria_pressed: pressed.map(|on| on.to_string()),
            disabled,
            "data-copy": copies,
            onclick: move |event| {
                event.stop_propagation();
                onpress.call(());
            },
            // These keys press the button; further out they would open the selected result.
            onkeydown: move |event| {
                if matches!(event.key(), Key::Enter) || event.key() == Key::Character(" ".into()) {
                    event.stop_propagation();
                }
            },
            if let Some(symbol) = symbol {
                Icon { symbol }
            }
            if let Some(text) = text {
                span { class: "button-text", "{text}" }
            }
        }
    }
}
