//! The web sites that a person chose, and which crawl of each is under way.

use std::fs::{self, File, TryLockError};
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};

use super::{StorageError, Store, record};
use crate::data::{CrawlRules, Site, SiteFindings, Source};

/// Names a site in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteKey(pub(super) i64);

impl SiteKey {
    /// The number, as programs outside name the site.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0
    }

    /// Reads that number back.
    #[must_use]
    pub fn from_stored(number: i64) -> Self {
        Self(number)
    }
}

/// A site, and how far its crawls are. Times are seconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSite {
    pub key: SiteKey,
    pub site: Site,
    pub added_at: i64,
    /// Whether a person stopped it.
    pub is_paused: bool,
    /// The number of the last crawl; 0 before the first.
    pub crawl: u64,
    pub begun_at: Option<i64>,
    /// `None` while the crawl goes on.
    pub ended_at: Option<i64>,
    /// When a crawl that could not go on is tried again; after its end, when the next begins.
    pub next_at: Option<i64>,
    /// Why it could not go on.
    pub trouble: Option<String>,
    /// `None` before `robots.txt` was read for the first time.
    pub findings: Option<SiteFindings>,
    generation: i64,
    seeded: u64,
}

impl StoredSite {
    /// Whether a crawl was begun and has not ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.crawl > 0 && self.ended_at.is_none()
    }

    /// Whether this crawl has read `robots.txt` and the sitemaps.
    #[must_use]
    pub fn is_seeded(&self) -> bool {
        self.seeded == self.crawl
    }

    /// The crawl that is under way, by the rules of now.
    #[must_use]
    pub fn crawl_key(&self) -> CrawlKey {
        CrawlKey { site: self.key, crawl: self.crawl as i64, generation: self.generation }
    }
}

/// One crawl of a site by the rules of one time. What is done in its name is refused once the rules have
/// changed, the crawl has ended, or the site has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrawlKey {
    pub site: SiteKey,
    pub(super) crawl: i64,
    generation: i64,
}

/// Says that this process crawls a site. It goes with the handle, also when the process is killed.
#[derive(Debug)]
pub struct SiteLease {
    _file: File,
}

const COLUMNS: &str = "id, start, rules, added_at, paused, crawl, begun_at, ended_at, next_at, \
                       trouble, findings, generation, seeded";

