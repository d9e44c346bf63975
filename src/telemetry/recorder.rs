use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Histogram, Rolling, Sample, Samples, Totals};

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A search from end to end.
    Search,
    /// Tokenizing and embedding the query, beside the words.
    SearchEmbed,
    SearchWords,
    SearchVectors,
    /// Fusing, grouping, and reading what is shown.
    SearchRest,
    /// From a key to the answer on screen, in the window.
    SearchShown,
    /// Reading, extracting, tokenizing and cutting one document.
    IngestRead,
    /// Until the device has embedded one document.
    IngestEmbed,
    /// One transaction.
    IngestStore,
}

impl Stage {
    pub const ALL: [Self; 9] = [
        Self::Search,
        Self::SearchEmbed,
        Self::SearchWords,
        Self::SearchVectors,
        Self::SearchRest,
        Self::SearchShown,
        Self::IngestRead,
        Self::IngestEmbed,
        Self::IngestStore,
    ];
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Documents that became searchable, pages included.
    Documents,
    /// Pages of crawls that came to their end, whichever it was.
    Pages,
    PagesFailed,
    /// Of the bodies, as they were sent.
    PageBytes,
}

impl Counter {
    const COUNT: usize = 4;
}

/// Times and counts of this process. To record takes a lock that is held for a few instructions, and
/// allocates nothing.
#[derive(Debug)]
pub struct Recorder {
    began: Instant,
    stages: [Mutex<Rolling>; Stage::ALL.len()],
    counters: [AtomicU64; Counter::COUNT],
    samples: Mutex<Samples>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            stages: Default::default(),
            counters: Default::default(),
            samples: Mutex::default(),
        }
    }
}

impl Recorder {
    pub fn record(&self, stage: Stage, duration: Duration) {
        let minute = self.minute();
        self.stage(stage).record(minute, duration);
    }

    pub fn add(&self, counter: Counter, number: u64) {
        self.counters[counter as usize].fetch_add(number, Relaxed);
    }

    #[must_use]
    pub fn count(&self, counter: Counter) -> u64 {
        self.counters[counter as usize].load(Relaxed)
    }

    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.began.elapsed()
    }

    /// Since the process began.
    #[must_use]
    pub fn total(&self, stage: Stage) -> Histogram {
        self.stage(stage).total().clone()
    }

    /// Of the last quarter of an hour.
    #[must_use]
    pub fn recent(&self, stage: Stage) -> Histogram {
        let minute = self.minute();
        self.stage(stage).recent(minute)
    }

    /// Closes a second: `tokens` have been embedded since the process began.
    pub fn sample(&self, at: i64, queue: u64, tokens: u64) {
        let totals = Totals {
            tokens,
            pages: self.count(Counter::Pages),
            searches: self.total(Stage::Search),
        };
        self.lock_samples().take(at, queue, totals);
    }

    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        self.lock_samples().kept()
    }

    fn lock_samples(&self) -> MutexGuard<'_, Samples> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stage(&self, stage: Stage) -> MutexGuard<'_, Rolling> {
        self.stages[stage as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From one, so that no minute is taken for one that was never used.
    fn minute(&self) -> u64 {
        self.began.elapsed().as_secs() / 60 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_and_counters_are_kept_apart() {
        let recorder = Recorder::default();
        for (at, stage) in Stage::ALL.into_iter().enumerate() {
            assert_eq!(stage as usize, at);
            for _ in 0..=at {
                recorder.record(stage, Duration::from_millis(3));
            }
        }
        for (at, stage) in Stage::ALL.into_iter().enumerate() {
            assert_eq!(recorder.total(stage).count(), at as u64 + 1);
            assert_eq!(recorder.recent(stage), recorder.total(stage));
        }
        recorder.add(Counter::PageBytes, 7);
        assert_eq!(recorder.count(Counter::PageBytes), 7);
        assert_eq!(recorder.count(Counter::Pages), 0);
    }
}
