//! A register of f32 numbers, in the words of each instruction set.
//!
//! The operations are safe to name and use instructions that a processor may lack: they are called below
//! [`super::Kernel::enter`] alone, and a kernel is only chosen where [`crate::platform::Simd`] found it.

mod plain;

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
pub(super) use neon::NeonLanes;
pub(super) use plain::PlainLanes;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2Lanes, Avx512Lanes};

/// [`Lanes::WIDTH`] numbers that are computed with at once.
pub(in crate::inference) trait Lanes: Copy {
    const WIDTH: usize;

    fn splat(x: f32) -> Self;
    /// # Safety
    /// There are `WIDTH` numbers at `from`.
    unsafe fn load(from: *const f32) -> Self;
    /// # Safety
    /// There is room for `WIDTH` numbers at `to`.
    unsafe fn store(self, to: *mut f32);

    /// Brings the cache line at `from` near, where there is one.
    #[inline(always)]
    fn prefetch(_from: *const f32) {}

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    /// self · factor + addend, rounded once where the set can.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    fn abs(self) -> Self;
    /// To the nearest whole number, of |x| below 2²².
    fn round(self) -> Self;
    /// 2 to the power of whole numbers from −126 to 127.
    fn exp2_whole(self) -> Self;
    fn sum(self) -> f32;
    fn largest(self) -> f32;
}
