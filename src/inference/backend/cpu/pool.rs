//! The rows of a sequence become one.

use std::ops::Range;

use super::kernel::{Block, Kernel, Task};
use super::lanes::Lanes;
use crate::inference::Pooling;

/// Pooling as a task whose parts are sequences.
#[derive(Debug)]
pub(super) struct Pool<'a, K: Kernel> {
    pub x: Block<*const K::Operand>,
    pub sequences: &'a [Range<usize>],
    pub pooling: Pooling,
    /// A row for each sequence, with room for whole registers.
    pub out: Block<*mut f32>,
    pub width: usize,
}

// SAFETY: each part has a row of its own.
unsafe impl<K: Kernel> Sync for Pool<'_, K> {}

impl<K: Kernel> Task<K> for Pool<'_, K> {
    #[inline(always)]
    unsafe fn run(&self, at: usize, _worker: usize) {
        let sequence = &self.sequences[at];
        let rows = match self.pooling {
            Pooling::Mean => sequence.clone(),
            Pooling::Cls => sequence.start..sequence.start + 1,
        };
        let share = K::Lanes::splat(1.0 / rows.len() as f32);
        for column in (0..self.width).step_by(K::Lanes::WIDTH) {
            let mut sum = K::Lanes::splat(0.0);
            // SAFETY: both have room for whole registers, and the row is this part's.
            unsafe {
                for row in rows.clone() {
                    sum = sum.add(K::load(self.x.start.add(row * self.x.stride + column)));
                }
                sum.mul(share).store(self.out.start.add(at * self.out.stride + column));
            }
        }
    }
}
