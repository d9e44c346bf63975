use std::collections::HashMap;
use std::hash::Hash;

/// The constant of Cormack, Clarke and Büttcher: it keeps the first few ranks of one list from
/// outvoting everything that two lists agree on.
pub const RRF_K: f32 = 60.0;

/// Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): the score of a key is the sum
/// over the lists of `1 / (k + rank)`, ranks counted from one.
///
/// Lists are best first; of a key that a list repeats the first place counts. The answer is best
/// first, of equal scores the smaller key first.
#[must_use]
pub fn reciprocal_rank_fusion<K: Copy + Ord + Hash>(lists: &[&[K]], k: f32) -> Vec<(K, f32)> {
    let mut scores: HashMap<K, f32> = HashMap::new();
    for list in lists {
        let mut rank = 0.0;
        let mut seen = std::collections::HashSet::with_capacity(list.len());
        for key in list.iter().filter(|key| seen.insert(**key)) {
            rank += 1.0;
            *scores.entry(*key).or_default() += 1.0 / (k + rank);
        }
    }
    let mut fused: Vec<_> = scores.into_iter().collect();
    fused.sort_by(|(a, a_score), (b, b_score)| b_score.total_cmp(a_score).then(a.cmp(b)));
    fused
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scores_are_those_of_the_paper() {
        let fused = reciprocal_rank_fusion(&[&['a', 'b', 'c'], &['c', 'a']], RRF_K);
        let expected =
            [('a', 1.0 / 61.0 + 1.0 / 62.0), ('c', 1.0 / 63.0 + 1.0 / 61.0), ('b', 1.0 / 62.0)];
        for ((key, score), (expected_key, expected_score)) in fused.iter().zip(expected) {
            assert_eq!(*key, expected_key);
            assert!((score - expected_score).abs() < 1e-7);
        }
    }

    proptest! {
        #[test]
        fn laws_of_fusion(
            one in proptest::collection::hash_set(0_u8..30, 0..15),
            two in proptest::collection::hash_set(0_u8..30, 0..15),
        ) {
            let (one, two): (Vec<_>, Vec<_>) = (one.into_iter().collect(), two.into_iter().collect());
            let fused = reciprocal_rank_fusion(&[&one, &two], RRF_K);
            // Nobody is lost or made up, and the order of the lists does not count.
            let mut keys: Vec<_> = fused.iter().map(|(key, _)| *key).collect();
            prop_assert_eq!(&fused, &reciprocal_rank_fusion(&[&two, &one], RRF_K));
            keys.sort_unstable();
            let mut all: Vec<_> = one.iter().chain(&two).copied().collect();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(keys, all);
            // One list keeps its order.
            let alone = reciprocal_rank_fusion(&[&one, &[]], RRF_K);
            prop_assert_eq!(&alone.iter().map(|(key, _)| *key).collect::<Vec<_>>(), &one);
            // A key that is before another in both lists is before it in the answer.
            let place = |list: &[u8], key| list.iter().position(|other| *other == key);
            for pair in fused.windows(2) {
                let better_in = |list: &[u8]| match (place(list, pair[1].0), place(list, pair[0].0)) {
                    (Some(lower), Some(upper)) => lower < upper,
                    _ => false,
                };
                prop_assert!(!(better_in(&one) && better_in(&two)));
            }
        }
    }
}
