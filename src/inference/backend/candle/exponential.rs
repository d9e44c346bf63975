/// eˣ for x ≤ 0: 2ⁿ by its exponent bits and 2ᶠ, |f| ≤ ½, by the Taylor series of degree 6. Free of
/// branches and calls, so that a loop around it becomes vector code; 0 far below.
#[inline]
pub(super) fn exp(x: f32) -> f32 {
    /// Adding it leaves the nearest integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const TAYLOR: [f32; 6] = [
        std::f32::consts::LN_2,
        0.240_226_5,
        0.055_504_11,
        0.009_618_129,
        0.001_333_355_8,
        0.000_154_035_3,
    ];
    let y = (x * std::f32::consts::LOG2_E).max(-126.0);
    let rounded = y + ROUND;
    let n = rounded.to_bits().wrapping_sub(ROUND.to_bits());
    let f = y - (rounded - ROUND);
    let fraction = TAYLOR.iter().rev().fold(0.0, |sum, coefficient| (sum + coefficient) * f) + 1.0;
    f32::from_bits(n.wrapping_add(127) << 23) * fraction
}
