//! How good a ranking is, as the field measures it; every function looks at one query.
//!
//! `ranking` holds document names, best first, without repeats. A grade of zero or less is not
//! relevant. The definitions are those of `trec_eval`, which BEIR uses.

mod significance;

pub use significance::paired_randomization;

use std::collections::HashMap;

/// Grade of each judged document.
pub type Judgments = HashMap<String, i32>;

/// Normalized discounted cumulative gain of the first `k` (Järvelin & Kekäläinen 2002): the gain is the
/// grade, the discount log₂(rank + 1), the norm the best order possible.
#[must_use]
pub fn ndcg_at(k: usize, ranking: &[&str], judgments: &Judgments) -> f64 {
    let gains = ranking.iter().map(|name| grade(judgments, name));
    let mut ideal: Vec<f64> = judgments.values().map(|grade| f64::from((*grade).max(0))).collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let best = discounted(k, ideal.into_iter());
    if best > 0.0 { discounted(k, gains) / best } else { 0.0 }
}

/// One over the rank of the first relevant document among the first `k`, else zero.
#[must_use]
pub fn mrr_at(k: usize, ranking: &[&str], judgments: &Judgments) -> f64 {
    ranking
        .iter()
        .take(k)
        .position(|name| grade(judgments, name) > 0.0)
        .map_or(0.0, |at| 1.0 / (at + 1) as f64)
}

/// Share of the relevant documents that are among the first `k`.
#[must_use]
pub fn recall_at(k: usize, ranking: &[&str], judgments: &Judgments) -> f64 {
    let relevant = judgments.values().filter(|grade| **grade > 0).count();
    let found = ranking.iter().take(k).filter(|name| grade(judgments, name) > 0.0).count();
    if relevant > 0 { found as f64 / relevant as f64 } else { 0.0 }
}

fn grade(judgments: &Judgments, name: &str) -> f64 {
    judgments.get(name).map_or(0.0, |grade| f64::from((*grade).max(0)))
}

fn discounted(k: usize, gains: impl Iterator<Item = f64>) -> f64 {
    gains.take(k).enumerate().map(|(at, gain)| gain / (at as f64 + 2.0).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgments() -> Judgments {
        [("a", 3), ("b", 1), ("c", 0), ("d", 2), ("e", -1)]
            .map(|(name, grade)| (name.to_owned(), grade))
            .into()
    }

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-9, "{got} is not {want}");
    }

    #[test]
    fn ndcg_by_hand() {
        // (0/1 + 3/1.58496 + 1/2) over (3/1 + 2/1.58496 + 1/2)
        close(
            ndcg_at(3, &["c", "a", "b"], &judgments()),
            2.392_789_260_714_372 / 4.761_859_507_142_915,
        );
        close(ndcg_at(10, &["a", "d", "b"], &judgments()), 1.0);
        close(ndcg_at(10, &["c", "x", "e"], &judgments()), 0.0);
        close(ndcg_at(10, &[], &judgments()), 0.0);
    }

    #[test]
    fn reciprocal_rank_by_hand() {
        close(mrr_at(10, &["x", "c", "b", "a"], &judgments()), 1.0 / 3.0);
        close(mrr_at(2, &["x", "c", "b"], &judgments()), 0.0);
    }

    #[test]
    fn recall_by_hand() {
        close(recall_at(100, &["x", "a", "d"], &judgments()), 2.0 / 3.0);
        close(recall_at(1, &["x", "a", "d"], &judgments()), 0.0);
        close(recall_at(5, &["a"], &Judgments::new()), 0.0);
    }
}
