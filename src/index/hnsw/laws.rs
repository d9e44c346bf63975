//! What holds of the vector index, whatever happens to it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

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

#[test]
fn near_neighbors_are_found_whatever_the_filter() {
    const DIM: usize = 24;
    let rows = clustered(6_000, DIM, 3);
    // So many that one half and one fifth are walked, and less is scanned.
    let options = HnswOptions { ef: Some(128), m: 16, ef_construction: 100, ..options(DIM) };
    let index = made(options, &rows);
    let exact = ExactIndex::new(DIM, Simd::detect());
    exact.apply(update(&rows, 0, 1)).unwrap();
    let queries = clustered(60, DIM, 11);
    assert!(recall(&index, &exact, &queries, &PassageFilter::all()) >= 0.98);
    let share = |percent: f64| {
        let step = (100.0 / percent) as u64;
        PassageFilter::only((0..6_000).filter(|n| n % step == 0).map(document))
    };
    for percent in [50.0, 20.0, 5.0, 0.5] {
        let found = recall(&index, &exact, &queries, &share(percent));
        assert!(found >= 0.99, "{percent} %: {found}");
    }
    // What is allowed is far from where a walk would go: the subject of the query is left out.
    let far = |subject: usize| {
        let others = (0..6_000_usize).filter(|n| (n * 7 + 40 - subject) % 40 > 30);
        PassageFilter::only(others.map(|n| document(n as u64)))
    };
    for (at, query) in queries.iter().enumerate() {
        let found = recall(&index, &exact, std::slice::from_ref(query), &far(at * 7 % 40));
        assert!(found >= 0.9, "far from query {at}: {found}");
    }
    let nothing = PassageFilter::only([document(99_999)]);
    assert_eq!(search(&index, &queries[0], &nothing, 10), []);
    let none_of_them = PassageFilter::all().without((0..6_000).map(document));
    assert_eq!(search(&index, &queries[0], &none_of_them, 10), []);
}

#[test]
fn deleting_and_replacing_keeps_recall_and_size() {
    const DIM: usize = 16;
    let rows = clustered(4_000, DIM, 5);
    let queries = clustered(60, DIM, 12);
    let exact = ExactIndex::new(DIM, Simd::detect());
    let index = made(walking(DIM), &rows);
    exact.apply(update(&rows, 0, 1)).unwrap();
    let mut half = VectorUpdate::reaching(ChangeNumber(2));
    half.removed =
        (0..4_000).filter(|n| ((n * 2_654_435_761) >> 7) & 1 == 0).map(document).collect();
    exact.apply(half.clone()).unwrap();
    index.apply(half).unwrap();
    assert!(recall(&index, &exact, &queries, &PassageFilter::all()) >= 0.98, "marked");
    let left = index.len();
    assert_eq!(index.upkeep(&never).unwrap(), Upkeep::Made { passages: left });
    assert_eq!(index.parts().dead, 0);
    let found = recall(&index, &exact, &queries, &PassageFilter::all());
    assert!(found >= 0.97, "repaired: {found}");
    let bytes = index.parts().graph_bytes;
    for round in 0..10 {
        let fresh = clustered(left / 10, DIM, 100 + round);
        let mut change = update(&fresh, 10_000 * (round + 1), 3 + round);
        let is_old = |n: &u64| ((n * 2_654_435_761) >> 7) & 1 == 1 && n % 10 == round;
        change.removed = (0..4_000).filter(is_old).map(document).collect();
        exact.apply(change.clone()).unwrap();
        index.apply(change).unwrap();
        index.upkeep(&never).unwrap();
    }
    let found = recall(&index, &exact, &queries, &PassageFilter::all());
    assert!(found >= 0.97, "replaced: {found}");
    assert!(index.parts().graph_bytes <= bytes * 13 / 10);
}

