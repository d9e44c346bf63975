//! The one bridge between the engine and what is on screen: calls go out as futures, events come in
//! and wake the window.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use lodestone::config::Config;
use lodestone::data::{CrawlRules, DocumentId, Source};
use lodestone::engine::{
    Diagnosis, DocumentView, EndedJob, Endpoint, Engine, EngineEvent, Estimate, Facets,
    FetchProgress, GoldenSet, JobId, LibraryEntry, Metrics, ModelEntry, PageFilter, PageList,
    Sample, SearchRequest, SearchResponse, SelfMeasurement, SiteId, SiteView, Status, Vocabulary,
};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::task::JoinSet;

use super::session::Session;
use super::state::FieldTrouble;

/// A handle to the engine that speaks in words a person can read: every error is its message.
#[derive(Clone)]
pub struct Bridge {
    engine: Engine,
}

/// How long a closing window waits for the index; what is not done then is done at the next start.
const CLOSE_WITHIN: Duration = Duration::from_secs(3);

/// How long a big folder is looked through before it is said what there is in it.
const SURVEY_MAX: Duration = Duration::from_secs(2);

/// Opens the engine and shows its events until it is closed.
pub fn run(session: &Session) -> impl Future<Output = ()> + use<> {
    let session = *session;
    async move {
        let opened = match session.data_dir() {
            Ok(data_dir) => open(data_dir).await,
            Err(reason) => Err(reason),
        };
        match opened {
            Ok(engine) => {
                let events = engine.events();
                session.attach(Bridge { engine });
                session.refresh_health().await;
                pump(&session, events).await;
            }
            Err(reason) => session.fail(reason),
        }
    }
}

async fn open(data_dir: PathBuf) -> Result<Engine, String> {
    let open = move || {
        // That the settings cannot be read was said when the window opened.
        let config = Config::load(data_dir.clone()).unwrap_or_else(|_| Config::new(data_dir));
        Engine::open(Config { keeps_up: true, ..config })
    };
    match tokio::task::spawn_blocking(open).await {
        Ok(Ok(engine)) => Ok(engine),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(format!("opening the index ended unexpectedly: {error}")),
    }
}

