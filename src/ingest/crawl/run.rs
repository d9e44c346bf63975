use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::{JoinSet, spawn_blocking};
use tracing::{Instrument as _, debug_span};

use super::contact::Contact;
use super::figures::CrawlTally;
use super::links::Links;
use super::page::{ATTEMPTS_MAX, PageReader};
use super::{CrawlEnd, CrawlFigures, CrawlRun, seed};
use crate::crawler::{FetchRequest, Fetched, Fetcher};
use crate::data::Reach;
use crate::ingest::memory::BYTES_PER_BYTE;
use crate::ingest::read::READERS;
use crate::ingest::run::cancelled;
use crate::ingest::{Gate, IngestError, Pipeline};
use crate::platform;
use crate::storage::{CrawlKey, PageAnswer, QueuedPage, SettledPage, Taken, Verdict};

/// Requests under way at once, over all hosts; each host is asked as gently as the rules say.
const FETCHES_MAX: usize = 16;

/// Pages that are read and embedded at once: enough to keep the device busy while a group is committed.
const READING_MAX: usize = 32;

/// A crawl that has nothing to do for longer is left for later.
const WAIT_MAX_S: i64 = 900;

/// How often is looked whether a person has paused or removed the site while nothing is to do.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Goes on with the crawl of a site.
///
/// # Errors
/// When the store, the disk or the device fails; what was committed before stays.
pub async fn crawl_site(
    pipeline: &Pipeline,
    run: CrawlRun,
    mut progress: impl FnMut(CrawlFigures),
) -> Result<CrawlEnd, IngestError> {
    let mut cancel = run.cancel.clone();
    let tally = CrawlTally::new(Instant::now());
    // Held while a group is written, which goes on when a crawl is cancelled.
    let writing = Arc::new(Mutex::new(()));
    let work = async {
        let mut crawl = Crawl::begin(pipeline, run, (tally.clone(), Arc::clone(&writing))).await?;
        crawl.go().await
    };
    let mut work = std::pin::pin!(work);
    let mut tick = tokio::time::interval(PROGRESS_INTERVAL);
    let end = loop {
        tokio::select! {
            end = &mut work => break end?,
            () = cancelled(&mut cancel) => break CrawlEnd::Interrupted,
            _ = tick.tick() => progress(tally.figures(Instant::now())),
        }
    };
    drop(writing.lock().await);
    progress(tally.figures(Instant::now()));
    Ok(end)
}

/// What came of a page.
struct Arrival {
    page: QueuedPage,
    fetched: Fetched,
    /// Whether the host answered something else afterwards, where that was in doubt.
    is_there: Option<bool>,
}

/// A crawl that is under way. Dropping it gives up what is in hand, which the store still knows of.
struct Crawl {
    key: CrawlKey,
    is_seeded: bool,
    reader: PageReader,
    fetcher: Arc<Fetcher>,
    fetches_max: usize,
    gate: Gate,
    contact: Contact,
    tally: CrawlTally,
    writing: Arc<Mutex<()>>,
    /// Taken and not begun.
    taken: VecDeque<QueuedPage>,
    /// What the store said when it was last asked for pages; `None` when it may say otherwise now.
    said: Option<Taken>,
    fetching: JoinSet<Arrival>,
    /// With the memory that each takes.
    reading: JoinSet<(u64, Result<SettledPage, IngestError>)>,
    bytes_in_hand: u64,
    ready: Vec<SettledPage>,
}