fn file_of(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

fn kept(folder: &Path, options: HnswOptions, rows: &[Vec<f32>]) -> HnswIndex {
    let (index, opening) = HnswIndex::open(options, VectorHome::new(folder.to_owned(), origin()));
    assert!(matches!(opening, VectorOpening::Missing), "{opening:?}");
    index.apply(update(rows, 0, 1)).unwrap();
    index.upkeep(&never).unwrap();
    index
}

#[test]
fn the_graph_depends_on_the_passages_and_the_seed_alone() {
    let rows = clustered(900, 12, 8);
    let bytes = |threads, seed, backwards: bool, simd| {
        let dir = tempfile::tempdir().unwrap();
        let options = HnswOptions { simd, threads, seed, ..options(12) };
        let home = VectorHome::new(dir.path().to_owned(), origin());
        let (index, _) = HnswIndex::open(options, home);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        if backwards {
            order.reverse();
        }
        for n in order {
            index.apply(update(&rows[n..=n], n as u64, 1)).unwrap();
        }
        index.upkeep(&never).unwrap();
        fs::read(file_of(dir.path())).unwrap()
    };
    let one = bytes(1, 5, false, Simd::detect());
    assert!(one == bytes(4, 5, true, Simd::detect()), "threads and order count");
    assert!(one == bytes(2, 5, false, Simd::Plain), "the instruction set counts");
    assert!(one != bytes(1, 6, false, Simd::detect()), "the seed does not count");
}

#[test]
fn a_file_is_opened_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let rows = clustered(600, 12, 8);
    let index = kept(dir.path(), walking(12), &rows);
    let home = |model| {
        VectorHome::new(dir.path().to_owned(), VectorOrigin { store: STORE.to_owned(), model })
    };
    let (again, opening) = HnswIndex::open(walking(12), home(7));
    assert!(matches!(opening, VectorOpening::Opened), "{opening:?}");
    assert_eq!((again.reached(), again.len()), (ChangeNumber(1), 600));
    assert_eq!(again.parts(), index.parts());
    assert!(again.needs_upkeep(), "the bytes are not checked yet");
    assert_eq!(again.upkeep(&never).unwrap(), Upkeep::Nothing);
    assert!(!again.needs_upkeep());
    for query in clustered(20, 12, 4) {
        let filter = PassageFilter::all();
        assert_eq!(search(&again, &query, &filter, 5), search(&index, &query, &filter, 5));
    }
    let (other, opening) = HnswIndex::open(walking(12), home(8));
    assert!(matches!(opening, VectorOpening::Missing), "of another model: {opening:?}");
    assert!(other.is_empty());
    let elsewhere = VectorOrigin { store: "another".to_owned(), model: 7 };
    let (other, _) =
        HnswIndex::open(walking(12), VectorHome::new(dir.path().to_owned(), elsewhere));
    assert!(other.is_empty(), "of another store");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn every_flipped_bit_and_every_other_length_is_noticed(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 0_u8..8), 40),
        lengths in proptest::collection::vec(any::<prop::sample::Index>(), 10),
    ) {
        thread_local! {
            static FILE: (tempfile::TempDir, Vec<u8>) = {
                let dir = tempfile::tempdir().unwrap();
                kept(dir.path(), options(5), &clustered(90, 5, 8));
                let bytes = fs::read(file_of(dir.path())).unwrap();
                (dir, bytes)
            };
        }
        FILE.with(|(dir, bytes)| {
            let path = file_of(dir.path());
            let home = || VectorHome::new(dir.path().to_owned(), origin());
            for (at, bit) in flips {
                let mut flipped = bytes.clone();
                flipped[at.index(bytes.len())] ^= 1 << bit;
                fs::write(&path, &flipped).unwrap();
                let (index, opening) = HnswIndex::open(options(5), home());
                if matches!(opening, VectorOpening::Opened) {
                    // Searches may be wrong until the bytes are checked; they must not fail.
                    search(&index, &[1.0, 0.5, 0.0, 0.0, 0.2], &PassageFilter::all(), 3);
                    prop_assert!(index.check().is_err(), "bit {bit} of byte {}", at.index(bytes.len()));
                    prop_assert!(index.is_damaged());
                }
            }
            for length in lengths {
                let other = length.index(bytes.len() + 5_000);
                let mut resized = bytes.clone();
                resized.resize(other, 0);
                fs::write(&path, &resized).unwrap();
                let (_, opening) = HnswIndex::open(options(5), home());
                let is_whole = other == bytes.len();
                prop_assert_eq!(matches!(opening, VectorOpening::Opened), is_whole, "{}", other);
            }
            fs::write(&path, bytes).unwrap();
            Ok(())
        })?;
    }
}

