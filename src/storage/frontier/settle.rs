//! What a crawl found out about pages, in one transaction with their documents and the links on them.

use rusqlite::{OptionalExtension as _, Transaction};
use url::Url;

use super::{Copies, PageState, insert, may_stand_for, requeue_copies};
use crate::data::{ContentHash, EmbeddedDocument};
use crate::storage::model::model_in_use;
use crate::storage::record::{self, id_value};
use crate::storage::site::is_current;
use crate::storage::{CrawlKey, EmbeddingModel, ModelKey, StorageError, Store, write};

/// A page that is not there in so many crawls in a row has gone.
const MISSES_MAX: u32 = 3;

/// What became of one page that was in hand.
#[derive(Clone, Debug, PartialEq)]
pub struct SettledPage {
    /// As it was taken.
    pub url: Url,
    /// Where redirects led, `url` itself without any.
    pub answered_by: Url,
    pub answer: PageAnswer,
    pub verdict: Verdict,
    /// Pages that it links to and that are wanted, in their order.
    pub links: Vec<Url>,
}

/// What a server said about a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageAnswer {
    /// HTTP.
    pub status: Option<u16>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Of the body, as it was sent.
    pub bytes: u64,
    /// Whether it counts against the limit of pages: there was a body to be read.
    pub is_counted: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The source of the document is where the answer came from; `text` tells copies of it.
    Indexed { document: Box<EmbeddedDocument>, text: ContentHash },
    /// What is stored of it is what it holds now.
    Unchanged,
    /// It names another page as the one to be read.
    CopyOf(Url),
    /// There is nothing to index, or it may not be. What was indexed of it goes with `is_outdated`.
    Skipped { reason: String, is_outdated: bool },
    /// The server says that it is not there.
    Gone { reason: String },
    /// It could not be had. It is tried again in this crawl at `retry_at`, if there is one.
    Failed { reason: String, retry_at: Option<i64> },
    /// It was not asked for, and may be at `retry_at`.
    Later { reason: String, retry_at: i64 },
}

/// What a group of pages came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SettledPages {
    /// Pages that are new or have changed.
    pub indexed: u64,
    pub unchanged: u64,
    /// Pages that failed and are not tried again in this crawl.
    pub failed: u64,
    /// Others that came to their end in this crawl.
    pub others: u64,
    /// Documents that went.
    pub removed: u64,
    /// Pages that were not known before.
    pub found: u64,
    pub bytes: u64,
}

impl Store {
    /// Stores what became of pages in hand: documents with their vectors, the rows of the pages, and the
    /// links on them, in one transaction. A page is a copy where its text is that of another page of the
    /// site. `None` when the crawl is not under way any more by the same rules; then nothing was stored.
    ///
    /// # Errors
    /// [`StorageError::ModelChanged`] when `model` is not the one in use any more; then, and with every
    /// other error, nothing was stored.
    pub fn settle_pages(
        &self,
        (crawl, model): (CrawlKey, &EmbeddingModel),
        pages: &[SettledPage],
        readers: i64,
        now: i64,
    ) -> Result<Option<SettledPages>, StorageError> {
        for page in pages {
            if let Verdict::Indexed { document, .. } = &page.verdict {
                self.check_documents(model, std::slice::from_ref(document))?;
            }
        }
        let settled = self.write(|transaction| {
            if !is_current(transaction, crawl)? {
                return Ok(Some(None));
            }
            let in_use = model_in_use(transaction)?.filter(|in_use| in_use.model == *model);
            let is_document = |page: &SettledPage| matches!(page.verdict, Verdict::Indexed { .. });
            if in_use.is_none() && pages.iter().any(is_document) {
                return Ok(None);
            }
            let mut settling = Settling {
                store: self,
                transaction,
                crawl,
                readers,
                now,
                model: in_use.map(|in_use| in_use.key),
                sum: SettledPages::default(),
            };
            for page in pages {
                settling.page(page)?;
            }
            Ok(Some(Some(settling.sum)))
        })?;
        let settled =
            settled.ok_or_else(|| StorageError::ModelChanged { model: model.name.clone() })?;
        self.shrink_after(settled.map_or(0, |settled| settled.removed));
        Ok(settled)
    }
}

