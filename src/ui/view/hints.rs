use dioxus::prelude::*;

use super::button::Button;
use super::icon::Symbol;
use super::keyboard::Keyboard;
use super::use_session;
use crate::ui::keys::shown;
use crate::ui::state::Hint;

/// Three things to know, until they are put away; then never again.
#[component]
pub fn Hints() -> Element {
    let session = use_session();
    if session.settings.read().hints_seen {
        return VNode::empty();
    }
    rsx! {
        aside { id: "hints", class: "hints", aria_label: "Hints",
            ul { role: "list",
                for hint in Hint::ALL {
                    li { key: "{hint.text}",
                        if let Some(keys) = hint.command.and_then(shown) {
                            Keyboard { keys }
                        }
                        span { "{hint.text}" }
                    }
                }
            }
            Button {
                id: "put-hints-away",
                symbol: Symbol::Close,
                label: "Put these hints away for good",
                onpress: move |()| session.put_hints_away(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Seen() -> Element {
        let mut session = use_session();
        use_hook(|| session.settings.write().hints_seen = true);
        rsx! {
            Hints {}
        }
    }

    #[test]
    fn hints_are_shown_until_they_are_put_away() {
        let html = rendered(|| rsx! { Hints {} });
        assert_eq!(html.matches("<li").count(), 3);
        let keys = Hint::ALL.into_iter().filter_map(|hint| hint.command);
        assert!(keys.into_iter().all(|command| shown(command).is_some()));
        assert!(!rendered(|| rsx! { Seen {} }).contains("hints"));
    }
}
