//! The web sites that a person chose: adding, crawling, pausing and forgetting them, and what became of
//! each page.

mod fetching;
mod keep;
mod report;
mod run;
mod view;

pub use report::{CrawlReport, PageTrouble};
use run::Begun;
pub use view::{PageList, SiteId, SiteState, SiteView};

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use url::Url;

use super::{Engine, EngineError, EngineEvent, Inner, Job};
use crate::crawler::{self, Fetcher, Scope};
use crate::data::{CrawlRules, Site, Source};
use crate::ingest::CrawlFigures;
use crate::platform;
use crate::storage::{PageFilter, SiteKey, Store, StoredSite};

/// Sites that are crawled at once: they wait for their servers most of the time.
const CRAWLS_MAX: u32 = 4;

/// The crawls of this process.
#[derive(Debug)]
pub(super) struct Crawls {
    begun: Mutex<BTreeMap<SiteKey, Started>>,
    beginning: Mutex<()>,
    turns: Arc<Semaphore>,
    /// Knows how each host is to be treated, so there is one.
    fetcher: tokio::sync::OnceCell<Arc<Fetcher>>,
    /// How long hosts that answered before may be silent, all of them, before a crawl is left for later.
    patience: OnceLock<Duration>,
}

/// What this process does for a site.
#[derive(Debug, Default)]
struct Started {
    /// Jobs that wait or run.
    jobs: usize,
    /// Of the one that runs.
    figures: Option<CrawlFigures>,
}

impl Default for Crawls {
    fn default() -> Self {
        Self {
            begun: Mutex::default(),
            beginning: Mutex::default(),
            turns: Arc::new(Semaphore::new(CRAWLS_MAX as usize)),
            fetcher: tokio::sync::OnceCell::new(),
            patience: OnceLock::new(),
        }
    }
}

impl Crawls {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SiteKey, Started>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held from the look at what there is to crawl until it is known that it has begun.
    fn beginning(&self) -> MutexGuard<'_, ()> {
        self.beginning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, site: SiteKey) {
        self.lock().entry(site).or_default().jobs += 1;
    }

    fn end(&self, site: SiteKey) {
        let mut begun = self.lock();
        if let Some(of_site) = begun.get_mut(&site) {
            of_site.jobs = of_site.jobs.saturating_sub(1);
            if of_site.jobs == 0 {
                begun.remove(&site);
            }
        }
    }

    fn is_begun(&self, site: SiteKey) -> bool {
        self.lock().contains_key(&site)
    }

    fn show(&self, site: SiteKey, figures: Option<CrawlFigures>) {
        if let Some(of_site) = self.lock().get_mut(&site) {
            of_site.figures = figures;
        }
    }

    fn figures(&self, site: SiteKey) -> Option<CrawlFigures> {
        self.lock().get(&site)?.figures.clone()
    }

    /// Keeps crawls from beginning until what this gives is dropped, after those that run.
    pub(super) async fn stand_still(&self) -> Option<tokio::sync::OwnedSemaphorePermit> {
        Arc::clone(&self.turns).acquire_many_owned(CRAWLS_MAX).await.ok()
    }

    /// Waits for the running crawls.
    pub(super) async fn idle(&self) {
        // Nobody closes it.
        let _ = self.turns.acquire_many(CRAWLS_MAX).await;
    }
}

impl Engine {
    /// Remembers a site, as a person types its address, and crawls it in the background. One that is known
    /// gets these rules; a crawl of it that was interrupted goes on, and else what has changed is read
    /// again.
    ///
    /// # Errors
    /// When it is no address, a pattern cannot be read, or the store fails.
    pub async fn add_site(&self, typed: &str, rules: CrawlRules) -> Result<Job, EngineError> {
        let site = crawler::site(typed, rules)?;
        let scope = Scope::new(&site)?;
        let engine = self.clone();
        let start = site.start.clone();
        let begun = self
            .run_blocking(move || {
                let store = Arc::clone(&engine.inner.store);
                let crawls = engine.clone();
                let _beginning = crawls.inner.crawls.beginning();
                let known = store.add_site(&site, platform::now_seconds())?;
                apply(&store, known.key, &site.rules, &scope)?;
                begin(&store, known.key)?;
                Ok(Begun::new(engine, known.key))
            })
            .await?;
        self.emit(EngineEvent::SitesChanged);
        Ok(run::crawl(begun, &start))
    }

