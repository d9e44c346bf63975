//! Dot products of one int8 code with those of many nodes, for each instruction set.
//!
//! Sums of integers have one right answer, so a graph is built and walked alike on every machine.
//! A call takes all neighbors of a node at once: the codes lie anywhere in memory, and while one is
//! multiplied those after it are fetched.

use super::codes::{CODE_ALIGN, CodeTable};
use crate::platform::Simd;

/// Writes the dot product of `query` with the code of each node of `nodes` to `dots`, which has as many
/// places. The query is as long as a code.
pub(super) type Dots = fn(query: &[i8], codes: CodeTable<'_>, nodes: &[u32], dots: &mut [i32]);

/// The kernel for an instruction set; a narrower one where the processor lacks part of it.
pub(super) fn dots(simd: Simd) -> Dots {
    match simd {
        #[cfg(target_arch = "x86_64")]
        Simd::Amx | Simd::Avx512Bf16 | Simd::Avx512 if has_vnni() => |query, codes, nodes, dots| {
            // SAFETY: the processor has the instruction sets, as was just checked.
            unsafe { x86::dots_vnni(query, codes, nodes, dots) }
        },
        #[cfg(target_arch = "x86_64")]
        Simd::Amx | Simd::Avx512Bf16 | Simd::Avx512 | Simd::Avx2
            if is_x86_feature_detected!("avx2") =>
        {
            |query, codes, nodes, dots| {
                // SAFETY: as above.
                unsafe { x86::dots_avx2(query, codes, nodes, dots) }
            }
        }
        #[cfg(target_arch = "aarch64")]
        Simd::Neon if simd.is_available() => |query, codes, nodes, dots| {
            // SAFETY: as above.
            unsafe { arm::dots_neon(query, codes, nodes, dots) }
        },
        _ => plain_dots,
    }
}

#[cfg(target_arch = "x86_64")]
fn has_vnni() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vnni")
}

