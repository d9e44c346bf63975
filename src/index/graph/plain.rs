//! Bytes as numbers, without copying.

use half::f16;

/// Numbers for which any bytes are a value.
pub(super) trait Plain: Copy {}
impl Plain for i8 {}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for f16 {}

/// The numbers that the bytes of a page-aligned part are.
pub(super) fn cast<T: Plain>(bytes: &[u8]) -> &[T] {
    // SAFETY: any bytes are a `T`.
    let (before, values, after) = unsafe { bytes.align_to::<T>() };
    assert!(before.is_empty() && after.is_empty(), "parts begin at pages of a mapping");
    values
}

/// The same, to be written.
pub(super) fn cast_mut<T: Plain>(bytes: &mut [u8]) -> &mut [T] {
    // SAFETY: any bytes are a `T`, and a `T` is made of initialized bytes.
    let (before, values, after) = unsafe { bytes.align_to_mut::<T>() };
    assert!(before.is_empty() && after.is_empty(), "parts begin at pages of a mapping");
    values
}
