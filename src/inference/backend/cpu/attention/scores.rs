//! From the products of a query with keys to the weights of the keys.

use crate::inference::backend::cpu::kernel::Kernel;
use crate::inference::backend::cpu::lanes::Lanes;
use crate::inference::backend::cpu::math::exp2;
use crate::inference::backend::cpu::operand::Operand;

/// A score that weighs nothing and can be computed with.
pub(super) const NEVER: f32 = -1e30;

/// The products of one query with a stretch of keys, on their way to weights.
pub(super) struct ScoreRow<O> {
    pub scores: *mut f32,
    pub keys: usize,
    pub weights: *mut O,
    /// Weights that are read: those beyond the keys are zero.
    pub filled: usize,
    pub scale: f32,
    pub slope: f32,
    pub first_distance: f32,
}

impl<O: Operand> ScoreRow<O> {
    /// Turns scores into weights 2^(score − maximum), given the largest score of earlier stretches;
    /// gives the maximum with them and the sum of these weights.
    ///
    /// # Safety
    /// Below [`Kernel::enter`]; scores and weights have room for whole registers.
    #[inline(always)]
    pub unsafe fn weigh<K: Kernel<Operand = O>>(&self, before: f32) -> (f32, f32) {
        let width = K::Lanes::WIDTH;
        let end = self.keys.next_multiple_of(width);
        // SAFETY: said by the caller.
        unsafe {
            let maximum = if self.slope == 0.0 {
                self.finish_scores::<K, false>()
            } else {
                self.finish_scores::<K, true>()
            };
            let maximum = maximum.max(before);
            let shift = K::Lanes::splat(maximum);
            let mut total = K::Lanes::splat(0.0);
            for at in (0..end).step_by(width) {
                let weight = exp2(K::Lanes::load(self.scores.add(at)).sub(shift));
                total = total.add(weight);
                K::store(weight, self.weights.add(at));
            }
            if end < self.filled {
                self.weights.add(end).write_bytes(0, self.filled - end);
            }
            (maximum, total.sum())
        }
    }

    /// Scales scores and subtracts their bias; gives the largest.
    ///
    /// # Safety
    /// As for [`ScoreRow::weigh`].
    #[inline(always)]
    unsafe fn finish_scores<K: Kernel<Operand = O>, const ALIBI: bool>(&self) -> f32 {
        let width = K::Lanes::WIDTH;
        let (scale, slope) = (K::Lanes::splat(self.scale), K::Lanes::splat(-self.slope));
        let mut maximum = K::Lanes::splat(NEVER);
        // SAFETY: said by the caller.
        unsafe {
            for at in self.keys..self.keys.next_multiple_of(width) {
                *self.scores.add(at) = NEVER;
            }
            for at in (0..self.keys).step_by(width) {
                let mut score = K::Lanes::load(self.scores.add(at)).mul(scale);
                if ALIBI {
                    let ramp = K::Lanes::load(RAMP.as_ptr());
                    let distance = ramp.add(K::Lanes::splat(self.first_distance + at as f32));
                    score = slope.mul_add(distance.abs(), score);
                }
                maximum = maximum.max(score);
                score.store(self.scores.add(at));
            }
        }
        maximum.largest()
    }
}

static RAMP: [f32; 16] =
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