/// The reference.
pub(super) fn plain_dots(query: &[i8], codes: CodeTable<'_>, nodes: &[u32], dots: &mut [i32]) {
    for (node, dot) in nodes.iter().zip(dots) {
        let pairs = query.iter().zip(codes.of(*node));
        *dot = pairs.map(|(q, c)| i32::from(*q) * i32::from(*c)).sum();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, __m512i, _MM_HINT_T0, _mm_add_epi32, _mm_cvtsi128_si32, _mm_prefetch,
        _mm_shuffle_epi32, _mm256_abs_epi8, _mm256_add_epi32, _mm256_castsi256_si128,
        _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16,
        _mm256_set1_epi16, _mm256_setzero_si256, _mm256_sign_epi8, _mm512_dpbusd_epi32,
        _mm512_loadu_si512, _mm512_reduce_add_epi32, _mm512_set1_epi8, _mm512_setzero_si512,
        _mm512_xor_si512,
    };

    use super::{CODE_ALIGN, CodeTable};

    /// Codes that are fetched ahead of the one that is multiplied.
    const AHEAD: usize = 3;
    const LINE: usize = 64;

    #[inline]
    pub(super) fn prefetch<T>(values: &[T]) {
        for at in (0..size_of_val(values)).step_by(LINE) {
            // SAFETY: `at` lies within the values; a prefetch reads nothing that could be seen.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast::<i8>().add(at)) };
        }
    }

    /// Runs `dot` over the nodes and fetches those to come.
    #[expect(clippy::inline_always, reason = "`dot` is of the caller's instruction set")]
    #[inline(always)]
    fn each(codes: CodeTable<'_>, nodes: &[u32], dots: &mut [i32], dot: impl Fn(&[i8]) -> i32) {
        for node in nodes.iter().take(AHEAD) {
            prefetch(codes.of(*node));
        }
        for (at, (node, out)) in nodes.iter().zip(dots).enumerate() {
            if let Some(later) = nodes.get(at + AHEAD) {
                prefetch(codes.of(*later));
            }
            *out = dot(codes.of(*node));
        }
    }

    /// `vpmaddubsw` takes one unsigned side: the sign of the query goes to the code. No component is
    /// -128, so that two products of at most 127² fit the 16 bits of their sum.
    #[expect(clippy::cast_ptr_alignment, reason = "the load takes any alignment")]
    #[target_feature(enable = "avx2")]
    pub(super) fn dots_avx2(query: &[i8], codes: CodeTable<'_>, nodes: &[u32], dots: &mut [i32]) {
        const WIDTH: usize = 32;
        const { assert!(CODE_ALIGN.is_multiple_of(WIDTH)) };
        each(codes, nodes, dots, |code| {
            let len = query.len().min(code.len());
            let ones = _mm256_set1_epi16(1);
            let mut sums = [_mm256_setzero_si256(); 2];
            for at in (0..len).step_by(WIDTH) {
                // SAFETY: codes are whole multiples of `CODE_ALIGN` long, so `at + WIDTH` is within
                // both; neither load needs alignment.
                let (q, c) = unsafe {
                    let q = _mm256_loadu_si256(query.as_ptr().add(at).cast::<__m256i>());
                    (q, _mm256_loadu_si256(code.as_ptr().add(at).cast::<__m256i>()))
                };
                let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(q), _mm256_sign_epi8(c, q));
                let sum = &mut sums[at / WIDTH % 2];
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, ones));
            }
            let sum = _mm256_add_epi32(sums[0], sums[1]);
            let four =
                _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
            let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
            _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two)))
        });
    }

    /// `vpdpbusd` takes one unsigned side: 128 is added to the code, and what that adds to the sum is
    /// the same for every node.
    #[expect(clippy::cast_ptr_alignment, reason = "the load takes any alignment")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn dots_vnni(query: &[i8], codes: CodeTable<'_>, nodes: &[u32], dots: &mut [i32]) {
        const WIDTH: usize = 64;
        const { assert!(CODE_ALIGN.is_multiple_of(WIDTH)) };
        let surplus: i32 = 128 * query.iter().map(|q| i32::from(*q)).sum::<i32>();
        let flip = _mm512_set1_epi8(i8::MIN);
        each(codes, nodes, dots, |code| {
            let len = query.len().min(code.len());
            let mut sums = [_mm512_setzero_si512(); 2];
            for at in (0..len).step_by(WIDTH) {
                // SAFETY: as above.
                let (q, c) = unsafe {
                    let q = _mm512_loadu_si512(query.as_ptr().add(at).cast::<__m512i>());
                    (q, _mm512_loadu_si512(code.as_ptr().add(at).cast::<__m512i>()))
                };
                let sum = &mut sums[at / WIDTH % 2];
                *sum = _mm512_dpbusd_epi32(*sum, _mm512_xor_si512(c, flip), q);
            }
            _mm512_reduce_add_epi32(sums[0]) + _mm512_reduce_add_epi32(sums[1]) - surplus
        });
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::{
        vaddvq_s32, vdupq_n_s32, vget_low_s8, vld1q_s8, vmull_high_s8, vmull_s8, vpadalq_s16,
    };

    use super::{CODE_ALIGN, CodeTable};

    #[target_feature(enable = "neon")]
    pub(super) fn dots_neon(query: &[i8], codes: CodeTable<'_>, nodes: &[u32], dots: &mut [i32]) {
        const WIDTH: usize = 16;
        const { assert!(CODE_ALIGN.is_multiple_of(WIDTH)) };
        for (node, out) in nodes.iter().zip(dots) {
            let code = codes.of(*node);
            let len = query.len().min(code.len());
            let mut sums = [vdupq_n_s32(0); 2];
            for at in (0..len).step_by(WIDTH) {
                // SAFETY: codes are whole multiples of `CODE_ALIGN` long, so `at + WIDTH` is within
                // both.
                let (q, c) =
                    unsafe { (vld1q_s8(query.as_ptr().add(at)), vld1q_s8(code.as_ptr().add(at))) };
                sums[0] = vpadalq_s16(sums[0], vmull_s8(vget_low_s8(q), vget_low_s8(c)));
                sums[1] = vpadalq_s16(sums[1], vmull_high_s8(q, c));
            }
            *out = vaddvq_s32(sums[0]) + vaddvq_s32(sums[1]);
        }
    }
}

/// Begins to fetch what will be read soon, where the processor can.
#[inline]
pub(super) fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    x86::prefetch(values);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_kernel_gives_the_same_integers(
            blocks in 1_usize..4,
            bytes in proptest::collection::vec(-127_i8..=127, 5 * 3 * CODE_ALIGN),
            nodes in proptest::collection::vec(0_u32..4, 0..12),
            extreme in any::<bool>(),
        ) {
            let len = blocks * CODE_ALIGN;
            let sharp = |value: &i8| if extreme { 127 * value.signum() } else { *value };
            let bytes: Vec<i8> = bytes[..5 * len].iter().map(sharp).collect();
            let (query, table) = bytes.split_at(len);
            let table = CodeTable::new(table, len);
            let mut expected = vec![0; nodes.len()];
            plain_dots(query, table, &nodes, &mut expected);
            for simd in Simd::ALL {
                let mut found = vec![0; nodes.len()];
                dots(simd)(query, table, &nodes, &mut found);
                prop_assert_eq!(&found, &expected, "{}", simd.name());
            }
        }
    }
}
