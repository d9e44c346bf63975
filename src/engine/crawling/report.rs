use serde::Serialize;

use crate::ingest::CrawlEnd;
use crate::storage::CrawlCounts;

/// What a crawl did, also before it was interrupted: the JSON of `lode crawl --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrawlReport {
    /// Pages that are new or have changed, and are searchable.
    pub pages: u64,
    pub unchanged: u64,
    /// Copies of other pages, and addresses that lead to others.
    pub copies: u64,
    /// Pages that could not be had.
    pub failed: Vec<PageTrouble>,
    /// Pages that hold nothing to index, or may not be.
    pub skipped: Vec<PageTrouble>,
    /// Pages that the limit left out.
    pub beyond: u64,
    #[serde(flatten)]
    pub end: CrawlEnd,
    /// Of this run; the crawl may have been interrupted before.
    pub seconds: f64,
}

/// A page that is not searchable, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageTrouble {
    pub url: String,
    pub reason: String,
}

impl CrawlReport {
    pub(super) fn new(counts: CrawlCounts, end: CrawlEnd, seconds: f64) -> Self {
        let CrawlCounts { indexed, unchanged, aliases, beyond, failed, skipped } = counts;
        let troubles = |pages: Vec<(url::Url, String)>| {
            let trouble =
                |(url, reason): (url::Url, String)| PageTrouble { url: url.into(), reason };
            pages.into_iter().map(trouble).collect()
        };
        Self {
            pages: indexed,
            unchanged,
            copies: aliases,
            failed: troubles(failed),
            skipped: troubles(skipped),
            beyond,
            end,
            seconds,
        }
    }
}
