//! A crawl as a job.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, watch};
use url::Url;

use super::{CrawlReport, SiteId};
use crate::crawler::Scope;
use crate::engine::{Engine, EngineError, EngineEvent, Job, JobId, JobOutcome, jobs};
use crate::ingest::{self, CrawlEnd, CrawlFigures, CrawlRun, IngestError};
use crate::platform;
use crate::storage::{CrawlCounts, CrawlKey, SiteKey, SiteLease, StorageError, StoredSite};

/// How often is looked whether another process has ended its crawl of the same site.
const LEASE_INTERVAL: Duration = Duration::from_millis(500);

/// How long a crawl that could not go on is left alone.
const LATER_S: i64 = 60;
const FAILED_S: i64 = 300;

/// Goes on with the crawl of a site, which is written down.
pub(super) fn crawl(begun: Begun, start: &Url) -> Job {
    let (engine, site) = (begun.engine.clone(), begun.site);
    let path = start.path().trim_end_matches('/');
    let label = format!("Crawling {}{path}", start.authority());
    jobs::start(&engine, label, move |engine, job, cancel| async move {
        let _begun = begun;
        let crawling = Crawling { engine: engine.clone(), site, job, cancel: cancel.clone() };
        let report = crawling.run().await?;
        if report.end == CrawlEnd::Done {
            engine.settle_indexes(cancel).await?;
        }
        Ok(JobOutcome::Crawled(report))
    })
}

/// A job of a site, from before it starts until it is dropped, so that nobody begins another meanwhile.
pub(super) struct Begun {
    engine: Engine,
    site: SiteKey,
}

impl Begun {
    pub(super) fn new(engine: Engine, site: SiteKey) -> Self {
        engine.inner.crawls.begin(site);
        Self { engine, site }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.engine.inner.crawls.end(self.site);
    }
}

struct Crawling {
    engine: Engine,
    site: SiteKey,
    job: JobId,
    cancel: watch::Receiver<bool>,
}

impl Crawling {
    async fn run(&self) -> Result<CrawlReport, EngineError> {
        let started = Instant::now();
        let end = match self.lease().await? {
            Lease::Ours(lease) => {
                // In this order, so that a second job of the same site keeps no other from its turn.
                let turn = self.turn().await;
                let end = match &turn {
                    Some(_) => self.crawl().await,
                    None => Ok(CrawlEnd::Interrupted),
                };
                self.engine.inner.crawls.show(self.site, None);
                self.leave(&end).await?;
                drop((lease, turn));
                end?
            }
            Lease::Over(end) => end,
        };
        if self.engine.catch_up().await? {
            self.engine.announce_change();
        }
        self.engine.emit(EngineEvent::SitesChanged);
        self.report(end, started).await
    }

