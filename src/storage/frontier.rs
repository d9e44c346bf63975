//! What a crawl still has to ask for, breadth first. It outlives the process: whoever crawls the site next
//! goes on with it.

mod settle;

pub use settle::{PageAnswer, SettledPage, SettledPages, Verdict};

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};
use url::Url;

use super::site::{self, is_current};
use super::{CrawlKey, SiteKey, StorageError, Store, record};
use crate::data::{CrawlRules, Source};

/// What became of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageState {
    /// It is to be asked for. It may be searchable from an earlier crawl.
    Queued,
    /// In hand.
    Fetching,
    Indexed,
    /// A copy of another page, which is the one that is searchable.
    Duplicate,
    /// It leads to another page.
    Redirected,
    /// There is nothing to index, or it may not be.
    Skipped,
    /// It could not be had. It may be searchable from an earlier crawl.
    Failed,
    /// It is not there any more; searchable until it was missed often enough.
    Gone,
    /// More than the limit of pages.
    Beyond,
    /// A person removed it.
    Removed,
}

impl PageState {
    pub const ALL: [Self; 10] = [
        Self::Queued,
        Self::Fetching,
        Self::Indexed,
        Self::Duplicate,
        Self::Redirected,
        Self::Skipped,
        Self::Failed,
        Self::Gone,
        Self::Beyond,
        Self::Removed,
    ];

    /// The word that is stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Fetching => "fetching",
            Self::Indexed => "indexed",
            Self::Duplicate => "duplicate",
            Self::Redirected => "redirected",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Gone => "gone",
            Self::Beyond => "beyond",
            Self::Removed => "removed",
        }
    }

    pub(super) fn read(row: &Row<'_>, column: usize) -> rusqlite::Result<Self> {
        let name: String = row.get(column)?;
        let state = Self::ALL.into_iter().find(|state| state.name() == name);
        state.ok_or_else(|| record::unknown(column, &name))
    }
}

/// A page to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedPage {
    pub url: Url,
    /// Links from the start.
    pub depth: u32,
    /// Of what is stored of it.
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// How often it was begun in this crawl.
    pub attempts: u32,
}

/// What [`Store::take_pages`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// In hand from now on; at least one.
    Pages(Vec<QueuedPage>),
    /// The first that waits may be asked for at this second since the Unix epoch.
    Later(i64),
    /// No page waits, or none that the limit leaves room for.
    Nothing,
    /// By a person.
    Paused,
    /// The rules have changed, or the crawl has ended.
    Outdated,
    /// The site has gone.
    Removed,
}

/// A page that a sitemap names, with the second since the Unix epoch at which it last changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitemapPage {
    pub url: Url,
    pub lastmod: Option<i64>,
}

/// How long a page has to be older than its last visit by its sitemap: many name no more than a day.
const LASTMOD_SLACK_S: i64 = 86_400;