impl Store {
    /// Remembers a site. One that is known by its start keeps its rules and pages.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn add_site(&self, site: &Site, added_at: i64) -> Result<StoredSite, StorageError> {
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO sites (start, rules, added_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (start) DO NOTHING",
                (site.start.as_str(), record::to_json(&site.rules)?, added_at),
            )?;
            let sql = format!("SELECT {COLUMNS} FROM sites WHERE start = ?1");
            transaction.query_row(&sql, [site.start.as_str()], stored_site)
        })
    }

    /// Every site, in the order in which they were added.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn sites(&self) -> Result<Vec<StoredSite>, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!("SELECT {COLUMNS} FROM sites ORDER BY id"))?
                .query_map([], stored_site)?
                .collect()
        })
    }

    /// A site; `None` when it has gone.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn site(&self, key: SiteKey) -> Result<Option<StoredSite>, StorageError> {
        self.read(|connection| site(connection, key))
    }

    /// Gives a site other rules; whether they are. Where other pages are wanted, those that have not changed
    /// are read anew as well: what they link to may be wanted now. What is not wanted any more goes with
    /// [`Store::drop_pages`].
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn set_rules(&self, key: SiteKey, rules: &CrawlRules) -> Result<bool, StorageError> {
        self.write(|transaction| {
            let Some(before) = site(transaction, key)?.map(|found| found.site.rules) else {
                return Ok(false);
            };
            if before == *rules {
                return Ok(false);
            }
            transaction.execute(
                "UPDATE sites SET rules = ?2, generation = generation + 1 WHERE id = ?1",
                (key.0, record::to_json(rules)?),
            )?;
            let wanted = |rules: &CrawlRules| {
                let CrawlRules { reach, depth_max, include, exclude, .. } = rules.clone();
                (reach, depth_max, include, exclude)
            };
            if wanted(&before) != wanted(rules) {
                transaction.execute(
                    "UPDATE pages SET etag = NULL, last_modified = NULL, lastmod = NULL
                     WHERE site = ?1",
                    [key.0],
                )?;
            }
            Ok(true)
        })
    }

    /// Stops the crawls of a site until they are resumed, in whichever process; whether there is such a
    /// site.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn pause_site(&self, key: SiteKey, paused: bool) -> Result<bool, StorageError> {
        self.write(|transaction| {
            // Whoever resumes wants it tried now.
            let sql = "UPDATE sites SET paused = ?2,
                              next_at = iif(ended_at IS NULL, NULL, next_at) WHERE id = ?1";
            Ok(transaction.execute(sql, (key.0, paused))? > 0)
        })
    }

    /// Begins a crawl, unless one is under way: every page that is known is queued again. `None` when the
    /// site has gone.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn begin_crawl(&self, key: SiteKey, now: i64) -> Result<Option<StoredSite>, StorageError> {
        self.write(|transaction| {
            let Some(found) = site(transaction, key)? else { return Ok(None) };
            if !found.is_open() {
                transaction.execute(
                    "UPDATE sites SET crawl = crawl + 1, begun_at = ?2, ended_at = NULL,
                            next_at = NULL, trouble = NULL WHERE id = ?1",
                    (key.0, now),
                )?;
                transaction.execute(
                    "UPDATE pages SET state = 'queued', attempts = 0, next_at = 0
                     WHERE site = ?1 AND state <> 'removed'",
                    [key.0],
                )?;
                transaction.execute(
                    "INSERT INTO pages (site, url, depth, state) VALUES (?1, ?2, 0, 'queued')
                     ON CONFLICT DO NOTHING",
                    (key.0, found.site.start.as_str()),
                )?;
            }
            site(transaction, key)
        })
    }

    /// Takes over a site for this process; what another one had in hand when it died is queued again.
    /// `None` while somebody has it, and when it has gone.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn adopt_site(&self, key: SiteKey) -> Result<Option<SiteLease>, StorageError> {
        let directory = |source| StorageError::Directory { path: self.site_path(key), source };
        let file = File::create(self.site_path(key)).map_err(directory)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(source)) => return Err(directory(source)),
        }
        let lease = SiteLease { _file: file };
        let adopted = self.write(|transaction| {
            if site(transaction, key)?.is_none() {
                return Ok(None);
            }
            transaction.execute(
                "UPDATE pages SET state = 'queued' WHERE site = ?1 AND state = 'fetching'",
                [key.0],
            )?;
            Ok(Some(lease))
        })?;
        if adopted.is_none() {
            let _ = fs::remove_file(self.site_path(key));
        }
        Ok(adopted)
    }

    /// Whether some process crawls a site now. Whoever is about to is kept from it for a moment by the
    /// asking, so it has to try more than once.
    #[must_use]
    pub fn is_adopted(&self, key: SiteKey) -> bool {
        let Ok(file) = File::open(self.site_path(key)) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Notes what `robots.txt` and the sitemaps said: this crawl need not read them again.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn note_findings(
        &self,
        crawl: CrawlKey,
        findings: &SiteFindings,
    ) -> Result<(), StorageError> {
        self.write(|transaction| {
            transaction.execute(
                "UPDATE sites SET findings = ?2, seeded = ?3 WHERE id = ?1 AND crawl = ?3",
                (crawl.site.0, record::to_json(findings)?, crawl.crawl),
            )?;
            Ok(())
        })
    }

    /// Ends a crawl. What is still queued is beyond the limit of pages; the next begins at `next_at`.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn end_crawl(
        &self,
        crawl: CrawlKey,
        now: i64,
        next_at: Option<i64>,
    ) -> Result<(), StorageError> {
        self.write(|transaction| {
            if !is_current(transaction, crawl)? {
                return Ok(());
            }
            transaction.execute(
                "UPDATE sites SET ended_at = ?2, next_at = ?3, trouble = NULL WHERE id = ?1",
                (crawl.site.0, now, next_at),
            )?;
            transaction.execute(
                "UPDATE pages SET state = 'beyond' WHERE site = ?1 AND state IN ('queued', 'fetching')",
                [crawl.site.0],
            )?;
            Ok(())
        })
    }

    /// Leaves a crawl as it is until `next_at`, for a reason.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn postpone_crawl(
        &self,
        crawl: CrawlKey,
        next_at: i64,
        trouble: &str,
    ) -> Result<(), StorageError> {
        self.write(|transaction| {
            transaction.execute(
                "UPDATE sites SET next_at = ?3, trouble = ?4
                 WHERE id = ?1 AND crawl = ?2 AND ended_at IS NULL",
                (crawl.site.0, crawl.crawl, next_at, trouble),
            )?;
            Ok(())
        })
    }

    /// A crawl that was postponed goes on.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn forget_trouble(&self, crawl: CrawlKey) -> Result<(), StorageError> {
        self.write(|transaction| {
            transaction.execute(
                "UPDATE sites SET next_at = NULL, trouble = NULL
                 WHERE id = ?1 AND crawl = ?2 AND ended_at IS NULL AND trouble IS NOT NULL",
                (crawl.site.0, crawl.crawl),
            )?;
            Ok(())
        })
    }

    /// Forgets a site with its pages and their documents, in one transaction; returns how many documents
    /// there were, and `None` when it was not known. A page that another site has as well is that site's
    /// from now on, as soon as it was read for it.
    ///
    /// # Errors
    /// [`StorageError`]; then nothing was forgotten.
    pub fn remove_site(&self, key: SiteKey) -> Result<Option<u64>, StorageError> {
        let removed = self.write(|transaction| {
            let pages: Vec<Source> = transaction
                .prepare_cached("SELECT url FROM pages WHERE site = ?1 AND stored")?
                .query_map([key.0], |row| record::source(row, 0))?
                .collect::<Result<_, _>>()?;
            let removed = self.forget(transaction, pages.iter())?;
            for page in &pages {
                inherit(transaction, key, &page.key())?;
            }
            let rows = transaction.execute("DELETE FROM sites WHERE id = ?1", [key.0])?;
            Ok((rows > 0).then_some(removed))
        })?;
        let _ = fs::remove_file(self.site_path(key));
        self.shrink_after(removed.unwrap_or(0));
        Ok(removed)
    }

    fn site_path(&self, key: SiteKey) -> PathBuf {
        self.data_dir().join(format!("site-{}.lock", key.0))
    }
}

