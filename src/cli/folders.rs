//! `lode watch`, `unwatch`, `daemon`, `pause`, `resume`, `retry` and `exclude`: what is kept up to date.

use std::fmt::Write as _;

use lodestone::config::{Config, Settings};
use lodestone::engine::{Engine, EngineEvent, JobOutcome, Pace};
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;

use crate::arguments::{Common, ExcludeArguments, RetryArguments, WatchArguments};
use crate::failure::{Exit, Failure};
use crate::figures::count;
use crate::output::{Output, one_line};
use crate::{crawl, index};

#[derive(Serialize)]
struct WatchReport {
    watched: Vec<String>,
    unwatched: Vec<String>,
    unknown: Vec<String>,
}

pub async fn watch(
    common: &Common,
    output: &Output,
    WatchArguments { paths }: WatchArguments,
    watched: bool,
) -> Result<Exit, Failure> {
    let engine = common.open()?;
    let mut report = WatchReport { watched: vec![], unwatched: vec![], unknown: vec![] };
    for path in paths {
        let name = path.display().to_string();
        match (engine.watch(path, watched).await?, watched) {
            (true, true) => report.watched.push(name),
            (true, false) => report.unwatched.push(name),
            (false, _) => report.unknown.push(name),
        }
    }
    engine.close().await;
    output.print(&report, |report, _| {
        let mut text = String::new();
        for (what, names) in [("watched", &report.watched), ("not watched", &report.unwatched)] {
            for name in names {
                let _ = writeln!(text, "{what} {}", one_line(name));
            }
        }
        text
    })?;
    for unknown in &report.unknown {
        eprintln!("lode: {} is not there and was never added", one_line(unknown));
    }
    Ok(if report.unknown.is_empty() { Exit::Done } else { Exit::Partly })
}

/// Says on stderr what it does, and with `--json` one line for each job that ended.
pub async fn daemon(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let config = Config { keeps_up: true, switches_model: true, ..common.config()? };
    let engine = Engine::open(config)?;
    let mut events = engine.events();
    let mut asked_to_end = std::pin::pin!(asked_to_end());
    loop {
        tokio::select! {
            () = &mut asked_to_end => break,
            event = events.recv() => match event {
                Ok(event) => say(output, &event)?,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => break,
            },
        }
    }
    engine.close().await;
    Ok(Exit::Done)
}

/// Ctrl-C, or what a system sends to programs before it kills them. A signal that cannot be had never comes;
/// then a kill has to do.
async fn asked_to_end() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminated = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => drop(terminate.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        () = interrupted => {}
        () = terminated => {}
    }
}

fn say(output: &Output, event: &EngineEvent) -> Result<(), Failure> {
    match event {
        EngineEvent::JobStarted { label, .. } => eprintln!("lode: {}", one_line(label)),
        EngineEvent::JobFinished { outcome, .. } => match outcome {
            JobOutcome::Done(report)
            | JobOutcome::Updated(report)
            | JobOutcome::Cancelled(report)
            | JobOutcome::Switched { report, .. } => output.print(report, index::render)?,
            JobOutcome::Failed { reason } => eprintln!("lode: {}", one_line(reason)),
            JobOutcome::Crawled(report) => output.print(report, crawl::render)?,
            JobOutcome::SwitchPaused { .. }
            | JobOutcome::Exported { .. }
            | JobOutcome::Imported { .. }
            | JobOutcome::Cleared => {}
        },
        EngineEvent::Pace(Pace::Paused) => eprintln!("lode: indexing is paused"),
        EngineEvent::Pace(Pace::Half) => eprintln!("lode: indexing goes slowly, on battery"),
        EngineEvent::Pace(Pace::Full) => eprintln!("lode: indexing goes on"),
        EngineEvent::Model(_)
        | EngineEvent::JobProgress { .. }
        | EngineEvent::CrawlProgress { .. }
        | EngineEvent::SitesChanged
        | EngineEvent::IndexChanged { .. } => {}
    }
    Ok(())
}

#[derive(Serialize)]
struct Paused {
    paused: bool,
}

pub async fn pause(common: &Common, output: &Output, paused: bool) -> Result<Exit, Failure> {
    let engine = common.open()?;
    engine.pause(paused).await?;
    output.print(&Paused { paused }, |_, _| {
        let text = if paused { "indexing is paused\n" } else { "indexing goes on\n" };
        text.to_owned()
    })?;
    Ok(Exit::Done)
}

pub async fn retry(
    common: &Common,
    output: &Output,
    RetryArguments { sources }: RetryArguments,
) -> Result<Exit, Failure> {
    let engine = common.open()?;
    let events = engine.events();
    let job = engine.retry((!sources.is_empty()).then_some(sources)).await?;
    let outcome = index::follow(&engine, events, job).await;
    engine.close().await;
    index::finish(output, outcome)
}

#[derive(Serialize)]
struct Exclusions {
    exclusions: Vec<String>,
}

pub fn exclude(
    common: &Common,
    output: &Output,
    ExcludeArguments { patterns, remove, reset }: ExcludeArguments,
) -> Result<Exit, Failure> {
    let data_dir = common.config()?.data_dir;
    let settings = if patterns.is_empty() && !reset {
        Settings::load(&data_dir).map_err(Failure::environment)?
    } else {
        for pattern in &patterns {
            Settings::check_exclusion(pattern).map_err(Failure::usage)?;
        }
        Settings::update(&data_dir, |settings| {
            settings.exclusions.retain(|known| !patterns.contains(known));
            if reset {
                settings.exclusions = Settings::default().exclusions;
            } else if !remove {
                settings.exclusions.extend(patterns);
            }
        })
        .map_err(Failure::environment)?
    };
    output.print(&Exclusions { exclusions: settings.exclusions }, |listed, _| {
        let lines = listed.exclusions.iter().map(|pattern| one_line(pattern) + "\n");
        lines.chain([format!("{} patterns\n", count(listed.exclusions.len() as u64))]).collect()
    })?;
    Ok(Exit::Done)
}
