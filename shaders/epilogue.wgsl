// What follows a product: bias, then an activation or the residual.

const IDENTITY = 0u;
const GELU = 1u;
const GEGLU = 2u;

// erf of Abramowitz and Stegun 7.1.26, which is off by 1.5e-7 at most.
fn gelu4(x: vec4<f32>) -> vec4<f32> {
    let z = abs(x) * 0.70710678;
    let t = 1.0 / (1.0 + 0.3275911 * z);
    let sum = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t
        + 0.254829592) * t;
    let erf = sign(x) * (1.0 - sum * exp(-z * z));
    return 0.5 * x * (1.0 + erf);
}
