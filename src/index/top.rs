use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::data::{Candidate, ChunkKey};

/// Keeps the best `limit` of what is offered. Of equal scores the smaller key is better, so the
/// outcome does not depend on the order of the offers.
#[derive(Debug)]
pub(super) struct Top<T> {
    limit: usize,
    /// The worst is on top.
    heap: BinaryHeap<Ranked<T>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked<T> {
    pub score: f32,
    pub key: ChunkKey,
    /// Carried along; it does not count in the order.
    pub extra: T,
}

impl<T> Top<T> {
    pub fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::with_capacity(limit.min(4096) + 1) }
    }

    /// Whether an entry with this score could be among the best. A score that is no number never is.
    pub fn wants(&self, score: f32) -> bool {
        if self.heap.len() < self.limit {
            return !score.is_nan();
        }
        self.heap.peek().is_some_and(|worst| score >= worst.score)
    }

    pub fn offer(&mut self, score: f32, key: ChunkKey, extra: T) {
        if !self.wants(score) {
            return;
        }
        self.heap.push(Ranked { score, key, extra });
        if self.heap.len() > self.limit {
            self.heap.pop();
        }
    }

    /// The score below which nothing is wanted any more; `None` while there is room.
    pub fn floor(&self) -> Option<f32> {
        if self.heap.len() < self.limit { None } else { self.heap.peek().map(|worst| worst.score) }
    }

    pub fn merge(&mut self, other: Self) {
        for Ranked { score, key, extra } in other.heap {
            self.offer(score, key, extra);
        }
    }

    /// Best first.
    pub fn into_sorted(self) -> Vec<Ranked<T>> {
        self.heap.into_sorted_vec()
    }
}

impl Top<()> {
    /// Best first.
    pub fn into_candidates(self) -> Vec<Candidate> {
        let ranked = self.into_sorted().into_iter();
        ranked.map(|ranked| Candidate { chunk: ranked.key, score: ranked.score }).collect()
    }
}

impl<T> Ord for Ranked<T> {
    /// Better is less.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.key.cmp(&other.key))
    }
}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Ranked<T> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::DocumentId;

    proptest! {
        #[test]
        fn the_best_are_kept_in_order(
            scores in proptest::collection::vec(-3_i8..3, 0..40),
            limit in 0_usize..12,
            split in 0_usize..40,
        ) {
            let entries: Vec<_> = scores
                .iter()
                .enumerate()
                .map(|(n, score)| {
                    let document = DocumentId::from_stored((n as u64 * 7) % 41);
                    (f32::from(*score), ChunkKey { document, ordinal: 0 })
                })
                .collect();
            let (mut one, mut two) = (Top::new(limit), Top::new(limit));
            for (n, (score, key)) in entries.iter().enumerate() {
                if n < split { &mut one } else { &mut two }.offer(*score, *key, ());
            }
            one.offer(f32::NAN, entries.first().map_or(
                ChunkKey { document: DocumentId::from_stored(0), ordinal: 0 }, |e| e.1), ());
            one.merge(two);
            let kept: Vec<_> = one.into_sorted().iter().map(|r| (r.score, r.key)).collect();
            let mut expected = entries;
            expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            expected.truncate(limit);
            let finite: Vec<_> = kept.into_iter().filter(|(score, _)| !score.is_nan()).collect();
            prop_assert_eq!(finite, expected);
        }
    }
}
