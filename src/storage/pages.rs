//! The pages of a site, for whoever looks at them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use rusqlite::types::Value;
use rusqlite::{Connection, Row};
use url::Url;

use super::{CrawlKey, PageState, SiteKey, StorageError, Store, record};

/// A page as lists show it, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PageView {
    pub url: Url,
    /// Of the document, where there is one.
    pub title: Option<String>,
    /// Links from the start.
    pub depth: u32,
    pub state: PageState,
    /// For people: why it is not searchable, or could not be had the last time.
    pub reason: Option<String>,
    /// Where a redirect leads, or which page it is a copy of.
    pub target: Option<Url>,
    /// HTTP, of the last answer.
    pub status: Option<u16>,
    pub bytes: u64,
    /// Seconds since the Unix epoch.
    pub fetched_at: Option<i64>,
    /// The page with the first link to it; `None` for the start and what a sitemap names.
    pub found_by: Option<Url>,
    /// Whether it is searchable, whatever became of it in the last crawl.
    pub is_searchable: bool,
}

/// Which pages to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageFilter {
    /// In one of these states; all without any.
    pub states: Vec<PageState>,
    /// With this in their address, upper and lower case alike.
    pub containing: String,
}

/// The pages of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageCounts {
    pub by_state: BTreeMap<PageState, u64>,
    /// Of all pages, as they were last sent.
    pub bytes: u64,
    /// Pages that are searchable, whatever their state.
    pub searchable: u64,
}

/// How far one crawl is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrawlTotals {
    /// Pages that came to their end in it, whichever it was.
    pub done: u64,
    pub indexed: u64,
    pub unchanged: u64,
    pub failed: u64,
    /// Pages that are still to be asked for, with those in hand.
    pub queued: u64,
    pub bytes: u64,
}

/// What one crawl came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrawlCounts {
    /// Pages that are new or have changed.
    pub indexed: u64,
    pub unchanged: u64,
    /// Copies and redirects.
    pub aliases: u64,
    /// Pages that the limit left out.
    pub beyond: u64,
    pub failed: Vec<(Url, String)>,
    pub skipped: Vec<(Url, String)>,
}

