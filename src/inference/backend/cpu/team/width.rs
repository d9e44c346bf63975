//! How many of a team are asked to work.

use std::time::{Duration, Instant};

/// A part takes some hundred microseconds, so whoever is waited for longer than this has no core.
const STALL: Duration = Duration::from_millis(2);

/// How long a team stays narrow before it tries one thread more.
const REST: Duration = Duration::from_millis(100);

/// One less each time that a worker without a core kept all others waiting, and one more after a while: a forward
/// pass has thirty rounds, and waiting in a few of them costs more than the worker brings. Then the core is somebody
/// else's, most often the window's.
#[derive(Debug)]
pub(super) struct Width {
    threads: usize,
    now: usize,
    changed_at: Option<Instant>,
}

impl Width {
    pub fn new(threads: usize) -> Self {
        Self { threads, now: threads, changed_at: None }
    }

    /// Threads for the round that begins `now`, the caller's among them.
    pub fn at(&mut self, now: Instant) -> usize {
        if let Some(changed_at) = self.changed_at
            && now.saturating_duration_since(changed_at) >= REST
        {
            self.now += 1;
            self.changed_at = (self.now < self.threads).then_some(now);
        }
        self.now
    }

    /// The caller had nothing to do but to wait for others, for so long until `now`.
    pub fn waited(&mut self, waited: Duration, now: Instant) {
        if waited >= STALL && self.now > 1 {
            self.now -= 1;
            self.changed_at = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whoever_has_no_core_is_left_out_for_a_while() {
        let (mut width, begin) = (Width::new(2), Instant::now());
        width.waited(STALL / 2, begin);
        assert_eq!(width.at(begin), 2);
        width.waited(STALL, begin);
        assert_eq!([width.at(begin), width.at(begin + REST / 2)], [1, 1]);
        width.waited(STALL, begin);
        assert_eq!(width.at(begin + REST), 2);
        assert_eq!(width.at(begin + 10 * REST), 2);
    }

    proptest! {
        #[test]
        fn it_is_never_nobody_and_in_the_end_everybody(
            threads in 1..9_usize, waits in proptest::collection::vec((0..4_u64, 0..150_u64), 0..50),
        ) {
            let (mut width, mut now) = (Width::new(threads), Instant::now());
            for (waited, later) in waits {
                now += Duration::from_millis(later);
                prop_assert!((1..=threads).contains(&width.at(now)));
                width.waited(Duration::from_millis(waited), now);
            }
            for _ in 0..threads {
                now += REST;
                width.at(now);
            }
            prop_assert_eq!(width.at(now), threads);
        }
    }
}
