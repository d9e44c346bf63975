//! Queries meet a stretch of keys: scores, weights, and sums of values.

use std::f32::consts::LOG2_E;
use std::ops::Range;

use super::desk::{Desk, Laid};
use super::scores::{NEVER, ScoreRow};
use super::{Attend, Piece};
use crate::inference::backend::cpu::kernel::{Block, Kernel};
use crate::inference::backend::cpu::lanes::Lanes;
use crate::inference::backend::cpu::math::EXPONENT_MIN;
use crate::inference::backend::cpu::write::{Numbers, write_row};

impl<K: Kernel> Attend<'_, K> {
    /// A tile of queries meets a stretch of keys.
    ///
    /// # Safety
    /// The desk is the caller's.
    #[inline(always)]
    pub(super) unsafe fn meet(
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
                    let kept = (before - maximum).max(EXPONENT_MIN).exp2();
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
    pub(super) unsafe fn write(&self, desk: &Laid<K>, piece: &Piece, head: usize) {
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
