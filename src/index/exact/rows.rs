//! Rows in memory that are scanned, and how they change.
//!
//! Rows are half precision and lie in contiguous segments. Updates build a new list of segments beside the
//! one that searches hold, sharing what has not changed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use half::f16;

use super::kernel::{self, Dot};
use super::segment::{Segment, Stretch};
use crate::data::{ChangeNumber, DocumentId};
use crate::index::top::Top;
use crate::index::{PassageFilter, VectorUpdate};
use crate::platform;
use crate::platform::Simd;

/// Rows that are worth a thread of their own: a few hundred microseconds of scanning, against the
/// fifty or so that starting a thread costs.
const ROWS_PER_THREAD_MIN: usize = 16_384;

/// A segment is not merged beyond this, which bounds what one update copies (48 MB at 384
/// components).
const SEGMENT_ROWS_MAX: usize = 65_536;

/// Rows that a thread takes at a time.
const STRETCH_ROWS: usize = 4_096;

/// Rows as one search sees them.
#[derive(Clone, Debug, Default)]
pub(in crate::index) struct RowSet {
    pub(super) segments: Vec<Segment>,
    pub reached: ChangeNumber,
}

/// Where the rows of each document are, which only updates need: id of the segment and place in it.
#[derive(Debug, Default)]
pub(in crate::index) struct RowPlaces {
    places: HashMap<DocumentId, (u64, usize)>,
    last_segment: u64,
}

/// How rows are compared.
#[derive(Debug)]
pub(in crate::index) struct Scan {
    pub dim: usize,
    pub dot: Dot,
    pub threads: usize,
}

impl RowSet {
    /// No rows, at a change.
    pub fn reaching(reached: ChangeNumber) -> Self {
        Self { reached, ..Self::default() }
    }

    pub fn live_rows(&self) -> usize {
        self.segments.iter().map(Segment::live_rows).sum()
    }

    /// Every living document with its rows, end to end.
    pub fn documents(&self) -> impl Iterator<Item = (DocumentId, &[f16])> + '_ {
        self.segments.iter().flat_map(Segment::documents)
    }
}

impl RowPlaces {
    /// Takes an update in.
    pub fn apply(&mut self, rows: &mut RowSet, update: VectorUpdate, dim: usize) {
        if update.from_scratch {
            rows.segments.clear();
            self.places.clear();
        }
        let replaced = update.documents.iter().map(|(document, _)| document);
        for document in update.removed.iter().chain(replaced) {
            if let Some((segment, place)) = self.places.remove(document)
                && let Some(segment) = rows.segments.iter_mut().find(|s| s.id() == segment)
            {
                segment.kill(place);
            }
        }
        let id = self.fresh_id();
        let segment = Segment::new(id, dim, &update.documents, update.rows);
        self.place(&segment);
        rows.segments.push(segment);
        rows.reached = update.reached;
        self.tidy(&mut rows.segments, dim);
    }

    fn fresh_id(&mut self) -> u64 {
        self.last_segment += 1;
        self.last_segment
    }

    fn place(&mut self, segment: &Segment) {
        for (place, document) in segment.live_documents() {
            self.places.insert(document, (segment.id(), place));
        }
    }

    /// Merges until sizes fall by half or more from segment to segment, so that there are few of
    /// them and a row is copied a logarithmic number of times; rewrites what is mostly dead.
    fn tidy(&mut self, segments: &mut Vec<Segment>, dim: usize) {
        segments.retain(|segment| segment.live_rows() > 0);
        loop {
            let pair = segments.windows(2).position(|pair| {
                let (older, newer) = (pair[0].live_rows(), pair[1].live_rows());
                older <= 2 * newer && older + newer <= SEGMENT_ROWS_MAX
            });
            let range = match pair {
                Some(at) => at..at + 2,
                None => match segments.iter().position(Segment::is_wasteful) {
                    Some(at) => at..at + 1,
                    None => return,
                },
            };
            let merged = Segment::merged(self.fresh_id(), dim, &segments[range.clone()]);
            self.place(&merged);
            segments.splice(range, [merged]);
        }
    }
}

impl Scan {
    pub fn new(dim: usize, simd: Simd) -> Self {
        let threads = platform::cores();
        Self { dim, dot: kernel::dot(simd), threads }
    }

    /// The best of `rows`, on as many threads as they are worth.
    pub fn search(
        &self,
        rows: &RowSet,
        query: &[f32],
        filter: &PassageFilter,
        limit: usize,
    ) -> Top<()> {
        let stretches: Vec<Stretch<'_>> =
            rows.segments.iter().flat_map(|segment| segment.stretches(STRETCH_ROWS)).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut top = Top::new(limit);
            while let Some(stretch) = stretches.get(next.fetch_add(1, Ordering::Relaxed)) {
                stretch.scan(self.dot, query, filter, &mut top);
            }
            top
        };
        let rows: usize = stretches.iter().map(Stretch::rows).sum();
        let helpers = (rows / ROWS_PER_THREAD_MIN).clamp(1, self.threads) - 1;
        thread::scope(|scope| {
            let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
            let mut top = work();
            for helper in helpers {
                match helper.join() {
                    Ok(found) => top.merge(found),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            top
        })
    }
}
