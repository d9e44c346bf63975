//! Which thread does what, as the spans of a whole run tell.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::sync::{LazyLock, Mutex, PoisonError};

use lodestone::config::Config;
use lodestone::engine::{Engine, JobOutcome, SearchRequest};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

/// What was entered by any test of this process: span and thread, each with how often.
static ENTERED: LazyLock<Mutex<BTreeMap<(&'static str, String), usize>>> =
    LazyLock::new(Mutex::default);

/// Spans below the reading of a file: span and file, each with how often.
static OF_FILES: LazyLock<Mutex<BTreeMap<(&'static str, String), usize>>> =
    LazyLock::new(Mutex::default);

fn count(map: &Mutex<BTreeMap<(&'static str, String), usize>>, key: (&'static str, String)) {
    *map.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
}

/// The file that a span is about.
#[derive(Default)]
struct Path(String);

impl Visit for Path {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "path" {
            self.0 = format!("{value:?}");
        }
    }
}

struct Placement;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Placement {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        if span.name() == "read_file" {
            let mut path = Path::default();
            attributes.record(&mut path);
            span.extensions_mut().insert(path);
        }
        for parent in span.scope() {
            if let Some(Path(path)) = parent.extensions().get::<Path>() {
                count(&OF_FILES, (span.name(), path.clone()));
            }
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        count(&ENTERED, (context.span(id).unwrap().name(), thread));
    }
}

/// Where each kind of work may run: its spans, and how the names of those threads begin.
const PLACES: [(&[&str], &str); 3] = [
    (&["scan", "read_file", "tokenize", "chunk", "open_model_files"], "lodestone-blocking"),
    (&["step", "upload_model"], "gpu-scheduler"),
    (&["prepare_model"], "model-loader"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a11_each_kind_of_work_has_its_threads_and_a_document_is_tokenized_once() {
    let ours = Targets::new().with_target("lodestone", Level::DEBUG);
    let subscriber = tracing_subscriber::registry().with(Placement.with_filter(ours));
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    fs::create_dir(&files).unwrap();
    for number in 0..12 {
        let text = format!("# Recipe {number}\n\nBake the bread until it is brown.\n\n").repeat(8);
        fs::write(files.join(format!("{number}.md")), text).unwrap();
    }
    let engine = Engine::open(Config::new(place.path().join("data"))).unwrap();
    let job = engine.index(vec![files.clone()]);
    engine.search(SearchRequest::new("how long does bread bake")).await.unwrap();
    assert!(matches!(job.outcome().await, JobOutcome::Done(_)));
    engine.search(SearchRequest::new("how long does bread bake")).await.unwrap();

    let entered = ENTERED.lock().unwrap().clone();
    for (spans, threads) in PLACES {
        for span in spans {
            let seen: Vec<_> = entered.keys().filter(|(name, _)| name == span).collect();
            assert!(!seen.is_empty(), "no {span} was recorded");
            let strangers: Vec<_> =
                seen.iter().filter(|(_, on)| !on.starts_with(threads)).collect();
            assert!(strangers.is_empty(), "{strangers:?}");
        }
    }
    let of_files = OF_FILES.lock().unwrap().clone();
    for number in 0..12 {
        let path = files.join(format!("{number}.md")).display().to_string();
        for span in ["tokenize", "chunk"] {
            let times = of_files.get(&(span, path.clone()));
            assert_eq!(times, Some(&1), "{span} of {path}: {of_files:?}");
        }
    }
}
