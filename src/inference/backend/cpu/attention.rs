//! softmax(q · kᵀ / √d + bias) · v, a head of a sequence at a time.
//!
//! Keys are met in stretches with a running maximum and sum (Milakov & Gimelshein 2018), so that memory
//! does not grow with the square of a sequence's length. The exponentials are powers of two: the factor
//! 1 / ln 2 is part of the scale.

mod scores;

use std::f32::consts::LOG2_E;
use std::ops::Range;
use std::sync::Arc;

use self::scores::{NEVER, ScoreRow};
use super::buffer::{Rows, Shelf};
use super::kernel::{Block, Kernel, Task};
use super::lanes::Lanes;
use super::operand::Operand;
use super::packed::place;
use super::write::{Numbers, write_row};
use crate::inference::Alibi;
use crate::inference::backend::{Attention, BackendError};

/// Keys whose scores are held at once.
const STRETCH: usize = 512;

/// Queries of a part. Keys and values are packed once a part, which costs as much as one or two queries.
const QUERIES: usize = 256;

/// Some queries of a sequence.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Rows of the batch.
    sequence: Range<usize>,
    queries: Range<usize>,
}

/// Cuts sequences into pieces.
pub(super) fn pieces(sequences: impl Iterator<Item = Range<usize>>) -> Vec<Piece> {
    let piece = |sequence: &Range<usize>, first: usize| Piece {
        sequence: sequence.clone(),
        queries: first..(first + QUERIES).min(sequence.end),
    };
    sequences
        .flat_map(|sequence| {
            sequence.clone().step_by(QUERIES).map(move |first| piece(&sequence, first))
        })
        .collect()
}

/// Attention as a task whose parts are the heads of pieces.
#[derive(Debug)]
pub(super) struct Attend<'a, K: Kernel> {
    qkv: &'a Rows<K::Operand>,
    out: Block<*mut K::Operand>,
    pieces: &'a [Piece],
    heads: usize,
    slopes: &'a [f32],
    width: usize,
    scale: f32,
    desk: Desk,
    /// A desk for each worker.
    desks: Rows<f32>,
}

// SAFETY: parts write rows and columns of their own, and each worker has a desk.
unsafe impl<K: Kernel> Sync for Attend<'_, K> {}

/// Where on a worker's desk things lie, in f32 from its start; and their shapes.
#[derive(Clone, Copy, Debug, Default)]
struct Desk {
    /// Components of a head, as inputs and as outputs.
    depth: usize,
    outputs: usize,
    /// Keys of a stretch, filled up.
    keys: usize,
    queries: usize,
    key_panels: usize,
    value_panels: usize,
    /// [`Kernel::ROWS`] rows of `keys` in f32, and as operands.
    scores: usize,
    weights: usize,
    /// `[queries, outputs]`.
    sums: usize,
    /// A number a query: the running maximum, and the running sum of weights.
    maxima: usize,
    totals: usize,
    numbers: usize,
}

impl Desk {
    fn new<K: Kernel>(d: usize, longest: usize) -> Self {
        let up = |count: usize| count.next_multiple_of(64);
        let whole = K::OUTPUTS.max(K::DEPTH);
        let keys = longest.min(STRETCH).next_multiple_of(whole);
        let rows = longest.min(QUERIES).next_multiple_of(K::ROWS);
        let (depth, outputs) = (d.next_multiple_of(K::DEPTH), d.next_multiple_of(K::OUTPUTS));
        let mut desk = Self { depth, outputs, keys, ..Self::default() };
        let mut end = 0;
        let mut lay = |count: usize| {
            let at = end;
            end += up(count);
            at
        };
        // Operands are no larger than f32.
        desk.queries = lay(rows * depth);
        desk.key_panels = lay(keys * depth);
        desk.value_panels = lay(outputs * keys);
        desk.scores = lay(K::ROWS * keys);
        desk.weights = lay(K::ROWS * keys);
        desk.sums = lay(rows * outputs);
        desk.maxima = lay(rows);
        desk.totals = lay(rows);
        desk.numbers = end;
        desk
    }
}

/// A desk's places as addresses.
struct Laid<K: Kernel> {
    queries: *mut K::Operand,
    keys: *mut K::Operand,
    values: *mut K::Operand,
    scores: *mut f32,
    weights: *mut K::Operand,
    sums: *mut f32,
    maxima: *mut f32,
    totals: *mut f32,
}

impl<'a, K: Kernel> Attend<'a, K> {
    /// # Errors
    /// When the system has no memory.
    pub fn new(
        shelf: &Arc<Shelf>,
        threads: usize,
        qkv: &'a Rows<K::Operand>,
        out: &Rows<K::Operand>,
        pieces: &'a [Piece],
        attention: &'a Attention,
    ) -> Result<Self, BackendError> {
        let width = qkv.columns / 3 / attention.heads;
        let longest = pieces.iter().map(|piece| piece.sequence.len()).max().unwrap_or(0);
        let desk = Desk::new::<K>(width, longest);
        Ok(Self {
            qkv,
            out: out.block_mut(),
            pieces,
            heads: attention.heads,
            slopes: attention.alibi.as_ref().map_or(&[], Alibi::slopes),
            width,
            scale: LOG2_E / (width as f32).sqrt(),
            desk,
            desks: Rows::exactly(shelf, threads, desk.numbers)?,
        })
    }

