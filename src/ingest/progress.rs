use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How far an indexing job is. Totals grow while folders are still being scanned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobProgress {
    /// True until every folder has been listed, when totals are final.
    pub scanning: bool,
    pub files_done: u64,
    pub files_total: u64,
    pub bytes_done: u64,
    pub bytes_total: u64,
    pub in_hand: Option<PathBuf>,
    pub chunks: u64,
    pub tokens: u64,
    /// Over the last few seconds.
    pub tokens_per_second: f64,
    /// From the measured speed; `None` until there is one.
    pub seconds_left: Option<f64>,
}

/// Turns counts into speed and time left.
///
/// The time left follows from tokens, not from files: what is read but not yet embedded is known in
/// tokens, and the rest is taken to have as many tokens a byte as what was read.
#[derive(Debug)]
pub(super) struct Meter {
    samples: VecDeque<(Instant, u64)>,
    /// Bytes whose tokens are counted, and how many those are.
    read: (u64, u64),
}

impl Meter {
    const WINDOW: Duration = Duration::from_secs(8);

    pub(super) fn new(now: Instant) -> Self {
        Self { samples: VecDeque::from([(now, 0)]), read: (0, 0) }
    }

    /// Notes that a file of `bytes` has turned out to have `tokens` to embed.
    pub(super) fn read(&mut self, bytes: u64, tokens: u64) {
        self.read.0 += bytes;
        self.read.1 += tokens;
    }

    /// Notes that `tokens` in all have been embedded by `now`.
    pub(super) fn embedded(&mut self, now: Instant, tokens: u64) {
        while self.samples.len() > 1 && now.duration_since(self.samples[1].0) >= Self::WINDOW {
            self.samples.pop_front();
        }
        self.samples.push_back((now, tokens));
    }

    pub(super) fn tokens_per_second(&self) -> f64 {
        match (self.samples.front(), self.samples.back()) {
            (Some((from, before)), Some((to, after))) if to > from => {
                (after - before) as f64 / to.duration_since(*from).as_secs_f64()
            }
            _ => 0.0,
        }
    }

    /// Seconds until `bytes_total` are done; `None` before anything was embedded.
    pub(super) fn seconds_left(&self, bytes_total: u64) -> Option<f64> {
        let speed = self.tokens_per_second();
        let (bytes_read, tokens_read) = self.read;
        if speed <= 0.0 || bytes_read == 0 {
            return None;
        }
        let embedded = self.samples.back().map_or(0, |(_, tokens)| *tokens);
        let waiting = tokens_read.saturating_sub(embedded) as f64;
        let tokens_a_byte = tokens_read as f64 / bytes_read as f64;
        let unread = bytes_total.saturating_sub(bytes_read) as f64 * tokens_a_byte;
        Some((waiting + unread) / speed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_from_tokens() {
        let start = Instant::now();
        let mut meter = Meter::new(start);
        assert_eq!(meter.seconds_left(1_000), None);
        meter.read(500, 100);
        meter.embedded(start + Duration::from_secs(1), 50);
        assert!((meter.tokens_per_second() - 50.0).abs() < 1e-9);
        // 50 tokens wait and another 500 bytes hold 100: 150 tokens at 50 a second.
        assert!((meter.seconds_left(1_000).unwrap() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_speed_forgets_what_is_long_past() {
        let start = Instant::now();
        let mut meter = Meter::new(start);
        for second in 1..=60 {
            meter.embedded(start + Duration::from_secs(second), 10 * second.min(30));
        }
        assert!(meter.tokens_per_second() < 1e-9, "{}", meter.tokens_per_second());
    }
}