    /// Every site, in the order in which they were added.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn sites(&self) -> Result<Vec<SiteView>, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || sites(&inner)).await
    }

    /// The site that a person means by its address, as for [`Engine::add_site`].
    ///
    /// # Errors
    /// When it is no address, or the store fails.
    pub async fn site_named(&self, typed: &str) -> Result<Option<SiteView>, EngineError> {
        let start = crawler::site(typed, CrawlRules::default())?.start;
        Ok(self.sites().await?.into_iter().find(|site| site.start == start))
    }

    /// Pages of a site in the order in which they were found, and how many there are by this filter.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn pages(
        &self,
        site: SiteId,
        filter: PageFilter,
        range: Range<u64>,
    ) -> Result<PageList, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            let (pages, total) = inner.store.pages(site.0, &filter, range)?;
            Ok(PageList { total, pages })
        })
        .await
    }

    /// Stops crawling a site after what is in hand, in whichever process and for the starts to come, until
    /// it is resumed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn pause_site(&self, site: SiteId) -> Result<(), EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || Ok(inner.store.pause_site(site.0, true)?)).await?;
        self.emit(EngineEvent::SitesChanged);
        Ok(())
    }

    /// Lets a site be crawled again: a crawl that was paused or interrupted goes on now. `None` when there
    /// is none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume_site(&self, site: SiteId) -> Result<Option<Job>, EngineError> {
        self.begin_site(site, move |store| {
            store.pause_site(site.0, false)?;
            Ok(store.site(site.0)?.filter(StoredSite::is_open))
        })
        .await
    }

    /// Reads again what has changed of a site; a crawl that has not ended goes on instead. `None` when the
    /// site has gone.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn recrawl(&self, site: SiteId) -> Result<Option<Job>, EngineError> {
        self.begin_site(site, move |store| begin(store, site.0)).await
    }

    /// Has a site that `find` gives crawled.
    async fn begin_site(
        &self,
        site: SiteId,
        find: impl FnOnce(&Store) -> Result<Option<StoredSite>, EngineError> + Send + 'static,
    ) -> Result<Option<Job>, EngineError> {
        let engine = self.clone();
        let begun = self.run_blocking(move || {
            let inner = Arc::clone(&engine.inner);
            let _beginning = inner.crawls.beginning();
            let found = find(&inner.store)?;
            Ok(found.map(|found| (Begun::new(engine, site.0), found.site.start)))
        });
        let begun = begun.await?;
        self.emit(EngineEvent::SitesChanged);
        Ok(begun.map(|(begun, start)| run::crawl(begun, &start)))
    }

    /// Gives a site other rules; pages that they leave out are forgotten at once. What they bring in is
    /// found by the crawl that goes on, or by the next.
    ///
    /// # Errors
    /// When a pattern cannot be read, or the store fails; then nothing has changed.
    pub async fn set_rules(&self, site: SiteId, rules: CrawlRules) -> Result<(), EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            if let Some(found) = inner.store.site(site.0)? {
                let start = found.site.start;
                let scope = Scope::new(&Site { start, rules: rules.clone() })?;
                apply(&inner.store, site.0, &rules, &scope)?;
            }
            Ok(())
        })
        .await?;
        self.catch_up().await?;
        self.announce_change();
        self.emit(EngineEvent::SitesChanged);
        Ok(())
    }

    /// Forgets a site with its pages and all that was indexed of them; returns how many documents there
    /// were. A crawl of it ends.
    ///
    /// # Errors
    /// When the store fails; then nothing was forgotten.
    pub async fn remove_site(&self, site: SiteId) -> Result<u64, EngineError> {
        let inner = Arc::clone(&self.inner);
        let removed = self.run_blocking(move || Ok(inner.store.remove_site(site.0)?)).await?;
        self.catch_up().await?;
        self.announce_change();
        self.emit(EngineEvent::SitesChanged);
        Ok(removed.unwrap_or(0))
    }
}

