use dioxus::prelude::*;
use lodestone::config::{BatteryPolicy, Theme};
use lodestone::engine::{Endpoint, SelfMeasurement};

use super::button::Button;
use super::data_settings::DataSettings;
use super::exclusions::Exclusions;
use super::icon::Symbol;
use super::models::Models;
use super::setting::{Choose, Setting};
use super::use_session;
use super::window_settings::WindowSettings;
use crate::ui::keys::Zoom;
use crate::ui::state::{Measured, Overlay, View};
use crate::ui::wording::{bytes, count, counted, milliseconds};

/// Memory budgets to choose from, in MB.
const MEMORY_MB: [u64; 5] = [128, 256, 512, 1_024, 2_048];
/// Sizes of the largest file to choose from, in MB.
const FILE_MB: [u64; 5] = [16, 64, 128, 256, 512];

/// What a person can choose.
#[component]
pub fn SettingsView() -> Element {
    rsx! {
        div {
            id: View::Settings.input_id(),
            class: "page",
            role: "region",
            aria_label: "Settings",
            tabindex: "0",
            onmounted: move |event| async move {
                // Without the focus a person clicks into the page; nothing else is lost.
                let _ = event.set_focus(true).await;
            },
            Models {}
            Work {}
            Look {}
            WindowSettings {}
            Exclusions {}
            DataSettings {}
            Checks {}
        }
    }
}

/// On what it computes, and how much of the machine it takes.
#[component]
fn Work() -> Element {
    let session = use_session();
    let settings = session.settings.read();
    let health = session.health.read();
    let monitor = session.monitor.read();
    let battery = match settings.on_battery {
        BatteryPolicy::Slow => "slow",
        BatteryPolicy::GoOn => "go_on",
        BatteryPolicy::Pause => "pause",
    };
    let megabytes = |sizes: &[u64], chosen: u64| {
        let mut sizes = sizes.to_vec();
        if !sizes.contains(&chosen) {
            sizes.push(chosen);
            sizes.sort_unstable();
        }
        sizes
            .into_iter()
            .map(|mb| (mb.to_string(), format!("{} MB", count(mb))))
            .collect::<Vec<_>>()
    };
    let weights = monitor.metrics.as_ref().map(|metrics| metrics.memory.models_bytes);
    let weights = weights
        .filter(|weights| *weights > 0)
        .map(|weights| format!(" The model takes {} there.", bytes(weights)));
    rsx! {
        section { class: "panel", aria_label: "Work",
            h2 { "Work" }
            Setting {
                name: "Device",
                hint: format!(
                    "Chosen when Lodestone starts: the fastest one that passes its self-test.{} LODESTONE_DEVICE chooses another.",
                    weights.unwrap_or_default(),
                ),
                span { id: "device", class: "setting-value", "{health.device()}" }
            }
            Setting {
                name: "On battery",
                hint: "What indexing and crawling do while no power is connected",
                Choose {
                    id: "on-battery",
                    label: "On battery",
                    choices: [("slow", "Go slowly"), ("pause", "Pause"), ("go_on", "Go on as usual")]
                        .map(|(value, text)| (value.to_owned(), text.to_owned()))
                        .to_vec(),
                    value: battery,
                    onchoose: move |chosen: String| {
                        let policy = match chosen.as_str() {
                            "pause" => BatteryPolicy::Pause,
                            "go_on" => BatteryPolicy::GoOn,
                            _ => BatteryPolicy::Slow,
                        };
                        session.change_settings(move |settings| settings.on_battery = policy);
                    },
                }
            }
            Setting {
                name: "Memory for indexing",
                hint: "For documents on their way to the index; the model and the index come to it",
                Choose {
                    id: "memory",
                    label: "Memory for indexing",
                    choices: megabytes(&MEMORY_MB, settings.memory_mb),
                    value: settings.memory_mb.to_string(),
                    onchoose: move |chosen: String| {
                        if let Ok(mb) = chosen.parse() {
                            session.change_settings(move |settings| settings.memory_mb = mb);
                        }
                    },
                }
            }
            Setting { name: "Largest file", hint: "A larger one is listed as not indexed",
                Choose {
                    id: "largest-file",
                    label: "Largest file",
                    choices: megabytes(&FILE_MB, settings.file_mb_max),
                    value: settings.file_mb_max.to_string(),
                    onchoose: move |chosen: String| {
                        if let Ok(mb) = chosen.parse() {
                            session.change_settings(move |settings| settings.file_mb_max = mb);
                        }
                    },
                }
            }
        }
    }
}

