use dioxus::prelude::*;

use super::about::About;
use super::button::Button;
use super::cheat_sheet::CheatSheet;
use super::dialog::Dialog;
use super::icon::Symbol;
use super::offer::OfferBox;
use super::palette::PaletteBox;
use super::use_session;
use crate::ui::state::Overlay;

/// What lies over the window now, if anything does.
#[component]
pub fn OverlayLayer() -> Element {
    let session = use_session();
    let overlay = session.overlay.cloned();
    match overlay {
        None => VNode::empty(),
        Some(Overlay::Palette) => rsx! {
            PaletteBox {}
        },
        Some(Overlay::CheatSheet) => rsx! {
            CheatSheet {}
        },
        Some(Overlay::About) => rsx! {
            About {}
        },
        Some(Overlay::Offer(offer)) => rsx! {
            OfferBox { offer }
        },
        Some(Overlay::Diagnostics(text)) => rsx! {
            Diagnostics { text }
        },
    }
}

/// What would be copied, to be read before it is.
#[component]
fn Diagnostics(text: Option<String>) -> Element {
    let copy = text.clone().map(|text| {
        rsx! {
            Button {
                id: "copy-diagnostics",
                symbol: Symbol::Copy,
                text: "Copy",
                label: "Copy what is shown here",
                tone: "plain",
                copies: text,
                onpress: |()| {},
            }
        }
    });
    rsx! {
        Dialog { id: "diagnostics-dialog", title: "Diagnostics", actions: copy,
            p { class: "dialog-note",
                "This is all that is copied: no title, path, address, text or question of yours is in it."
            }
            if let Some(text) = text {
                pre { class: "diagnostics", "{text}" }
            } else {
                p { class: "panel-empty", "Being put together" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Shown(text: Option<String>) -> Element {
        let mut session = use_session();
        use_hook(|| session.overlay.set(Some(Overlay::Diagnostics(text))));
        rsx! {
            OverlayLayer {}
        }
    }

    #[test]
    fn diagnostics_are_read_before_they_are_copied() {
        let html = rendered(|| rsx! { Shown { text: Some("device CPU".to_owned()) } });
        for part in ["role=\"dialog\"", "data-copy=\"device CPU\"", "<pre", "all that is copied"] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let waiting = rendered(|| rsx! { Shown { text: None } });
        assert!(!waiting.contains("data-copy"), "{waiting}");
    }
}
