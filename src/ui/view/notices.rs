use dioxus::prelude::*;

use super::button::Button;
use super::icon::{Icon, Symbol};
use super::use_session;
use crate::ui::state::{NoticeAction, NoticeTone};

/// What happened and needs no answer, over the lower edge.
#[component]
pub fn NoticeStack() -> Element {
    let mut session = use_session();
    rsx! {
        div {
            id: "notices",
            class: "notices",
            role: "log",
            aria_live: "polite",
            aria_label: "Messages",
            onpointerenter: move |_| session.notices.write().held = true,
            onpointerleave: move |_| session.notices.write().held = false,
            onfocusin: move |_| session.notices.write().held = true,
            onfocusout: move |_| session.notices.write().held = false,
            for notice in session.notices.read().shown().iter().cloned() {
                div { key: "{notice.id}", class: "notice",
                    if notice.tone == NoticeTone::Warning {
                        Icon { symbol: Symbol::Warning }
                    }
                    span { class: "notice-text", "{notice.text}" }
                    if let Some(action) = notice.action {
                        Button {
                            tone: "link",
                            text: match action {
                                NoticeAction::Undo(_) | NoticeAction::UndoRemoval(_) => "Undo",
                                NoticeAction::ShowSkipped | NoticeAction::ShowFailed(_) => "See why",
                            },
                            label: match action {
                                NoticeAction::ShowSkipped => "Show what was not indexed, with reasons",
                                NoticeAction::ShowFailed(_) => "Show the pages that failed, with reasons",
                                NoticeAction::Undo(_) => "Take it back",
                                NoticeAction::UndoRemoval(_) => "Put back what was removed",
                            },
                            onpress: move |()| {
                                session.notices.write().dismiss(notice.id);
                                session.act(action.clone());
                            },
                        }
                    }
                    Button {
                        symbol: Symbol::Close,
                        label: "Dismiss",
                        onpress: move |()| session.notices.write().dismiss(notice.id),
                    }
                }
            }
        }
    }
}