#[component]
fn Look() -> Element {
    let session = use_session();
    let settings = session.settings.read();
    let (theme, zoom) = (settings.theme, settings.zoom_percent);
    let themes = [
        (Theme::System, "setting-system", Symbol::System, "System"),
        (Theme::Light, "setting-light", Symbol::Light, "Light"),
        (Theme::Dark, "setting-dark", Symbol::Dark, "Dark"),
    ];
    rsx! {
        section { class: "panel", aria_label: "Look",
            h2 { "Look" }
            Setting { name: "Theme",
                div { class: "segments", role: "group", aria_label: "Theme of the window",
                    for (choice , id , symbol , text) in themes {
                        Button {
                            key: "{id}",
                            id,
                            symbol,
                            text,
                            label: "{text} theme",
                            pressed: choice == theme,
                            onpress: move |()| session.set_theme(choice),
                        }
                    }
                }
            }
            Setting { name: "Size of everything",
                div { class: "segments", role: "group", aria_label: "Size of everything",
                    Button {
                        id: "zoom-out",
                        text: "−",
                        label: "Smaller",
                        onpress: move |()| session.zoom(Zoom::Out),
                    }
                    span { id: "zoom", class: "setting-value", role: "status", "{zoom} %" }
                    Button {
                        id: "zoom-in",
                        text: "+",
                        label: "Larger",
                        onpress: move |()| session.zoom(Zoom::In),
                    }
                }
            }
        }
    }
}

/// How well it works, measured here and now, and told to others when asked for.
#[component]
fn Checks() -> Element {
    let session = use_session();
    let options = session.options.read();
    let measuring = options.measuring;
    let measured = match &options.measured {
        Measured::NotYet => {
            "Asks the vector index and an exact scan the same, and searches for 60 titles"
                .to_owned()
        }
        Measured::Nothing => "Nothing is indexed yet, so there is nothing to measure.".to_owned(),
        Measured::As(measured) => measurement(measured),
    };
    let (on, address) = match &options.endpoint {
        Endpoint::Off => (
            false,
            "Off. On, figures without any of your texts are told on this machine alone.".to_owned(),
        ),
        Endpoint::Listening { address } => (true, format!("http://{address}/metrics")),
        Endpoint::Failed { reason } => (false, reason.clone()),
    };
    rsx! {
        section { class: "panel", aria_label: "Checks",
            h2 { "Checks" }
            Setting { name: "Recall and speed", hint: measured,
                Button {
                    id: "measure",
                    text: if measuring { "Measuring" } else { "Measure" },
                    label: "Measure how many true neighbors are found, and how long a search takes",
                    tone: "plain",
                    disabled: measuring,
                    onpress: move |()| session.measure(),
                }
            }
            Setting { name: "Figures for Prometheus", hint: address,
                Button {
                    id: "tell-metrics",
                    text: if on { "On" } else { "Off" },
                    label: "Tell figures for Prometheus on this machine",
                    tone: "plain",
                    pressed: on,
                    onpress: move |()| session.tell_metrics(!on),
                }
            }
            Setting { name: "Diagnostics", hint: "Versions, amounts and times, to be read before they are copied",
                Button {
                    id: "diagnostics",
                    text: "Show",
                    label: "Show diagnostics that can be copied",
                    tone: "plain",
                    onpress: move |()| session.show_diagnostics(),
                }
            }
            Setting { name: "About", hint: "Versions, licenses and the test of the device",
                Button {
                    id: "about",
                    text: "Show",
                    label: "About Lodestone",
                    tone: "plain",
                    onpress: move |()| session.open_overlay(Overlay::About),
                }
            }
        }
    }
}

fn measurement(measured: &SelfMeasurement) -> String {
    let recall = measured.recall_at_10.map_or_else(
        || "No vectors to compare.".to_owned(),
        |recall| {
            let queries = counted(measured.recall_queries as u64, "passage");
            format!("{:.1} % of the true ten neighbors are found, by {queries}.", recall * 100.0)
        },
    );
    let (median, slow) = (milliseconds(measured.p50_ms), milliseconds(measured.p95_ms));
    let searches = if measured.searches == 1 {
        "1 search".to_owned()
    } else {
        format!("{} searches", count(measured.searches as u64))
    };
    format!("{recall} {searches} took {median}, 95 % within {slow}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::view::tests::rendered;

    #[test]
    fn every_setting_has_its_control() {
        let html = rendered(|| rsx! { SettingsView {} });
        for part in [
            "id=\"on-battery\"",
            "id=\"memory\"",
            "id=\"largest-file\"",
            "id=\"setting-dark\"",
            "id=\"zoom-in\"",
            "node_modules/",
            "id=\"export\"",
            "id=\"import\"",
            "id=\"clear\"",
            "id=\"measure\"",
            "id=\"tell-metrics\"",
            "value=\"Ctrl+Alt+Space\"",
            "id=\"stay-in-tray\"",
            "aria-pressed=\"false\"",
            "512 MB",
            "100 %",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn a_measurement_is_told_in_a_sentence() {
        let measured = SelfMeasurement {
            documents: 9,
            passages: 90,
            recall_at_10: Some(0.996),
            recall_queries: 90,
            searches: 9,
            p50_ms: 7.6,
            p95_ms: 12.2,
        };
        let told = "99.6 % of the true ten neighbors are found, by 90 passages. 9 searches took 8 ms, \
                    95 % within 12 ms.";
        assert_eq!(measurement(&measured), told);
    }
}
