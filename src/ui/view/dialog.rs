use dioxus::prelude::*;

use super::button::Button;
use super::icon::Symbol;
use super::use_session;

/// Something over the window that takes its keys until it is left.
#[component]
pub fn Dialog(
    id: &'static str,
    #[props(into)] title: String,
    /// Buttons beside the one that closes it.
    #[props(default)]
    actions: Option<Element>,
    children: Element,
) -> Element {
    let session = use_session();
    rsx! {
        div { class: "veil", onclick: move |_| session.close_overlay(),
            div {
                id,
                class: "dialog",
                role: "dialog",
                aria_modal: "true",
                aria_label: "{title}",
                tabindex: "-1",
                onmounted: move |event| async move {
                    // Without the focus Escape still closes it, through the window.
                    let _ = event.set_focus(true).await;
                },
                onclick: |event| event.stop_propagation(),
                onkeydown: move |event| {
                    if event.key() == Key::Escape {
                        event.stop_propagation();
                        session.close_overlay();
                    }
                },
                header { class: "dialog-head",
                    h1 { "{title}" }
                    {actions}
                    Button {
                        id: "close-dialog",
                        symbol: Symbol::Close,
                        label: "Close (Esc)",
                        onpress: move |()| session.close_overlay(),
                    }
                }
                div { class: "dialog-body", tabindex: "0", role: "region", aria_label: "{title}", {children} }
            }
        }
    }
}
