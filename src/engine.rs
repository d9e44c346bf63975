//! Opens everything, owns it, and is what both faces talk to.
//!
//! An [`Engine`] is a cheap handle. Its futures may be awaited on any executor: work runs on the
//! engine's own runtime and blocking pools, never on the caller's thread.

mod chat;
mod crawling;
mod diagnosis;
mod embedding;
mod error;
mod evaluation;
mod event;
mod follow;
mod golden;
mod history;
mod indexing;
mod jobs;
mod loaded;
mod measurement;
mod metrics;
mod model;
mod open;
mod recall;
mod runtime;
mod search;
mod shelf;
mod stamp;
mod survey;
mod switch;
mod transfer;
mod view;
mod vocabulary;
mod watching;

pub use crate::crawler::ScopeError;
pub use crate::extract::{READER_ARGUMENT, serve as serve_reader};
pub use crate::gpu::{FinishReason, Sampling};
pub use crate::inference::registry::KnownModelKind;
pub use crate::inference::{ChatMessage, Role};
pub use crate::ingest::{
    CrawlEnd, CrawlFigures, IngestReport, JobProgress, Pace, Skipped, StageSeconds,
};
pub use crate::platform::LimitedAllocator;
pub use crate::search::{
    Coverage, FacetValue, Facets, QUALIFIER_NAMES, SearchMode, SearchRequest, SearchResponse,
    WeakerHits, WrittenQualifier, qualifiers, toggled, with_qualifier,
};
pub use crate::storage::{EndedJob, JobEnd, PageFilter, PageState, PageView, QueueCounts};
pub use crate::telemetry::{self, Sample};
pub use chat::{ChatAnswer, ChatEnd, ChatOptions};
pub use crawling::{CrawlReport, PageList, PageTrouble, SiteId, SiteState, SiteView, at_passage};
pub use diagnosis::{Check, Diagnosis};
pub use embedding::Embedded;
pub use error::EngineError;
pub use evaluation::{
    Comparison, Evaluation, EvaluationOptions, EvaluationRecord, Quality, QueryScores, evaluate,
};
pub use event::{EngineEvent, JobId, JobOutcome, ModelState};
pub use golden::{GoldenMeasurement, GoldenSet, StarredAnswer};
pub use jobs::Job;
pub use measurement::SelfMeasurement;
pub use metrics::{
    CrawlMetrics, DiskMetrics, EmbeddingMetrics, Endpoint, EndpointError, IngestMetrics, Latency,
    MemoryMetrics, Metrics, SearchMetrics,
};
pub use open::open_command;
pub use shelf::{FetchProgress, ModelEntry, ModelEntryState, add_model, models, remove_model};
pub use survey::{Estimate, Survey, SurveyedKind};
pub use view::{DocumentView, LibraryEntry, QueueStatus, RemoveReport, RootStatus, Status};
pub use vocabulary::{KnownValue, Vocabulary};
pub use watching::RootState;

use std::future::Future;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{broadcast, watch};

use crate::config::{Config, lanes_from_environment};
use crate::data::{DocumentId, Source};
use crate::gpu::{
    GpuError, GpuScheduler, ParallelScheduler, RestartingScheduler, SchedulerOptions,
    SerialScheduler,
};
use crate::index::KeywordOpening;
use crate::platform;
use crate::search::Indexes;
use crate::storage::Store;
use crate::telemetry::Recorder;
use chat::LoadedLanguageModel;
use jobs::Jobs;
use loaded::Models;
use runtime::Purpose;

/// Events that a slow listener may fall behind by before it misses some.
const EVENTS_MAX: usize = 256;

/// How often the store is asked whether another process wrote; the answer costs microseconds.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);

