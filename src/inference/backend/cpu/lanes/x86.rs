use std::arch::x86_64 as x86;

use super::Lanes;

/// One intrinsic a method, and those that are more by hand.
macro_rules! lanes {
    (
        $(#[$meta:meta])* $name:ident($register:ident) of $width:literal:
        $load:ident $store:ident $splat:ident $add:ident $sub:ident $mul:ident $max:ident $min:ident
        $mul_add:ident;
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub(in crate::inference) struct $name(pub(in super::super) x86::$register);

        impl Lanes for $name {
            const WIDTH: usize = $width;

            #[inline(always)]
            fn splat(x: f32) -> Self {
                // SAFETY: lanes are used where the processor has the set, as the module says.
                Self(unsafe { x86::$splat(x) })
            }
            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                // SAFETY: as above, and there are `WIDTH` numbers; no alignment is needed.
                Self(unsafe { x86::$load(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                // SAFETY: as above, and there is room for `WIDTH` numbers.
                unsafe { x86::$store(to, self.0) }
            }
            #[inline(always)]
            fn prefetch(from: *const f32) {
                // SAFETY: a hint, which no address makes fail.
                unsafe { x86::_mm_prefetch::<{ x86::_MM_HINT_T0 }>(from.cast()) }
            }
            lanes!(@binary add $add, sub $sub, mul $mul, max $max, min $min);
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { x86::$mul_add(self.0, factor.0, addend.0) })
            }
            $($rest)*
        }
    };
    (@binary $($method:ident $intrinsic:ident),*) => {
        $(
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: lanes are used where the processor has the set, as the module says.
                Self(unsafe { x86::$intrinsic(self.0, other.0) })
            }
        )*
    };
}

const NEAREST: i32 = x86::_MM_FROUND_TO_NEAREST_INT | x86::_MM_FROUND_NO_EXC;

lanes! {
    /// 16 numbers.
    Avx512Lanes(__m512) of 16:
    _mm512_loadu_ps _mm512_storeu_ps _mm512_set1_ps
    _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_max_ps _mm512_min_ps _mm512_fmadd_ps;

    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { x86::_mm512_abs_ps(self.0) })
    }
    #[inline(always)]
    fn round(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { x86::_mm512_roundscale_ps::<NEAREST>(self.0) })
    }
    #[inline(always)]
    fn exp2_whole(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { x86::_mm512_scalef_ps(x86::_mm512_set1_ps(1.0), self.0) })
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: as above.
        unsafe { x86::_mm512_reduce_add_ps(self.0) }
    }
    #[inline(always)]
    fn largest(self) -> f32 {
        // SAFETY: as above.
        unsafe { x86::_mm512_reduce_max_ps(self.0) }
    }
}

lanes! {
    /// 8 numbers.
    Avx2Lanes(__m256) of 8:
    _mm256_loadu_ps _mm256_storeu_ps _mm256_set1_ps
    _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_max_ps _mm256_min_ps _mm256_fmadd_ps;

    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { x86::_mm256_andnot_ps(x86::_mm256_set1_ps(-0.0), self.0) })
    }
    #[inline(always)]
    fn round(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { x86::_mm256_round_ps::<NEAREST>(self.0) })
    }
    #[inline(always)]
    fn exp2_whole(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let exponent =
                x86::_mm256_add_epi32(x86::_mm256_cvtps_epi32(self.0), x86::_mm256_set1_epi32(127));
            Self(x86::_mm256_castsi256_ps(x86::_mm256_slli_epi32::<23>(exponent)))
        }
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: as above.
        unsafe {
            let four =
                x86::_mm_add_ps(x86::_mm256_castps256_ps128(self.0), x86::_mm256_extractf128_ps::<1>(self.0));
            let two = x86::_mm_add_ps(four, x86::_mm_movehl_ps(four, four));
            x86::_mm_cvtss_f32(x86::_mm_add_ss(two, x86::_mm_shuffle_ps::<1>(two, two)))
        }
    }
    #[inline(always)]
    fn largest(self) -> f32 {
        // SAFETY: as above.
        unsafe {
            let four =
                x86::_mm_max_ps(x86::_mm256_castps256_ps128(self.0), x86::_mm256_extractf128_ps::<1>(self.0));
            let two = x86::_mm_max_ps(four, x86::_mm_movehl_ps(four, four));
            x86::_mm_cvtss_f32(x86::_mm_max_ss(two, x86::_mm_shuffle_ps::<1>(two, two)))
        }
    }
}