/// What is known of a page.
#[derive(Clone, Debug)]
struct Row {
    id: i64,
    depth: u32,
    state: PageState,
    misses: u32,
    is_stored: bool,
    is_counted: bool,
    content_hash: Option<ContentHash>,
}

/// What is written of a page when it comes to its end in this crawl, or is put off.
struct Entry<'a> {
    state: PageState,
    reason: Option<&'a str>,
    target: Option<&'a Url>,
    content_hash: Option<ContentHash>,
    misses: u32,
    document: Kept,
    /// Whether it is asked for by what was known of it.
    keeps_validators: bool,
    is_attempt: bool,
    retry_at: i64,
}

/// What becomes of the document of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// There is none of this site's, or it goes.
    No,
    /// As it is.
    Before,
    /// It was just stored.
    New,
}

impl Kept {
    fn if_so(is_stored: bool) -> Self {
        if is_stored { Self::Before } else { Self::No }
    }
}

impl Entry<'_> {
    fn of(state: PageState) -> Self {
        Self {
            state,
            reason: None,
            target: None,
            content_hash: None,
            misses: 0,
            document: Kept::No,
            keeps_validators: false,
            is_attempt: true,
            retry_at: 0,
        }
    }

    /// What is stored of a page stays as it is.
    fn keeping(state: PageState, row: &Row) -> Self {
        Self {
            content_hash: row.content_hash,
            misses: row.misses,
            document: Kept::if_so(row.is_stored),
            keeps_validators: true,
            ..Self::of(state)
        }
    }
}

/// Nothing is stored of the page, so that it has not changed would say nothing.
fn without_validators(answer: &PageAnswer) -> PageAnswer {
    PageAnswer { etag: None, last_modified: None, ..answer.clone() }
}

struct Settling<'a> {
    store: &'a Store,
    transaction: &'a Transaction<'a>,
    crawl: CrawlKey,
    readers: i64,
    now: i64,
    /// There is one where there are documents.
    model: Option<ModelKey>,
    sum: SettledPages,
}

