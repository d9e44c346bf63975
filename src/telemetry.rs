//! Where log lines and traces go: set up once by each binary, before anything else runs.
//!
//! Log lines go to stderr, chosen by `LODESTONE_LOG`; with the feature `profile` the spans of our
//! own crates also go to a Chrome trace. The library itself only emits through `tracing`.
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

use std::{env, io};

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

/// Environment variable with the filter of log lines, as `lodestone=debug,tantivy=warn`.
pub const LOG_VARIABLE: &str = "LODESTONE_LOG";

/// Environment variable with the path of the trace; used by builds with the feature `profile`.
///
/// `off` for none; `trace-<pid>.json` in the working directory when it is not set.
pub const TRACE_VARIABLE: &str = "LODESTONE_TRACE";

/// Environment variable with the filter of what a trace holds, as `lodestone=debug,lodestone::index=off`.
pub const TRACE_FILTER_VARIABLE: &str = "LODESTONE_TRACE_FILTER";

const DEFAULT_FILTER: &str = "error,lodestone=warn,lode=warn";

#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("{LOG_VARIABLE}={value:?} is no filter ({reason}); write one as lodestone=debug")]
    Filter { value: String, reason: String },
    #[error(
        "{TRACE_FILTER_VARIABLE}={value:?} is no filter ({reason}); write one as lodestone=debug"
    )]
    TraceFilter { value: String, reason: String },
    #[error("trace {path} cannot be written: {source}; set {TRACE_VARIABLE} to another file")]
    Trace { path: std::path::PathBuf, source: io::Error },
    #[error("logging is already set up in this process")]
    Twice,
}

/// Keeps the trace open; dropping it completes the file.
#[derive(Debug)]
#[must_use = "dropping the guard ends the trace"]
pub struct Guard {
    #[cfg(feature = "profile")]
    trace: profile::Trace,
}

impl Guard {
    /// Completes the trace on disk and stops recording; a second call does nothing.
    ///
    /// For whoever leaves through `std::process::exit`, where nothing is dropped, as a desktop
    /// event loop may.
    pub fn flush(&self) {
        #[cfg(feature = "profile")]
        self.trace.complete();
    }
}

/// Sends log lines to stderr and, with the feature `profile`, spans to a trace.
///
/// # Errors
/// When `LODESTONE_LOG` is no filter, the trace cannot be created, or the process has a subscriber
/// already.
pub fn init() -> Result<Guard, TelemetryError> {
    let lines = fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_filter(filter(env::var(LOG_VARIABLE).ok().as_deref())?);
    let registry = tracing_subscriber::registry().with(lines);

    #[cfg(feature = "profile")]
    let (registry, guard) = {
        let (layer, trace) = profile::layer(env::var_os(TRACE_VARIABLE))?;
        (registry.with(layer), Guard { trace })
    };
    #[cfg(not(feature = "profile"))]
    let guard = Guard {};

    registry.try_init().map_err(|_| TelemetryError::Twice)?;
    Ok(guard)
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
    fn a_filter_is_taken_and_a_wrong_one_is_named() {
        for good in [None, Some(""), Some("lodestone=debug,tantivy=off")] {
            assert!(filter(good).is_ok(), "{good:?}");
        }
        let message = filter(Some("lodestone=loud")).unwrap_err().to_string();
        assert!(message.contains(LOG_VARIABLE) && message.contains("lodestone=loud"), "{message}");
    }
}
