mod kernel;
mod rows;
mod segment;

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use half::f16;

pub(super) use self::kernel::{Dot, dot};
pub(super) use self::rows::{RowPlaces, RowSet, Scan};
use super::vector::check_query;
use super::{PassageFilter, VectorIndex, VectorIndexError, VectorUpdate};
use crate::data::{Candidate, ChangeNumber, Embedding};
use crate::platform::Simd;

/// The cosine of `query` with each of `rows`: unit vectors in half precision, one after the other.
#[must_use]
pub fn cosines(query: &Embedding, rows: &[f16]) -> Vec<f32> {
    let dot = dot(Simd::detect());
    rows.chunks_exact(query.dim()).map(|row| dot(query.as_slice(), row)).collect()
}

/// Compares the query with every vector: the answer is exact, with any filter, at any time.
#[derive(Debug)]
pub struct ExactIndex {
    scan: Scan,
    snapshot: ArcSwap<RowSet>,
    writer: Mutex<RowPlaces>,
}

impl ExactIndex {
    /// An empty index for vectors of `dim` components, with the instruction set `simd`.
    #[must_use]
    pub fn new(dim: usize, simd: Simd) -> Self {
        let scan = Scan::new(dim, simd);
        Self { scan, snapshot: ArcSwap::default(), writer: Mutex::default() }
    }
}

impl VectorIndex for ExactIndex {
    fn dim(&self) -> usize {
        self.scan.dim
    }

    fn len(&self) -> usize {
        self.snapshot.load().live_rows()
    }

    fn reached(&self) -> ChangeNumber {
        self.snapshot.load().reached
    }

    fn apply(&self, update: VectorUpdate) -> Result<(), VectorIndexError> {
        update.check(self.scan.dim)?;
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows = RowSet::clone(&self.snapshot.load());
        writer.apply(&mut rows, update, self.scan.dim);
        self.snapshot.store(Arc::new(rows));
        Ok(())
    }