impl Crawl {
    async fn begin(
        pipeline: &Pipeline,
        run: CrawlRun,
        (tally, writing): (CrawlTally, Arc<Mutex<()>>),
    ) -> Result<Self, IngestError> {
        let CrawlRun { site, scope, fetcher, gate, patience, .. } = run;
        let key = site.crawl_key();
        let hosts = match &site.site.rules.reach {
            Reach::Hosts(hosts) => hosts.len() + 1,
            Reach::Origin | Reach::Prefix => 1,
        };
        let connections = site.site.rules.connections_max.max(1) as usize;
        let fetches_max = connections.saturating_mul(hosts).min(FETCHES_MAX);
        let store = Arc::clone(pipeline.store());
        let prepare = move || {
            // What the rules of now leave out was found by others.
            store.drop_pages(site.key, |url, depth| scope.judge(url, depth).is_ok())?;
            let links = Links::new(scope, &store.page_urls(site.key)?);
            // After trouble the host of the start is asked whether it is back.
            let is_seeded = site.is_seeded() && site.trouble.is_none();
            Ok::<_, IngestError>((links, store.crawl_totals(key)?, is_seeded))
        };
        let (links, totals, is_seeded) = spawn_blocking(prepare).await??;
        tally.begin(totals);
        let reader =
            PageReader { pipeline: pipeline.clone(), links: Arc::new(links), site: key.site };
        Ok(Self {
            key,
            is_seeded,
            reader,
            fetcher,
            fetches_max,
            gate,
            contact: Contact::new(patience),
            tally,
            writing,
            taken: VecDeque::new(),
            said: None,
            fetching: JoinSet::new(),
            reading: JoinSet::new(),
            bytes_in_hand: 0,
            ready: Vec::new(),
        })
    }

    async fn go(&mut self) -> Result<CrawlEnd, IngestError> {
        if !self.is_seeded {
            self.gate.pass().await;
            let store = self.reader.pipeline.store();
            let scope = self.reader.links.scope();
            if let Err(reason) = seed::seed(store, &self.fetcher, scope, self.key).await? {
                return Ok(CrawlEnd::Later { reason, at: None });
            }
            let (store, key) = (Arc::clone(store), self.key);
            let totals = spawn_blocking(move || store.crawl_totals(key)).await??;
            self.tally.begin(totals);
        }
        loop {
            self.begin_fetches();
            if self.is_idle()
                && let Some(end) = self.end()
            {
                return Ok(end);
            }
            let wake = self.wake();
            tokio::select! {
                () = self.gate.pass(), if self.wants_pages() => self.take().await?,
                Some(fetched) = self.fetching.join_next() => self.read(fetched?),
                Some(read) = self.reading.join_next() => self.note(read?)?,
                () = tokio::time::sleep(wake), if self.said.is_some() => self.look_again(),
            }
            if self.contact.is_lost(Instant::now()) {
                return self.lost().await;
            }
            while let Some(read) = self.reading.try_join_next() {
                self.note(read?)?;
            }
            if !self.commit().await? {
                return Ok(CrawlEnd::Outdated);
            }
        }
    }

    fn has_room(&self) -> bool {
        let limit = self.reader.pipeline.limits().memory_bytes;
        let memory = self.bytes_in_hand.saturating_mul(BYTES_PER_BYTE);
        self.fetching.len() < self.fetches_max
            && self.reading.len() < READING_MAX
            && (self.bytes_in_hand == 0 || memory < limit)
    }

    fn wants_pages(&self) -> bool {
        self.taken.is_empty() && self.said.is_none() && self.has_room()
    }

    fn is_idle(&self) -> bool {
        self.taken.is_empty() && self.fetching.is_empty() && self.reading.is_empty()
    }

    async fn take(&mut self) -> Result<(), IngestError> {
        let (store, key) = (Arc::clone(self.reader.pipeline.store()), self.key);
        let limit = self.fetches_max * 2;
        let take = move || store.take_pages(key, limit, (READERS, platform::now_seconds()));
        match spawn_blocking(take).await?? {
            Taken::Pages(pages) => self.taken.extend(pages),
            other => self.said = Some(other),
        }
        Ok(())
    }

    /// Why there is nothing to do, if it stays so.
    fn end(&self) -> Option<CrawlEnd> {
        match self.said.as_ref()? {
            Taken::Nothing => Some(CrawlEnd::Done),
            Taken::Paused => Some(CrawlEnd::Paused),
            Taken::Outdated => Some(CrawlEnd::Outdated),
            Taken::Removed => Some(CrawlEnd::Removed),
            Taken::Later(at) if *at > platform::now_seconds() + WAIT_MAX_S => {
                Some(CrawlEnd::Later { reason: self.contact.reason(), at: Some(*at) })
            }
            Taken::Later(_) | Taken::Pages(_) => None,
        }
    }

