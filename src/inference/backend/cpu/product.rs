//! x · weightᵀ, and what happens to a tile of it before it is written.

use std::ops::Range;

use super::buffer::Rows;
use super::kernel::{Block, Kernel, Task};
use super::lanes::Lanes;
use super::math::gelu;
use super::norm::SumsToRows;
use super::packed::PackedMatrix;
use super::write::{Numbers, write_row};

/// Rows that a thread multiplies with one panel after the other: they stay in its cache meanwhile.
const ROWS_BYTES: usize = 128 << 10;

/// Parts of a product, so that no thread waits long for the last one.
const PARTS_A_THREAD: usize = 2;

/// How a product is cut into parts: pieces of the rows, and where there are fewer rows than threads,
/// groups of the panels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    rows: usize,
    rows_a_part: usize,
    panels: usize,
    groups: usize,
}

impl Grid {
    /// `panels` are those that [`Epilogue::PARTS`] leaves.
    fn new<K: Kernel>(x: &Rows<K::Operand>, panels: usize, threads: usize) -> Self {
        let blocks = x.count.div_ceil(K::ROWS);
        let row_bytes = x.stride * size_of::<K::Operand>();
        let in_cache = (ROWS_BYTES / (K::ROWS * row_bytes)).max(1);
        let (blocks_a_part, groups) = if threads == 1 {
            (in_cache, 1)
        } else {
            let wanted = PARTS_A_THREAD * threads;
            let blocks_a_part = in_cache.min(blocks.div_ceil(wanted));
            (blocks_a_part, wanted.div_ceil(blocks.div_ceil(blocks_a_part)).min(panels))
        };
        Self { rows: x.count, rows_a_part: blocks_a_part * K::ROWS, panels, groups }
    }

    pub fn parts(&self) -> usize {
        self.rows.div_ceil(self.rows_a_part) * self.groups
    }

    /// Whether a part has all the outputs of its rows.
    pub fn whole_rows(&self) -> bool {
        self.groups == 1
    }

    fn part(&self, at: usize) -> (Range<usize>, Range<usize>) {
        let (piece, group) = (at / self.groups, at % self.groups);
        let first = piece * self.rows_a_part;
        let panel = |group: usize| group * self.panels / self.groups;
        (first..(first + self.rows_a_part).min(self.rows), panel(group)..panel(group + 1))
    }
}

/// What happens to tiles of sums.
pub(super) trait Epilogue<K: Kernel>: Sync {
    /// Parts of the matrix whose tiles meet: 2 when one gates the other.
    const PARTS: usize = 1;

    /// `tiles` has a tile for each part, its rows [`Kernel::OUTPUTS`] apart.
    ///
    /// # Safety
    /// Below [`Kernel::enter`], for rows and columns that no other thread writes.
    unsafe fn finish(&self, tiles: [*const f32; 2], rows: Range<usize>, columns: Range<usize>);

    /// After all outputs of `rows`, where a part of the product has them all.
    ///
    /// # Safety
    /// As for [`Epilogue::finish`].
    #[inline(always)]
    unsafe fn finish_rows(&self, _rows: Range<usize>) {}
}

/// One product as a task.
#[derive(Debug)]
pub(super) struct Product<'a, K: Kernel, E> {
    x: &'a Rows<K::Operand>,
    matrix: &'a PackedMatrix<K>,
    pub grid: Grid,
    pub epilogue: E,
}

impl<'a, K: Kernel, E: Epilogue<K>> Product<'a, K, E> {
    pub fn new(
        x: &'a Rows<K::Operand>,
        matrix: &'a PackedMatrix<K>,
        threads: usize,
        epilogue: E,
    ) -> Self {
        assert!(x.stride >= matrix.depth, "{x:?} by {matrix:?}");
        let panels = matrix.parts * matrix.panels() / E::PARTS;
        Self { x, matrix, grid: Grid::new::<K>(x, panels, threads), epilogue }
    }
}

/// The largest tile.
#[repr(align(64))]
struct Tile([f32; 32 * 32]);