async fn pump(session: &Session, mut events: Receiver<EngineEvent>) {
    loop {
        let mut burst = match events.recv().await {
            Ok(event) => vec![event],
            Err(RecvError::Lagged(_)) => {
                session.resync();
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        while let Ok(event) = events.try_recv() {
            burst.push(event);
        }
        session.apply(&burst);
    }
}

impl Bridge {
    /// Begins a search after `delay`, and ends it when the answer is no longer wanted. It is under way when this
    /// returns: the tasks of a window wait for the page, which is at that moment busy with the key.
    pub fn search(
        &self,
        request: SearchRequest,
        delay: Duration,
    ) -> impl Future<Output = Result<SearchResponse, String>> + use<> {
        let engine = self.engine.clone();
        // Dropped, it ends what it holds.
        let mut searching = JoinSet::new();
        searching.spawn(async move {
            tokio::time::sleep(delay).await;
            engine.search(request).await
        });
        async move {
            match searching.join_next().await {
                Some(Ok(answer)) => answer.map_err(|error| error.to_string()),
                Some(Err(error)) => Err(error.to_string()),
                None => Err("The search has ended.".to_owned()),
            }
        }
    }

    /// Records how long a key waited for its answer to be on screen.
    pub fn shown(&self, waited: Duration) {
        self.engine.record_shown(waited);
    }

    /// How documents divide that an answer has considered.
    pub async fn facets(&self, considered: Vec<DocumentId>) -> Result<Facets, String> {
        self.engine.facets(considered).await.map_err(|error| error.to_string())
    }

    /// What can be typed behind the names of qualifiers.
    pub async fn vocabulary(&self) -> Result<Vocabulary, String> {
        self.engine.vocabulary().await.map_err(|error| error.to_string())
    }

    pub async fn document(&self, id: DocumentId) -> Result<DocumentView, String> {
        let found = self.engine.document(id).await.map_err(|error| error.to_string())?;
        found.ok_or_else(|| "It is no longer in the index.".to_owned())
    }

    pub async fn status(&self) -> Result<Status, String> {
        self.engine.status().await.map_err(|error| error.to_string())
    }

    pub async fn library(&self) -> Result<Vec<LibraryEntry>, String> {
        self.engine.library().await.map_err(|error| error.to_string())
    }

    pub async fn remove(&self, sources: &[Source]) -> Result<(), String> {
        let names = sources.iter().map(ToString::to_string).collect();
        self.engine.remove(names).await.map(drop).map_err(|error| error.to_string())
    }

    /// Starts a job that reads files again which are indexed already.
    pub async fn reindex(&self, paths: Vec<PathBuf>) -> Result<(), String> {
        self.engine.reindex(paths).await.map(drop).map_err(|error| error.to_string())
    }

    pub async fn golden_set(&self) -> Result<GoldenSet, String> {
        self.engine.golden_set().await.map_err(|error| error.to_string())
    }

    pub async fn star(&self, query: String, source: Source, starred: bool) -> Result<(), String> {
        self.engine.star(query, source, starred).await.map(drop).map_err(|error| error.to_string())
    }

    pub async fn measure_golden(&self) -> Result<(), String> {
        self.engine.measure_golden().await.map(drop).map_err(|error| error.to_string())
    }

    /// Starts a job; its events tell how it goes.
    pub fn index(&self, paths: Vec<PathBuf>) {
        drop(self.engine.index(paths));
    }

    pub async fn estimate(&self, paths: Vec<PathBuf>) -> Result<Estimate, String> {
        self.engine.estimate(paths, SURVEY_MAX).await.map_err(|error| error.to_string())
    }

    pub async fn watch(&self, path: PathBuf, watched: bool) -> Result<(), String> {
        self.engine.watch(path, watched).await.map(drop).map_err(|error| error.to_string())
    }

    pub async fn pause(&self, paused: bool) -> Result<(), String> {
        self.engine.pause(paused).await.map_err(|error| error.to_string())
    }

    pub async fn retry(&self, sources: Option<Vec<String>>) -> Result<(), String> {
        self.engine.retry(sources).await.map(drop).map_err(|error| error.to_string())
    }

    pub async fn sites(&self) -> Result<Vec<SiteView>, String> {
        self.engine.sites().await.map_err(|error| error.to_string())
    }

    pub async fn site_named(
        &self,
        typed: &str,
        rules: &CrawlRules,
    ) -> Result<Option<SiteView>, FieldTrouble> {
        self.engine.site_named(typed).await.map_err(|error| FieldTrouble::of(&error, rules))
    }

    pub async fn pages(
        &self,
        site: SiteId,
        filter: PageFilter,
        range: Range<u64>,
    ) -> Result<PageList, String> {
        self.engine.pages(site, filter, range).await.map_err(|error| error.to_string())
    }

    /// Starts a crawl; its events tell how it goes.
    pub async fn add_site(&self, typed: &str, rules: CrawlRules) -> Result<(), FieldTrouble> {
        let added = self.engine.add_site(typed, rules.clone()).await;
        added.map(drop).map_err(|error| FieldTrouble::of(&error, &rules))
    }

    pub async fn set_rules(&self, site: SiteId, rules: CrawlRules) -> Result<(), FieldTrouble> {
        let set = self.engine.set_rules(site, rules.clone()).await;
        set.map_err(|error| FieldTrouble::of(&error, &rules))
    }

    pub async fn pause_site(&self, site: SiteId) -> Result<(), String> {
        self.engine.pause_site(site).await.map_err(|error| error.to_string())
    }

    pub async fn resume_site(&self, site: SiteId) -> Result<(), String> {
        self.engine.resume_site(site).await.map(drop).map_err(|error| error.to_string())
    }

    pub async fn recrawl(&self, site: SiteId) -> Result<(), String> {
        self.engine.recrawl(site).await.map(drop).map_err(|error| error.to_string())
    }

    pub async fn remove_site(&self, site: SiteId) -> Result<u64, String> {
        self.engine.remove_site(site).await.map_err(|error| error.to_string())
    }

    pub async fn metrics(&self) -> Result<(Vec<Sample>, Metrics), String> {
        let metrics = self.engine.metrics().await.map_err(|error| error.to_string())?;
        Ok((self.engine.samples(), metrics))
    }

    pub async fn history(&self, limit: usize) -> Result<Vec<EndedJob>, String> {
        self.engine.history(limit).await.map_err(|error| error.to_string())
    }

    pub async fn forget_history(&self) -> Result<(), String> {
        self.engine.forget_history().await.map(drop).map_err(|error| error.to_string())
    }

    pub async fn models(&self) -> Result<Vec<ModelEntry>, String> {
        self.engine.models().await.map_err(|error| error.to_string())
    }

    pub async fn add_model(
        &self,
        what: String,
        progress: impl FnMut(FetchProgress) + Send + 'static,
    ) -> Result<ModelEntry, String> {
        self.engine.add_model(what, progress).await.map_err(|error| error.to_string())
    }

    pub async fn remove_model(&self, name: String) -> Result<(), String> {
        self.engine.remove_model(name).await.map_err(|error| error.to_string())
    }

    pub async fn use_model(&self, name: String) -> Result<(), String> {
        self.engine.use_model(name).await.map(drop).map_err(|error| error.to_string())
    }

    pub fn export(&self, path: &Path) {
        drop(self.engine.export(path));
    }

    pub fn import(&self, path: &Path) {
        drop(self.engine.import(path));
    }

    pub fn clear(&self) {
        drop(self.engine.clear());
    }

    pub async fn measure(&self) -> Result<Option<SelfMeasurement>, String> {
        self.engine.measure().await.map_err(|error| error.to_string())
    }

    pub async fn diagnose(&self) -> Result<Diagnosis, String> {
        self.engine.diagnose(false).await.map_err(|error| error.to_string())
    }

    pub fn endpoint(&self) -> Endpoint {
        self.engine.metrics_endpoint()
    }

    pub async fn tell_metrics(&self, address: Option<SocketAddr>) -> Result<Endpoint, String> {
        self.engine.tell_metrics(address).await.map_err(|error| error.to_string())
    }

    pub fn cancel(&self, job: JobId) {
        self.engine.cancel(job);
    }

    /// Forgets `leaving`, stops what runs and blocks until the index is tidy, or for a few seconds: the
    /// process is about to end without dropping anything.
    pub fn close(&self, leaving: Vec<Source>) {
        let bridge = self.clone();
        let engine = self.engine.clone();
        let (done, closed) = mpsc::channel();
        tokio::spawn(async move {
            if !leaving.is_empty() {
                // Nobody is left to be told; what could not be forgotten is listed at the next start.
                let _ = bridge.remove(&leaving).await;
            }
            engine.close().await;
            // Nobody waits any more when it took too long.
            let _ = done.send(());
        });
        let _ = closed.recv_timeout(CLOSE_WITHIN);
    }
}
