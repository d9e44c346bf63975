use dioxus::prelude::*;
use lodestone::engine::Pace;

use super::button::Button;
use super::use_session;
use crate::ui::state::View;

/// The job that runs: how far, with what, how fast, how long still.
#[component]
pub fn ActivityStrip() -> Element {
    let session = use_session();
    let activity = session.activity.read();
    let Some(job) = activity.current() else { return VNode::empty() };
    let id = job.id;
    let percent = job.share().map(|share| share * 100.0);
    let waiting = activity.waiting();
    let paused = activity.pace == Pace::Paused;
    let crawl = job.is_crawl();
    let stop = match (crawl, job.cancelling) {
        (true, false) => "Stop",
        (true, true) => "Stopping",
        (false, false) => "Cancel",
        (false, true) => "Cancelling",
    };
    rsx! {
        section { id: "activity", class: "strip", aria_label: if crawl { "Crawling" } else { "Indexing" },
            div {
                class: "strip-bar",
                role: "progressbar",
                aria_label: "{job.label}",
                aria_valuemin: "0",
                aria_valuemax: "100",
                aria_valuetext: "{job.amount()}",
                aria_valuenow: percent.map(|percent| percent.round().to_string()),
                "data-open": percent.is_none(),
                span { class: "strip-fill", style: "width: {percent.unwrap_or(100.0):.1}%" }
            }
            button {
                id: "show-activity",
                class: "strip-label",
                r#type: "button",
                title: "{job.label}: show all jobs",
                aria_label: "{job.label}: show all jobs",
                onclick: move |_| session.show(View::Activity),
                onkeydown: |event| {
                    if event.key() == Key::Enter {
                        event.stop_propagation();
                    }
                },
                "{job.label}"
            }
            span { class: "strip-files", "{job.amount()}" }
            span { class: "strip-hand", {job.in_hand().unwrap_or_default()} }
            if let Some(speed) = job.speed() {
                span { class: "strip-fact", "{speed}" }
            }
            for fact in job.facts() {
                span { key: "{fact}", class: "strip-fact strip-extra", "{fact}" }
            }
            if let Some(left) = job.left() {
                span { class: "strip-fact", "{left}" }
            }
            if waiting > 0 {
                span { class: "strip-fact", "{waiting} more" }
            }
            if paused {
                span { class: "strip-fact", "paused" }
            }
            Button {
                id: "pause-indexing",
                text: if paused { "Resume" } else { "Pause" },
                label: if paused { "Let all work go on" } else { "Pause indexing and crawling, also after a restart" },
                tone: "plain",
                onpress: move |()| session.pause(!paused),
            }
            Button {
                id: "cancel-job",
                text: stop,
                label: if crawl { "Stop this crawl; Resume in Web goes on with it" } else { "Cancel indexing; what is done stays" },
                tone: "plain",
                disabled: job.cancelling,
                onpress: move |()| session.cancel(id),
            }
        }
    }
}