impl<K: Kernel, E: Epilogue<K>> Task<K> for Product<'_, K, E> {
    #[inline(always)]
    unsafe fn run(&self, at: usize, _worker: usize) {
        let (rows, panels) = self.grid.part(at);
        let mut tiles = [const { Tile([0.0; 32 * 32]) }; 2];
        let a = self.x.block();
        for panel in panels {
            let columns = self.columns(panel);
            for first in rows.clone().step_by(K::ROWS) {
                let block = first..(first + K::ROWS).min(rows.end);
                for (part, tile) in tiles.iter_mut().enumerate().take(E::PARTS) {
                    let panel = self.matrix.panel(part * self.matrix.panels() + panel);
                    // SAFETY: rows have room for whole tiles, and are as wide as the matrix is deep.
                    unsafe {
                        let a = Block { start: a.start.add(first * a.stride), stride: a.stride };
                        let out = Block { start: tile.0.as_mut_ptr(), stride: K::OUTPUTS };
                        K::tile(a, block.len(), panel, self.matrix.depth, out);
                    }
                }
                let tiles = [tiles[0].0.as_ptr(), tiles[1].0.as_ptr()];
                // SAFETY: no other part has these rows and columns.
                unsafe { self.epilogue.finish(tiles, block, columns.clone()) }
            }
        }
        if self.grid.whole_rows() {
            // SAFETY: as above, and all columns are finished.
            unsafe { self.epilogue.finish_rows(rows) }
        }
    }
}

impl<K: Kernel, E> Product<'_, K, E> {
    /// The outputs that a panel has.
    fn columns(&self, panel: usize) -> Range<usize> {
        let (part, panel) = (panel / self.matrix.panels(), panel % self.matrix.panels());
        let first = panel * K::OUTPUTS;
        let last = (first + K::OUTPUTS).min(self.matrix.outputs);
        part * self.matrix.outputs + first..part * self.matrix.outputs + last
    }
}

/// Writes f(sum + bias).
#[derive(Debug)]
pub(super) struct Write<O, const GELU: bool> {
    pub bias: Option<*const f32>,
    pub out: Block<*mut O>,
}

// SAFETY: parts of a product write disjoint tiles; the bias is only read.
unsafe impl<O, const GELU: bool> Sync for Write<O, GELU> {}

impl<K: Kernel, const GELU: bool> Epilogue<K> for Write<K::Operand, GELU> {
    #[inline(always)]
    unsafe fn finish(&self, tiles: [*const f32; 2], rows: Range<usize>, columns: Range<usize>) {
        for (r, row) in rows.enumerate() {
            // SAFETY: the tile has the row, and `out` the row and columns.
            unsafe {
                let sums = tiles[0].add(r * K::OUTPUTS);
                let bias = self.bias.map(|bias| bias.add(columns.start));
                let out = self.out.start.add(row * self.out.stride + columns.start);
                write_row::<K>(out, columns.len(), &Activated::<GELU> { sums, bias });
            }
        }
    }
}

/// A row of sums on its way through bias and activation.
struct Activated<const GELU: bool> {
    sums: *const f32,
    bias: Option<*const f32>,
}

impl<K: Kernel, const GELU: bool> Numbers<K> for Activated<GELU> {
    #[inline(always)]
    unsafe fn at(&self, column: usize) -> K::Lanes {
        // SAFETY: both can be read a register beyond the last column.
        unsafe {
            let x = biased::<K>(self.sums.add(column), self.bias.map(|bias| bias.add(column)));
            if GELU { gelu(x) } else { x }
        }
    }
}

/// # Safety
/// Below [`Kernel::enter`]; there is a register at both.
#[inline(always)]
unsafe fn biased<K: Kernel>(sums: *const f32, bias: Option<*const f32>) -> K::Lanes {
    // SAFETY: said by the caller.
    unsafe {
        let x = K::Lanes::load(sums);
        match bias {
            Some(bias) => x.add(K::Lanes::load(bias)),
            None => x,
        }
    }
}

