use dioxus::prelude::*;
use lodestone::engine::{EndedJob, JobEnd, Pace};

use super::button::Button;
use super::chart::ChartFigure;
use super::icon::{Icon, Symbol};
use super::running_job::RunningJob;
use super::use_session;
use crate::ui::state::{Reason, View};
use crate::ui::wording::{ago, bytes, count, counted, job_result, latency, now, took};

/// What runs, how it goes, and what became of what ran before.
#[component]
pub fn ActivityView() -> Element {
    let session = use_session();
    rsx! {
        div {
            id: View::Activity.input_id(),
            class: "page",
            role: "region",
            aria_label: "Activity",
            tabindex: "0",
            onmounted: move |event| async move {
                // Without the focus a person clicks into the page; nothing else is lost.
                let _ = event.set_focus(true).await;
            },
            Running {}
            section { class: "panel", aria_label: "The last 15 minutes",
                h2 { "The last 15 minutes" }
                div { class: "charts",
                    for chart in session.monitor.read().charts() {
                        ChartFigure { key: "{chart.title}", chart: chart.clone() }
                    }
                }
            }
            Figures {}
            Reasons {}
            History {}
        }
    }
}

#[component]
fn Running() -> Element {
    let session = use_session();
    let activity = session.activity.read();
    let paused = activity.pace == Pace::Paused;
    let monitor = session.monitor.read();
    rsx! {
        section { class: "panel", aria_label: "Running",
            div { class: "panel-head",
                h2 { "Running" }
                ul { class: "facts", aria_label: "Queue",
                    for (state , files) in monitor.queue() {
                        li { key: "{state}", "{state} " strong { "{count(files)}" } }
                    }
                }
                Button {
                    id: "pause-all",
                    symbol: if paused { Symbol::Play } else { Symbol::Pause },
                    text: if paused { "Resume all" } else { "Pause all" },
                    label: if paused { "Let all work go on" } else { "Pause all indexing and crawling, also after a restart" },
                    tone: "plain",
                    onpress: move |()| session.pause(!paused),
                }
            }
            if activity.jobs().is_empty() {
                p { class: "panel-empty",
                    if paused {
                        "Paused. What is dropped here waits until you resume."
                    } else {
                        "Nothing runs. Drop files or a folder on the window to index them."
                    }
                }
            }
            ul { class: "jobs", role: "list",
                for job in activity.jobs() {
                    RunningJob { key: "{job.id.0}", job: job.clone(), paused }
                }
            }
        }
    }
}

/// Where searching and indexing spend their time, and what that costs.
#[component]
fn Figures() -> Element {
    let session = use_session();
    let monitor = session.monitor.read();
    let Some(metrics) = &monitor.metrics else { return VNode::empty() };
    let (search, ingest, device) = (&metrics.search, &metrics.ingest, &metrics.embedding);
    let rows = [
        ("From a key to the answer on screen", &search.shown),
        ("A search", &search.total),
        ("Understanding the question", &search.embed),
        ("Looking words up", &search.words),
        ("Comparing meaning", &search.vectors),
        ("Putting the answer together", &search.rest),
        ("Reading a document", &ingest.reading),
        ("Embedding a document", &ingest.embedding),
        ("Storing documents", &ingest.storing),
        ("Wait of a search for the device", &device.wait_search),
        ("Step on the device", &device.run),
    ];
    let memory = metrics.memory.resident_bytes.map(bytes);
    let free = metrics.disk.free_bytes.map(bytes);
    rsx! {
        section { class: "panel", aria_label: "Where time goes",
            div { class: "panel-head",
                h2 { "Where time goes" }
                ul { class: "facts", aria_label: "Memory and disk",
                    if let Some(memory) = memory {
                        li { "Memory " strong { "{memory}" } }
                    }
                    li { "Index " strong { {bytes(metrics.disk.data_bytes)} } }
                    if let Some(free) = free {
                        li { "Free on disk " strong { "{free}" } }
                    }
                }
            }
            table { class: "figures",
                thead {
                    tr {
                        th { scope: "col", "Step" }
                        th { scope: "col", class: "cell-number", "Median" }
                        th { scope: "col", class: "cell-number", "95 % within" }
                        th { scope: "col", class: "cell-number", "Times" }
                    }
                }
                tbody {
                    for (name , measured) in rows {
                        tr { key: "{name}",
                            th { scope: "row", "{name}" }
                            for (at , value) in latency(measured).into_iter().enumerate() {
                                td { key: "{at}", class: "cell-number", "{value}" }
                            }
                            td { class: "cell-number", {count(measured.count)} }
                        }
                    }
                }
            }
        }
    }
}