/// Lets other sites read a page whose document has gone with `gone`: a crawl of theirs that has ended goes
/// on with it.
pub(super) fn inherit(
    transaction: &Transaction<'_>,
    gone: SiteKey,
    url: &str,
) -> rusqlite::Result<()> {
    let mut heirs = transaction.prepare_cached(
        "UPDATE pages SET state = 'queued', etag = NULL, last_modified = NULL, content_hash = NULL
         WHERE url = ?1 AND site <> ?2 AND state = 'indexed' AND NOT stored RETURNING site",
    )?;
    let heirs: Vec<i64> =
        heirs.query_map((url, gone.0), |row| row.get(0))?.collect::<Result<_, _>>()?;
    for heir in heirs {
        transaction
            .prepare_cached("UPDATE sites SET ended_at = NULL, next_at = NULL WHERE id = ?1")?
            .execute([heir])?;
    }
    Ok(())
}

pub(super) fn site(connection: &Connection, key: SiteKey) -> rusqlite::Result<Option<StoredSite>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM sites WHERE id = ?1"))?
        .query_row([key.0], stored_site)
        .optional()
}

/// Whether a crawl is under way by the rules of now.
pub(super) fn is_current(connection: &Connection, crawl: CrawlKey) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM sites WHERE id = ?1 AND crawl = ?2 AND generation = ?3
                            AND ended_at IS NULL)",
        )?
        .query_row((crawl.site.0, crawl.crawl, crawl.generation), |row| row.get(0))
}

fn stored_site(row: &Row<'_>) -> rusqlite::Result<StoredSite> {
    Ok(StoredSite {
        key: SiteKey(row.get(0)?),
        site: Site { start: record::url(row, 1)?, rules: record::from_json(row, 2)? },
        added_at: row.get(3)?,
        is_paused: row.get(4)?,
        crawl: record::count(row, 5)?,
        begun_at: row.get(6)?,
        ended_at: row.get(7)?,
        next_at: row.get(8)?,
        trouble: row.get(9)?,
        findings: record::from_optional_json(row, 10)?,
        generation: row.get(11)?,
        seeded: record::count(row, 12)?,
    })
}