#[test]
fn upkeep_reports_damage_once_and_removes_the_file() {
    let dir = tempfile::tempdir().unwrap();
    drop(kept(dir.path(), options(8), &clustered(200, 8, 8)));
    let path = file_of(dir.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[9_000] ^= 4;
    fs::write(&path, bytes).unwrap();
    let (index, _) = HnswIndex::open(options(8), VectorHome::new(dir.path().to_owned(), origin()));
    assert!(!index.is_damaged());
    assert!(matches!(index.upkeep(&never), Err(UpkeepError::Damaged(_))));
    assert!(index.is_damaged());
    assert!(!path.exists());
}

#[test]
fn searches_and_updates_go_on_while_a_graph_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let rows = clustered(700, 8, 8);
    let options = HnswOptions { threads: 1, ..options(8) };
    let (index, _) = HnswIndex::open(options, VectorHome::new(dir.path().to_owned(), origin()));
    index.apply(update(&rows, 0, 1)).unwrap();
    let exact = ExactIndex::new(8, Simd::detect());
    exact.apply(update(&rows, 0, 1)).unwrap();
    let asked = AtomicUsize::new(0);
    let meanwhile = || {
        let n = asked.fetch_add(1, Ordering::Relaxed) as u64;
        // Goes, changes and comes: in a graph that is made of what was there before.
        let mut change = update(&rows[5..6], 1_000 + n, 2 + n);
        change.upsert(document(300 + n), &halves(&rows[6]));
        change.removed.push(document(n));
        index.apply(change.clone()).unwrap();
        exact.apply(change).unwrap();
        for query in &rows[..3] {
            let filter = PassageFilter::all();
            assert_eq!(search(&index, query, &filter, 9), search(&exact, query, &filter, 9));
        }
        false
    };
    assert!(matches!(index.upkeep(&meanwhile).unwrap(), Upkeep::Made { passages: 700 }));
    let changes = asked.load(Ordering::Relaxed);
    assert!(changes > 2, "it was asked between batches");
    let parts = index.parts();
    assert_eq!((parts.settled, parts.dead, parts.recent), (700, 2 * changes, 2 * changes));
    assert_eq!((index.len(), index.reached()), (exact.len(), exact.reached()));
    for query in &rows[..20] {
        let filter = PassageFilter::all();
        assert_eq!(search(&index, query, &filter, 9), search(&exact, query, &filter, 9));
    }
    // What the file says is what the graph was made of, so that a start catches up with the rest.
    let (again, _) =
        HnswIndex::open(index.options.clone(), VectorHome::new(dir.path().to_owned(), origin()));
    assert_eq!((again.reached(), again.len()), (ChangeNumber(1), 700));
}

#[test]
fn a_graph_of_what_was_emptied_meanwhile_is_thrown_away() {
    let rows = clustered(300, 8, 8);
    let index = HnswIndex::new(HnswOptions { threads: 1, ..options(8) });
    index.apply(update(&rows, 0, 1)).unwrap();
    let empty = || {
        index.apply(VectorUpdate { from_scratch: true, ..VectorUpdate::default() }).unwrap();
        false
    };
    assert_eq!(index.upkeep(&empty).unwrap(), Upkeep::Cancelled);
    assert_eq!((index.len(), index.parts().settled), (0, 0));
    index.apply(update(&rows, 0, 1)).unwrap();
    assert_eq!(index.upkeep(&|| true).unwrap(), Upkeep::Cancelled);
    assert_eq!((index.len(), index.parts().settled), (300, 0));
}

#[test]
fn what_another_process_made_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let rows = clustered(300, 8, 8);
    let open = || {
        let home = VectorHome::new(dir.path().to_owned(), origin());
        HnswIndex::open(options(8), home).0
    };
    let (one, two) = (open(), open());
    for index in [&one, &two] {
        index.apply(update(&rows, 0, 1)).unwrap();
    }
    assert!(!two.is_outdated());
    let busy = one.upkeep(&|| {
        assert_eq!(two.upkeep(&never).unwrap(), Upkeep::Busy);
        false
    });
    assert!(matches!(busy.unwrap(), Upkeep::Made { .. }));
    assert!(two.is_outdated() && !one.is_outdated());
    assert_eq!(open().len(), 300);
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
