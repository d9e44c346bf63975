//! Functions that no instruction computes, as polynomials fitted by `scripts/fit-polynomials.py`.

use super::lanes::Lanes;

/// 2ᶠ for |f| ≤ ½, lowest degree first; relative error 1.7e-7 in f32.
#[expect(clippy::approx_constant, reason = "a fit, which is near ln 2 and not ln 2")]
const EXP2: [f32; 6] =
    [1.0, 6.931_47e-1, 2.402_224_2e-1, 5.550_733_6e-2, 9.671_513e-3, 1.326_472_7e-3];

/// Beside 1 so small a weight is nothing in f32, and its product with a value down to 2⁻²⁶ is still a normal
/// number: with others some processors compute a hundred times slower.
pub(super) const EXPONENT_MIN: f32 = -100.0;

/// 2ˣ for x ≤ 127, with a relative error of 1.7e-7; 2⁻¹⁰⁰ for all x below −100.
#[inline(always)]
pub(super) fn exp2<L: Lanes>(x: L) -> L {
    let x = x.max(L::splat(EXPONENT_MIN));
    let whole = x.round();
    horner(&EXP2, x.sub(whole)).mul(whole.exp2_whole())
}

/// Beyond ± this, Φ is 0 or 1 in f32.
const GELU_LIMIT: f32 = 5.333_332;
/// Half of the limit's square: centered, the powers of t² do not cancel each other.
const GELU_CENTER: f32 = 14.311_25;
/// (Φ(t) − ½) / t as a polynomial in t² − center, lowest degree first.
const GELU: [f32; 14] = [
    1.321_490_3e-1,
    -4.606_069e-3,
    2.386_632_1e-4,
    -1.344_673_1e-5,
    7.658_793_5e-7,
    -4.235_464e-8,
    2.227_335_9e-9,
    -1.140_270_1e-10,
    5.586_438_4e-12,
    -2.147_748_4e-13,
    6.383_494_4e-15,
    -3.782_555e-16,
    2.404_830_8e-17,
    -5.700_438_7e-19,
];

/// x · Φ(x) with the error function, to an absolute error of 7.3e-7; no exponential, no division.
#[inline(always)]
pub(super) fn gelu<L: Lanes>(x: L) -> L {
    let t = x.min(L::splat(GELU_LIMIT)).max(L::splat(-GELU_LIMIT));
    let z = t.mul_add(t, L::splat(-GELU_CENTER));
    x.mul(t.mul_add(horner(&GELU, z), L::splat(0.5)))
}

#[inline(always)]
fn horner<L: Lanes, const N: usize>(coefficients: &[f32; N], x: L) -> L {
    let mut sum = L::splat(coefficients[N - 1]);
    for coefficient in coefficients[..N - 1].iter().rev() {
        sum = sum.mul_add(x, L::splat(*coefficient));
    }
    sum
}

#[cfg(test)]
mod tests;
