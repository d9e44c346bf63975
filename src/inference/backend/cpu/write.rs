//! Rows of numbers that are computed while they are written.

use super::kernel::Kernel;
use super::lanes::Lanes;

/// A row of numbers, a register at a time.
pub(super) trait Numbers<K: Kernel> {
    /// Always inlined, so that it is compiled for the set that it runs on.
    ///
    /// # Safety
    /// Below [`Kernel::enter`]; the row goes on for a register from `column`, whatever is in it.
    unsafe fn at(&self, column: usize) -> K::Lanes;
}

/// Writes the first `count` numbers of a row.
///
/// # Safety
/// Below [`Kernel::enter`]; there is room for so many.
#[inline(always)]
pub(super) unsafe fn write_row<K: Kernel>(
    to: *mut K::Operand,
    count: usize,
    numbers: &impl Numbers<K>,
) {
    let width = K::Lanes::WIDTH;
    let whole = count - count % width;
    for at in (0..whole).step_by(width) {
        // SAFETY: said by the caller.
        unsafe { K::store(numbers.at(at), to.add(at)) }
    }
    if whole < count {
        let mut rest = [K::Operand::default(); 16];
        // SAFETY: no register is wider, and there is room for the rest.
        unsafe {
            K::store(numbers.at(whole), rest.as_mut_ptr());
            std::ptr::copy_nonoverlapping(rest.as_ptr(), to.add(whole), count - whole);
        }
    }
}
