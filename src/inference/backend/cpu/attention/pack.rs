//! Queries, keys and values as the tiles of products read them.

use std::ops::Range;

use super::desk::Laid;
use super::{Attend, Piece};
use crate::inference::backend::cpu::kernel::Kernel;
use crate::inference::backend::cpu::operand::Operand;
use crate::inference::backend::cpu::packed::place;

impl<K: Kernel> Attend<'_, K> {
    /// # Safety
    /// The desk is the caller's.
    #[inline(always)]
    pub(super) unsafe fn lay_queries(&self, desk: &Laid<K>, piece: &Piece, head: usize) {
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

    /// Packs keys as the outputs of a product, as `PackedMatrix` does.
    ///
    /// # Safety
    /// The desk is the caller's.
    #[inline(always)]
    pub(super) unsafe fn lay_keys(&self, desk: &Laid<K>, keys: &Range<usize>, head: usize) {
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
    pub(super) unsafe fn lay_values(&self, desk: &Laid<K>, keys: &Range<usize>, head: usize) {
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
}