    pub fn parts(&self) -> usize {
        self.pieces.len() * self.heads
    }

    /// # Safety
    /// Nobody else is `worker`.
    unsafe fn desk(&self, worker: usize) -> Laid<K> {
        let Block { start, stride } = self.desks.block_mut();
        let Desk {
            queries, key_panels, value_panels, scores, weights, sums, maxima, totals, ..
        } = self.desk;
        // SAFETY: each worker has a row, and all places are within it.
        let place = |at: usize| unsafe { start.add(worker * stride + at) };
        Laid {
            queries: place(queries).cast(),
            keys: place(key_panels).cast(),
            values: place(value_panels).cast(),
            scores: place(scores),
            weights: place(weights).cast(),
            sums: place(sums),
            maxima: place(maxima),
            totals: place(totals),
        }
    }

    /// Row `row` of the queries (0), keys (1) or values (2) of a head.
    fn row(&self, which: usize, head: usize, row: usize) -> *const K::Operand {
        let Block { start, stride } = self.qkv.block();
        let column = which * self.heads * self.width + head * self.width;
        // SAFETY: the row has three times all heads.
        unsafe { start.add(row * stride + column) }
    }
}

impl<K: Kernel> Task<K> for Attend<'_, K> {
    #[inline(always)]
    unsafe fn run(&self, at: usize, worker: usize) {
        let (piece, head) = (&self.pieces[at / self.heads], at % self.heads);
        // SAFETY: all below works on this worker's desk, and writes the head's part of the piece's rows.
        unsafe {
            let desk = self.desk(worker);
            self.lay_queries(&desk, piece, head);
            for first in piece.sequence.clone().step_by(STRETCH) {
                let keys = first..(first + STRETCH).min(piece.sequence.end);
                self.lay_keys(&desk, &keys, head);
                self.lay_values(&desk, &keys, head);
                for first_query in (0..piece.queries.len()).step_by(K::ROWS) {
                    let last = (first_query + K::ROWS).min(piece.queries.len());
                    self.meet(&desk, piece, first_query..last, &keys, head);
                }
            }
            self.write(&desk, piece, head);
        }
    }
}

