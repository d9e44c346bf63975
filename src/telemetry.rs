//! Where log lines and traces go: set up once by each binary, before anything else runs.
//!
//! Log lines go to stderr, chosen by `LODESTONE_LOG`, and from `info` on as JSON to a file a day in the data
//! directory; with the feature `profile` the spans of our own crates also go to a Chrome trace. The library
//! itself only emits through `tracing`, and says what a query or a document holds at `debug` and below alone.
//!
//! A [`Recorder`] counts and times what the application does, in every build.

mod histogram;
pub mod mark;
#[cfg(feature = "profile")]
mod profile;
mod recorder;
mod samples;

pub use histogram::{Histogram, MINUTES, Rolling};
pub use recorder::{Counter, Recorder, Stage};
pub use samples::{SAMPLES_MAX, Sample, Samples, Totals};

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{env, fs, io};

use tracing::Subscriber;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, fmt};

use crate::platform;

/// Environment variable with the filter of log lines, as `lodestone=debug,tantivy=warn`.
pub const LOG_VARIABLE: &str = "LODESTONE_LOG";

/// Environment variable with the path of the trace; used by builds with the feature `profile`.
///
/// `off` for none; `trace-<pid>.json` in the working directory when it is not set.
pub const TRACE_VARIABLE: &str = "LODESTONE_TRACE";

/// Environment variable with the filter of what a trace holds, as `lodestone=debug,lodestone::index=off`.
pub const TRACE_FILTER_VARIABLE: &str = "LODESTONE_TRACE_FILTER";

const DEFAULT_FILTER: &str = "error,lodestone=warn,lode=warn";

/// Of the log files, whatever the variable says: they may be sent to somebody.
const FILE_FILTER: &str = "warn,lodestone=info,lode=info";

/// Folder of the log files in the data directory.
const LOGS: &str = "logs";

/// Files that are kept; each has the lines of a day.
const LOG_FILES_MAX: usize = 7;

#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("{LOG_VARIABLE}={value:?} is no filter ({reason}); write one as lodestone=debug")]
    Filter { value: String, reason: String },
    #[error(
        "{TRACE_FILTER_VARIABLE}={value:?} is no filter ({reason}); write one as lodestone=debug"
    )]
    TraceFilter { value: String, reason: String },
    #[error("trace {path} cannot be written: {source}; set {TRACE_VARIABLE} to another file")]
    Trace { path: PathBuf, source: io::Error },
    #[error("the log in {path} cannot be written: {reason}")]
    Log { path: PathBuf, reason: String },
    #[error("logging is already set up in this process")]
    Twice,
}

/// Keeps the trace open; dropping it completes the file.
#[derive(Debug)]
#[must_use = "dropping the guard ends the trace"]
pub struct Guard {
    #[cfg(feature = "profile")]
    trace: profile::Trace,
    /// Writes the last lines on drop.
    log: Mutex<Option<WorkerGuard>>,
}