pub(super) fn sites(inner: &Inner) -> Result<Vec<SiteView>, EngineError> {
    let stored = inner.store.sites()?;
    stored
        .into_iter()
        .map(|stored| {
            let counts = inner.store.page_counts(stored.key)?;
            let figures = inner.crawls.figures(stored.key);
            let is_elsewhere =
                figures.is_none() && stored.is_open() && inner.store.is_adopted(stored.key);
            Ok(SiteView::of(stored, counts, (figures, is_elsewhere)))
        })
        .collect()
}

/// Where a source is opened so that a passage of it is in sight: the address of a page with its first and
/// last words, as browsers read them; a file is opened as it is.
#[must_use]
pub fn at_passage(source: &Source, passage: &str) -> Source {
    match source {
        Source::File(_) => source.clone(),
        Source::Web(url) => Source::Web(crawler::passage_link(url, passage)),
    }
}

/// Forgets what a person means by an address: the site that starts there, the page, or all sites of a host;
/// returns how many documents went, `None` when nothing is known of it.
pub(super) fn remove_named(store: &Store, name: &str) -> Result<Option<u64>, EngineError> {
    let named = crawler::site(name, CrawlRules::default()).ok().map(|site| site.start);
    let is_host = |start: &Url| {
        let host = start.host_str().unwrap_or_default();
        let port = start.port().map(|port| format!("{host}:{port}"));
        name.eq_ignore_ascii_case(host) || port.is_some_and(|it| name.eq_ignore_ascii_case(&it))
    };
    let (mut removed, mut is_known) = (0, false);
    for stored in store.sites()? {
        let start = &stored.site.start;
        if (named.as_ref() == Some(start) || is_host(start))
            && let Some(documents) = store.remove_site(stored.key)?
        {
            removed += documents;
            is_known = true;
        }
    }
    if is_known {
        return Ok(Some(removed));
    }
    Ok(named.map_or(Ok(None), |page| store.remove_page(&page))?)
}

/// Gives a site its rules, and forgets what they leave out.
fn apply(
    store: &Store,
    key: SiteKey,
    rules: &CrawlRules,
    scope: &Scope,
) -> Result<(), EngineError> {
    if store.set_rules(key, rules)? {
        store.drop_pages(key, |url, depth| scope.judge(url, depth).is_ok())?;
    }
    Ok(())
}

/// Has a site crawled from now on, paused or not: a person asks.
fn begin(store: &Store, key: SiteKey) -> Result<Option<StoredSite>, EngineError> {
    store.pause_site(key, false)?;
    Ok(store.begin_crawl(key, platform::now_seconds())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_opened_at_the_passage_and_a_file_as_it_is() {
        let page = Source::Web(Url::parse("https://example.org/bread").unwrap());
        let opened = at_passage(&page, "Knead the *dough*.").to_string();
        assert!(opened.starts_with("https://example.org/bread#:~:text=Knead"), "{opened}");
        let file = Source::File("/bread.txt".into());
        assert_eq!(at_passage(&file, "Knead"), file);
    }

    #[test]
    fn a_site_goes_by_its_start_and_its_host() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let add = |typed| {
            let site = crawler::site(typed, CrawlRules::default()).unwrap();
            store.add_site(&site, 1).unwrap();
        };
        for typed in ["docs.rs/tokio", "docs.rs/serde", "localhost:8000/a", "example.org"] {
            add(typed);
        }
        let left = || store.sites().unwrap().len();
        assert_eq!(remove_named(&store, "rs").unwrap(), None);
        assert_eq!(remove_named(&store, "docs.rs/nothing").unwrap(), None);
        assert_eq!((remove_named(&store, "https://docs.rs/serde").unwrap(), left()), (Some(0), 3));
        assert_eq!((remove_named(&store, "localhost:8000").unwrap(), left()), (Some(0), 2));
        assert_eq!((remove_named(&store, "DOCS.rs").unwrap(), left()), (Some(0), 1));
        assert_eq!((remove_named(&store, "example.org/").unwrap(), left()), (Some(0), 0));
    }
}
