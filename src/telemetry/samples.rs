use std::collections::VecDeque;

use serde::Serialize;

use super::Histogram;

/// Seconds that are kept: a quarter of an hour.
pub const SAMPLES_MAX: usize = 900;

/// What went on in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// Its end, in seconds since the Unix epoch.
    pub at: i64,
    pub tokens: u64,
    pub pages: u64,
    /// Files and pages that waited or were in hand at its end.
    pub queue: u64,
    /// Searches that ended in it, and how long they took; `None` without any.
    pub searches: u64,
    pub search_ms_p50: Option<f64>,
    pub search_ms_p95: Option<f64>,
}

/// Counts since the process began, as they are read once a second.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub tokens: u64,
    pub pages: u64,
    pub searches: Histogram,
}

/// The last quarter of an hour, second by second.
#[derive(Debug, Default)]
pub struct Samples {
    kept: VecDeque<Sample>,
    before: Option<Totals>,
}

impl Samples {
    /// Takes what happened since the call before; the first one only begins.
    pub fn take(&mut self, at: i64, queue: u64, now: Totals) {
        if let Some(before) = &self.before {
            if self.kept.capacity() < SAMPLES_MAX {
                self.kept.reserve_exact(SAMPLES_MAX);
            }
            let searches = now.searches.since(&before.searches);
            let quantile_ms = |q| searches.quantile(q).map(|took| took.as_secs_f64() * 1e3);
            if self.kept.len() == SAMPLES_MAX {
                self.kept.pop_front();
            }
            self.kept.push_back(Sample {
                at,
                tokens: now.tokens.saturating_sub(before.tokens),
                pages: now.pages.saturating_sub(before.pages),
                queue,
                searches: searches.count(),
                search_ms_p50: quantile_ms(0.5),
                search_ms_p95: quantile_ms(0.95),
            });
        }
        self.before = Some(now);
    }

    /// Oldest first.
    #[must_use]
    pub fn kept(&self) -> Vec<Sample> {
        self.kept.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_second_has_what_came_in_it() {
        let mut samples = Samples::default();
        let mut now = Totals { tokens: 1_000, ..Totals::default() };
        samples.take(10, 5, now.clone());
        assert!(samples.kept().is_empty(), "nothing is known of what came before");
        now.tokens += 300;
        now.pages += 2;
        now.searches.record(Duration::from_millis(8));
        samples.take(11, 4, now.clone());
        samples.take(12, 0, now);
        let [first, second] = samples.kept().try_into().unwrap();
        assert_eq!((first.at, first.tokens, first.pages, first.queue), (11, 300, 2, 4));
        assert!((8.0..=10.0).contains(&first.search_ms_p95.unwrap()), "{first:?}");
        assert_eq!(second, Sample { at: 12, ..Sample::default() });
    }

    #[test]
    fn the_oldest_second_goes() {
        let mut samples = Samples::default();
        let last = i64::try_from(SAMPLES_MAX).unwrap() + 5;
        for at in 0..=last {
            samples.take(at, 0, Totals::default());
        }
        let kept = samples.kept();
        assert_eq!((kept.len(), kept[0].at), (SAMPLES_MAX, 6));
    }

    #[test]
    fn counts_that_began_anew_are_no_overflow() {
        let mut samples = Samples::default();
        samples.take(0, 0, Totals { tokens: 9, ..Totals::default() });
        samples.take(1, 0, Totals::default());
        assert_eq!(samples.kept()[0].tokens, 0);
    }
}
