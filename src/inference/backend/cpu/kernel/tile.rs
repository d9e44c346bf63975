//! The tile of f32 products, for any lanes.

use super::Block;
use crate::inference::backend::cpu::lanes::Lanes;

/// Numbers of a panel that are fetched before their turn: beyond a page of 4 KB no processor does it unasked.
const AHEAD: usize = 1_024;

/// `R` rows by `V` registers of outputs. One broadcast input meets `V` registers of weights, and `R · V`
/// sums hide the latency of the multiplication.
///
/// # Safety
/// As for [`super::Kernel::tile`], for `R` rows.
#[inline(always)]
pub(super) unsafe fn tile<L: Lanes, const R: usize, const V: usize>(
    a: Block<*const f32>,
    panel: *const f32,
    depth: usize,
    out: Block<*mut f32>,
) {
    let mut sums = [[L::splat(0.0); V]; R];
    for k in 0..depth {
        let mut weights = [L::splat(0.0); V];
        for (v, weights) in weights.iter_mut().enumerate() {
            let at = panel.wrapping_add((k * V + v) * L::WIDTH);
            L::prefetch(at.wrapping_add(AHEAD));
            // SAFETY: a panel has `depth` rows of `V` registers.
            *weights = unsafe { L::load(at) };
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: `a` has `R` rows of `depth` inputs.
            let input = L::splat(unsafe { *a.start.add(r * a.stride + k) });
            for (sum, weights) in sums.iter_mut().zip(weights) {
                *sum = input.mul_add(weights, *sum);
            }
        }
    }
    // By reference: an array that is moved into an iterator is memory.
    for (r, sums) in sums.iter().enumerate() {
        for (v, sum) in sums.iter().enumerate() {
            // SAFETY: `out` has `R` rows of `V` registers.
            unsafe { sum.store(out.start.add(r * out.stride + v * L::WIDTH)) }
        }
    }
}

/// Chooses the tile for `$rows`: each number of rows is compiled for itself, so that its sums are
/// registers and not memory.
macro_rules! tile_of {
    ($rows:expr, [$($count:literal)*], $r:ident => $tile:expr) => {
        match $rows {
            $($count => {
                const $r: usize = $count;
                $tile
            })*
            rows => unreachable!("{rows} rows in a tile"),
        }
    };
}
pub(super) use tile_of;