/// The open application: store, indexes, model and jobs.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    store: Arc<Store>,
    indexes: Indexes,
    /// Whether the indexes have been read for the first time.
    indexes_ready: watch::Sender<bool>,
    scheduler: Arc<dyn GpuScheduler>,
    models: Models,
    language_model: tokio::sync::OnceCell<LoadedLanguageModel>,
    events: broadcast::Sender<EngineEvent>,
    jobs: Jobs,
    crawls: crawling::Crawls,
    pace: watch::Sender<Pace>,
    recorder: Arc<Recorder>,
    endpoint: metrics::EndpointSlot,
    watched: watching::Watched,
    /// How often changes came faster than they could be followed.
    missed: AtomicU64,
    /// Taken on drop.
    runtime: Option<Runtime>,
    job_runtime: Option<Runtime>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("config", &self.inner.config).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens the data directory. Returns before the model is loaded and the indexes are read, which
    /// go on in the background.
    ///
    /// # Errors
    /// When the data directory, the store or an index cannot be used.
    pub fn open(config: Config) -> Result<Self, EngineError> {
        let data_dir = config.data_dir.clone();
        let directory = |source| EngineError::Directory { path: data_dir.clone(), source };
        platform::prepare_data_dir(&data_dir).map_err(directory)?;
        let store = Arc::new(Store::open(&data_dir)?);
        let indexes = Indexes::open(&data_dir)?;
        let lanes = config.lanes.map_or_else(lanes_from_environment, Ok)?;
        let scheduler = Arc::new(start_scheduler(lanes)?);
        let [runtime, job_runtime] = [Purpose::Answers, Purpose::Jobs].map(runtime::start);
        let (events, _) = broadcast::channel(EVENTS_MAX);
        let inner = Arc::new(Inner {
            models: Models::new(config.model.name()),
            config,
            store,
            indexes,
            indexes_ready: watch::Sender::new(false),
            scheduler,
            language_model: tokio::sync::OnceCell::new(),
            events,
            jobs: Jobs::default(),
            crawls: crawling::Crawls::default(),
            pace: watch::Sender::new(Pace::Full),
            recorder: Arc::default(),
            endpoint: metrics::EndpointSlot::default(),
            watched: watching::Watched::default(),
            missed: AtomicU64::new(0),
            runtime: Some(runtime.map_err(EngineError::Runtime)?),
            job_runtime: Some(job_runtime.map_err(EngineError::Runtime)?),
        });
        let engine = Self { inner };
        engine.spawn(engine.clone().start_models());
        engine.spawn(follow::follow(Arc::downgrade(&engine.inner), FOLLOW_INTERVAL));
        if engine.inner.config.keeps_up {
            engine.spawn(watching::keep_up(Arc::downgrade(&engine.inner)));
            engine.spawn(metrics::sample(Arc::downgrade(&engine.inner)));
            engine.spawn(engine.clone().restore_endpoint());
        }
        Ok(engine)
    }

    /// What happens from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<EngineEvent> {
        self.inner.events.subscribe()
    }

    /// Indexes files and folders in the background, after the jobs before it. Folders are remembered.
    #[must_use]
    pub fn index(&self, paths: Vec<PathBuf>) -> Job {
        indexing::index(self, indexing::Ask::Paths(paths))
    }

    /// Cancels a job; nothing happens when it has ended.
    pub fn cancel(&self, job: JobId) {
        self.inner.jobs.cancel(job);
    }

    /// The document of a file or page, as a person names it; `None` when it is not indexed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn document_named(&self, name: &str) -> Result<Option<DocumentId>, EngineError> {
        let (inner, name) = (Arc::clone(&self.inner), name.to_owned());
        self.run_blocking(move || {
            let source = match Source::from_key(&name) {
                Ok(source @ Source::Web(_)) => source,
                _ => Source::File(platform::resolve(name.as_ref())),
            };
            Ok(inner.store.fingerprint(&source)?.map(|_| DocumentId::of(&source)))
        })
        .await
    }

    /// A document with its passages; `None` when it has gone.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn document(&self, id: DocumentId) -> Result<Option<DocumentView>, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            // Of the model that answers, so that the passages are those that a search names.
            let Some(model) = inner.indexes.snapshot().key() else { return Ok(None) };
            Ok(inner.store.document(id, model)?.map(DocumentView::from))
        })
        .await
    }

    /// Every document, in the order of the sources.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn library(&self) -> Result<Vec<LibraryEntry>, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            Ok(inner.store.documents()?.into_iter().map(LibraryEntry::from).collect())
        })
        .await
    }

    /// What is indexed, with what, and what it costs.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn status(&self) -> Result<Status, EngineError> {
        let inner = Arc::clone(&self.inner);
        let model = self.model_state();
        self.run_blocking(move || {
            let mut notices = notices(&inner.indexes);
            if let Some(switch) = inner.store.switch()?.filter(|_| !inner.jobs.is_switching()) {
                let percent = switch.embedded * 100 / switch.documents.max(1);
                let name = loaded::name_of(&switch.to);
                notices.push(format!(
                    "the switch to {name} stands at {percent} %; lode models use {name} goes on with it"
                ));
            }
            if inner.missed.load(Ordering::Relaxed) > 0 {
                let notice = "changes in folders came faster than they could be followed, so the \
                              folders were looked through again";
                notices.push(notice.to_owned());
            }
            Status::read(&inner, model, notices)
        })
        .await
    }

    /// Forgets files, folders and sites, entirely; a source is a path or a URL. What lies in a folder that
    /// remains is left out of it until it, or a folder above it, is added once more.
    ///
    /// # Errors
    /// When the store fails; then nothing was forgotten.
    pub async fn remove(&self, sources: Vec<String>) -> Result<RemoveReport, EngineError> {
        let inner = Arc::clone(&self.inner);
        let report = self
            .run_blocking(move || {
                let removed_names = sources.clone();
                let mut report = RemoveReport::default();
                for name in sources {
                    let removed = remove_one(&inner.store, &name)?;
                    if removed.is_none() {
                        report.unknown.push(name);
                    }
                    report.removed += removed.unwrap_or(0);
                }
                history::forget(&inner.store, &removed_names)?;
                Ok(report)
            })
            .await?;
        self.catch_up().await?;
        self.announce_change();
        Ok(report)
    }

    /// Cancels every job, waits for what is being written, and brings the indexes up to date.
    pub async fn close(&self) {
        self.inner.jobs.cancel_all();
        let engine = self.clone();
        let closed = self.run(async move {
            engine.inner.jobs.idle().await;
            engine.inner.crawls.idle().await;
            engine.catch_up().await
        });
        if let Err(error) = closed.await {
            tracing::warn!(%error, "indexes are behind; the next start catches up");
        }
    }

    /// Runs a job, behind everything that somebody waits for.
    fn spawn_job(&self, future: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.inner.job_runtime {
            runtime.spawn(future);
        }
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.inner.runtime {
            runtime.spawn(future);
        }
    }

    /// Runs on the engine's runtime, so that a caller on any executor may await it.
    async fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, EngineError>> + Send + 'static,
    ) -> Result<T, EngineError> {
        match &self.inner.runtime {
            Some(runtime) => runtime.spawn(future).await?,
            None => Err(EngineError::Closed),
        }
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        match &self.inner.runtime {
            Some(runtime) => runtime.spawn_blocking(body).await?,
            None => Err(EngineError::Closed),
        }
    }

    fn emit(&self, event: EngineEvent) {
        event.log();
        // Nobody may be listening, as in the command line.
        let _ = self.inner.events.send(event);
    }

    fn announce_change(&self) {
        if let Ok(counts) = self.inner.store.counts() {
            let (documents, passages) = (counts.documents, counts.passages);
            self.emit(EngineEvent::IndexChanged { documents, passages });
        }
    }
}