/// Why sources could not be indexed.
#[component]
fn Reasons() -> Element {
    let session = use_session();
    let monitor = session.monitor.read();
    if monitor.reasons().is_empty() {
        return VNode::empty();
    }
    rsx! {
        section { class: "panel", aria_label: "Not indexed",
            div { class: "panel-head",
                h2 { "Not indexed" }
                Button {
                    id: "show-ledger",
                    text: "Show every file",
                    label: "Show every file that was not indexed, with its reason",
                    tone: "link",
                    onpress: move |()| session.show_skipped(),
                }
            }
            ul { class: "reasons", role: "list",
                for reason in monitor.reasons().iter() {
                    ReasonRow { key: "{reason.text}", reason: reason.clone() }
                }
            }
        }
    }
}

#[component]
fn ReasonRow(reason: Reason) -> Element {
    let session = use_session();
    let Reason { text, sources, can_retry } = reason;
    let files = counted(sources.len() as u64, "file");
    let tone = if can_retry { "plain" } else { "quiet" };
    rsx! {
        li { class: "reason",
            Icon { symbol: Symbol::Warning }
            span { class: "reason-count", "{files}" }
            span { class: "reason-text", "{text}" }
            Button {
                text: "Try again",
                label: format!("Try {files} again: {text}"),
                tone,
                onpress: move |()| session.retry_all(sources.clone()),
            }
        }
    }
}

#[component]
fn History() -> Element {
    let session = use_session();
    let monitor = session.monitor.read();
    let asking = monitor.asking;
    let tone = if asking { "danger" } else { "quiet" };
    rsx! {
        section { class: "panel", aria_label: "Before",
            div { class: "panel-head",
                h2 { "Before" }
                if asking {
                    span { class: "panel-question", role: "alert", "Forget all of these?" }
                }
                if !monitor.history.is_empty() {
                    Button {
                        id: "forget-history",
                        text: if asking { "Forget" } else { "Clear" },
                        label: if asking { "Forget these jobs; what they indexed stays" } else { "Clear the history of jobs" },
                        tone,
                        onpress: move |()| session.forget_history(),
                    }
                }
            }
            if monitor.history.is_empty() {
                p { class: "panel-empty", "Jobs that have ended are listed here, also after a restart." }
            } else {
                ul { class: "history", role: "list",
                    for (at , job) in monitor.history.iter().enumerate() {
                        HistoryRow { key: "{at} {job.started_at}", job: job.clone() }
                    }
                }
            }
        }
    }
}

#[component]
fn HistoryRow(job: EndedJob) -> Element {
    let tokens = (job.tokens > 0).then(|| format!("{} tokens", count(job.tokens)));
    let tone = match job.end {
        JobEnd::Failed => "failed",
        JobEnd::Cancelled | JobEnd::Paused => "open",
        JobEnd::Done if job.trouble > 0 => "partly",
        JobEnd::Done => "done",
    };
    let result = job_result(&job);
    rsx! {
        li { class: "history-row", "data-end": tone,
            span { class: "history-label", title: "{job.label}", "{job.label}" }
            span { class: "history-result", title: "{result}", "{result}" }
            span { class: "history-tokens", {tokens.unwrap_or_default()} }
            span { class: "history-took", {took(job.ended_at - job.started_at)} }
            span { class: "history-when", {ago(job.ended_at, now())} }
        }
    }
}

#[cfg(test)]
mod tests {
    use lodestone::engine::{Metrics, Sample, Skipped};

    use super::*;
    use crate::ui::view::tests::rendered;

    #[component]
    fn Busy() -> Element {
        let mut session = use_session();
        use_hook(|| {
            let mut monitor = session.monitor.write();
            let sample = Sample { tokens: 900, search_ms_p50: Some(8.0), ..Sample::default() };
            monitor.measured(vec![sample], Metrics::default());
            let skipped =
                Skipped { source: "/x.png".into(), reason: "a PNG image".into(), attempts: 1 };
            monitor.set_skipped(&[skipped]);
            monitor.history = vec![EndedJob {
                label: "Indexing Notes".into(),
                started_at: 0,
                ended_at: 65,
                end: JobEnd::Done,
                documents: 34,
                passages: 400,
                tokens: 52_000,
                trouble: 1,
                reason: None,
            }];
        });
        rsx! {
            ActivityView {}
        }
    }

    #[test]
    fn jobs_figures_reasons_and_history_are_told() {
        let html = rendered(|| rsx! { Busy {} });
        for part in [
            "Nothing runs",
            "Waiting",
            "Comparing meaning",
            "95 % within",
            "a PNG image",
            "1 file",
            "Indexing Notes",
            "34 documents, 1 not indexed",
            "52,000 tokens",
            "1 min",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        let empty = rendered(|| rsx! { ActivityView {} });
        assert!(empty.contains("also after a restart") && !empty.contains("Try again"), "{empty}");
    }
}
