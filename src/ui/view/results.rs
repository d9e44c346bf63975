use dioxus::prelude::*;
use lodestone::data::Hit;

use super::button::Button;
use super::card::Card;
use super::use_session;
use crate::ui::dom::RESULTS_ID;
use crate::ui::wording::count;

/// The hits, best first, and behind them those that are too far from the query, where they are wanted.
#[component]
pub fn Results() -> Element {
    let session = use_session();
    let search = session.search.read();
    let weaker = search.answer().map_or(0, |answer| answer.weaker as u64);
    let strong = search.hits().iter().take_while(|hit| !hit.is_weak).count();
    let shown = search.hits().len() - strong;
    let card = |(at, hit): (usize, &Hit)| {
        rsx! {
            Card {
                key: "{hit.document.id}",
                hit: hit.clone(),
                at,
                selected: at == search.selected(),
                why: search.why && at == search.selected(),
                unfolded: search.is_unfolded(hit.document.id),
            }
        }
    };
    let (best, behind): (Vec<_>, Vec<_>) =
        search.hits().iter().enumerate().take(search.cards()).partition(|(at, _)| *at < strong);
    rsx! {
        div {
            id: RESULTS_ID,
            class: "results",
            role: "listbox",
            aria_label: "Results",
            tabindex: "0",
            "aria-activedescendant": "hit-{search.selected()}",
            onmounted: move |_| session.restore_results(),
            onscroll: move |event| session.scrolled_results(event.scroll_top()),
            onpointerenter: move |_| session.point_at_results(true),
            onpointerleave: move |_| session.point_at_results(false),
            onkeydown: move |event| {
                if event.key() == Key::Character(" ".into()) && event.modifiers().is_empty() {
                    event.prevent_default();
                    event.stop_propagation();
                    session.toggle_preview();
                }
            },
            {best.into_iter().map(card)}
            if weaker > 0 {
                div { class: "weaker", role: "note",
                    if shown > 0 {
                        span { class: "weaker-text", {weaker_shown(shown as u64, weaker)} }
                        Button {
                            id: "hide-weaker",
                            text: "Hide",
                            label: "Hide what is only loosely related",
                            tone: "link",
                            onpress: move |()| session.show_weaker(false),
                        }
                    } else {
                        Button {
                            id: "show-weaker",
                            text: format!("Show {} weaker", count(weaker)),
                            label: "Show what is only loosely related",
                            tone: "link",
                            onpress: move |()| session.show_weaker(true),
                        }
                    }
                }
            }
            {behind.into_iter().map(card)}
        }
    }
}

fn weaker_shown(shown: u64, weaker: u64) -> String {
    if shown < weaker {
        format!("The best {} of {} that are only loosely related", count(shown), count(weaker))
    } else {
        "Only loosely related".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use lodestone::engine::SearchResponse;

    use super::*;
    use crate::ui::fixture::response;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Answered(shown: bool) -> Element {
        let mut session = use_session();
        use_hook(|| {
            let mut search = session.search.write();
            let sequence = search.ask("owner".to_owned()).unwrap();
            let names: &[&str] = if shown { &["a.md", "b.md"] } else { &["a.md"] };
            let mut answer = SearchResponse { weaker: 7, ..response(names) };
            if let Some(weak) = answer.hits.get_mut(1) {
                weak.is_weak = true;
            }
            search.accept(sequence, Ok(answer));
        });
        rsx! {
            Results {}
        }
    }

    #[test]
    fn weaker_hits_fold_and_unfold() {
        let folded = rendered(|| rsx! { Answered { shown: false } });
        assert!(folded.contains("Show 7 weaker"), "{folded}");
        let shown = rendered(|| rsx! { Answered { shown: true } });
        let note = shown.find("The best 1 of 7 that are only loosely related").unwrap();
        assert!(shown.find("a.md").unwrap() < note && note < shown.find("b.md").unwrap());
        assert!(shown.contains(r#"id="hide-weaker""#));
    }
}