    /// How long until the store may say something else by itself.
    fn wake(&self) -> Duration {
        let Some(Taken::Later(at)) = self.said else { return LOOK_INTERVAL };
        let seconds = at.saturating_sub(platform::now_seconds()).max(0);
        Duration::from_secs(seconds as u64).min(LOOK_INTERVAL)
    }

    /// Asks the store for pages once more, unless it was not for want of pages that there were none.
    fn look_again(&mut self) {
        if matches!(self.said, Some(Taken::Later(_) | Taken::Nothing)) {
            self.said = None;
        }
    }

    fn begin_fetches(&mut self) {
        while self.has_room()
            && let Some(page) = self.taken.pop_front()
        {
            if page.attempts >= ATTEMPTS_MAX {
                self.ready.push(suspect(page));
                continue;
            }
            self.tally.in_hand(&page.url);
            let (fetcher, links) = (Arc::clone(&self.fetcher), Arc::clone(&self.reader.links));
            let span = debug_span!("fetch", url = %page.url);
            let fetch = async move {
                let request = FetchRequest {
                    url: &page.url,
                    scope: links.scope(),
                    depth: page.depth,
                    etag: page.etag.as_deref(),
                    last_modified: page.last_modified.as_deref(),
                    attempts: page.attempts,
                };
                let answer = fetcher.fetch(request).await;
                Arrival { page, fetched: answer, is_there: None }
            };
            self.fetching.spawn(fetch.instrument(span));
        }
    }

    fn read(&mut self, arrival: Arrival) {
        let Arrival { page, fetched, is_there } = arrival;
        match is_there {
            None if self.contact.would_doubt(&fetched) => {
                let (fetcher, links) = (Arc::clone(&self.fetcher), Arc::clone(&self.reader.links));
                self.fetching.spawn(async move {
                    let is_there = Some(fetcher.is_there(&page.url, links.scope()).await);
                    Arrival { page, fetched, is_there }
                });
                return;
            }
            Some(true) => self.contact.answered(Instant::now()),
            None | Some(false) => self.contact.note(&fetched, Instant::now()),
        }
        let bytes = match &fetched {
            Fetched::Page(page) => page.body.len() as u64,
            _ => 0,
        };
        self.bytes_in_hand += bytes;
        let is_doubtful = self.contact.is_doubtful();
        let settling = self.reader.clone().settle(page, fetched, is_doubtful);
        self.reading.spawn(async move { (bytes, settling.await) });
    }

    fn note(
        &mut self,
        (bytes, read): (u64, Result<SettledPage, IngestError>),
    ) -> Result<(), IngestError> {
        self.bytes_in_hand -= bytes;
        self.ready.push(read?);
        Ok(())
    }

    /// Makes what is ready visible, in one transaction; `false` when the crawl is not under way any more
    /// by these rules.
    async fn commit(&mut self) -> Result<bool, IngestError> {
        if self.ready.is_empty() {
            return Ok(true);
        }
        let ready = std::mem::take(&mut self.ready);
        let (pipeline, key) = (self.reader.pipeline.clone(), self.key);
        let writing = Arc::clone(&self.writing).lock_owned().await;
        let write = move || {
            let _writing = writing;
            pipeline.settle_pages(key, &ready, READERS)
        };
        let Some(settled) = spawn_blocking(write).await?? else { return Ok(false) };
        self.tally.settled(&settled);
        self.look_again();
        Ok(true)
    }

    /// Ends with what has come, since no more does.
    async fn lost(&mut self) -> Result<CrawlEnd, IngestError> {
        self.fetching.abort_all();
        while let Some(read) = self.reading.join_next().await {
            self.note(read?)?;
        }
        self.commit().await?;
        Ok(CrawlEnd::Later { reason: self.contact.reason(), at: None })
    }
}

/// A page that may be what ended the process.
fn suspect(page: QueuedPage) -> SettledPage {
    let reason =
        "the program ended each time it was read; the next crawl tries once more".to_owned();
    SettledPage {
        answered_by: page.url.clone(),
        url: page.url,
        answer: PageAnswer::default(),
        verdict: Verdict::Failed { reason, retry_at: None },
        links: Vec::new(),
    }
}
