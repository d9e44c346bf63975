//! Layer normalization, and lookup, which ends in one.

use std::marker::PhantomData;

use super::kernel::{Block, Kernel, Task};
use super::lanes::Lanes;
use super::packed::{LookupTable, PackedVector};
use super::write::{Numbers, write_row};
use crate::data::TokenBatch;
use crate::inference::backend::{EmbeddingTables, LayerNorm};

/// Rows that a part of a task has.
const ROWS_A_PART: usize = 8;

/// Normalizes rows of sums in f32, and writes them as operands.
#[derive(Debug)]
pub(super) struct SumsToRows<'a, K: Kernel> {
    /// A row for each of `out`, or, where a worker makes them, for each worker.
    pub sums: Block<*mut f32>,
    pub width: usize,
    norm: &'a LayerNorm<PackedVector>,
    out: Block<*mut K::Operand>,
    kernel: PhantomData<K>,
}

// SAFETY: parts of a task have rows of their own.
unsafe impl<K: Kernel> Sync for SumsToRows<'_, K> {}

impl<'a, K: Kernel> SumsToRows<'a, K> {
    pub fn new(
        sums: Block<*mut f32>,
        width: usize,
        norm: &'a LayerNorm<PackedVector>,
        out: Block<*mut K::Operand>,
    ) -> Self {
        Self { sums, width, norm, out, kernel: PhantomData }
    }

    /// # Safety
    /// Below [`Kernel::enter`]; nobody else has this row of the sums and of the result.
    #[inline(always)]
    pub unsafe fn row(&self, row: usize) {
        // SAFETY: both have the row.
        unsafe {
            let sums = self.sums.start.add(row * self.sums.stride);
            self.write(sums, self.out.start.add(row * self.out.stride));
        }
    }

    /// # Safety
    /// Below [`Kernel::enter`]; there are `width` sums, and room for as many operands.
    #[inline(always)]
    unsafe fn write(&self, sums: *const f32, to: *mut K::Operand) {
        let (gain, bias) = (self.norm.gain.start(), self.norm.bias.start());
        // SAFETY: said by the caller; what a register reads beyond a row is not used.
        unsafe {
            let mean = fold::<K, false>(sums, self.width, 0.0) / self.width as f32;
            let variance = fold::<K, true>(sums, self.width, mean) / self.width as f32;
            let scale = 1.0 / (variance + self.norm.epsilon as f32).sqrt();
            write_row::<K>(to, self.width, &Normal { sums, mean, scale, gain, bias });
        }
    }
}

/// A row that is centered and scaled.
struct Normal {
    sums: *const f32,
    mean: f32,
    scale: f32,
    gain: *const f32,
    bias: *const f32,
}

impl<K: Kernel> Numbers<K> for Normal {
    #[inline(always)]
    unsafe fn at(&self, column: usize) -> K::Lanes {
        // SAFETY: all can be read a register beyond the last column.
        unsafe {
            let x = K::Lanes::load(self.sums.add(column)).sub(K::Lanes::splat(self.mean));
            let gain = K::Lanes::load(self.gain.add(column));
            let bias = K::Lanes::load(self.bias.add(column));
            x.mul(K::Lanes::splat(self.scale)).mul_add(gain, bias)
        }
    }
}

/// The sum over a row of x − shift, or of its square.
///
/// # Safety
/// Below [`Kernel::enter`]; there are `count` numbers.
#[inline(always)]
unsafe fn fold<K: Kernel, const SQUARED: bool>(
    numbers: *const f32,
    count: usize,
    shift: f32,
) -> f32 {
    let width = K::Lanes::WIDTH;
    let whole = count - count % width;
    let shift = K::Lanes::splat(shift);
    let mut sum = K::Lanes::splat(0.0);
    for at in (0..whole).step_by(width) {
        // SAFETY: a register is left.
        let x = unsafe { K::Lanes::load(numbers.add(at)) }.sub(shift);
        sum = if SQUARED { x.mul_add(x, sum) } else { sum.add(x) };
    }
    let mut sum = sum.sum();
    if whole < count {
        // The rest in a register whose other numbers fall out of the sum.
        let mut rest = [0.0; 16];
        // SAFETY: no register is wider than 16, and `count - whole` numbers are left.
        unsafe {
            std::ptr::copy_nonoverlapping(numbers.add(whole), rest.as_mut_ptr(), count - whole);
            let x = K::Lanes::load(rest.as_ptr()).sub(shift);
            let x = if SQUARED { x.mul(x) } else { x };
            x.store(rest.as_mut_ptr());
        }
        sum += rest[..count - whole].iter().sum::<f32>();
    }
    sum
}

impl<K: Kernel> Task<K> for SumsToRows<'_, K> {
    #[inline(always)]
    unsafe fn run(&self, at: usize, _worker: usize) {
        // SAFETY: parts are rows.
        unsafe { self.row(at) }
    }
}

/// Word + position + token type, then the norm.
#[derive(Debug)]
pub(super) struct Embed<'a, K: Kernel> {
    pub batch: &'a TokenBatch,
    pub tables: &'a EmbeddingTables<LookupTable, PackedVector>,
    /// Its sums have a row for each worker.
    pub norm: SumsToRows<'a, K>,
    /// Where a worker reads a position's row.
    pub positions: Block<*mut f32>,
}

// SAFETY: parts are rows of their own, and workers have rows of sums of their own.
unsafe impl<K: Kernel> Sync for Embed<'_, K> {}

impl<K: Kernel> Embed<'_, K> {
    pub fn parts(&self) -> usize {
        self.batch.tokens().div_ceil(ROWS_A_PART)
    }
}

impl<K: Kernel> Task<K> for Embed<'_, K> {
    #[inline(always)]
    unsafe fn run(&self, at: usize, worker: usize) {
        let width = self.norm.width;
        // SAFETY: each worker has a row of both.
        let (own_sums, own_position) = unsafe {
            (
                self.norm.sums.start.add(worker * self.norm.sums.stride),
                self.positions.start.add(worker * self.positions.stride),
            )
        };
        // SAFETY: the vector has `width` numbers.
        let token_type =
            unsafe { std::slice::from_raw_parts(self.tables.token_type.start(), width) };
        let end = ((at + 1) * ROWS_A_PART).min(self.batch.tokens());
        for row in at * ROWS_A_PART..end {
            // SAFETY: `width` numbers of rows that are this worker's, reached in no other way meanwhile.
            let (sums, position) = unsafe {
                (
                    std::slice::from_raw_parts_mut(own_sums, width),
                    std::slice::from_raw_parts_mut(own_position, width),
                )
            };
            self.tables.word.read(self.batch.ids()[row] as usize, sums);
            if let Some(table) = &self.tables.position {
                table.read(self.batch.position(row), position);
                sums.iter_mut().zip(&*position).for_each(|(x, y)| *x += y);
            }
            sums.iter_mut().zip(token_type).for_each(|(x, y)| *x += y);
            // SAFETY: the sums are this worker's, and the row this part's. The pointer is that of the whole
            // row, since whole registers are read of it.
            unsafe {
                let to = self.norm.out.start.add(row * self.norm.out.stride);
                self.norm.write(own_sums, to);
            }
        }
    }
}
