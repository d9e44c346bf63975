use dioxus::prelude::*;
use lodestone::engine::{GoldenMeasurement, StarredAnswer};

use super::button::Button;
use super::icon::{Icon, Symbol};
use super::use_session;
use crate::ui::wording::{counted, date, measured_lines, now};

/// Measurements that are shown: what changed since when.
const SHOWN: usize = 8;

/// The starred answers, and how well search has found them over time.
#[component]
pub fn GoldenRows() -> Element {
    let session = use_session();
    let golden = session.golden.read();
    let (stars, measuring) = (golden.stars(), golden.measuring);
    rsx! {
        div { id: "library-rows", class: "rows", role: "list", aria_label: "Starred answers",
            if stars.is_empty() {
                p { class: "rows-empty",
                    "Star a result that answers a question. Lodestone asks the question again whenever you measure, and shows whether the answer is still found."
                }
            } else {
                div { class: "golden-head",
                    span { {counted(stars.len() as u64, "starred answer")} }
                    Button {
                        id: "measure-golden",
                        text: if measuring { "Measuring" } else { "Measure" },
                        label: "Ask every starred query and keep what comes of it",
                        tone: "plain",
                        disabled: measuring,
                        onpress: move |()| session.measure_golden(),
                    }
                }
            }
            for (at , measured) in golden.measurements().iter().take(SHOWN).enumerate() {
                MeasuredRow { key: "{at}", measured: measured.clone() }
            }
            for starred in stars {
                StarredRow { key: "{starred.query} {starred.source}", starred: starred.clone() }
            }
        }
    }
}

/// What one measurement gave.
#[component]
fn MeasuredRow(measured: GoldenMeasurement) -> Element {
    let [found, cost] = measured_lines(&measured);
    let when = date(measured.at, now());
    rsx! {
        div { class: "row row-measured", role: "listitem",
            span { class: "row-title", "{when}" }
            span { "{found}" }
            span { "{cost}" }
        }
    }
}

/// A question and its right answer.
#[component]
fn StarredRow(starred: StarredAnswer) -> Element {
    let session = use_session();
    let StarredAnswer { query, source, .. } = starred;
    rsx! {
        div { class: "row row-starred", role: "listitem",
            Icon { symbol: Symbol::Star }
            span { class: "row-title", dir: "auto", title: "{query}", "{query}" }
            span { class: "path", title: "{source}", "{source}" }
            Button {
                symbol: Symbol::Close,
                label: "Take the star away",
                onpress: {
                    let (query, source) = (query.clone(), source.clone());
                    move |()| session.star(query.clone(), source.clone(), false)
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lodestone::data::Source;
    use lodestone::engine::GoldenSet;

    use super::*;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Starred() -> Element {
        let mut session = use_session();
        let star = StarredAnswer {
            query: "share ownership".to_owned(),
            source: Source::File("/docs/rc.md".into()),
            starred_at: 0,
        };
        let measured = GoldenMeasurement {
            at: 0,
            model: "m".to_owned(),
            passages: 5,
            queries: 1,
            stars: 1,
            recall_at_10: 1.0,
            mrr_at_10: 0.5,
            ann_gap_at_10: Some(0.01),
            p50_ms: 8.0,
            p95_ms: 9.0,
        };
        use_hook(|| {
            let set = GoldenSet { stars: vec![star], measurements: vec![measured] };
            session.golden.write().refresh(set);
        });
        rsx! {
            GoldenRows {}
        }
    }

    #[test]
    fn stars_and_measurements_are_rows() {
        let html = rendered(|| rsx! { Starred {} });
        for part in ["1 starred answer", "share ownership", "/docs/rc.md", "100 % found", "Measure"]
        {
            assert!(html.contains(part), "{part} in {html}");
        }
        let html = rendered(|| rsx! { GoldenRows {} });
        assert!(html.contains("Star a result"), "{html}");
    }
}
