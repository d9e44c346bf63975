use dioxus::prelude::*;

use crate::ui::state::Chart;
use crate::ui::wording::{count, milliseconds};

/// The box that a line is drawn in; it is stretched to the room there is.
const BOX: (f64, f64) = (600.0, 120.0);

/// A quarter of an hour of something, with its axes in words.
#[component]
pub fn ChartFigure(chart: Chart) -> Element {
    let (width, height) = BOX;
    let shown = |value: f64| figure(value, chart.unit);
    let now: Vec<String> = chart
        .lines
        .iter()
        .map(|(name, line)| {
            let value = line.last().map_or("–".to_owned(), shown);
            if name.is_empty() { value } else { format!("{name} {value}") }
        })
        .collect();
    let highest = chart.lines.iter().map(|(_, line)| line.highest()).fold(0.0, f64::max);
    let is_empty = chart.lines.iter().all(|(_, line)| line.is_empty());
    let spoken = if is_empty {
        format!("{} in the last 15 minutes: nothing yet", chart.title)
    } else {
        let now = now.join(", ");
        format!("{} in the last 15 minutes: now {now}, at most {}", chart.title, shown(highest))
    };
    let middle = height / 2.0;
    rsx! {
        div { class: "chart", role: "img", aria_label: "{spoken}",
            div { class: "chart-head", aria_hidden: "true",
                span { class: "chart-title", "{chart.title}" }
                span { class: "chart-now",
                    for (at , value) in now.iter().enumerate() {
                        span { key: "{at}", class: "chart-value", "data-line": "{at}", "{value}" }
                    }
                }
            }
            div { class: "chart-plot", aria_hidden: "true",
                div { class: "chart-y",
                    span { {axis(chart.top, chart.unit)} }
                    span { {axis(chart.top / 2.0, chart.unit)} }
                    span { "0" }
                }
                svg {
                    view_box: "0 0 {width} {height}",
                    preserve_aspect_ratio: "none",
                    path { class: "chart-grid", d: "M0 0H{width}M0 {middle}H{width}M0 {height}H{width}" }
                    for (at , (_ , line)) in chart.lines.iter().enumerate().rev() {
                        path { key: "{at}", class: "chart-line", "data-line": "{at}", d: line.path(chart.top, BOX) }
                    }
                }
                if is_empty {
                    span { class: "chart-empty", "Nothing in the last 15 minutes" }
                }
            }
            div { class: "chart-x", aria_hidden: "true",
                span { "15 min ago" }
                span { "10" }
                span { "5" }
                span { "now" }
            }
        }
    }
}

/// A value with its unit.
fn figure(value: f64, unit: &str) -> String {
    match unit {
        "ms" => milliseconds(value),
        _ if value > 0.0 && value < 9.95 && value.fract() > 0.05 => format!("{value:.1} {unit}"),
        _ => format!("{} {unit}", count(value.round() as u64)),
    }
}

/// A value on the axis, which says the unit in its title.
fn axis(value: f64, unit: &str) -> String {
    match (unit, value) {
        ("ms", ..1_000.0) => format!("{value} ms"),
        ("ms", _) => format!("{} s", value / 1e3),
        (_, ..10.0) => format!("{value}"),
        _ => count(value.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::state::Line;
    use crate::ui::state::Pooling;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Throughput() -> Element {
        let line = Line::of(&[Some(0.0), Some(3_120.0)], 900, Pooling::Mean);
        let chart =
            Chart { title: "Indexing", unit: "tokens/s", top: 5_000.0, lines: vec![("", line)] };
        rsx! {
            ChartFigure { chart }
        }
    }

    #[test]
    fn a_chart_says_what_it_shows() {
        let html = rendered(|| rsx! { Throughput {} });
        for part in ["5,000", "2,500", "15 min ago", "tokens/s", "role=\"img\"", "at most 1,560"] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn values_read_well() {
        assert_eq!(figure(3_120.4, "tokens/s"), "3,120 tokens/s");
        assert_eq!(figure(0.2, "pages/s"), "0.2 pages/s");
        assert_eq!(figure(2_400.0, "ms"), "2.4 s");
        assert_eq!(
            [axis(20.0, "ms"), axis(2_000.0, "ms"), axis(2.5, "pages/s")],
            ["20 ms", "2 s", "2.5"]
        );
    }
}