/// Writes gelu(first) · second of a matrix of two parts.
#[derive(Debug)]
pub(super) struct WriteGated<O> {
    pub bias: Option<*const f32>,
    /// Outputs of a part.
    pub outputs: usize,
    pub out: Block<*mut O>,
}

// SAFETY: parts of a product write disjoint tiles; the bias is only read.
unsafe impl<O> Sync for WriteGated<O> {}

impl<K: Kernel> Epilogue<K> for WriteGated<K::Operand> {
    const PARTS: usize = 2;

    #[inline(always)]
    unsafe fn finish(&self, tiles: [*const f32; 2], rows: Range<usize>, columns: Range<usize>) {
        for (r, row) in rows.enumerate() {
            // SAFETY: the tiles have the row, `out` the row and columns, and the bias both parts.
            unsafe {
                let [gate, plain] = tiles.map(|tile| tile.add(r * K::OUTPUTS));
                let gate_bias = self.bias.map(|bias| bias.add(columns.start));
                let plain_bias = gate_bias.map(|bias| bias.add(self.outputs));
                let out = self.out.start.add(row * self.out.stride + columns.start);
                let gated = Gated {
                    gate: Activated { sums: gate, bias: gate_bias },
                    plain: Activated { sums: plain, bias: plain_bias },
                };
                write_row::<K>(out, columns.len(), &gated);
            }
        }
    }
}

/// A row that another gates.
struct Gated {
    gate: Activated<true>,
    plain: Activated<false>,
}

impl<K: Kernel> Numbers<K> for Gated {
    #[inline(always)]
    unsafe fn at(&self, column: usize) -> K::Lanes {
        // SAFETY: said by the caller.
        unsafe {
            let gate: K::Lanes = Numbers::<K>::at(&self.gate, column);
            gate.mul(Numbers::<K>::at(&self.plain, column))
        }
    }
}

/// Adds bias and residual to the sums, and normalizes rows when they are complete.
#[derive(Debug)]
pub(super) struct AddNorm<'a, K: Kernel> {
    pub bias: Option<*const f32>,
    pub residual: Block<*const K::Operand>,
    pub norm: SumsToRows<'a, K>,
}

// SAFETY: parts of a product write disjoint tiles; bias and residual are only read.
unsafe impl<K: Kernel> Sync for AddNorm<'_, K> {}

impl<K: Kernel> Epilogue<K> for AddNorm<'_, K> {
    #[inline(always)]
    unsafe fn finish(&self, tiles: [*const f32; 2], rows: Range<usize>, columns: Range<usize>) {
        let sums = self.norm.sums;
        for (r, row) in rows.enumerate() {
            // SAFETY: the tile, the residual and the sums have the row and columns; what is read beyond
            // them is the rest of a row or of a buffer.
            unsafe {
                let tile = tiles[0].add(r * K::OUTPUTS);
                let residual = self.residual.start.add(row * self.residual.stride + columns.start);
                let out = sums.start.add(row * sums.stride + columns.start);
                for at in (0..columns.len()).step_by(K::Lanes::WIDTH) {
                    let bias = self.bias.map(|bias| bias.add(columns.start + at));
                    let x = biased::<K>(tile.add(at), bias).add(K::load(residual.add(at)));
                    store_sums(x, out.add(at), columns.len() - at);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn finish_rows(&self, rows: Range<usize>) {
        for row in rows {
            // SAFETY: said by the caller.
            unsafe { self.norm.row(row) }
        }
    }
}

/// Stores `count` numbers of a register at most: others may belong to another thread.
///
/// # Safety
/// Below [`Kernel::enter`]; there is room for so many.
#[inline(always)]
unsafe fn store_sums<L: Lanes>(x: L, to: *mut f32, count: usize) {
    if count >= L::WIDTH {
        // SAFETY: said by the caller.
        return unsafe { x.store(to) };
    }
    let mut all = [0.0; 16];
    // SAFETY: no register is wider, and there is room for `count`.
    unsafe {
        x.store(all.as_mut_ptr());
        std::ptr::copy_nonoverlapping(all.as_ptr(), to, count);
    }
}
