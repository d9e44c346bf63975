//! `lode crawl`: the pages of a web site into the index, with progress and a clean stop.

use std::fmt::Write as _;

use lodestone::data::CrawlRules;
use lodestone::engine::{CrawlEnd, CrawlReport, Engine, JobOutcome, PageTrouble};

use crate::arguments::{Common, CrawlArguments};
use crate::failure::{Exit, Failure};
use crate::figures::{count, counted, seconds};
use crate::index;
use crate::output::{Output, Style, one_line};

/// Pages of each kind that are listed; the rest is counted, `--json` has them all.
const TROUBLES_SHOWN: usize = 20;

pub async fn run(
    common: &Common,
    output: &Output,
    arguments: CrawlArguments,
) -> Result<Exit, Failure> {
    let engine = common.open()?;
    let outcome = crawl(&engine, arguments).await;
    engine.close().await;
    let report = match outcome? {
        JobOutcome::Crawled(report) => report,
        JobOutcome::Failed { reason } => return Err(Failure::environment(anyhow::anyhow!(reason))),
        outcome => return index::finish(output, outcome),
    };
    output.print(&report, render)?;
    if let Some(line) = unfinished(&report.end) {
        eprintln!("lode: {}", one_line(&line));
    }
    Ok(exit(&report))
}

async fn crawl(engine: &Engine, arguments: CrawlArguments) -> Result<JobOutcome, Failure> {
    let known = engine.site_named(&arguments.url).await?;
    let rules = known.map_or_else(CrawlRules::default, |site| site.rules);
    // Before the job starts, so that no event is missed.
    let events = engine.events();
    let url = arguments.url.clone();
    let job = engine.add_site(&url, arguments.rules(rules)).await?;
    Ok(index::follow(engine, events, job).await)
}

fn exit(report: &CrawlReport) -> Exit {
    let is_whole = report.failed.is_empty() && report.skipped.is_empty();
    match report.end {
        CrawlEnd::Later { .. } => Exit::Unwell,
        CrawlEnd::Done if is_whole => Exit::Done,
        _ => Exit::Partly,
    }
}

/// Why a crawl did not come to its end, and what to do.
fn unfinished(end: &CrawlEnd) -> Option<String> {
    let line = match end {
        CrawlEnd::Done => return None,
        CrawlEnd::Paused => "the site is paused; the same command goes on with it",
        CrawlEnd::Interrupted | CrawlEnd::Outdated => {
            "stopped; what was indexed stays, and the same command goes on with the rest"
        }
        CrawlEnd::Later { reason, .. } => {
            let line = "what was indexed stays, and the same command goes on with the rest";
            return Some(format!("{reason}; {line}"));
        }
        CrawlEnd::Removed => "the site was removed meanwhile",
    };
    Some(line.to_owned())
}

pub fn render(report: &CrawlReport, style: Style) -> String {
    let CrawlReport { pages, unchanged, copies, failed, skipped, beyond, .. } = report;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} indexed, {} unchanged, {} copies, {} failed, {} skipped in {}",
        style.bold(&counted(*pages, "page")),
        count(*unchanged),
        count(*copies),
        count(failed.len() as u64),
        count(skipped.len() as u64),
        seconds(report.seconds),
    );
    if *beyond > 0 {
        let _ = writeln!(text, "{} left out by --max-pages", counted(*beyond, "page"));
    }
    for (what, pages) in [("failed", failed), ("skipped", skipped)] {
        for PageTrouble { url, reason } in pages.iter().take(TROUBLES_SHOWN) {
            let _ = writeln!(text, "{what} {}: {}", one_line(url), one_line(reason));
        }
        if let Some(more @ 1..) = pages.len().checked_sub(TROUBLES_SHOWN) {
            let _ = writeln!(text, "and {} more {what}; --json lists them", count(more as u64));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(url: &str, reason: &str) -> PageTrouble {
        PageTrouble { url: url.into(), reason: reason.into() }
    }

    fn report() -> CrawlReport {
        CrawlReport {
            pages: 1200,
            unchanged: 3,
            copies: 2,
            failed: vec![trouble("https://example.org/a", "no answer within 20 s")],
            skipped: vec![trouble("https://example.org/b", "it asks not to be indexed")],
            beyond: 0,
            end: CrawlEnd::Done,
            seconds: 61.2,
        }
    }

    #[test]
    fn a_report_says_what_was_done_and_what_was_not() {
        insta::assert_snapshot!(render(&report(), Style::Plain), @r"
        1,200 pages indexed, 3 unchanged, 2 copies, 1 failed, 1 skipped in 1 min 01 s
        failed https://example.org/a: no answer within 20 s
        skipped https://example.org/b: it asks not to be indexed
        ");
        let skipped = (0..TROUBLES_SHOWN + 3).map(|n| trouble(&n.to_string(), "robots")).collect();
        let long = CrawlReport { skipped, beyond: 9, ..report() };
        let text = render(&long, Style::Plain);
        assert!(text.ends_with("and 3 more skipped; --json lists them\n"), "{text}");
        assert!(text.contains("9 pages left out by --max-pages\n"), "{text}");
        let json = serde_json::to_value(report()).unwrap();
        for key in ["pages", "unchanged", "failed", "skipped", "seconds"] {
            assert!(json.get(key).is_some(), "{key}");
        }
    }

    #[test]
    fn the_exit_code_says_how_it_ended() {
        let whole = CrawlReport { failed: vec![], skipped: vec![], ..report() };
        assert_eq!(exit(&whole), Exit::Done);
        assert_eq!(exit(&report()), Exit::Partly);
        assert_eq!(
            exit(&CrawlReport { end: CrawlEnd::Interrupted, ..whole.clone() }),
            Exit::Partly
        );
        let later = CrawlEnd::Later { reason: "there is no host a".into(), at: None };
        assert!(unfinished(&later).unwrap().starts_with("there is no host a; "));
        assert_eq!(exit(&CrawlReport { end: later, ..whole }), Exit::Unwell);
    }
}
