//! AVX-512 with dot products of bf16 pairs: half the bytes of f32, and up to twice the products.

use std::arch::x86_64::{
    __m256bh, __m256i, __m512bh, __m512i, _mm256_loadu_si256, _mm256_storeu_si256,
    _mm512_castsi512_ps, _mm512_cvtepu16_epi32, _mm512_cvtneps_pbh, _mm512_dpbf16_ps,
    _mm512_loadu_si512, _mm512_set1_epi32, _mm512_slli_epi32,
};

use half::bf16;

use super::tile::tile_of;
use super::{Block, Kernel, Queue, Task, enter};
use crate::inference::backend::cpu::lanes::{Avx512Lanes, Lanes};
use crate::inference::backend::cpu::operand::Stored;
use crate::platform::Simd;

/// 28 of 32 registers hold sums.
#[derive(Clone, Copy, Debug)]
pub(in crate::inference) struct Avx512Bf16;

impl Kernel for Avx512Bf16 {
    type Operand = bf16;
    type Lanes = Avx512Lanes;
    const SIMD: Simd = Simd::Avx512Bf16;
    const ROWS: usize = 14;
    const OUTPUTS: usize = 32;
    const DEPTH: usize = 2;

    enter! { Avx512Bf16 with "avx512f,avx512bf16,avx2,fma,f16c" }

    #[inline(always)]
    unsafe fn tile(
        a: Block<*const bf16>,
        rows: usize,
        panel: *const bf16,
        depth: usize,
        out: Block<*mut f32>,
    ) {
        // SAFETY: said by the caller.
        unsafe {
            tile_of!(rows, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], R => tile::<R, 2>(a, panel, depth, out));
        }
    }
}

/// A bf16 is the upper half of an f32. Rounding to it takes AVX512-BF16.
impl Stored<Avx512Lanes> for bf16 {
    #[inline(always)]
    unsafe fn load(from: *const Self) -> Avx512Lanes {
        // SAFETY: said by the caller; the load needs no alignment.
        unsafe {
            let halves = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
            Avx512Lanes(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(halves)))
        }
    }

    #[inline(always)]
    unsafe fn store(x: Avx512Lanes, to: *mut Self) {
        // SAFETY: said by the caller; both types are 256 bits, and the store needs no alignment.
        unsafe {
            let halves = std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(x.0));
            _mm256_storeu_si256(to.cast(), halves);
        }
    }
}

/// # Safety
/// As for [`Kernel::tile`], for `R` rows.
#[inline(always)]
unsafe fn tile<const R: usize, const V: usize>(
    a: Block<*const bf16>,
    panel: *const bf16,
    depth: usize,
    out: Block<*mut f32>,
) {
    let mut sums = [[Avx512Lanes::splat(0.0); V]; R];
    for pair in 0..depth / 2 {
        // SAFETY: a panel has a register for each pair of inputs and `V`, and `a` has `R` rows of
        // `depth` inputs; pairs are read as one integer, at any alignment.
        unsafe {
            let mut weights = [_mm512_set1_epi32(0); V];
            for (v, weights) in weights.iter_mut().enumerate() {
                *weights = _mm512_loadu_si512(panel.add((pair * V + v) * 32).cast());
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let input: *const i32 = a.start.add(r * a.stride + 2 * pair).cast();
                let input = _mm512_set1_epi32(input.read_unaligned());
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    sum.0 = _mm512_dpbf16_ps(sum.0, pairs(input), pairs(weights));
                }
            }
        }
    }
    // By reference, as in `super::tile`.
    for (r, sums) in sums.iter().enumerate() {
        for (v, sum) in sums.iter().enumerate() {
            // SAFETY: `out` has `R` rows of `V` registers.
            unsafe { sum.store(out.start.add(r * out.stride + v * Avx512Lanes::WIDTH)) }
        }
    }
}

#[inline(always)]
fn pairs(bits: __m512i) -> __m512bh {
    // SAFETY: both are 512 bits without a meaning of their own.
    unsafe { std::mem::transmute(bits) }
}
