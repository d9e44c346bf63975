//! What products multiply; they always add in f32.

use std::fmt::Debug;

use half::bf16;

use super::lanes::Lanes;

/// A number that activations and packed weights are kept in. All bits zero is the number zero.
pub(in crate::inference) trait Operand:
    Copy + Debug + Default + Into<f32> + Send + Sync + 'static
{
    /// Neighbors in a row that one multiplication takes together.
    const GROUP: usize;

    /// To the nearest.
    fn from_f32(x: f32) -> Self;
}

/// An operand that registers `L` of f32 are made of and become.
pub(in crate::inference) trait Stored<L>: Operand {
    /// # Safety
    /// Below [`super::Kernel::enter`]; there is a register at `from`, at any alignment.
    unsafe fn load(from: *const Self) -> L;

    /// To the nearest.
    ///
    /// # Safety
    /// Below [`super::Kernel::enter`]; there is room for a register at `to`, at any alignment.
    unsafe fn store(x: L, to: *mut Self);
}

impl<L: Lanes> Stored<L> for f32 {
    #[inline(always)]
    unsafe fn load(from: *const Self) -> L {
        // SAFETY: said by the caller.
        unsafe { L::load(from) }
    }

    #[inline(always)]
    unsafe fn store(x: L, to: *mut Self) {
        // SAFETY: said by the caller.
        unsafe { x.store(to) }
    }
}

impl Operand for f32 {
    const GROUP: usize = 1;

    fn from_f32(x: f32) -> Self {
        x
    }
}

impl Operand for bf16 {
    const GROUP: usize = 2;

    fn from_f32(x: f32) -> Self {
        Self::from_f32(x)
    }
}
