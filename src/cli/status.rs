//! `lode status`: what is indexed, with what, and what it costs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use lodestone::engine::{
    ModelState, Pace, PageState, QueueStatus, RootState, SiteState, SiteView, Skipped, Status,
};

use crate::arguments::Common;
use crate::failure::{Exit, Failure};
use crate::figures::{bytes, count, counted};
use crate::output::{Output, Style, one_line};

pub async fn run(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let engine = common.open()?;
    // The device is known once the model is on it.
    engine.wait_for_model().await;
    output.print(&engine.status().await?, render)?;
    Ok(Exit::Done)
}

fn render(status: &Status, style: Style) -> String {
    let Status { documents, passages, sources, model, device, bytes: size, data_dir, .. } = status;
    let model = match model {
        ModelState::Loading { model } => format!("{model} (loading)"),
        ModelState::Ready { model, .. } => model.clone(),
        ModelState::Failed { model, reason } => format!("{model} (not available: {reason})"),
    };
    let QueueStatus { counts, pace, .. } = &status.queue;
    let waiting = counts.queued + counts.extracting + counts.embedded;
    let pace = match pace {
        Pace::Full => "",
        Pace::Half => ", slowly, on battery",
        Pace::Paused => ", paused",
    };
    let mut text = String::new();
    for (name, value) in [
        ("documents", count(*documents)),
        ("passages", count(*passages)),
        ("sources", format!("{}, {} of them skipped", count(*sources), status.skipped.len())),
        ("queue", format!("{} waiting{pace}", counted(waiting, "file"))),
        ("model", model),
        ("device", device.clone()),
        ("on disk", format!("{} in {}", bytes(*size), data_dir.display())),
    ] {
        let _ = writeln!(text, "{} {}", style.bold(&format!("{name:<10}")), one_line(&value));
    }
    for notice in &status.notices {
        let _ = writeln!(text, "{} {}", style.bold("notice    "), one_line(notice));
    }
    for root in &status.roots {
        let state = match &root.state {
            RootState::Watched => "watched".to_owned(),
            RootState::Rescanned { reason } => format!("looked through every 5 minutes: {reason}"),
            RootState::Offline => "offline; what was indexed of it is kept".to_owned(),
            RootState::Unwatched => "not watched".to_owned(),
            RootState::Unattended => "kept up to date while the application runs".to_owned(),
        };
        let path = root.path.to_string_lossy();
        let line = format!("{} ({})", one_line(&path), one_line(&state));
        let _ = writeln!(text, "{} {line}", style.bold("added     "));
    }
    for site in &status.sites {
        let _ = writeln!(text, "{} {}", style.bold("site      "), one_line(&describe(site)));
    }
    for (reason, sources) in by_reason(&status.skipped) {
        let sources = match sources.as_slice() {
            [one] => one_line(one),
            many => format!("{} files", count(many.len() as u64)),
        };
        let _ = writeln!(text, "{} {sources}: {}", style.bold("skipped   "), one_line(reason));
    }
    text
}

fn describe(site: &SiteView) -> String {
    let pages = |state| site.pages.get(&state).copied().unwrap_or_default();
    let waiting = pages(PageState::Queued) + pages(PageState::Fetching);
    let state = match &site.state {
        SiteState::Crawling { .. } => format!("crawling, {} to go", count(waiting)),
        SiteState::Paused => format!("paused, {} to go", count(waiting)),
        SiteState::Waiting { reason: Some(reason), .. } => reason.clone(),
        SiteState::Waiting { reason: None, .. } => format!("interrupted, {} to go", count(waiting)),
        SiteState::Done => "crawled".to_owned(),
    };
    let mut parts = vec![counted(site.searchable, "page"), state];
    for (what, number) in [("failed", pages(PageState::Failed)), ("gone", pages(PageState::Gone))] {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    format!("{} ({})", site.start, parts.join(", "))
}

/// Most frequent reason first; `--json` lists every source.
fn by_reason(skipped: &[Skipped]) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Skipped { source, reason, .. } in skipped {
        reasons.entry(reason).or_default().push(source);
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, sources)| Reverse(sources.len()));
    reasons
}

#[cfg(test)]
mod tests {
    use lodestone::data::CrawlRules;
    use lodestone::engine::{Metrics, RootStatus, SiteId};

    use super::*;

    fn site(state: SiteState) -> SiteView {
        SiteView {
            id: SiteId::from_stored(1),
            start: "https://docs.rs/tokio".parse().unwrap(),
            rules: CrawlRules::default(),
            state,
            pages: BTreeMap::from([(PageState::Queued, 7), (PageState::Failed, 2)]),
            searchable: 120,
            bytes: 1_000_000,
            added_at: 0,
            last_crawl: None,
            next_crawl: None,
            findings: None,
        }
    }

    #[test]
    fn status_for_people_and_for_programs() {
        let status = Status {
            documents: 1200,
            passages: 45_678,
            roots: vec![RootStatus {
                path: "/home/ada/notes".into(),
                state: RootState::Unattended,
            }],
            sites: vec![site(SiteState::Done), site(SiteState::Paused)],
            sources: 1201,
            skipped: [("a.html", "a redirect"), ("b.png", "a PNG image"), ("c.png", "a PNG image")]
                .map(|(source, reason)| Skipped {
                    source: source.into(),
                    reason: reason.into(),
                    attempts: 0,
                })
                .to_vec(),
            failed: 0,
            queue: QueueStatus::default(),
            exclusions: vec!["*.tmp".into()],
            model: ModelState::Ready { model: "all-MiniLM-L6-v2".into(), device: "CPU".into() },
            device: "CPU".into(),
            bytes: 12_345_678,
            data_dir: "/home/ada/.local/share/lodestone".into(),
            notices: vec!["keyword index is being rebuilt".into()],
            metrics: Metrics::default(),
        };
        insta::assert_snapshot!(render(&status, Style::Plain), @r"
        documents  1,200
        passages   45,678
        sources    1,201, 3 of them skipped
        queue      0 files waiting
        model      all-MiniLM-L6-v2
        device     CPU
        on disk    12.3 MB in /home/ada/.local/share/lodestone
        notice     keyword index is being rebuilt
        added      /home/ada/notes (kept up to date while the application runs)
        site       https://docs.rs/tokio (120 pages, crawled, 2 failed)
        site       https://docs.rs/tokio (120 pages, paused, 7 to go, 2 failed)
        skipped    2 files: a PNG image
        skipped    a.html: a redirect
        ");
        let json = serde_json::to_value(&status).unwrap();
        for key in
            ["documents", "chunks", "sources", "queue", "model", "device", "bytes", "metrics"]
        {
            assert!(json.get(key).is_some(), "{key}");
        }
    }
}
