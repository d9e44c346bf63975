//! A search that has the processor to itself.

use std::fmt;
use std::time::{Duration, Instant};

/// While it lives, no [`super::Priority::Background`] step begins on a device that shares its cores with
/// whoever holds it, for at most [`super::SchedulerOptions::hold_max`]. Dropping it lets go.
///
/// A search is more than its embedding: it walks indexes and marks texts. On two cores a step beside it
/// takes both, and the search three times as long.
pub struct Hold {
    release: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Hold {
    pub(super) fn new(release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { release: Some(Box::new(release)) }
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold").finish_non_exhaustive()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release();
        }
    }
}

/// The holds of a queue, counted.
#[derive(Debug, Default)]
pub(super) struct Holds {
    count: usize,
    until: Option<Instant>,
}

impl Holds {
    pub fn add(&mut self, now: Instant, hold_max: Duration) {
        self.count += 1;
        // Of the first alone: one search after the other, without a gap, does not stop the rest.
        self.until.get_or_insert(now + hold_max);
    }

    /// Returns whether nothing is held any longer.
    pub fn release(&mut self) -> bool {
        self.count -= 1;
        if self.count == 0 {
            self.until = None;
        }
        self.count == 0
    }

    /// How long background steps have to wait yet.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        self.until?.checked_duration_since(now).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_holds_sets_the_bound_and_the_last_lets_go() {
        const MAX: Duration = Duration::from_millis(100);
        let (mut holds, start) = (Holds::default(), Instant::now());
        assert_eq!(holds.left(start), None);
        holds.add(start, MAX);
        assert_eq!(holds.left(start), Some(MAX));
        let later = start + MAX / 2;
        holds.add(later, MAX);
        assert_eq!(holds.left(later), Some(MAX / 2));
        assert!(!holds.release());
        assert_eq!(holds.left(later), Some(MAX / 2));
        assert_eq!(holds.left(start + MAX), None);
        assert!(holds.release());
        assert_eq!(holds.left(later), None);
        holds.add(start + MAX, MAX);
        assert_eq!(holds.left(start + MAX), Some(MAX));
    }
}
