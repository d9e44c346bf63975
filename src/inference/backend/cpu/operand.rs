//! What products multiply; they always add in f32.

use std::fmt::Debug;

use half::bf16;

/// A number that activations and packed weights are kept in. All bits zero is the number zero.
pub(in crate::inference) trait Operand:
    Copy + Debug + Default + Into<f32> + Send + Sync + 'static
{
    /// Neighbors in a row that one multiplication takes together.
    const GROUP: usize;

    /// To the nearest.
    fn from_f32(x: f32) -> Self;
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