impl Settling<'_> {
    fn page(&mut self, page: &SettledPage) -> rusqlite::Result<()> {
        let Some(asked) = self.row(&page.url)?.filter(|row| row.state == PageState::Fetching)
        else {
            return Ok(());
        };
        self.sum.bytes += page.answer.bytes;
        let (url, subject) = if page.answered_by == page.url {
            (&page.url, asked)
        } else {
            let target = Some(&page.answered_by);
            let entry = Entry { target, ..Entry::of(PageState::Redirected) };
            self.end(&page.url, &asked, &PageAnswer::default(), &entry)?;
            self.sum.others += 1;
            let from = (asked.depth, Some(asked.id));
            self.sum.found +=
                u64::from(insert(self.transaction, self.crawl.site, &page.answered_by, from)?);
            // It may be in hand itself, or have been read already.
            let answered = self
                .row(&page.answered_by)?
                .filter(|row| matches!(row.state, PageState::Queued | PageState::Beyond));
            let Some(answered) = answered else { return Ok(()) };
            (&page.answered_by, answered)
        };
        self.verdict(url, &subject, page)?;
        for link in &page.links {
            let from = (subject.depth.saturating_add(1), Some(subject.id));
            self.sum.found += u64::from(insert(self.transaction, self.crawl.site, link, from)?);
        }
        Ok(())
    }

    fn verdict(&mut self, url: &Url, row: &Row, page: &SettledPage) -> rusqlite::Result<()> {
        let answer = &page.answer;
        match &page.verdict {
            Verdict::Indexed { document, text } => {
                self.indexed(url, row, (answer, document, *text))
            }
            Verdict::Unchanged if row.is_stored => {
                self.sum.unchanged += 1;
                let entry = Entry { misses: 0, ..Entry::keeping(PageState::Indexed, row) };
                self.end(url, row, answer, &entry)
            }
            // Another site has the document.
            Verdict::Unchanged => self.elsewhere(url, row, answer),
            Verdict::CopyOf(canonical) => {
                let site = self.crawl.site;
                let (transaction, from) = (self.transaction, (row.depth, Some(row.id)));
                self.sum.found += u64::from(insert(transaction, site, canonical, from)?);
                if !may_stand_for(transaction, site, canonical, url)? {
                    // It turned out so while this page was read.
                    return self.end(url, row, answer, &Entry::keeping(PageState::Queued, row));
                }
                self.copy(url, row, answer, (canonical, None))
            }
            Verdict::Skipped { reason, is_outdated } => {
                self.sum.others += 1;
                let document = Kept::if_so(row.is_stored && !is_outdated);
                let entry =
                    Entry { reason: Some(reason), document, ..Entry::of(PageState::Skipped) };
                self.end(url, row, &without_validators(answer), &entry)
            }
            Verdict::Gone { reason } => {
                self.sum.others += 1;
                let misses = row.misses + 1;
                let document = Kept::if_so(row.is_stored && misses < MISSES_MAX);
                let kept = Entry::keeping(PageState::Gone, row);
                let entry = Entry { reason: Some(reason), misses, document, ..kept };
                self.end(url, row, answer, &entry)
            }
            Verdict::Failed { reason, retry_at } => {
                let state = if retry_at.is_some() { PageState::Queued } else { PageState::Failed };
                self.sum.failed += u64::from(retry_at.is_none());
                let (reason, retry_at) = (Some(reason.as_str()), retry_at.unwrap_or(0));
                let entry = Entry { reason, retry_at, ..Entry::keeping(state, row) };
                self.end(url, row, answer, &entry)
            }
            Verdict::Later { reason, retry_at } => {
                let (reason, retry_at) = (Some(reason.as_str()), *retry_at);
                let kept = Entry::keeping(PageState::Queued, row);
                let entry = Entry { reason, retry_at, is_attempt: false, ..kept };
                self.end(url, row, answer, &entry)
            }
        }
    }

    fn indexed(
        &mut self,
        url: &Url,
        row: &Row,
        (answer, document, text): (&PageAnswer, &EmbeddedDocument, ContentHash),
    ) -> rusqlite::Result<()> {
        if let Some(original) = self.original(url, text)? {
            return self.copy(url, row, answer, (&original, Some(text)));
        }
        if !row.is_stored && self.is_of_another_site(url)? {
            return self.elsewhere(url, row, answer);
        }
        if let Some(model) = self.model {
            write::commit(self.transaction, model, vec![document], self.now)?;
        }
        self.transaction
            .prepare_cached("UPDATE documents SET readers = ?2 WHERE id = ?1")?
            .execute((id_value(document.document.id), self.readers))?;
        self.sum.indexed += 1;
        let entry = Entry {
            content_hash: Some(text),
            document: Kept::New,
            ..Entry::of(PageState::Indexed)
        };
        self.end(url, row, answer, &entry)
    }

    /// The page is searchable as one of another site.
    fn elsewhere(&mut self, url: &Url, row: &Row, answer: &PageAnswer) -> rusqlite::Result<()> {
        self.sum.unchanged += 1;
        let reason = Some("it is searchable as a page of another site");
        let entry = Entry { reason, ..Entry::of(PageState::Indexed) };
        self.end(url, row, answer, &entry)
    }

    fn copy(
        &mut self,
        url: &Url,
        row: &Row,
        answer: &PageAnswer,
        (original, content_hash): (&Url, Option<ContentHash>),
    ) -> rusqlite::Result<()> {
        self.sum.others += 1;
        // It is read in full by every crawl: the other may have changed when this one has not.
        let answer = without_validators(answer);
        let target = Some(original);
        let entry = Entry { target, content_hash, ..Entry::of(PageState::Duplicate) };
        self.end(url, row, &answer, &entry)
    }

    /// Writes what became of a page. Its document goes with it unless the entry keeps or has replaced it,
    /// and what was taken for its copy is read anew when it does not hold the same any more.
    fn end(
        &mut self,
        url: &Url,
        row: &Row,
        answer: &PageAnswer,
        entry: &Entry<'_>,
    ) -> rusqlite::Result<()> {
        let (transaction, site) = (self.transaction, self.crawl.site);
        let is_stored = entry.document != Kept::No;
        if row.is_stored && !is_stored {
            self.sum.removed += self.store.drop_document(transaction, site, url)?;
        }
        let is_counted = row.is_counted || answer.is_counted;
        let is_over = entry.state != PageState::Queued;
        transaction
            .prepare_cached(
                "UPDATE pages SET state = ?3, reason = ?4, target = ?5, status = ?6,
                        etag = iif(?7, coalesce(?8, etag), ?8),
                        last_modified = iif(?7, coalesce(?9, last_modified), ?9),
                        content_hash = ?10, bytes = iif(?11 > 0, ?11, iif(?12, bytes, 0)),
                        stored = ?12, misses = ?13, next_at = ?14, counted = ?15,
                        fetched_at = iif(?3 IN ('queued', 'failed'), fetched_at, ?16),
                        settled_in = iif(?17, ?18, settled_in),
                        stored_in = iif(?19, ?18, stored_in),
                        attempts = iif(?20, attempts, max(attempts - 1, 0))
                 WHERE site = ?1 AND url = ?2",
            )?
            .execute(rusqlite::params![
                site.0,
                url.as_str(),
                entry.state.name(),
                entry.reason,
                entry.target.map(Url::as_str),
                answer.status,
                entry.keeps_validators,
                answer.etag,
                answer.last_modified,
                entry.content_hash.map(|hash| hash.0),
                answer.bytes as i64,
                is_stored,
                entry.misses,
                entry.retry_at,
                is_counted,
                self.now,
                is_over,
                self.crawl.crawl,
                entry.document == Kept::New,
                entry.is_attempt,
            ])?;
        if is_counted && !row.is_counted {
            transaction
                .prepare_cached("UPDATE sites SET counted = counted + 1 WHERE id = ?1")?
                .execute([site.0])?;
        }
        let is_another_text = row.is_stored && row.content_hash != entry.content_hash;
        match entry.state {
            PageState::Indexed if is_another_text => {
                requeue_copies(transaction, site, url, Copies::OfText)
            }
            PageState::Duplicate if row.is_stored => {
                requeue_copies(transaction, site, url, Copies::OfText)
            }
            PageState::Queued | PageState::Indexed | PageState::Duplicate => Ok(()),
            _ if is_stored => Ok(()),
            _ => requeue_copies(transaction, site, url, Copies::All),
        }
    }

    fn row(&self, url: &Url) -> rusqlite::Result<Option<Row>> {
        self.transaction
            .prepare_cached(
                "SELECT id, depth, state, misses, stored, counted, content_hash
                 FROM pages WHERE site = ?1 AND url = ?2",
            )?
            .query_row((self.crawl.site.0, url.as_str()), |row| {
                Ok(Row {
                    id: row.get(0)?,
                    depth: row.get(1)?,
                    state: PageState::read(row, 2)?,
                    misses: row.get(3)?,
                    is_stored: row.get(4)?,
                    is_counted: row.get(5)?,
                    content_hash: row.get::<_, Option<_>>(6)?.map(ContentHash),
                })
            })
            .optional()
    }

    /// The searchable page of the site with this text.
    fn original(&self, url: &Url, text: ContentHash) -> rusqlite::Result<Option<Url>> {
        self.transaction
            .prepare_cached(
                "SELECT url FROM pages WHERE site = ?1 AND content_hash = ?2 AND stored AND url <> ?3
                 ORDER BY id LIMIT 1",
            )?
            .query_row((self.crawl.site.0, text.0, url.as_str()), |row| record::url(row, 0))
            .optional()
    }

    fn is_of_another_site(&self, url: &Url) -> rusqlite::Result<bool> {
        self.transaction
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM pages WHERE url = ?1 AND site <> ?2 AND stored)",
            )?
            .query_row((url.as_str(), self.crawl.site.0), |row| row.get(0))
    }
}