    fn search(
        &self,
        query: &Embedding,
        filter: &PassageFilter,
        limit: usize,
    ) -> Result<Vec<Candidate>, VectorIndexError> {
        check_query(query, self.scan.dim)?;
        if limit == 0 || filter.is_none() {
            return Ok(Vec::new());
        }
        let top = self.scan.search(&self.snapshot.load_full(), query.as_slice(), filter, limit);
        Ok(top.into_candidates())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use half::f16;
    use proptest::prelude::*;

    use super::segment::Segment;
    use super::*;
    use crate::data::{ChunkKey, DocumentId};

    const DIM: usize = 5;

    #[derive(Clone, Debug)]
    struct Step {
        from_scratch: bool,
        removed: Vec<u64>,
        upserted: Vec<(u64, Vec<[i8; DIM]>)>,
    }

    fn step() -> impl Strategy<Value = Step> {
        let rows = proptest::collection::vec(proptest::array::uniform5(-4_i8..4), 0..5);
        (
            proptest::bool::weighted(0.05),
            proptest::collection::vec(0_u64..12, 0..3),
            proptest::collection::vec((0_u64..12, rows), 0..4),
        )
            .prop_map(|(from_scratch, removed, upserted)| Step {
                from_scratch,
                removed,
                upserted,
            })
    }

    fn unit(row: [i8; DIM]) -> Vec<f32> {
        let mut values = row.map(f32::from);
        values[0] += 0.5;
        Embedding::normalized(values.to_vec()).unwrap().as_slice().to_vec()
    }

    fn document(n: u64) -> DocumentId {
        DocumentId::from_stored(n)
    }

    proptest! {
        #[test]
        fn finds_what_a_naive_scan_finds(
            steps in proptest::collection::vec(step(), 1..20),
            query in proptest::array::uniform5(-4_i8..4),
            only in proptest::option::of(proptest::collection::btree_set(0_u64..12, 0..6)),
            limit in 0_usize..12,
        ) {
            let index = ExactIndex::new(DIM, Simd::Plain);
            let mut truth: BTreeMap<u64, Vec<Vec<f16>>> = BTreeMap::new();
            for (n, Step { from_scratch, removed, upserted }) in steps.into_iter().enumerate() {
                let mut update = VectorUpdate {
                    from_scratch,
                    removed: removed.iter().map(|n| document(*n)).collect(),
                    reached: ChangeNumber(n as u64 + 1),
                    ..VectorUpdate::default()
                };
                if from_scratch {
                    truth.clear();
                }
                truth.retain(|n, _| !removed.contains(n));
                for (n, rows) in upserted {
                    let rows: Vec<Vec<f16>> =
                        rows.into_iter().map(|r| unit(r).into_iter().map(f16::from_f32).collect()).collect();
                    update.upsert(document(n), &rows.concat());
                    truth.insert(n, rows);
                }
                let reached = update.reached;
                index.apply(update).unwrap();
                prop_assert_eq!(index.reached(), reached);
            }
            let query = Embedding::normalized(unit(query)).unwrap();
            let filter = only.as_ref().map_or_else(PassageFilter::all, |only: &BTreeSet<u64>| {
                PassageFilter::only(only.iter().map(|n| document(*n)))
            });
            let mut expected: Vec<(f32, ChunkKey)> = truth
                .iter()
                .filter(|(n, _)| only.as_ref().is_none_or(|only| only.contains(*n)))
                .flat_map(|(n, rows)| rows.iter().enumerate().map(|(ordinal, row)| {
                    let key = ChunkKey { document: document(*n), ordinal: ordinal as u32 };
                    (kernel::plain_dot(query.as_slice(), row), key)
                }))
                .collect();
            expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            expected.truncate(limit);
            let found: Vec<_> = index
                .search(&query, &filter, limit)
                .unwrap()
                .iter()
                .map(|candidate| (candidate.score, candidate.chunk))
                .collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(index.len(), truth.values().map(Vec::len).sum::<usize>());
        }
    }

    /// Rows that point somewhere between two axes.
    fn fan(rows: usize) -> Vec<f16> {
        (0..rows)
            .flat_map(|n| {
                let angle = n as f32 / rows as f32;
                [angle.cos(), angle.sin()].map(f16::from_f32)
            })
            .collect()
    }

    #[test]
    fn many_threads_find_what_one_finds() {
        let mut index = ExactIndex::new(2, Simd::detect());
        let mut single = ExactIndex::new(2, Simd::detect());
        (index.scan.threads, single.scan.threads) = (4, 1);
        for n in 0..8 {
            let mut update = VectorUpdate::default();
            update.upsert(document(n), &fan(10_000));
            single.apply(update.clone()).unwrap();
            index.apply(update).unwrap();
        }
        let query = Embedding::normalized(vec![1.0, 0.3]).unwrap();
        let filter = PassageFilter::all().without([document(3)]);
        let found = index.search(&query, &filter, 50).unwrap();
        assert_eq!(found, single.search(&query, &filter, 50).unwrap());
        assert!(found.iter().all(|candidate| candidate.chunk.document != document(3)));
    }

    #[test]
    fn small_updates_leave_few_segments_and_dead_rows_go() {
        let index = ExactIndex::new(2, Simd::Plain);
        for n in 0..1_000 {
            let mut update = VectorUpdate::default();
            update.upsert(document(n % 300), &fan(3));
            index.apply(update).unwrap();
        }
        let snapshot = index.snapshot.load();
        assert!(snapshot.segments.len() <= 12, "{} segments", snapshot.segments.len());
        let rows: usize = snapshot.segments.iter().map(Segment::rows).sum();
        assert_eq!(index.len(), 900);
        assert!(rows <= 1_800, "{rows} rows for 900 alive");
    }

    #[test]
    fn a_search_keeps_the_state_it_began_with() {
        let index = ExactIndex::new(2, Simd::Plain);
        let mut update = VectorUpdate::default();
        update.upsert(document(1), &fan(3));
        index.apply(update).unwrap();
        let held = index.snapshot.load_full();
        index.apply(VectorUpdate { from_scratch: true, ..VectorUpdate::default() }).unwrap();
        assert_eq!(held.segments.iter().map(Segment::live_rows).sum::<usize>(), 3);
        assert!(index.is_empty());
    }

    #[test]
    fn wrong_dimensions_are_refused_and_change_nothing() {
        let index = ExactIndex::new(2, Simd::Plain);
        let mut update = VectorUpdate { reached: ChangeNumber(5), ..VectorUpdate::default() };
        update.upsert(document(1), &[f16::ONE; 3]);
        let error = index.apply(update).unwrap_err();
        assert!(matches!(error, VectorIndexError::RowDimension { found: 3, .. }), "{error}");
        assert_eq!((index.len(), index.reached()), (0, ChangeNumber(0)));
        let query = Embedding::normalized(vec![1.0]).unwrap();
        let error = index.search(&query, &PassageFilter::all(), 1).unwrap_err();
        assert_eq!(error, VectorIndexError::QueryDimension { expected: 2, found: 1 });
    }
}