impl Guard {
    /// Completes the log and the trace on disk and stops recording; a second call does nothing.
    ///
    /// For whoever leaves through `std::process::exit`, where nothing is dropped, as a desktop
    /// event loop may.
    pub fn flush(&self) {
        #[cfg(feature = "profile")]
        self.trace.complete();
        drop(self.log.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Sends log lines to stderr, with a data directory to files in it, and, with the feature `profile`, spans
/// to a trace.
///
/// # Errors
/// When a variable is no filter, a file cannot be created, or the process has a subscriber already.
pub fn init(data_dir: Option<&Path>) -> Result<Guard, TelemetryError> {
    let wanted = filter(env::var(LOG_VARIABLE).ok().as_deref())?;
    let level = wanted.max_level_hint();
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(false).with_filter(wanted);
    let (file, log) = data_dir.map(log_file).transpose()?.unzip();
    let registry = tracing_subscriber::registry().with(lines).with(file);

    #[cfg(feature = "profile")]
    let (registry, guard) = {
        let (layer, trace) = profile::layer(env::var_os(TRACE_VARIABLE))?;
        (registry.with(layer), Guard { trace, log: Mutex::new(log) })
    };
    #[cfg(not(feature = "profile"))]
    let guard = Guard { log: Mutex::new(log) };

    registry.try_init().map_err(|_| TelemetryError::Twice)?;
    log::set_max_level(level_of_other_crates(level));
    Ok(guard)
}

/// What the crates may say that speak through `log`: what log lines are asked for, and at least what the log
/// files take. A trace takes everything of ours, and were they asked for as much, a tokenizer would tell each letter.
fn level_of_other_crates(lines: Option<LevelFilter>) -> log::LevelFilter {
    let level = match lines.unwrap_or(LevelFilter::TRACE) {
        LevelFilter::OFF => log::LevelFilter::Off,
        LevelFilter::ERROR => log::LevelFilter::Error,
        LevelFilter::WARN => log::LevelFilter::Warn,
        LevelFilter::INFO => log::LevelFilter::Info,
        LevelFilter::DEBUG => log::LevelFilter::Debug,
        _ => log::LevelFilter::Trace,
    };
    level.max(log::LevelFilter::Warn)
}

/// A layer that writes to a file a day, on a thread of its own.
fn log_file<S>(
    data_dir: &Path,
) -> Result<(impl Layer<S> + Send + Sync + 'static, WorkerGuard), TelemetryError>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let path = data_dir.join(LOGS);
    let log = |reason: String| TelemetryError::Log { path: path.clone(), reason };
    // The appender looks for old files first, and complains of a directory that is not there.
    platform::prepare_data_dir(data_dir)
        .and_then(|()| fs::create_dir_all(&path))
        .map_err(|error| log(error.to_string()))?;
    let files = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("lodestone")
        .filename_suffix("jsonl")
        .max_log_files(LOG_FILES_MAX)
        .build(&path)
        .map_err(|error| log(error.to_string()))?;
    let (writer, guard) = tracing_appender::non_blocking(files);
    let lines = fmt::layer().json().with_writer(writer).with_span_list(false);
    Ok((lines.with_filter(filter(Some(FILE_FILTER))?), guard))
}

fn filter(value: Option<&str>) -> Result<EnvFilter, TelemetryError> {
    let value = value.filter(|value| !value.trim().is_empty()).unwrap_or(DEFAULT_FILTER);
    EnvFilter::try_new(value).map_err(|error| TelemetryError::Filter {
        value: value.to_owned(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_what_happened_and_not_what_was_asked() {
        let dir = tempfile::tempdir().unwrap();
        let (layer, guard) = log_file(dir.path()).unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::info!(target: "lodestone::engine", job = "Indexing Notes", "begun");
            tracing::debug!(target: "lodestone::engine", query = "my illness", "searched");
            tracing::info!(target: "tantivy", "theirs");
        });
        drop(guard);
        let files: Vec<_> = fs::read_dir(dir.path().join(LOGS)).unwrap().collect();
        let [Ok(file)] = files.as_slice() else { panic!("{files:?}") };
        let text = fs::read_to_string(file.path()).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 1, "{text}");
        assert_eq!(
            (&lines[0]["level"], &lines[0]["fields"]["job"]),
            (&"INFO".into(), &"Indexing Notes".into())
        );
    }

    #[test]
    fn other_crates_tell_no_more_than_log_lines_are_asked_for() {
        let level =
            |wanted: Option<&str>| level_of_other_crates(filter(wanted).unwrap().max_level_hint());
        assert_eq!(level(None), log::LevelFilter::Warn);
        assert_eq!(level(Some("off")), log::LevelFilter::Warn);
        assert_eq!(level(Some("warn,lodestone=debug")), log::LevelFilter::Debug);
        assert_eq!(level(Some("tokenizers=trace")), log::LevelFilter::Trace);
    }

    #[test]
    fn a_filter_is_taken_and_a_wrong_one_is_named() {
        for good in [None, Some(""), Some("lodestone=debug,tantivy=off")] {
            assert!(filter(good).is_ok(), "{good:?}");
        }
        let message = filter(Some("lodestone=loud")).unwrap_err().to_string();
        assert!(message.contains(LOG_VARIABLE) && message.contains("lodestone=loud"), "{message}");
    }
}