    /// `None` when the job is cancelled before its turn.
    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        let turns = Arc::clone(&self.engine.inner.crawls.turns);
        let mut cancel = self.cancel.clone();
        tokio::select! {
            turn = turns.acquire_owned() => turn.ok(),
            _ = cancel.wait_for(|cancel| *cancel) => None,
        }
    }

    /// Waits while another process crawls the site, which does what this one would.
    async fn lease(&self) -> Result<Lease, EngineError> {
        let mut cancel = self.cancel.clone();
        loop {
            let (inner, key) = (Arc::clone(&self.engine.inner), self.site);
            let look = move || {
                if let Some(lease) = inner.store.adopt_site(key)? {
                    return Ok(Some(Lease::Ours(lease)));
                }
                Ok(match inner.store.site(key)? {
                    None => Some(Lease::Over(CrawlEnd::Removed)),
                    Some(site) if !site.is_open() => Some(Lease::Over(CrawlEnd::Done)),
                    Some(site) if site.is_paused => Some(Lease::Over(CrawlEnd::Paused)),
                    Some(_) => None,
                })
            };
            if let Some(lease) = self.engine.run_blocking(look).await? {
                return Ok(lease);
            }
            tokio::select! {
                () = tokio::time::sleep(LEASE_INTERVAL) => {}
                _ = cancel.wait_for(|cancel| *cancel) => return Ok(Lease::Over(CrawlEnd::Interrupted)),
            }
        }
    }

    async fn crawl(&self) -> Result<CrawlEnd, EngineError> {
        let engine = &self.engine;
        self.show(CrawlFigures::default());
        let fetcher = engine.fetcher().await?;
        let mut model = engine.model().await?;
        loop {
            let site = match self.stored().await? {
                None => return Ok(CrawlEnd::Removed),
                Some(site) if !site.is_open() => return Ok(CrawlEnd::Done),
                Some(site) if site.is_paused => return Ok(CrawlEnd::Paused),
                Some(site) => site,
            };
            if site.trouble.is_some() {
                let (inner, crawl) = (Arc::clone(&engine.inner), site.crawl_key());
                engine.run_blocking(move || Ok(inner.store.forget_trouble(crawl)?)).await?;
            }
            let run = CrawlRun {
                patience: engine.patience(),
                scope: Scope::new(&site.site)?,
                site,
                fetcher: Arc::clone(&fetcher),
                gate: engine.inner.gate(),
                cancel: self.cancel.clone(),
            };
            let inner = Arc::clone(&engine.inner);
            let limits = engine.run_blocking(move || inner.limits()).await?;
            let pipeline = engine.pipeline(&model).with_limits(limits);
            let progress = |figures| self.show(figures);
            match ingest::crawl_site(&pipeline, run, progress).await {
                Ok(CrawlEnd::Outdated) => {}
                Err(IngestError::Storage(StorageError::ModelChanged { .. })) => {
                    if !engine.renew_model(&mut model).await? {
                        return Err(StorageError::ModelChanged { model: model.stored.name }.into());
                    }
                }
                end => return Ok(end?),
            }
            let (inner, key) = (Arc::clone(&engine.inner), self.site);
            engine.run_blocking(move || Ok(inner.store.put_back_pages(key)?)).await?;
        }
    }

    fn show(&self, figures: CrawlFigures) {
        let site = SiteId(self.site);
        self.engine.inner.crawls.show(self.site, Some(figures.clone()));
        self.engine.emit(EngineEvent::CrawlProgress { job: self.job, site, figures });
    }

    /// Writes down how the crawl stands, while the site is still ours.
    async fn leave(&self, end: &Result<CrawlEnd, EngineError>) -> Result<(), EngineError> {
        let Some(site) = self.stored().await? else { return Ok(()) };
        let (inner, crawl) = (Arc::clone(&self.engine.inner), site.crawl_key());
        let now = platform::now_seconds();
        let failure = end.as_ref().err().map(ToString::to_string);
        let end = end.as_ref().ok().cloned();
        // A person who cancels it in the window does not want it to go on by itself a moment later.
        let is_unwanted = inner.config.keeps_up && !inner.jobs.is_closing();
        let leave = move || {
            let store = &inner.store;
            store.put_back_pages(crawl.site)?;
            match end {
                Some(CrawlEnd::Done) => {
                    let next = site
                        .site
                        .rules
                        .recrawl_after_s
                        .map(|after| now.saturating_add_unsigned(after));
                    store.end_crawl(crawl, now, next)?;
                }
                Some(CrawlEnd::Later { reason, at }) => {
                    let reason = format!("it goes on later: {reason}");
                    store.postpone_crawl(crawl, at.unwrap_or(now + LATER_S), &reason)?;
                }
                Some(CrawlEnd::Interrupted) if is_unwanted => {
                    store.pause_site(crawl.site, true)?;
                }
                Some(_) => {}
                None => {
                    let reason = failure.unwrap_or_default();
                    store.postpone_crawl(crawl, now + FAILED_S, &reason)?;
                }
            }
            Ok(())
        };
        self.engine.run_blocking(leave).await
    }

    async fn stored(&self) -> Result<Option<StoredSite>, EngineError> {
        let (inner, key) = (Arc::clone(&self.engine.inner), self.site);
        self.engine.run_blocking(move || Ok(inner.store.site(key)?)).await
    }

    async fn report(&self, end: CrawlEnd, started: Instant) -> Result<CrawlReport, EngineError> {
        let crawl: Option<CrawlKey> = self.stored().await?.map(|site| site.crawl_key());
        let inner = Arc::clone(&self.engine.inner);
        let count = move || {
            Ok(crawl.map_or(Ok(CrawlCounts::default()), |crawl| inner.store.crawl_counts(crawl))?)
        };
        let counts = self.engine.run_blocking(count).await?;
        Ok(CrawlReport::new(counts, end, started.elapsed().as_secs_f64()))
    }
}

enum Lease {
    Ours(SiteLease),
    /// Another process has brought the crawl to its end, or nobody is to go on with it.
    Over(CrawlEnd),
}