impl Store {
    /// Pages of a site in the order in which they were found, and how many there are in all.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn pages(
        &self,
        site: SiteKey,
        filter: &PageFilter,
        range: Range<u64>,
    ) -> Result<(Vec<PageView>, u64), StorageError> {
        let (condition, mut values) = condition(site, filter);
        let count = format!("SELECT count(*) FROM pages AS page WHERE {condition}");
        let list = format!(
            "SELECT page.url, documents.title, page.depth, page.state, page.reason, page.target,
                    page.status, page.bytes, page.fetched_at, finder.url, page.stored OR
                    (page.state = 'indexed' AND documents.id IS NOT NULL)
             FROM pages AS page LEFT JOIN pages AS finder ON finder.id = page.found_by
             LEFT JOIN documents ON documents.source = page.url
             WHERE {condition} ORDER BY page.id LIMIT ? OFFSET ?"
        );
        self.read(|connection| {
            let total = connection
                .prepare_cached(&count)?
                .query_row(rusqlite::params_from_iter(&values), |row| record::count(row, 0))?;
            let limit = range.end.saturating_sub(range.start);
            values.extend([Value::Integer(limit as i64), Value::Integer(range.start as i64)]);
            let pages = connection
                .prepare_cached(&list)?
                .query_map(rusqlite::params_from_iter(&values), stored_page)?
                .collect::<Result<_, _>>()?;
            Ok((pages, total))
        })
    }

    /// How many pages a site has in each state.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn page_counts(&self, site: SiteKey) -> Result<PageCounts, StorageError> {
        self.read(|connection| {
            let mut counts = PageCounts::default();
            let mut statement = connection.prepare_cached(
                "SELECT state, count(*), sum(bytes), sum(stored) FROM pages
                 WHERE site = ?1 GROUP BY state",
            )?;
            let mut rows = statement.query([site.0])?;
            while let Some(row) = rows.next()? {
                counts.by_state.insert(PageState::read(row, 0)?, record::count(row, 1)?);
                counts.bytes += record::count(row, 2)?;
                counts.searchable += record::count(row, 3)?;
            }
            Ok(counts)
        })
    }

    /// The address of every page of a site, in the order in which they were found.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn page_urls(&self, site: SiteKey) -> Result<Vec<Url>, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT url FROM pages WHERE site = ?1 ORDER BY id")?
                .query_map([site.0], |row| record::url(row, 0))?
                .collect()
        })
    }

    /// How far a crawl is.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn crawl_totals(&self, crawl: CrawlKey) -> Result<CrawlTotals, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT count(*) FILTER (WHERE settled_in = ?2),
                            count(*) FILTER (WHERE settled_in = ?2 AND state = 'indexed'
                                             AND stored_in = ?2),
                            count(*) FILTER (WHERE settled_in = ?2 AND state = 'indexed'
                                             AND stored_in < ?2),
                            count(*) FILTER (WHERE settled_in = ?2 AND state = 'failed'),
                            count(*) FILTER (WHERE state IN ('queued', 'fetching')),
                            coalesce(sum(bytes) FILTER (WHERE settled_in = ?2), 0)
                     FROM pages WHERE site = ?1",
                )?
                .query_row((crawl.site.0, crawl.crawl), |row| {
                    Ok(CrawlTotals {
                        done: record::count(row, 0)?,
                        indexed: record::count(row, 1)?,
                        unchanged: record::count(row, 2)?,
                        failed: record::count(row, 3)?,
                        queued: record::count(row, 4)?,
                        bytes: record::count(row, 5)?,
                    })
                })
        })
    }

    /// What a crawl came to so far.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn crawl_counts(&self, crawl: CrawlKey) -> Result<CrawlCounts, StorageError> {
        self.read(|connection| {
            let mut counts = connection
                .prepare_cached(
                    "SELECT count(*) FILTER (WHERE state = 'indexed' AND stored_in = ?2),
                            count(*) FILTER (WHERE state = 'indexed' AND stored_in < ?2),
                            count(*) FILTER (WHERE state IN ('duplicate', 'redirected'))
                     FROM pages WHERE site = ?1 AND settled_in = ?2",
                )?
                .query_row((crawl.site.0, crawl.crawl), |row| {
                    Ok(CrawlCounts {
                        indexed: record::count(row, 0)?,
                        unchanged: record::count(row, 1)?,
                        aliases: record::count(row, 2)?,
                        ..CrawlCounts::default()
                    })
                })?;
            counts.beyond = connection
                .prepare_cached("SELECT count(*) FROM pages WHERE site = ?1 AND state = 'beyond'")?
                .query_row([crawl.site.0], |row| record::count(row, 0))?;
            counts.failed = reasons(connection, crawl, "'failed', 'gone'")?;
            counts.skipped = reasons(connection, crawl, "'skipped'")?;
            Ok(counts)
        })
    }
}

fn reasons(
    connection: &Connection,
    crawl: CrawlKey,
    states: &str,
) -> rusqlite::Result<Vec<(Url, String)>> {
    connection
        .prepare_cached(&format!(
            "SELECT url, coalesce(reason, '') FROM pages
             WHERE site = ?1 AND settled_in = ?2 AND state IN ({states}) ORDER BY url"
        ))?
        .query_map((crawl.site.0, crawl.crawl), |row| Ok((record::url(row, 0)?, row.get(1)?)))?
        .collect()
}

fn condition(site: SiteKey, filter: &PageFilter) -> (String, Vec<Value>) {
    let mut condition = "page.site = ?".to_owned();
    let mut values = vec![Value::Integer(site.0)];
    if !filter.states.is_empty() {
        let states: Vec<_> =
            filter.states.iter().map(|state| format!("'{}'", state.name())).collect();
        let _ = write!(condition, " AND page.state IN ({})", states.join(", "));
    }
    if !filter.containing.is_empty() {
        condition += " AND instr(lower(page.url), ?) > 0";
        values.push(Value::Text(filter.containing.to_lowercase()));
    }
    (condition, values)
}

fn stored_page(row: &Row<'_>) -> rusqlite::Result<PageView> {
    Ok(PageView {
        url: record::url(row, 0)?,
        title: row.get(1)?,
        depth: row.get(2)?,
        state: PageState::read(row, 3)?,
        reason: row.get(4)?,
        target: record::optional_url(row, 5)?,
        status: row.get(6)?,
        bytes: record::count(row, 7)?,
        fetched_at: row.get(8)?,
        found_by: record::optional_url(row, 9)?,
        is_searchable: row.get(10)?,
    })
}
