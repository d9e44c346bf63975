use std::collections::BTreeMap;

use serde::Serialize;
use url::Url;

use crate::data::{CrawlRules, SiteFindings};
use crate::ingest::CrawlFigures;
use crate::storage::{PageCounts, PageState, PageView, SiteKey, StoredSite};

/// Names a site for as long as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub(super) SiteKey);

impl SiteId {
    /// The number, as JSON has it.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0.get()
    }

    /// Reads that number back.
    #[must_use]
    pub fn from_stored(number: i64) -> Self {
        Self(SiteKey::from_stored(number))
    }
}

impl Serialize for SiteId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0.get())
    }
}

/// A site as lists show it. Times are seconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteView {
    pub id: SiteId,
    pub start: Url,
    pub rules: CrawlRules,
    #[serde(flatten)]
    pub state: SiteState,
    /// How many pages are known in each state.
    pub pages: BTreeMap<PageState, u64>,
    /// Pages that are searchable.
    pub searchable: u64,
    /// Of all pages, as they were last sent.
    pub bytes: u64,
    pub added_at: i64,
    /// When the last crawl ended; `None` before the first has.
    pub last_crawl: Option<i64>,
    /// When the next begins by itself.
    pub next_crawl: Option<i64>,
    /// What `robots.txt` and the sitemaps said; `None` before they were read.
    pub findings: Option<SiteFindings>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SiteState {
    Crawling {
        /// Live; `None` while another process does it.
        figures: Option<CrawlFigures>,
    },
    /// By a person, until it is resumed.
    Paused,
    /// A crawl was interrupted; the application goes on with it, as does `lode crawl`.
    Waiting {
        /// Why it could not go on.
        reason: Option<String>,
        /// When it is tried again.
        at: Option<i64>,
    },
    Done,
}

/// Pages by a filter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageList {
    /// In all, of which `pages` are those that were asked for.
    pub total: u64,
    pub pages: Vec<PageView>,
}

impl SiteView {
    pub(super) fn of(
        stored: StoredSite,
        counts: PageCounts,
        (figures, is_elsewhere): (Option<CrawlFigures>, bool),
    ) -> Self {
        let is_open = stored.is_open();
        let state = if figures.is_some() || is_elsewhere {
            SiteState::Crawling { figures }
        } else if stored.is_paused {
            SiteState::Paused
        } else if is_open || stored.crawl == 0 {
            SiteState::Waiting { reason: stored.trouble, at: stored.next_at }
        } else {
            SiteState::Done
        };
        Self {
            id: SiteId(stored.key),
            start: stored.site.start,
            rules: stored.site.rules,
            state,
            pages: counts.by_state,
            searchable: counts.searchable,
            bytes: counts.bytes,
            added_at: stored.added_at,
            last_crawl: stored.ended_at,
            next_crawl: if is_open { None } else { stored.next_at },
            findings: stored.findings,
        }
    }
}
