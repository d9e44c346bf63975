mod trace_file;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tracing::Subscriber;
use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use super::{TRACE_FILTER_VARIABLE, TelemetryError, mark};
use crate::platform;
use trace_file::TraceFile;

/// Which spans a trace has unless `LODESTONE_TRACE_FILTER` says otherwise: those of our own crates. With
/// all of theirs a minute took hundreds of megabytes.
const DEFAULT_FILTER: &str = "lodestone=trace,lode=trace";

/// What a killed process loses at most, and how often memory is noted.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The open trace; it is complete, with its closing bracket, after [`Trace::complete`] or a drop.
pub(super) struct Trace {
    guard: Arc<Mutex<Option<FlushGuard>>>,
    /// Ends the thread that flushes when it is dropped.
    _ends: Option<SyncSender<()>>,
}

impl Trace {
    /// Waits until the writing thread has written everything.
    ///
    /// The guard's own `flush` only asks the thread to write and returns, which a
    /// `std::process::exit` right after would overtake; dropping the guard joins the thread.
    pub(super) fn complete(&self) {
        let guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(guard);
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.complete();
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}

/// A layer that writes the spans of our crates to `path`, or to `trace-<pid>.json` in the working
/// directory; none when `path` is `off`.
///
/// # Errors
/// When the file cannot be created, or the filter cannot be read.
pub(super) fn layer<S>(
    path: Option<OsString>,
) -> Result<(Option<impl Layer<S> + Send + Sync + 'static>, Trace), TelemetryError>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    if path.as_deref() == Some(OsStr::new("off")) {
        return Ok((None, Trace { guard: Arc::default(), _ends: None }));
    }
    let filter = filter(env::var(TRACE_FILTER_VARIABLE).ok())?;
    let path = path
        .filter(|path| !path.is_empty())
        .map_or_else(|| PathBuf::from(format!("trace-{}.json", std::process::id())), PathBuf::from);
    let create = || -> std::io::Result<_> { TraceFile::new(File::create(&path)?) };
    let file = create().map_err(|source| TelemetryError::Trace { path: path.clone(), source })?;
    let (layer, guard) =
        ChromeLayerBuilder::new().writer(file).include_args(true).include_locations(false).build();
    let guard = Arc::new(Mutex::new(Some(guard)));
    let ends = flush_at_intervals(Arc::clone(&guard));
    let ends = ends.map_err(|source| TelemetryError::Trace { path, source })?;
    Ok((Some(layer.with_filter(filter)), Trace { guard, _ends: Some(ends) }))
}

fn filter(value: Option<String>) -> Result<Targets, TelemetryError> {
    let value = value.filter(|value| !value.trim().is_empty());
    let value = value.unwrap_or_else(|| DEFAULT_FILTER.to_owned());
    value.parse().map_err(|error: tracing_subscriber::filter::ParseError| {
        TelemetryError::TraceFilter { value, reason: error.to_string() }
    })
}

fn flush_at_intervals(guard: Arc<Mutex<Option<FlushGuard>>>) -> std::io::Result<SyncSender<()>> {
    let (ends, ended) = mpsc::sync_channel(0);
    let flush = move || {
        while ended.recv_timeout(FLUSH_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if let Some(bytes) = platform::resident_bytes() {
                mark::memory(bytes >> 20);
            }
            if let Some(guard) = &*guard.lock().unwrap_or_else(PoisonError::into_inner) {
                guard.flush();
            }
        }
    };
    thread::Builder::new().name("trace-flush".to_owned()).spawn(flush)?;
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    fn traced(work: impl FnOnce()) -> Vec<Value> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.json");
        let (layer, trace) = layer(Some(path.clone().into())).unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
        trace.complete();
        trace.complete();
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()
    }

    #[test]
    fn the_trace_is_whole_after_complete_and_holds_only_our_spans() {
        let events = traced(|| {
            tracing::info_span!("ours", bytes = 12, path = "a \"b\"").in_scope(|| ());
            tracing::info_span!(target: "wgpu_core", "theirs").in_scope(|| ());
        });
        let names: Vec<_> = events.iter().map(|event| &event["name"]).collect();
        assert!(!names.iter().any(|name| *name == "theirs"), "{names:?}");
        let ours = events.iter().find(|event| event["name"] == "ours").unwrap();
        assert_eq!(ours["args"], serde_json::json!({ "bytes": 12, "path": "a \"b\"" }));
        assert_eq!(ours["pid"], std::process::id());
    }

    #[test]
    fn counters_and_flows_are_what_a_viewer_knows() {
        let events = traced(|| {
            mark::queue_depth([1, 0, 20]);
            mark::tokens_per_second(1234.5);
            mark::flow_begins(7);
            mark::flow_ends(7);
        });
        let of = |name: &str| -> Vec<_> {
            events.iter().filter(|event| event["name"] == name).collect()
        };
        let depth = of("queue depth");
        assert_eq!((depth.len(), &depth[0]["ph"]), (1, &Value::from("C")));
        let values = serde_json::json!({ "immediate": 1, "interactive": 0, "background": 20 });
        assert_eq!(depth[0]["args"], values);
        assert_eq!(of("tokens/s")[0]["args"]["tokens"], 1234.5);
        let flow: Vec<_> = of("request").iter().map(|event| event["ph"].clone()).collect();
        assert_eq!(flow, ["s", "f"]);
        assert!(of("request").iter().all(|event| event["id"] == 7), "{events:?}");
        assert_eq!(of("request")[1]["bp"], "e");
    }

    #[test]
    fn what_cannot_be_is_named_and_off_is_off() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("missing").join("trace.json");
        let error = layer::<tracing_subscriber::Registry>(Some(path.into())).err().unwrap();
        assert!(error.to_string().contains("LODESTONE_TRACE"), "{error}");
        let message = filter(Some("lodestone=loud".to_owned())).unwrap_err().to_string();
        assert!(message.contains(TRACE_FILTER_VARIABLE), "{message}");
        let (none, _trace) = layer::<tracing_subscriber::Registry>(Some("off".into())).unwrap();
        assert!(none.is_none());
    }
}