impl Store {
    /// The next pages of a crawl, at most `limit`, nearest to the start first and of those the first that
    /// were found. Pages that were never read before are held to the limit of the rules, those in hand
    /// counted. What was stored by another generation of the readers than this one is asked for in full.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn take_pages(
        &self,
        crawl: CrawlKey,
        limit: usize,
        (readers, now): (i64, i64),
    ) -> Result<Taken, StorageError> {
        self.write(|transaction| {
            let Some(found) = site::site(transaction, crawl.site)? else {
                return Ok(Taken::Removed);
            };
            if !is_current(transaction, crawl)? {
                return Ok(Taken::Outdated);
            }
            if found.is_paused {
                return Ok(Taken::Paused);
            }
            let room = room(transaction, crawl.site, &found.site.rules)?;
            let ready = ready(transaction, crawl.site, (room, limit), (readers, now))?;
            if ready.is_empty() {
                let later = later(transaction, crawl.site, room)?;
                return Ok(later.map_or(Taken::Nothing, Taken::Later));
            }
            let mut take = transaction.prepare_cached(
                "UPDATE pages SET state = 'fetching', attempts = attempts + 1
                 WHERE site = ?1 AND url = ?2",
            )?;
            for page in &ready {
                take.execute((crawl.site.0, page.url.as_str()))?;
            }
            Ok(Taken::Pages(ready))
        })
    }

    /// Queues what is in hand once more: the process ends in order.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn put_back_pages(&self, site: SiteKey) -> Result<(), StorageError> {
        self.write(|transaction| {
            transaction.execute(
                "UPDATE pages SET state = 'queued', attempts = max(attempts - 1, 0)
                 WHERE site = ?1 AND state = 'fetching'",
                [site.0],
            )?;
            Ok(())
        })
    }

    /// Queues what a sitemap names, one link from the start. What is stored of a page and has not changed
    /// since, as the sitemap says, need not be asked for in this crawl. Returns how many pages were new.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn seed_pages(&self, crawl: CrawlKey, pages: &[SitemapPage]) -> Result<u64, StorageError> {
        self.write(|transaction| {
            let mut found = 0;
            if !is_current(transaction, crawl)? {
                return Ok(found);
            }
            let mut settle = transaction.prepare_cached(
                "UPDATE pages SET state = 'indexed', settled_in = ?4 WHERE site = ?1 AND url = ?2
                 AND state = 'queued' AND stored AND ?3 + ?5 < fetched_at AND misses = 0
                 AND lastmod IS NOT NULL",
            )?;
            let mut note = transaction
                .prepare_cached("UPDATE pages SET lastmod = ?3 WHERE site = ?1 AND url = ?2")?;
            for SitemapPage { url, lastmod } in pages {
                found += u64::from(insert(transaction, crawl.site, url, (1, None))?);
                let (site, url) = (crawl.site.0, url.as_str());
                // Its first visit after the rules have changed is to find what it links to.
                settle.execute((site, url, lastmod, crawl.crawl, LASTMOD_SLACK_S))?;
                note.execute((site, url, lastmod))?;
            }
            Ok(found)
        })
    }

    /// Forgets the pages of a site that `is_wanted` does not hold for, with their documents; returns how
    /// many documents went. What a person removed stays noted.
    ///
    /// # Errors
    /// [`StorageError`]; then nothing was forgotten.
    pub fn drop_pages(
        &self,
        site: SiteKey,
        mut is_wanted: impl FnMut(&Url, u32) -> bool,
    ) -> Result<u64, StorageError> {
        let removed = self.write(|transaction| {
            let pages: Vec<(Url, u32)> = transaction
                .prepare_cached(
                    "SELECT url, depth FROM pages WHERE site = ?1 AND state <> 'removed' ORDER BY id",
                )?
                .query_map([site.0], |row| Ok((record::url(row, 0)?, row.get(1)?)))?
                .collect::<Result<_, _>>()?;
            let mut removed = 0;
            for (url, depth) in pages {
                if !is_wanted(&url, depth) {
                    removed += self.drop_document(transaction, site, &url)?;
                    requeue_copies(transaction, site, &url, Copies::All)?;
                    transaction
                        .prepare_cached("DELETE FROM pages WHERE site = ?1 AND url = ?2")?
                        .execute((site.0, url.as_str()))?;
                }
            }
            transaction.execute(
                "UPDATE sites SET counted =
                     (SELECT count(*) FROM pages WHERE site = sites.id AND counted) WHERE id = ?1",
                [site.0],
            )?;
            Ok(removed)
        })?;
        self.shrink_after(removed);
        Ok(removed)
    }

    /// Forgets one page for good: no crawl brings it back. Returns how many documents went, `None` when no
    /// site has it.
    ///
    /// # Errors
    /// [`StorageError`]; then nothing was forgotten.
    pub fn remove_page(&self, url: &Url) -> Result<Option<u64>, StorageError> {
        let removed = self.write(|transaction| {
            let removed = self.forget(transaction, [&Source::Web(url.clone())].into_iter())?;
            let rows = transaction
                .prepare_cached(
                    "UPDATE pages SET state = 'removed', stored = 0, content_hash = NULL,
                            etag = NULL, last_modified = NULL, reason = NULL, target = NULL
                     WHERE url = ?1",
                )?
                .execute([url.as_str()])?;
            Ok((rows > 0 || removed > 0).then_some(removed))
        })?;
        self.shrink_after(removed.unwrap_or(0));
        Ok(removed)
    }

    /// Whether one page may stand for another that names it as the one to be read, its canonical one: not
    /// when it is known not to be searchable, or names the other in its turn.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn may_stand_for(
        &self,
        site: SiteKey,
        canonical: &Url,
        page: &Url,
    ) -> Result<bool, StorageError> {
        self.read(|connection| may_stand_for(connection, site, canonical, page))
    }

    /// Forgets the document of a page if it is this site's.
    fn drop_document(
        &self,
        transaction: &Transaction<'_>,
        site: SiteKey,
        url: &Url,
    ) -> rusqlite::Result<u64> {
        let rows = transaction
            .prepare_cached(
                "UPDATE pages SET stored = 0, content_hash = NULL
                 WHERE site = ?1 AND url = ?2 AND stored",
            )?
            .execute((site.0, url.as_str()))?;
        if rows == 0 {
            return Ok(0);
        }
        let removed = self.forget(transaction, [&Source::Web(url.clone())].into_iter())?;
        site::inherit(transaction, site, url.as_str())?;
        Ok(removed)
    }
}

