use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::search::evaluation::paired_randomization;

/// What one query scored in one mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryScores {
    pub ndcg: f64,
    pub mrr: f64,
    pub recall_100: f64,
}

/// What every query scored, by mode and by the name of the query, so that a later evaluation can be
/// tested against it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRecord {
    pub k: usize,
    pub mode: BTreeMap<String, BTreeMap<String, QueryScores>>,
}

/// Two systems on the same queries: the difference of their mean nDCG, and how likely one as large is
/// by chance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub mode: String,
    pub than: String,
    /// Mean nDCG of the first less that of the second.
    pub ndcg_difference: f64,
    /// Two-sided, of a paired randomization test.
    pub p_value: f64,
    pub queries: usize,
}

impl EvaluationRecord {
    /// Every mode beside every one after it.
    pub(super) fn among_modes(&self) -> Vec<Comparison> {
        let modes: Vec<_> = self.mode.iter().collect();
        let mut comparisons = Vec::new();
        for (at, (name, scores)) in modes.iter().enumerate() {
            for (other, others) in &modes[at + 1..] {
                comparisons.extend(compare((name, scores), (other, others)));
            }
        }
        comparisons
    }

    /// Every mode beside itself in `earlier`, on the queries that both have.
    pub(super) fn against(&self, earlier: &Self) -> Vec<Comparison> {
        let both = self.mode.iter().filter_map(|(name, scores)| {
            let before = earlier.mode.get(name)?;
            compare((name, scores), (&format!("{name} before"), before))
        });
        both.collect()
    }
}

type Scored<'a> = (&'a str, &'a BTreeMap<String, QueryScores>);

/// `None` when they have no query in common.
fn compare((mode, scores): Scored<'_>, (than, others): Scored<'_>) -> Option<Comparison> {
    let difference =
        |(query, score): (&String, &QueryScores)| Some(score.ndcg - others.get(query)?.ndcg);
    let differences: Vec<f64> = scores.iter().filter_map(difference).collect();
    let queries = differences.len();
    (queries > 0).then(|| Comparison {
        mode: mode.to_owned(),
        than: than.to_owned(),
        ndcg_difference: differences.iter().sum::<f64>() / queries as f64,
        p_value: paired_randomization(&differences),
        queries,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(modes: &[(&str, &[(&str, f64)])]) -> EvaluationRecord {
        let scores = |queries: &[(&str, f64)]| {
            let scored = |(id, ndcg): &(&str, f64)| {
                ((*id).to_owned(), QueryScores { ndcg: *ndcg, ..QueryScores::default() })
            };
            queries.iter().map(scored).collect()
        };
        let mode = modes.iter().map(|(name, queries)| ((*name).to_owned(), scores(queries)));
        EvaluationRecord { k: 10, mode: mode.collect() }
    }

    #[test]
    fn modes_are_compared_query_by_query() {
        let now = record(&[
            ("hybrid", &[("a", 0.5), ("b", 1.0)]),
            ("keyword", &[("a", 0.5), ("b", 0.5)]),
        ]);
        let [only] = now.among_modes().try_into().unwrap();
        assert_eq!(
            (only.mode.as_str(), only.than.as_str(), only.queries),
            ("hybrid", "keyword", 2)
        );
        assert!((only.ndcg_difference - 0.25).abs() < 1e-12);
        assert!(only.p_value > 0.9);
    }

    #[test]
    fn an_earlier_record_is_compared_on_the_queries_that_both_have() {
        let now = record(&[("hybrid", &[("a", 0.5), ("b", 1.0)]), ("keyword", &[("a", 0.5)])]);
        let earlier = record(&[("hybrid", &[("b", 0.2), ("c", 0.9)]), ("semantic", &[("a", 0.1)])]);
        let [only] = now.against(&earlier).try_into().unwrap();
        assert_eq!((only.than.as_str(), only.queries), ("hybrid before", 1));
        assert!((only.ndcg_difference - 0.8).abs() < 1e-12);
    }
}
