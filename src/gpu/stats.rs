use std::time::Duration;

use super::{ModelId, ModelInfo};

/// What the scheduler has done since it started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchedulerStats {
    /// Requests that wait or run, by [`super::Priority`] in its order.
    pub depth: [usize; 3],
    pub completed: u64,
    pub failed: u64,
    /// Requests whose caller went away before the answer.
    pub cancelled: u64,
    /// Read by a model: embedded, or part of a prompt.
    pub tokens: u64,
    pub tokens_generated: u64,
    pub steps: u64,
    /// From submission to the first step, by priority.
    pub wait: [Histogram; 3],
    /// Duration of a step.
    pub run: Histogram,
    /// Loaded models, each with its device, in the order of their ids.
    pub models: Vec<(ModelId, ModelInfo)>,
    /// Weights of all models on all devices.
    pub memory_bytes: u64,
}

/// Durations in buckets that double: bucket `i` holds those below `2^i` microseconds.
///
/// Quantiles are upper bounds of their bucket, so at most twice too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    buckets: [u64; Self::BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [0; Self::BUCKETS] }
    }
}

impl Histogram {
    const BUCKETS: usize = 40;

    pub fn record(&mut self, duration: Duration) {
        let micros = duration.as_micros().max(1) as u64;
        let bucket = (u64::BITS - micros.leading_zeros()) as usize;
        self.buckets[bucket.min(Self::BUCKETS - 1)] += 1;
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// How many took less than `bound`, a power of two in microseconds.
    #[must_use]
    pub fn below(&self, bound: Duration) -> u64 {
        let buckets = (bound.as_micros().max(1).ilog2() as usize + 1).min(Self::BUCKETS);
        self.buckets[..buckets].iter().sum()
    }

    /// The duration that a share `q` (0 ..= 1) of the records does not exceed.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let count = self.count();
        let rank = ((count as f64 * q).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        (count > 0).then_some(())?;
        self.buckets.iter().enumerate().find_map(|(bucket, held)| {
            seen += held;
            (seen >= rank).then(|| Duration::from_micros(1 << bucket))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_bounds_its_share_within_a_factor_of_two() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        for ms in 1..=100 {
            histogram.record(Duration::from_millis(ms));
        }
        for (q, exact_ms) in [(0.5, 50), (0.99, 99), (1.0, 100)] {
            let bound = histogram.quantile(q).unwrap();
            let exact = Duration::from_millis(exact_ms);
            assert!(exact <= bound && bound <= 2 * exact, "{q}: {bound:?}");
        }
    }
}
