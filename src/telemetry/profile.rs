use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tracing::{Level, Subscriber};
use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use super::TelemetryError;

/// The open trace; it is complete, with its closing bracket, after [`Trace::complete`] or a drop.
pub(super) struct Trace(Mutex<Option<FlushGuard>>);

impl Trace {
    /// Waits until the writing thread has written everything.
    ///
    /// The guard's own `flush` only asks the thread to write and returns, which a
    /// `std::process::exit` right after would overtake; dropping the guard joins the thread.
    pub(super) fn complete(&self) {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(guard);
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}

/// A layer that writes the spans of our crates to `path`, or to `trace-<pid>.json` in the working
/// directory.
///
/// # Errors
/// When the file cannot be created.
pub(super) fn layer<S>(
    path: Option<OsString>,
) -> Result<(impl Layer<S> + Send + Sync + 'static, Trace), TelemetryError>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let path = path
        .filter(|path| !path.is_empty())
        .map_or_else(|| PathBuf::from(format!("trace-{}.json", std::process::id())), PathBuf::from);
    let file = File::create(&path).map_err(|source| TelemetryError::Trace { path, source })?;
    let (layer, guard) = ChromeLayerBuilder::new().writer(file).include_args(true).build();
    let ours =
        Targets::new().with_target("lodestone", Level::TRACE).with_target("lode", Level::TRACE);
    Ok((layer.with_filter(ours), Trace(Mutex::new(Some(guard)))))
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn the_trace_is_whole_after_complete_and_holds_only_our_spans() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.json");
        let (layer, trace) = layer(Some(path.clone().into())).unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::info_span!("ours").in_scope(|| ());
            tracing::info_span!(target: "wgpu_core", "theirs").in_scope(|| ());
        });
        trace.complete();
        trace.complete();
        let events: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let names: Vec<_> = events.as_array().unwrap().iter().map(|event| &event["name"]).collect();
        assert!(names.iter().any(|name| *name == "ours"), "{names:?}");
        assert!(!names.iter().any(|name| *name == "theirs"), "{names:?}");
    }

    #[test]
    fn a_trace_that_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("missing").join("trace.json");
        let error = layer::<tracing_subscriber::Registry>(Some(path.into())).err().unwrap();
        assert!(error.to_string().contains("LODESTONE_TRACE"), "{error}");
    }
}
