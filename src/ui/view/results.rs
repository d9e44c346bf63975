use dioxus::prelude::*;

use super::card::Card;
use super::use_session;
use crate::ui::dom::RESULTS_ID;
use crate::ui::wording::counted;

/// The hits, best first.
#[component]
pub fn Results() -> Element {
    let session = use_session();
    let search = session.search.read();
    let weaker = search.answer().map_or(0, |answer| answer.weaker as u64);
    rsx! {
        div {
            id: RESULTS_ID,
            class: "results",
            role: "listbox",
            aria_label: "Results",
            tabindex: "-1",
            for (at , hit) in search.hits().iter().enumerate() {
                Card {
                    key: "{hit.document.id}",
                    hit: hit.clone(),
                    at,
                    selected: at == search.selected(),
                    why: search.why && at == search.selected(),
                }
            }
            if weaker > 0 {
                p { class: "weaker", role: "note",
                    "{counted(weaker, \"document\")} only loosely related, not shown"
                }
            }
        }
    }
}