/// One device thread or several; whichever dies comes back.
fn start_scheduler(lanes: NonZeroUsize) -> Result<RestartingScheduler, GpuError> {
    let options = SchedulerOptions::default();
    RestartingScheduler::start(Box::new(move || -> Result<Arc<dyn GpuScheduler>, GpuError> {
        Ok(if lanes == NonZeroUsize::MIN {
            Arc::new(SerialScheduler::start(&options)?)
        } else {
            Arc::new(ParallelScheduler::start(&options, lanes)?)
        })
    }))
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.jobs.cancel_all();
        for runtime in [self.runtime.take(), self.job_runtime.take()].into_iter().flatten() {
            // The last handle may be dropped on the runtime itself, where waiting is not allowed.
            runtime.shutdown_background();
        }
    }
}

fn notices(indexes: &Indexes) -> Vec<String> {
    let keywords = match indexes.opening() {
        KeywordOpening::Existing | KeywordOpening::Created => None,
        KeywordOpening::Rebuilt { reason } => {
            Some(format!("the keyword index was rebuilt: {reason}"))
        }
    };
    let vectors = indexes.vector_trouble();
    let vectors = vectors.map(|reason| format!("the vector index was made anew: {reason}"));
    keywords.into_iter().chain(vectors).collect()
}

/// How many documents went; `None` when nothing is known under this name.
fn remove_one(store: &Store, name: &str) -> Result<Option<u64>, EngineError> {
    let is_address = matches!(Source::from_key(name), Ok(Source::Web(_)));
    if !is_address && let Some(removed) = store.remove_under(&platform::resolve(name.as_ref()))? {
        return Ok(Some(removed));
    }
    crawling::remove_named(store, name)
}
