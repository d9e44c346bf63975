use std::time::Duration;

/// How many tokens one step may hold, kept near a target time by measuring.
///
/// The step is the unit of waiting: a search that arrives waits for at most the running one.
#[derive(Debug)]
pub(super) struct StepBudget {
    target: Duration,
    tokens_per_second: f64,
    /// Lowered when a step did not fit into the device's memory.
    tokens_max: f64,
}

impl StepBudget {
    const FIRST_GUESS_TOKENS_PER_SECOND: f64 = 4_000.0;
    /// Weight of the newest measurement: old enough to ride out one slow step, young enough to follow
    /// a laptop that starts to throttle.
    const SMOOTHING: f64 = 0.2;
    /// Larger packs gain nothing on any device measured and would hold activations for longer.
    const TOKENS_MAX: f64 = 32_768.0;

    /// For a model that takes up to `batch_tokens_max` at once.
    pub(super) fn new(target: Duration, batch_tokens_max: usize) -> Self {
        Self {
            target,
            tokens_per_second: Self::FIRST_GUESS_TOKENS_PER_SECOND,
            tokens_max: Self::TOKENS_MAX.min(batch_tokens_max as f64),
        }
    }

    /// Tokens for the next step; a step takes one sequence even when that is longer.
    pub(super) fn tokens(&self) -> usize {
        (self.tokens_per_second * self.target.as_secs_f64()).clamp(1.0, self.tokens_max) as usize
    }

    pub(super) fn record(&mut self, tokens: usize, elapsed: Duration) {
        let measured = tokens as f64 / elapsed.as_secs_f64().max(1e-6);
        self.tokens_per_second += Self::SMOOTHING * (measured - self.tokens_per_second);
    }

    /// A step of `tokens` had no room on the device: from now on they are at most half as large.
    pub(super) fn shrink(&mut self, tokens: usize) {
        self.tokens_max = self.tokens_max.min(tokens as f64 / 2.0).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_follows_the_measured_speed() {
        let mut budget = StepBudget::new(Duration::from_millis(40), usize::MAX);
        for _ in 0..100 {
            budget.record(1_000, Duration::from_millis(10));
        }
        assert!((3_990..=4_010).contains(&budget.tokens()), "{}", budget.tokens());
    }

    #[test]
    fn the_budget_halves_when_memory_is_short() {
        let mut budget = StepBudget::new(Duration::from_millis(40), usize::MAX);
        budget.record(1_000_000, Duration::from_millis(1));
        for held in [1_000, 500, 250, 2, 1, 1] {
            budget.shrink(held);
            assert_eq!(budget.tokens(), (held / 2).max(1));
        }
    }

    #[test]
    fn the_budget_stays_in_bounds() {
        let mut budget = StepBudget::new(Duration::from_millis(40), usize::MAX);
        budget.record(1, Duration::from_secs(1_000));
        assert!(budget.tokens() >= 1);
        for _ in 0..100 {
            budget.record(1_000_000, Duration::ZERO);
        }
        assert_eq!(budget.tokens(), 32_768);
    }

    #[test]
    fn a_model_that_takes_less_gets_less() {
        let mut budget = StepBudget::new(Duration::from_millis(40), 1_000);
        budget.record(1_000_000, Duration::ZERO);
        assert_eq!(budget.tokens(), 1_000);
    }
}
