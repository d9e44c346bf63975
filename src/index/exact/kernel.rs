//! The dot product of a query with a row in half precision, for each instruction set.
//!
//! [`plain_dot`] is the reference: the others agree with it up to the order of additions.

use half::f16;

use crate::platform::Simd;

/// Both slices have one length.
pub(in crate::index) type Dot = fn(&[f32], &[f16]) -> f32;

/// The kernel for an instruction set; the plain one where the processor lacks it.
pub(in crate::index) fn dot(simd: Simd) -> Dot {
    if !simd.is_available() {
        return plain_dot;
    }
    match simd {
        #[cfg(target_arch = "x86_64")]
        Simd::Amx | Simd::Avx512Bf16 | Simd::Avx512 => |query, row| {
            // SAFETY: the processor has the instruction set, as was just checked.
            unsafe { x86::dot_avx512(query, row) }
        },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => |query, row| unsafe { x86::dot_avx2(query, row) },
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        Simd::Neon => |query, row| unsafe { arm::dot_neon(query, row) },
        _ => plain_dot,
    }
}

pub(super) fn plain_dot(query: &[f32], row: &[f16]) -> f32 {
    debug_assert_eq!(query.len(), row.len());
    query.iter().zip(row).map(|(q, r)| q * r.to_f32()).sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256, __m256i, __m512, _mm_loadu_si128, _mm256_add_ps, _mm256_castps256_ps128,
        _mm256_cvtph_ps, _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_loadu_ps,
        _mm256_loadu_si256, _mm256_setzero_ps, _mm512_add_ps, _mm512_cvtph_ps, _mm512_fmadd_ps,
        _mm512_loadu_ps, _mm512_reduce_add_ps, _mm512_setzero_ps,
    };
    use std::arch::x86_64::{_mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehl_ps, _mm_shuffle_ps};

    use half::f16;

    use super::plain_dot;

    /// Sums that are kept apart, so that one multiplication need not wait for the one before.
    const LANES: usize = 4;

    #[expect(clippy::cast_ptr_alignment, reason = "the load takes any alignment")]
    #[target_feature(enable = "avx512f")]
    pub(super) fn dot_avx512(query: &[f32], row: &[f16]) -> f32 {
        const WIDTH: usize = 16;
        let len = query.len().min(row.len());
        let mut sums: [__m512; LANES] = [_mm512_setzero_ps(); LANES];
        let whole = len / WIDTH;
        for step in 0..whole {
            let at = step * WIDTH;
            // SAFETY: `at + WIDTH` is at most the length of both slices, and neither load needs
            // alignment.
            let (q, r) = unsafe {
                let q = _mm512_loadu_ps(query.as_ptr().add(at));
                let r = _mm256_loadu_si256(row.as_ptr().add(at).cast::<__m256i>());
                (q, _mm512_cvtph_ps(r))
            };
            sums[step % LANES] = _mm512_fmadd_ps(q, r, sums[step % LANES]);
        }
        let sum = _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3]));
        let at = whole * WIDTH;
        _mm512_reduce_add_ps(sum) + plain_dot(&query[at..len], &row[at..len])
    }

    #[expect(clippy::cast_ptr_alignment, reason = "the load takes any alignment")]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) fn dot_avx2(query: &[f32], row: &[f16]) -> f32 {
        const WIDTH: usize = 8;
        let len = query.len().min(row.len());
        let mut sums: [__m256; LANES] = [_mm256_setzero_ps(); LANES];
        let whole = len / WIDTH;
        for step in 0..whole {
            let at = step * WIDTH;
            // SAFETY: `at + WIDTH` is at most the length of both slices, and neither load needs
            // alignment.
            let (q, r) = unsafe {
                let q = _mm256_loadu_ps(query.as_ptr().add(at));
                let r = _mm_loadu_si128(row.as_ptr().add(at).cast::<__m128i>());
                (q, _mm256_cvtph_ps(r))
            };
            sums[step % LANES] = _mm256_fmadd_ps(q, r, sums[step % LANES]);
        }
        let sum = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
        let at = whole * WIDTH;
        sum_avx2(sum) + plain_dot(&query[at..len], &row[at..len])
    }

    #[target_feature(enable = "avx2")]
    fn sum_avx2(sum: __m256) -> f32 {
        let four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::{
        float32x4_t, uint16x8_t, vaddq_f32, vaddvq_f32, vdupq_n_f32, vfmaq_f32, vld1q_f32,
        vld1q_u16,
    };
    use std::arch::asm;

    use half::f16;

    use super::plain_dot;

    #[target_feature(enable = "neon")]
    pub(super) fn dot_neon(query: &[f32], row: &[f16]) -> f32 {
        const WIDTH: usize = 8;
        let len = query.len().min(row.len());
        let mut low_sum = vdupq_n_f32(0.0);
        let mut high_sum = vdupq_n_f32(0.0);
        let whole = len / WIDTH;
        for step in 0..whole {
            let at = step * WIDTH;
            // SAFETY: `at + WIDTH` is at most the length of both slices.
            let (q_low, q_high, r) = unsafe {
                let q = query.as_ptr().add(at);
                (vld1q_f32(q), vld1q_f32(q.add(4)), vld1q_u16(row.as_ptr().add(at).cast::<u16>()))
            };
            let (r_low, r_high) = widen(r);
            low_sum = vfmaq_f32(low_sum, q_low, r_low);
            high_sum = vfmaq_f32(high_sum, q_high, r_high);
        }
        let at = whole * WIDTH;
        vaddvq_f32(vaddq_f32(low_sum, high_sum)) + plain_dot(&query[at..len], &row[at..len])
    }

    /// The conversion is part of NEON, but its intrinsic needs the unstable type `f16`.
    #[target_feature(enable = "neon")]
    fn widen(halves: uint16x8_t) -> (float32x4_t, float32x4_t) {
        let (low, high): (float32x4_t, float32x4_t);
        // SAFETY: both instructions only read `halves` and write their output register.
        unsafe {
            asm!(
                "fcvtl {low:v}.4s, {halves:v}.4h",
                "fcvtl2 {high:v}.4s, {halves:v}.8h",
                low = out(vreg) low,
                high = lateout(vreg) high,
                halves = in(vreg) halves,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        (low, high)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_kernel_agrees_with_the_plain_one(
            pairs in proptest::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 0..600),
            skip in 0_usize..4,
        ) {
            let query: Vec<f32> = pairs.iter().map(|pair| pair.0).collect();
            let row: Vec<f16> = pairs.iter().map(|pair| f16::from_f32(pair.1)).collect();
            // Slices that begin anywhere: no kernel may count on alignment.
            let skip = skip.min(pairs.len());
            let (query, row) = (&query[skip..], &row[skip..]);
            let plain = plain_dot(query, row);
            for simd in Simd::ALL.into_iter().filter(|simd| simd.is_available()) {
                let found = dot(simd)(query, row);
                prop_assert!((found - plain).abs() <= 1e-4, "{}: {found} for {plain}", simd.name());
            }
        }
    }

    #[test]
    fn a_set_that_is_lacking_falls_back() {
        for simd in Simd::ALL {
            assert!((dot(simd)(&[2.0, 3.0], &[f16::ONE, f16::ONE]) - 5.0).abs() < 1e-6);
        }
        assert!(Simd::Plain.is_available());
    }
}
