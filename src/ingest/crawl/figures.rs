use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;
use url::Url;

use crate::ingest::progress::Meter;
use crate::storage::{CrawlTotals, SettledPages};

/// How far a crawl is, while it goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CrawlFigures {
    /// Pages of this crawl that came to their end, whichever it was.
    pub done: u64,
    /// Of them, those that are new or have changed, and are searchable.
    pub indexed: u64,
    pub unchanged: u64,
    pub failed: u64,
    /// Pages that are still to be asked for; it grows as links are found.
    pub queued: u64,
    /// Of the bodies, as they were sent.
    pub bytes: u64,
    /// Over the last few seconds.
    pub pages_per_second: f64,
    /// The page that was begun last.
    pub in_hand: Option<Url>,
}

/// The figures of a crawl, which its stages share.
#[derive(Clone, Debug)]
pub(super) struct CrawlTally(Arc<Mutex<Counted>>);

#[derive(Debug)]
struct Counted {
    figures: CrawlFigures,
    /// Counts the pages of this run, where it counts tokens elsewhere.
    meter: Meter,
    done_before: u64,
}

impl CrawlTally {
    pub(super) fn new(now: Instant) -> Self {
        let (figures, meter) = (CrawlFigures::default(), Meter::new(now));
        Self(Arc::new(Mutex::new(Counted { figures, meter, done_before: 0 })))
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on from what was done before this run.
    pub(super) fn begin(&self, totals: CrawlTotals) {
        let mut counted = self.lock();
        let CrawlTotals { done, indexed, unchanged, failed, queued, bytes } = totals;
        counted.done_before = done;
        let figures = &mut counted.figures;
        figures.done = done;
        (figures.indexed, figures.unchanged, figures.failed) = (indexed, unchanged, failed);
        (figures.queued, figures.bytes) = (queued, bytes);
    }

    pub(super) fn in_hand(&self, url: &Url) {
        self.lock().figures.in_hand = Some(url.clone());
    }

    pub(super) fn settled(&self, settled: &SettledPages) {
        let mut counted = self.lock();
        let figures = &mut counted.figures;
        let SettledPages { indexed, unchanged, failed, others, found, bytes, .. } = settled;
        let ended = indexed + unchanged + failed + others;
        figures.done += ended;
        figures.indexed += indexed;
        figures.unchanged += unchanged;
        figures.failed += failed;
        figures.bytes += bytes;
        figures.queued = (figures.queued + found).saturating_sub(ended);
    }

    pub(super) fn figures(&self, now: Instant) -> CrawlFigures {
        let mut counted = self.lock();
        let done = counted.figures.done.saturating_sub(counted.done_before);
        counted.meter.embedded(now, done);
        let pages_per_second = counted.meter.tokens_per_second();
        CrawlFigures { pages_per_second, ..counted.figures.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn figures_go_on_from_those_of_before_and_the_speed_is_of_now() {
        let start = Instant::now();
        let tally = CrawlTally::new(start);
        let before =
            CrawlTotals { done: 90, indexed: 80, queued: 10, bytes: 5, ..CrawlTotals::default() };
        tally.begin(before);
        let settled =
            SettledPages { indexed: 3, others: 1, found: 7, bytes: 2, ..SettledPages::default() };
        tally.settled(&settled);
        let figures = tally.figures(start + Duration::from_secs(2));
        assert_eq!((figures.done, figures.indexed, figures.queued), (94, 83, 13));
        assert_eq!(figures.bytes, 7);
        assert!((figures.pages_per_second - 2.0).abs() < 1e-9, "{figures:?}");
    }
}
