use std::arch::aarch64 as arm;

use super::Lanes;

/// Four numbers.
#[derive(Clone, Copy, Debug)]
pub(in crate::inference) struct NeonLanes(arm::float32x4_t);

impl Lanes for NeonLanes {
    const WIDTH: usize = 4;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: lanes are used where the processor has the set, as the module says.
        Self(unsafe { arm::vdupq_n_f32(x) })
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as above, and there are `WIDTH` numbers.
        Self(unsafe { arm::vld1q_f32(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as above, and there is room for `WIDTH` numbers.
        unsafe { arm::vst1q_f32(to, self.0) }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { arm::vaddq_f32(self.0, other.0) })
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { arm::vsubq_f32(self.0, other.0) })
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { arm::vmulq_f32(self.0, other.0) })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { arm::vmaxq_f32(self.0, other.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { arm::vminq_f32(self.0, other.0) })
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: as above.
        Self(unsafe { arm::vfmaq_f32(addend.0, self.0, factor.0) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { arm::vabsq_f32(self.0) })
    }
    #[inline(always)]
    fn round(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { arm::vrndnq_f32(self.0) })
    }
    #[inline(always)]
    fn exp2_whole(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let exponent = arm::vaddq_s32(arm::vcvtnq_s32_f32(self.0), arm::vdupq_n_s32(127));
            Self(arm::vreinterpretq_f32_s32(arm::vshlq_n_s32::<23>(exponent)))
        }
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: as above.
        unsafe { arm::vaddvq_f32(self.0) }
    }
    #[inline(always)]
    fn largest(self) -> f32 {
        // SAFETY: as above.
        unsafe { arm::vmaxvq_f32(self.0) }
    }
}
