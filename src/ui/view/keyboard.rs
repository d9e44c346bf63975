use dioxus::prelude::*;

/// Keys that are pressed together.
#[component]
pub fn Keyboard(keys: Vec<&'static str>) -> Element {
    rsx! {
        span { class: "keyboard",
            for key in keys {
                kbd { key: "{key}", "{key}" }
            }
        }
    }
}
