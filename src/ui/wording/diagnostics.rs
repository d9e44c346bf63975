use std::fmt::Write as _;

use lodestone::config::{BatteryPolicy, Settings};
use lodestone::engine::{Diagnosis, Latency, Metrics, ModelState, Status};

use super::{bytes, count};

/// What somebody who helps wants to know, and nothing of what is indexed or asked: no title, no path, no
/// address and no query. The place of the data is left out of every sentence that names it.
pub fn diagnostics(status: &Status, settings: &Settings, tested: Option<&Diagnosis>) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<18}{value}");
    };
    line("lodestone", env!("CARGO_PKG_VERSION").to_owned());
    line("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    let model = match &status.model {
        ModelState::Loading { .. } => "loading".to_owned(),
        ModelState::Ready { .. } => "ready".to_owned(),
        ModelState::Failed { reason, .. } => format!("failed: {}", without_place(reason, status)),
    };
    line("model", model);
    line("device", status.device.clone());
    line("documents", count(status.documents));
    line("passages", count(status.passages));
    line("not indexed", count(status.skipped.len() as u64));
    line("folders", count(status.roots.len() as u64));
    line("sites", count(status.sites.len() as u64));
    line("on disk", bytes(status.bytes));
    let Metrics { search, embedding, ingest, crawl, queue, memory, disk, .. } = &status.metrics;
    line("free on disk", disk.free_bytes.map_or("unknown".to_owned(), bytes));
    line("memory", memory.resident_bytes.map_or("unknown".to_owned(), bytes));
    line("models on device", bytes(memory.models_bytes));
    line("running for", format!("{:.0} s", status.metrics.uptime_seconds));
    let waiting = queue.queued + queue.extracting + queue.embedded;
    line("queue", format!("{} files", count(waiting)));
    line("tokens", format!("{} in {} steps", count(embedding.tokens), count(embedding.steps)));
    line("crawled", format!("{} pages, {} failed", count(crawl.pages), count(crawl.failed)));
    for (name, latency) in [
        ("search", &search.total),
        ("  embedding", &search.embed),
        ("  words", &search.words),
        ("  vectors", &search.vectors),
        ("  rest", &search.rest),
        ("key to screen", &search.shown),
        ("device wait", &embedding.wait_search),
        ("device step", &embedding.run),
        ("reading a file", &ingest.reading),
        ("embedding a file", &ingest.embedding),
        ("storing", &ingest.storing),
    ] {
        line(name, told(latency));
    }
    let battery = match settings.on_battery {
        BatteryPolicy::Slow => "slowly",
        BatteryPolicy::GoOn => "as usual",
        BatteryPolicy::Pause => "paused",
    };
    line("on battery", battery.to_owned());
    line("memory budget", format!("{} MB", count(settings.memory_mb)));
    line("largest file", format!("{} MB", count(settings.file_mb_max)));
    line("size", format!("{} %", settings.zoom_percent));
    for notice in &status.notices {
        line("notice", without_place(notice, status));
    }
    for check in tested.iter().flat_map(|tested| &tested.checks) {
        let verdict = if check.ok { "ok" } else { "FAILED" };
        line(check.name, format!("{verdict}: {}", without_place(&check.finding, status)));
    }
    text
}

fn told(latency: &Latency) -> String {
    match (latency.p50_ms, latency.p95_ms) {
        (Some(median), Some(slow)) => {
            let times = format!("{median:.1} ms, 95 % within {slow:.1} ms");
            format!("{times}, {} times", count(latency.count))
        }
        _ => "not yet".to_owned(),
    }
}

fn without_place(text: &str, status: &Status) -> String {
    let place = status.data_dir.display().to_string();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if place.is_empty() { text } else { text.replace(&place, "DATA") }
}

#[cfg(test)]
mod tests {
    use lodestone::data::CrawlRules;
    use lodestone::engine::{Check, QueueStatus, RootState, RootStatus, Skipped};

    use super::*;
    use crate::ui::fixture;

    #[test]
    fn nothing_of_what_is_indexed_is_in_it() {
        let status = Status {
            documents: 1_200,
            passages: 45_678,
            roots: vec![RootStatus { path: "/secret/root".into(), state: RootState::Watched }],
            sites: vec![lodestone::engine::SiteView {
                rules: CrawlRules { include: vec!["/secret/**".into()], ..CrawlRules::default() },
                ..fixture::site(7, lodestone::engine::SiteState::Done)
            }],
            sources: 3,
            skipped: vec![Skipped {
                source: "/secret/file.png".into(),
                reason: "secret reason".into(),
                attempts: 1,
            }],
            failed: 1,
            queue: QueueStatus::default(),
            exclusions: vec!["secret.tmp".into()],
            model: ModelState::Failed {
                model: "secret-model".into(),
                reason: "/home/secret/data/models/x cannot be read".into(),
            },
            device: "CPU, AVX-512".into(),
            bytes: 12_345_678,
            data_dir: "/home/secret/data".into(),
            notices: vec!["/home/secret/data/vectors was made anew".into()],
            metrics: Metrics::default(),
        };
        let settings = Settings { exclusions: vec!["secret.tmp".into()], ..Settings::default() };
        let finding = "/home/secret/data/store.sqlite3 is damaged".to_owned();
        let checks = vec![Check { name: "store", ok: false, finding }];
        let text = diagnostics(&status, &settings, Some(&Diagnosis { ok: false, checks }));
        for wanted in ["1,200", "AVX-512", "failed: DATA/models/x", "DATA/vectors", "FAILED: DATA/"]
        {
            assert!(text.contains(wanted), "{wanted} in {text}");
        }
        for secret in ["secret", "site7"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}
