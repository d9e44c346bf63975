//! `lode index`: files and folders into the index, with progress and a clean stop.

use std::fmt::Write as _;
use std::pin::pin;

use lodestone::engine::{Engine, EngineEvent, IngestReport, Job, JobOutcome};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::arguments::{Common, IndexArguments};
use crate::failure::{Exit, Failure};
use crate::figures::{count, counted, seconds};
use crate::output::{Output, Style, one_line};
use crate::progress::Progress;

/// What a second Ctrl-C leaves with, as a shell reports a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// Skipped sources that are listed; the rest is counted, `lode status` has them all.
const SKIPPED_SHOWN: usize = 20;

pub async fn run(
    common: &Common,
    output: &Output,
    arguments: IndexArguments,
) -> Result<Exit, Failure> {
    let engine = common.open()?;
    let outcome = index(&engine, arguments).await;
    engine.close().await;
    finish(output, outcome)
}

/// Prints what a job did.
pub fn finish(output: &Output, outcome: JobOutcome) -> Result<Exit, Failure> {
    let (report, cancelled) = match outcome {
        JobOutcome::Done(report)
        | JobOutcome::Updated(report)
        | JobOutcome::Switched { report, .. } => (report, false),
        JobOutcome::Cancelled(report) => (report, true),
        JobOutcome::SwitchPaused { .. }
        | JobOutcome::Crawled(_)
        | JobOutcome::Exported { .. }
        | JobOutcome::Imported { .. }
        | JobOutcome::Cleared => (IngestReport::default(), true),
        JobOutcome::Failed { reason } => return Err(Failure::environment(anyhow::anyhow!(reason))),
    };
    output.print(&report, render)?;
    if cancelled {
        eprintln!("lode: stopped; what was indexed stays, and the same command indexes the rest");
    }
    Ok(if cancelled || !report.skipped.is_empty() { Exit::Partly } else { Exit::Done })
}

async fn index(engine: &Engine, arguments: IndexArguments) -> JobOutcome {
    // Before the job starts, so that no event is missed.
    let events = engine.events();
    let job = engine.index(arguments.paths);
    follow(engine, events, job).await
}

/// Shows a job's progress until it ends. The first Ctrl-C cancels it, the second ends the process.
pub async fn follow(engine: &Engine, mut events: Receiver<EngineEvent>, job: Job) -> JobOutcome {
    let progress = Progress::new();
    let id = job.id();
    let mut outcome = pin!(job.outcome());
    let mut stopping = false;
    loop {
        tokio::select! {
            outcome = &mut outcome => {
                progress.finish();
                return outcome;
            }
            interrupted = tokio::signal::ctrl_c(), if !stopping => {
                stopping = true;
                if interrupted.is_ok() {
                    engine.cancel(id);
                    progress.say("Stopping after what is in hand; Ctrl-C again stops at once.");
                    tokio::spawn(end_at_second_interrupt());
                }
            }
            event = events.recv() => match event {
                Ok(EngineEvent::JobProgress { job, progress: now }) if job == id => {
                    progress.show(&now);
                }
                Ok(EngineEvent::CrawlProgress { job, figures, .. }) if job == id => {
                    progress.show_crawl(&figures);
                }
                // Progress that was missed is out of date.
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => {
                    progress.finish();
                    return outcome.await;
                }
            },
        }
    }
}

async fn end_at_second_interrupt() {
    if tokio::signal::ctrl_c().await.is_ok() {
        std::process::exit(INTERRUPTED);
    }
}

pub fn render(report: &IngestReport, style: Style) -> String {
    let IngestReport { indexed, unchanged, removed, skipped, .. } = report;
    let IngestReport { chunks, embedded, tokens, seconds: took, .. } = report;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} indexed, {} unchanged, {} removed, {} skipped in {}",
        style.bold(&counted(*indexed, "file")),
        count(*unchanged),
        count(*removed),
        count(skipped.len() as u64),
        seconds(*took),
    );
    if *tokens > 0 {
        let speed = *tokens as f64 / took.max(1e-3);
        let _ = writeln!(
            text,
            "{}, {} of them embedded, {} ({} tokens/s)",
            counted(*chunks, "passage"),
            count(*embedded),
            counted(*tokens, "token"),
            count(speed.round() as u64)
        );
    }
    for skipped in skipped.iter().take(SKIPPED_SHOWN) {
        let _ =
            writeln!(text, "skipped {}: {}", one_line(&skipped.source), one_line(&skipped.reason));
    }
    if let Some(more @ 1..) = skipped.len().checked_sub(SKIPPED_SHOWN) {
        let _ = writeln!(text, "and {} more; lode status --json lists them", count(more as u64));
    }
    text
}

#[cfg(test)]
mod tests {
    use lodestone::engine::{Skipped, StageSeconds};

    use super::*;

    #[test]
    fn a_report_says_what_was_done_and_what_was_not() {
        let skipped = |n| Skipped {
            source: format!("/a/{n}.png"),
            reason: "a PNG image".into(),
            attempts: 0,
        };
        let mut report = IngestReport {
            indexed: 1,
            unchanged: 2,
            removed: 0,
            skipped: vec![skipped(1)],
            chunks: 30,
            embedded: 28,
            tokens: 5000,
            seconds: 2.5,
            stages: StageSeconds::default(),
        };
        insta::assert_snapshot!(render(&report, Style::Plain), @r"
        1 file indexed, 2 unchanged, 0 removed, 1 skipped in 2.5 s
        30 passages, 28 of them embedded, 5,000 tokens (2,000 tokens/s)
        skipped /a/1.png: a PNG image
        ");
        report.skipped = (0..SKIPPED_SHOWN + 3).map(skipped).collect();
        assert!(
            render(&report, Style::Plain).ends_with("and 3 more; lode status --json lists them\n")
        );
        assert_eq!(render(&IngestReport::default(), Style::Plain).lines().count(), 1);
    }
}