/// How many more pages may be read that never were.
fn room(connection: &Connection, site: SiteKey, rules: &CrawlRules) -> rusqlite::Result<u64> {
    let counted: u64 = connection
        .prepare_cached(
            "SELECT counted + (SELECT count(*) FROM pages WHERE site = sites.id
                               AND state = 'fetching' AND NOT pages.counted)
             FROM sites WHERE id = ?1",
        )?
        .query_row([site.0], |row| record::count(row, 0))?;
    Ok(rules.pages_max.saturating_sub(counted))
}

/// The pages that may be asked for now.
fn ready(
    connection: &Connection,
    site: SiteKey,
    (room, limit): (u64, usize),
    (readers, now): (i64, i64),
) -> rusqlite::Result<Vec<QueuedPage>> {
    let mut room = room;
    let mut ready = Vec::new();
    let mut statement = connection.prepare_cached(
        "SELECT url, depth, iif(is_known, etag, NULL), iif(is_known, last_modified, NULL), attempts,
                counted
         FROM (SELECT *, NOT stored OR EXISTS (SELECT 1 FROM documents WHERE documents.source = url
                                               AND readers = ?5) AS is_known
               FROM pages WHERE site = ?1 AND state = 'queued' AND next_at <= ?2
                                AND (counted OR ?3 > 0)
               ORDER BY depth, id LIMIT ?4)
         ORDER BY depth, id",
    )?;
    let values = (site.0, now, room.min(1) as i64, limit as i64, readers);
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        if !row.get::<_, bool>(5)? {
            if room == 0 {
                continue;
            }
            room -= 1;
        }
        ready.push(QueuedPage {
            url: record::url(row, 0)?,
            depth: row.get(1)?,
            etag: row.get(2)?,
            last_modified: row.get(3)?,
            attempts: row.get(4)?,
        });
    }
    Ok(ready)
}

/// When the first page that waits may be asked for.
fn later(connection: &Connection, site: SiteKey, room: u64) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT min(next_at) FROM pages
             WHERE site = ?1 AND state = 'queued' AND (counted OR ?2 > 0)",
        )?
        .query_row((site.0, room.min(1) as i64), |row| row.get(0))
}

/// Queues a page that is not known; whether it was not. One that is still queued and was found nearer to
/// the start comes nearer.
fn insert(
    transaction: &Transaction<'_>,
    site: SiteKey,
    url: &Url,
    (depth, found_by): (u32, Option<i64>),
) -> rusqlite::Result<bool> {
    let rows = transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO pages (site, url, depth, state, found_by)
             VALUES (?1, ?2, ?3, 'queued', ?4)",
        )?
        .execute((site.0, url.as_str(), depth, found_by))?;
    if rows == 0 {
        transaction
            .prepare_cached(
                "UPDATE pages SET depth = ?3
                 WHERE site = ?1 AND url = ?2 AND state = 'queued' AND depth > ?3",
            )?
            .execute((site.0, url.as_str(), depth))?;
    }
    Ok(rows > 0)
}

/// Pages that were taken for copies of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copies {
    /// Those with the same text.
    OfText,
    /// Also those that name the other as the one to be read.
    All,
}

/// Has copies of `url` read once more, since it does not stand for them any more.
fn requeue_copies(
    transaction: &Transaction<'_>,
    site: SiteKey,
    url: &Url,
    copies: Copies,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE pages SET state = 'queued', target = NULL, next_at = 0
             WHERE site = ?1 AND target = ?2 AND state = 'duplicate'
                   AND (?3 OR content_hash IS NOT NULL)",
        )?
        .execute((site.0, url.as_str(), copies == Copies::All))?;
    Ok(())
}

fn may_stand_for(
    connection: &Connection,
    site: SiteKey,
    canonical: &Url,
    page: &Url,
) -> rusqlite::Result<bool> {
    let found: Option<(PageState, Option<String>, u32)> = connection
        .prepare_cached("SELECT state, target, misses FROM pages WHERE site = ?1 AND url = ?2")?
        .query_row((site.0, canonical.as_str()), |row| {
            Ok((PageState::read(row, 0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    Ok(match found {
        None | Some((PageState::Indexed, ..)) => true,
        Some((PageState::Queued | PageState::Fetching, _, misses)) => misses == 0,
        Some((PageState::Duplicate, target, _)) => target.as_deref() != Some(page.as_str()),
        Some(_) => false,
    })
}
