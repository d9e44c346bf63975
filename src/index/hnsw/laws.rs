//! What holds of the vector index, whatever happens to it.

mod kept;
mod recall;
mod upkeep;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use half::f16;
use proptest::prelude::*;

use super::*;
use crate::data::ChunkKey;
use crate::index::{ExactIndex, VectorOrigin};

const STORE: &str = "0123456789abcdef0123456789abcdef";

fn document(n: u64) -> DocumentId {
    DocumentId::from_stored(n)
}

fn origin() -> VectorOrigin {
    VectorOrigin { store: STORE.to_owned(), model: 7 }
}

fn options(dim: usize) -> HnswOptions {
    HnswOptions {
        threads: 2,
        m: 8,
        ef_construction: 60,
        graph_rows_min: 16,
        ..HnswOptions::new(dim)
    }
}

fn never() -> bool {
    false
}

fn search(
    index: &dyn VectorIndex,
    query: &[f32],
    filter: &PassageFilter,
    k: usize,
) -> Vec<Candidate> {
    let query = Embedding::normalized(query.to_vec()).unwrap();
    index.search(&query, filter, k).unwrap()
}

/// Numbers that look random and are the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) as f32 / (1_u64 << 24) as f32) - 0.5
    }

    fn vector(&mut self, dim: usize) -> Vec<f32> {
        (0..dim).map(|_| self.next()).collect()
    }
}

/// Unit vectors around a few dozen centers, as texts lie around their subjects.
fn clustered(rows: usize, dim: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut numbers = Numbers(seed);
    let mut centers = Numbers(1);
    let centers: Vec<Vec<f32>> = (0..40).map(|_| centers.vector(dim)).collect();
    (0..rows)
        .map(|row| {
            let noise = numbers.vector(dim);
            let near = centers[row * 7 % centers.len()].iter().zip(noise).map(|(c, n)| c + 0.7 * n);
            Embedding::normalized(near.collect()).unwrap().as_slice().to_vec()
        })
        .collect()
}

fn halves(row: &[f32]) -> Vec<f16> {
    row.iter().copied().map(f16::from_f32).collect()
}

/// One document a row, numbered from `first`.
fn update(rows: &[Vec<f32>], first: u64, reached: u64) -> VectorUpdate {
    let mut update = VectorUpdate::reaching(ChangeNumber(reached));
    for (row, n) in rows.iter().zip(first..) {
        update.upsert(document(n), &halves(row));
    }
    update
}

fn made(options: HnswOptions, rows: &[Vec<f32>]) -> HnswIndex {
    let index = HnswIndex::new(options);
    index.apply(update(rows, 0, 1)).unwrap();
    assert_eq!(index.upkeep(&never).unwrap(), Upkeep::Made { passages: rows.len() });
    index
}

/// The share of an exact scan's ten best that the index finds.
fn recall(
    index: &HnswIndex,
    exact: &ExactIndex,
    queries: &[Vec<f32>],
    filter: &PassageFilter,
) -> f64 {
    let (mut found, mut wanted) = (0, 0);
    for query in queries {
        let best = search(exact, query, filter, 10);
        let answer = search(index, query, filter, 10);
        wanted += best.len();
        found += best.iter().filter(|hit| answer.contains(hit)).count();
        assert_eq!(answer.len(), best.len());
    }
    if wanted == 0 { 1.0 } else { found as f64 / wanted as f64 }
}

/// Enough to walk where so few passages would else be scanned.
fn walking(dim: usize) -> HnswOptions {
    HnswOptions { ef: Some(48), ..options(dim) }
}

#[derive(Clone, Debug)]
enum Step {
    Change { from_scratch: bool, removed: Vec<u64>, upserted: Vec<(u64, Vec<[i8; 3]>)> },
    Upkeep,
}

fn step() -> impl Strategy<Value = Step> {
    let rows = proptest::collection::vec(proptest::array::uniform3(-9_i8..9), 0..9);
    let change = (
        proptest::bool::weighted(0.04),
        proptest::collection::vec(0_u64..24, 0..5),
        proptest::collection::vec((0_u64..24, rows), 0..7),
    );
    prop_oneof![
        3 => change.prop_map(|(from_scratch, removed, upserted)| Step::Change {
            from_scratch,
            removed,
            upserted,
        }),
        1 => Just(Step::Upkeep),
    ]
}

fn unit(row: [i8; 3]) -> Vec<f32> {
    let mut values = row.map(f32::from);
    values[0] += 0.5;
    Embedding::normalized(values.to_vec()).unwrap().as_slice().to_vec()
}

proptest! {
    #[test]
    fn whatever_happens_it_holds_what_a_model_holds(
        steps in proptest::collection::vec(step(), 1..24),
        query in proptest::array::uniform3(-9_i8..9),
        only in proptest::option::of(proptest::collection::btree_set(0_u64..24, 0..20)),
        few in 1_usize..4,
    ) {
        let options = HnswOptions { threads: 1, m: 4, ef: Some(2), graph_rows_min: 12, ..options(3) };
        let index = HnswIndex::new(options);
        let exact = ExactIndex::new(3, Simd::detect());
        let mut truth: BTreeMap<u64, usize> = BTreeMap::new();
        let query = unit(query);
        let filter = only.as_ref().map_or_else(PassageFilter::all, |only: &BTreeSet<u64>| {
            PassageFilter::only(only.iter().map(|n| document(*n)))
        });
        let at = Cell::new(0);
        for step in steps {
            at.set(at.get() + 1);
            match step {
                Step::Upkeep => {
                    index.upkeep(&never).unwrap();
                    prop_assert!(!index.needs_upkeep());
                }
                Step::Change { from_scratch, removed, upserted } => {
                    let mut change = VectorUpdate::reaching(ChangeNumber(at.get()));
                    change.from_scratch = from_scratch;
                    change.removed = removed.iter().map(|n| document(*n)).collect();
                    if from_scratch {
                        truth.clear();
                    }
                    truth.retain(|n, _| !removed.contains(n));
                    for (n, rows) in upserted {
                        let values: Vec<f16> = rows.iter().flat_map(|r| halves(&unit(*r))).collect();
                        change.upsert(document(n), &values);
                        truth.insert(n, rows.len());
                    }
                    index.apply(change.clone()).unwrap();
                    exact.apply(change).unwrap();
                    prop_assert_eq!(index.reached(), ChangeNumber(at.get()));
                }
            }
            prop_assert_eq!(index.len(), truth.values().sum::<usize>());
            // All that is allowed, in the order of the exact scan.
            let all = search(&index, &query, &filter, 1_000);
            prop_assert_eq!(&all, &search(&exact, &query, &filter, 1_000));
            // A walk may miss; what it finds is there, is allowed, and has its exact score.
            let found = search(&index, &query, &filter, few);
            prop_assert_eq!(found.len(), few.min(all.len()));
            prop_assert!(found.iter().all(|hit| all.contains(hit)));
            let keys: BTreeSet<ChunkKey> = found.iter().map(|hit| hit.chunk).collect();
            prop_assert_eq!(keys.len(), found.len());
        }
    }
}
