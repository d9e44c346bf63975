use super::Lanes;

const WIDTH: usize = 8;

/// Eight numbers in an array: the reference that other sets are compared with.
#[derive(Clone, Copy, Debug)]
pub(in crate::inference) struct PlainLanes([f32; WIDTH]);

impl PlainLanes {
    #[inline(always)]
    fn with(mut self, other: Self, operation: impl Fn(f32, f32) -> f32) -> Self {
        for (x, y) in self.0.iter_mut().zip(other.0) {
            *x = operation(*x, y);
        }
        self
    }
}

/// Adding it leaves no bits for a fraction, and the whole number in the lowest bits.
const ROUNDING: f32 = 12_582_912.0;

impl Lanes for PlainLanes {
    const WIDTH: usize = WIDTH;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self([x; WIDTH])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: there are `WIDTH` numbers at `from`, and an array takes the alignment of one.
        Self(unsafe { *from.cast() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: there is room for `WIDTH` numbers at `to`.
        unsafe { *to.cast() = self.0 }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(other, |x, y| x + y)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.with(other, |x, y| x - y)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.with(other, |x, y| x * y)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.with(other, |x, y| if x > y { x } else { y })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.with(other, |x, y| if x < y { x } else { y })
    }
    /// Rounds twice: without the instruction, rounding once is a function call.
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        self.mul(factor).add(addend)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.map(f32::abs))
    }
    #[inline(always)]
    fn round(self) -> Self {
        Self(self.0.map(|x| (x + ROUNDING) - ROUNDING))
    }
    #[inline(always)]
    fn exp2_whole(self) -> Self {
        let exponent = |x: f32| ((x + ROUNDING).to_bits() << 23).wrapping_add(127 << 23);
        Self(self.0.map(|x| f32::from_bits(exponent(x))))
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        self.0.into_iter().sum()
    }
    #[inline(always)]
    fn largest(self) -> f32 {
        self.0.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }
}
