use dioxus::prelude::*;

use super::button::Button;
use super::use_session;
use crate::ui::session::SiteWish;
use crate::ui::state::JobView;

/// A job that runs or waits: how far, with what, how fast, how long still.
#[component]
pub fn RunningJob(job: JobView, paused: bool) -> Element {
    let session = use_session();
    let id = job.id;
    let percent = job.share().map(|share| share * 100.0);
    let site = session.activity.peek().site(id);
    let (stop, stop_label) = match (job.is_crawl(), job.cancelling) {
        (true, false) => ("Stop", "Stop this crawl; Resume in Web goes on with it"),
        (true, true) => ("Stopping", "This crawl stops after what is in hand"),
        (false, false) => ("Cancel", "Cancel this job; what is done stays"),
        (false, true) => ("Cancelling", "This job ends after what is in hand"),
    };
    let mut facts: Vec<String> = vec![job.amount()];
    facts.extend(job.speed());
    facts.extend(job.facts());
    facts.extend(if paused { Some("paused".to_owned()) } else { job.left() });
    rsx! {
        li { class: "job",
            div { class: "job-head",
                strong { class: "job-label", title: "{job.label}", "{job.label}" }
                span { class: "job-hand", {job.in_hand().unwrap_or_default()} }
                if let Some(site) = site {
                    Button {
                        text: "Pause",
                        label: format!("Pause {}; Resume in Web goes on with it", job.label),
                        tone: "plain",
                        disabled: job.cancelling,
                        onpress: move |()| session.wish(site, SiteWish::Pause),
                    }
                } else {
                    Button {
                        text: if paused { "Resume" } else { "Pause" },
                        label: if paused { "Let all work go on" } else { "Pause indexing and crawling, also after a restart" },
                        tone: "plain",
                        onpress: move |()| session.pause(!paused),
                    }
                }
                Button {
                    text: stop,
                    label: "{stop_label}: {job.label}",
                    tone: "plain",
                    disabled: job.cancelling,
                    onpress: move |()| session.cancel(id),
                }
            }
            div {
                class: "job-bar",
                role: "progressbar",
                aria_label: "{job.label}",
                aria_valuemin: "0",
                aria_valuemax: "100",
                aria_valuenow: percent.map(|percent| percent.round().to_string()),
                aria_valuetext: "{job.amount()}",
                "data-open": percent.is_none(),
                span { class: "job-fill", style: "width: {percent.unwrap_or(100.0):.1}%" }
            }
            ul { class: "facts",
                for (at , fact) in facts.into_iter().enumerate() {
                    li { key: "{at}", "{fact}" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lodestone::engine::{EngineEvent, JobId, JobProgress};

    use super::*;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Indexing() -> Element {
        let mut session = use_session();
        use_hook(|| {
            let progress = JobProgress {
                files_done: 3,
                files_total: 12,
                bytes_done: 25,
                bytes_total: 100,
                tokens_per_second: 3_119.6,
                seconds_left: Some(125.0),
                in_hand: Some("/x/a b.md".into()),
                ..JobProgress::default()
            };
            let label = "Indexing Notes".to_owned();
            let mut activity = session.activity.write();
            activity.apply(&EngineEvent::JobStarted { job: JobId(1), label });
            activity.apply(&EngineEvent::JobProgress { job: JobId(1), progress });
        });
        let job = session.activity.read().jobs()[0].clone();
        rsx! {
            RunningJob { job, paused: false }
        }
    }

    #[test]
    fn a_job_shows_how_far_it_is_and_can_be_stopped() {
        let html = rendered(|| rsx! { Indexing {} });
        for part in [
            "Indexing Notes",
            "3 of 12 files",
            "3,120 tokens/s",
            "about 2 min left",
            "a b.md",
            "aria-valuenow=\"25\"",
            "width: 25.0%",
            "Pause",
            "Cancel this job",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
