use std::time::Duration;

/// Buckets a doubling is cut into.
const PER_DOUBLING: usize = 4;

/// Up to `2^37` microseconds, a day and a half; what is longer counts as the longest.
pub const BUCKETS: usize = 36 * PER_DOUBLING;

/// Minutes that a [`Rolling`] histogram looks back.
pub const MINUTES: usize = 15;

/// Durations in logarithmic buckets, four a doubling, of a fixed size: nothing is allocated to count.
///
/// Quantiles are upper bounds of their bucket, so at most a quarter too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    buckets: [u64; BUCKETS],
    sum_us: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], sum_us: 0 }
    }
}

impl Histogram {
    pub fn record(&mut self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.buckets[bucket_of(micros)] += 1;
        self.sum_us = self.sum_us.saturating_add(micros);
    }

    /// Counts what the other has counted as well.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
    }

    /// What was counted since `earlier`, which is an earlier state of the same histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        for (now, before) in since.buckets.iter_mut().zip(&earlier.buckets) {
            *now = now.saturating_sub(*before);
        }
        since.sum_us = since.sum_us.saturating_sub(earlier.sum_us);
        since
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    #[must_use]
    pub fn sum(&self) -> Duration {
        Duration::from_micros(self.sum_us)
    }

    /// How many took less than `bound`, which is a power of two in microseconds; of others, those in
    /// buckets that end at or before it.
    #[must_use]
    pub fn below(&self, bound: Duration) -> u64 {
        let bound = u64::try_from(bound.as_micros()).unwrap_or(u64::MAX);
        let ends_before = |(bucket, _): &(usize, &u64)| end_of(*bucket) <= bound;
        self.buckets.iter().enumerate().take_while(ends_before).map(|(_, held)| held).sum()
    }

    /// The duration that a share `q` (0 ..= 1) of the records does not exceed.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let count = self.count();
        let rank = ((count as f64 * q).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|held| {
            seen += held;
            seen >= rank
        })?;
        Some(Duration::from_micros(end_of(bucket) - 1))
    }
}

fn bucket_of(micros: u64) -> usize {
    if micros < PER_DOUBLING as u64 {
        return micros as usize;
    }
    let doubling = micros.ilog2() as usize;
    let part = (micros >> (doubling - 2)) as usize & (PER_DOUBLING - 1);
    ((doubling - 1) * PER_DOUBLING + part).min(BUCKETS - 1)
}

/// The first microsecond behind a bucket.
fn end_of(bucket: usize) -> u64 {
    if bucket < PER_DOUBLING {
        return bucket as u64 + 1;
    }
    let (doubling, part) = (bucket / PER_DOUBLING + 1, bucket % PER_DOUBLING);
    ((PER_DOUBLING + part + 1) as u64) << (doubling - 2)
}

/// A histogram of all time beside one of the last minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rolling {
    total: Histogram,
    minutes: [(u64, Histogram); MINUTES],
}

impl Rolling {
    /// `minute` counts up with the clock, from wherever.
    pub fn record(&mut self, minute: u64, duration: Duration) {
        self.total.record(duration);
        let (of, histogram) = &mut self.minutes[minute as usize % MINUTES];
        if *of != minute {
            (*of, *histogram) = (minute, Histogram::default());
        }
        histogram.record(duration);
    }

    #[must_use]
    pub fn total(&self) -> &Histogram {
        &self.total
    }

    /// Of the last [`MINUTES`], the one that goes on included.
    #[must_use]
    pub fn recent(&self, minute: u64) -> Histogram {
        let mut recent = Histogram::default();
        let is_recent = |of: u64| of <= minute && minute - of < MINUTES as u64;
        for (_, histogram) in self.minutes.iter().filter(|(of, _)| is_recent(*of)) {
            recent.merge(histogram);
        }
        recent
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn of(micros: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for micros in micros {
            histogram.record(Duration::from_micros(*micros));
        }
        histogram
    }

    /// As many small durations as long ones.
    fn micros() -> impl Strategy<Value = u64> {
        (0_u32..36).prop_flat_map(|bits| 0..(2_u64 << bits))
    }

    proptest! {
        #[test]
        fn every_duration_lies_in_its_bucket(micros in micros()) {
            let bucket = bucket_of(micros);
            prop_assert!(micros < end_of(bucket), "{micros} in {bucket}");
            prop_assert!(bucket == 0 || end_of(bucket - 1) <= micros, "{micros} in {bucket}");
        }

        #[test]
        fn a_quantile_bounds_its_share_and_is_a_quarter_too_large_at_most(
            mut durations in vec(micros(), 1..60), q in 0.0..=1.0_f64,
        ) {
            let bound = of(&durations).quantile(q).unwrap().as_micros() as u64;
            durations.sort_unstable();
            let rank = ((durations.len() as f64 * q).ceil() as usize).max(1);
            let exact = durations[rank - 1];
            prop_assert!(exact <= bound && bound <= exact + exact / 4, "{exact} by {bound}");
        }

        #[test]
        fn quantiles_grow_with_their_share(
            durations in vec(micros(), 1..60), a in 0.0..=1.0_f64, b in 0.0..=1.0_f64,
        ) {
            let histogram = of(&durations);
            prop_assert!(histogram.quantile(a.min(b)) <= histogram.quantile(a.max(b)));
        }

        #[test]
        fn parts_merge_to_the_whole_and_are_taken_from_it(
            a in vec(micros(), 0..40), b in vec(micros(), 0..40),
        ) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(&merged, &of(&[a.clone(), b.clone()].concat()));
            prop_assert_eq!(merged.count(), (a.len() + b.len()) as u64);
            prop_assert_eq!(merged.since(&of(&a)), of(&b));
        }

        #[test]
        fn below_counts_what_is_shorter_than_a_power_of_two(
            durations in vec(micros(), 0..60), bits in 0_u32..37,
        ) {
            let bound = 1_u64 << bits;
            let shorter = durations.iter().filter(|micros| **micros < bound).count() as u64;
            prop_assert_eq!(of(&durations).below(Duration::from_micros(bound)), shorter);
        }

        #[test]
        fn what_is_recent_is_what_came_in_the_last_minutes(
            mut records in vec((0_u64..60, micros()), 0..80), now in 0_u64..60,
        ) {
            records.sort_unstable();
            let mut rolling = Rolling::default();
            let until_now = || records.iter().filter(|(minute, _)| *minute <= now);
            for (minute, micros) in until_now() {
                rolling.record(*minute, Duration::from_micros(*micros));
            }
            let recent = until_now().filter(|(minute, _)| minute + MINUTES as u64 > now);
            let recent: Vec<u64> = recent.map(|(_, micros)| *micros).collect();
            prop_assert_eq!(rolling.recent(now), of(&recent));
            prop_assert_eq!(rolling.total().count(), until_now().count() as u64);
        }
    }

    #[test]
    fn what_is_longer_than_all_buckets_counts_as_the_longest() {
        let histogram = of(&[u64::MAX, 0]);
        assert_eq!((histogram.count(), bucket_of(u64::MAX)), (2, BUCKETS - 1));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
