//! One page, from what the server said to what is stored of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;
use tracing::debug_span;
use url::Url;

use super::links::Links;
use crate::crawler::{Fetched, FetchedPage};
use crate::data::{ChunkedDocument, ContentHash};
use crate::extract::{PageHints, ReadPage};
use crate::gpu::Priority;
use crate::ingest::read::READERS;
use crate::ingest::{IngestError, Pipeline};
use crate::platform;
use crate::storage::{PageAnswer, QueuedPage, SettledPage, SiteKey, Verdict};
use crate::telemetry::Stage;

/// A page that failed so often in one crawl is left to the next.
const FAILURES_MAX: u32 = 3;

/// A page that was in hand so often when the process ended may be what ended it.
pub(super) const ATTEMPTS_MAX: u32 = 8;

/// What reading a page needs.
#[derive(Clone, Debug)]
pub(super) struct PageReader {
    pub pipeline: Pipeline,
    pub links: Arc<Links>,
    pub site: SiteKey,
}

/// What was read of a page, before embedding.
enum Read {
    Settled(Verdict),
    Chunked(Box<ChunkedDocument>, ContentHash),
}

impl PageReader {
    /// Reads, chunks and embeds what came of a page. With `is_doubtful` a failure says nothing about the
    /// page.
    ///
    /// # Errors
    /// When the store or the device fails.
    pub(super) async fn settle(
        self,
        page: QueuedPage,
        fetched: Fetched,
        is_doubtful: bool,
    ) -> Result<SettledPage, IngestError> {
        let now = platform::now_seconds();
        let at = |after: Duration| now.saturating_add_unsigned(after.as_secs() + 1);
        let answer = |status| PageAnswer { status, ..PageAnswer::default() };
        let (answer, verdict) = match fetched {
            Fetched::Page(fetched) => return self.read(page, *fetched).await,
            Fetched::NotModified { etag, last_modified, .. } => {
                let answer = PageAnswer { etag, last_modified, ..answer(Some(304)) };
                (answer, Verdict::Unchanged)
            }
            Fetched::Gone { status } => {
                let reason = format!("the server says that it is not there ({status})");
                (answer(Some(status)), Verdict::Gone { reason })
            }
            Fetched::Refused { because, .. } => {
                let reason = because.to_string();
                (answer(None), Verdict::Skipped { reason, is_outdated: false })
            }
            Fetched::Failed { reason, status: None, retry_after } if is_doubtful => {
                (answer(None), Verdict::Later { reason, retry_at: at(retry_after) })
            }
            Fetched::Failed { reason, status, retry_after } => {
                let is_last = page.attempts + 1 >= FAILURES_MAX;
                let retry_at = (!is_last).then(|| at(retry_after));
                (answer(status), Verdict::Failed { reason, retry_at })
            }
            Fetched::Later { reason, after } => {
                (answer(None), Verdict::Later { reason, retry_at: at(after) })
            }
        };
        let answered_by = page.url.clone();
        Ok(SettledPage { url: page.url, answered_by, answer, verdict, links: Vec::new() })
    }

    async fn read(
        self,
        page: QueuedPage,
        mut fetched: FetchedPage,
    ) -> Result<SettledPage, IngestError> {
        let answer = PageAnswer {
            status: Some(fetched.status),
            etag: fetched.etag.take(),
            last_modified: fetched.last_modified.take(),
            bytes: fetched.sent_bytes,
            is_counted: true,
        };
        let answered_by = fetched.url.clone();
        let (reader, depth) = (self.clone(), page.depth);
        let reading = spawn_blocking(move || {
            let started = Instant::now();
            let read = reader.read_here(fetched, depth);
            reader.pipeline.recorder().record(Stage::IngestRead, started.elapsed());
            read
        });
        let (read, links) = match reading.await {
            Ok(read) => read?,
            Err(crash) if crash.is_panic() => {
                let reason = "its reader crashed; please report the page's format".to_owned();
                (Read::Settled(Verdict::Failed { reason, retry_at: None }), Vec::new())
            }
            Err(error) => return Err(error.into()),
        };
        let verdict = match read {
            Read::Settled(verdict) => verdict,
            Read::Chunked(chunked, text) => self.embed(*chunked, text).await?,
        };
        Ok(SettledPage { url: page.url, answered_by, answer, verdict, links })
    }

    /// Heavy on the CPU: for a blocking pool.
    fn read_here(&self, fetched: FetchedPage, depth: u32) -> Result<(Read, Vec<Url>), IngestError> {
        let _span =
            debug_span!("read_page", url = %fetched.url, bytes = fetched.body.len()).entered();
        let FetchedPage { url, body, content_type, charset, modified, x_robots, canonical, .. } =
            fetched;
        let hints = PageHints { content_type, charset };
        let readers = self.pipeline.readers();
        let ReadPage { head, document } = readers.read_page(url.clone(), body, hints, modified);
        let is_closed = head.nofollow || x_robots.nofollow;
        let links = if is_closed { Vec::new() } else { self.links.wanted(&head, depth) };
        let skipped =
            |reason: String| Read::Settled(Verdict::Skipped { reason, is_outdated: true });
        if head.noindex || x_robots.noindex {
            return Ok((skipped("the page asks not to be found by a search".to_owned()), links));
        }
        let canonical = canonical.or(head.canonical);
        if let Some(canonical) = canonical.and_then(|named| self.links.one(&named, depth))
            && canonical != url
            && self.pipeline.store().may_stand_for(self.site, &canonical, &url)?
        {
            return Ok((Read::Settled(Verdict::CopyOf(canonical)), links));
        }
        let read = match document {
            Ok(document)
                if self.pipeline.store().holds(
                    &document.source,
                    document.content_hash,
                    READERS,
                )? =>
            {
                Read::Settled(Verdict::Unchanged)
            }
            Ok(document) => {
                let text = ContentHash::of(document.text.as_bytes());
                Read::Chunked(Box::new(self.pipeline.chunk(document)?), text)
            }
            Err(unreadable) if unreadable.is_of_the_file() => skipped(unreadable.to_string()),
            Err(trouble) => {
                let reason = trouble.to_string();
                Read::Settled(Verdict::Failed { reason, retry_at: None })
            }
        };
        Ok((read, links))
    }

    async fn embed(
        &self,
        chunked: ChunkedDocument,
        text: ContentHash,
    ) -> Result<Verdict, IngestError> {
        let planned = self.pipeline.plan(chunked).await?;
        match self.pipeline.embed(planned, Priority::Background, None).await {
            Ok((embedded, _)) => Ok(Verdict::Indexed { document: Box::new(embedded), text }),
            Err(error) => {
                let reason = error.of_the_document()?.to_string();
                Ok(Verdict::Failed { reason, retry_at: None })
            }
        }
    }
}