impl<K: Kernel> Attend<'_, K> {
    /// # Safety
    /// The desk is the caller's.
    #[inline(always)]
    unsafe fn lay_queries(&self, desk: &Laid<K>, piece: &Piece, head: usize) {
        let depth = self.desk.depth;
        for (at, row) in piece.queries.clone().enumerate() {
            // SAFETY: the desk has room for each query, filled up with zeros.
            unsafe {
                let to = desk.queries.add(at * depth);
                std::ptr::copy_nonoverlapping(self.row(0, head, row), to, self.width);
                to.add(self.width).write_bytes(0, depth - self.width);
            }
        }
    }

    /// Packs keys as the outputs of a product, as [`super::packed::PackedMatrix`] does.
    ///
    /// # Safety
    /// The desk is the caller's.
    #[inline(always)]
    unsafe fn lay_keys(&self, desk: &Laid<K>, keys: &Range<usize>, head: usize) {
        let depth = self.desk.depth;
        let stride = self.qkv.block().stride;
        for (panel, first) in keys.clone().step_by(K::OUTPUTS).enumerate() {
            let count = K::OUTPUTS.min(keys.end - first);
            // SAFETY: the desk has room for whole panels of keys.
            unsafe {
                let to = desk.keys.add(panel * depth * K::OUTPUTS);
                if count < K::OUTPUTS || self.width < depth {
                    to.write_bytes(0, depth * K::OUTPUTS);
                }
                let from = self.row(1, head, first);
                for k in 0..self.width {
                    let to = to.add(place::<K>(k, 0));
                    for c in 0..count {
                        *to.add(c * K::Operand::GROUP) = *from.add(c * stride + k);
                    }
                }
            }
        }
    }

    /// Packs values: their components are the outputs, and the keys what is added over.
    ///
    /// # Safety
    /// The desk is the caller's.
    #[inline(always)]
    unsafe fn lay_values(&self, desk: &Laid<K>, keys: &Range<usize>, head: usize) {
        let depth = keys.len().next_multiple_of(K::DEPTH);
        for (panel, first) in (0..self.width).step_by(K::OUTPUTS).enumerate() {
            let count = K::OUTPUTS.min(self.width - first);
            // SAFETY: the desk has room for whole panels.
            unsafe {
                let to = desk.values.add(panel * depth * K::OUTPUTS);
                if count < K::OUTPUTS || keys.len() < depth {
                    to.write_bytes(0, depth * K::OUTPUTS);
                }
                for (k, row) in keys.clone().enumerate() {
                    let from = self.row(2, head, row).add(first);
                    let to = to.add(place::<K>(k, 0));
                    for c in 0..count {
                        *to.add(c * K::Operand::GROUP) = *from.add(c);
                    }
                }
            }
        }
    }

    /// A tile of queries meets a stretch of keys.
    ///
    /// # Safety
    /// The desk is the caller's.
    #[inline(always)]
    unsafe fn meet(
        &self,
        desk: &Laid<K>,
        piece: &Piece,
        queries: Range<usize>,
        keys: &Range<usize>,
        head: usize,
    ) {
        let Desk { depth, outputs, keys: stride, .. } = self.desk;
        let is_first = keys.start == piece.sequence.start;
        let slope = self.slopes.get(head).map_or(0.0, |slope| slope * LOG2_E);
        let value_depth = keys.len().next_multiple_of(K::DEPTH);
        // SAFETY: the desk has whole tiles of queries, scores, weights and sums.
        unsafe {
            let a = Block {
                start: desk.queries.add(queries.start * depth).cast_const(),
                stride: depth,
            };
            for panel in 0..keys.len().div_ceil(K::OUTPUTS) {
                let out = Block { start: desk.scores.add(panel * K::OUTPUTS), stride };
                let keys = desk.keys.add(panel * depth * K::OUTPUTS);
                K::tile(a, queries.len(), keys, depth, out);
            }
            for (r, query) in queries.clone().enumerate() {
                let row = ScoreRow {
                    scores: desk.scores.add(r * stride),
                    keys: keys.len(),
                    weights: desk.weights.add(r * stride),
                    filled: value_depth,
                    scale: self.scale,
                    slope,
                    // From the query to the first key.
                    first_distance: keys.start as f32 - (piece.queries.start + query) as f32,
                };
                let before = if is_first { NEVER } else { *desk.maxima.add(query) };
                let (maximum, total) = row.weigh::<K>(before);
                *desk.maxima.add(query) = maximum;
                if is_first {
                    *desk.totals.add(query) = total;
                } else {
                    let kept = (before - maximum).exp2();
                    *desk.totals.add(query) = *desk.totals.add(query) * kept + total;
                    scale_sums::<K>(desk.sums.add(query * outputs), outputs, kept);
                }
            }
            let a = Block { start: desk.weights.cast_const(), stride };
            for panel in 0..outputs / K::OUTPUTS {
                let values = desk.values.add(panel * value_depth * K::OUTPUTS);
                let sums = desk.sums.add(queries.start * outputs + panel * K::OUTPUTS);
                if is_first {
                    let out = Block { start: sums, stride: outputs };
                    K::tile(a, queries.len(), values, value_depth, out);
                } else {
                    // The scores are used up.
                    let out = Block { start: desk.scores, stride };
                    K::tile(a, queries.len(), values, value_depth, out);
                    for r in 0..queries.len() {
                        add_sums::<K>(sums.add(r * outputs), desk.scores.add(r * stride));
                    }
                }
            }
        }
    }

    /// # Safety
    /// The desk is the caller's, and nobody else writes this head of these rows.
    #[inline(always)]
    unsafe fn write(&self, desk: &Laid<K>, piece: &Piece, head: usize) {
        for (query, row) in piece.queries.clone().enumerate() {
            // SAFETY: the result has the row and the head.
            unsafe {
                let sums = desk.sums.add(query * self.desk.outputs);
                let share = 1.0 / *desk.totals.add(query);
                let to = self.out.start.add(row * self.out.stride + head * self.width);
                write_row::<K>(to, self.width, &Shared { sums, share });
            }
        }
    }
}

/// Sums as their share of a total.
struct Shared {
    sums: *const f32,
    share: f32,
}

impl<K: Kernel> Numbers<K> for Shared {
    #[inline(always)]
    unsafe fn at(&self, column: usize) -> K::Lanes {
        // SAFETY: sums have whole registers.
        unsafe { K::Lanes::load(self.sums.add(column)) }.mul(K::Lanes::splat(self.share))
    }
}

/// Multiplies a row of sums.
///
/// # Safety
/// Below [`Kernel::enter`]; there are `count` sums, whole registers.
#[inline(always)]
unsafe fn scale_sums<K: Kernel>(sums: *mut f32, count: usize, factor: f32) {
    let factor = K::Lanes::splat(factor);
    for at in (0..count).step_by(K::Lanes::WIDTH) {
        // SAFETY: said by the caller.
        unsafe { K::Lanes::load(sums.add(at)).mul(factor).store(sums.add(at)) }
    }
}

/// Adds the row of a tile to sums.
///
/// # Safety
/// Below [`Kernel::enter`]; both have the outputs of a panel.
#[inline(always)]
unsafe fn add_sums<K: Kernel>(sums: *mut f32, more: *const f32) {
    for at in (0..K::OUTPUTS).step_by(K::Lanes::WIDTH) {
        // SAFETY: said by the caller.
        unsafe {
            K::Lanes::load(sums.add(at)).add(K::Lanes::load(more.add(at))).store(sums.add(at));
        }
    }
}
