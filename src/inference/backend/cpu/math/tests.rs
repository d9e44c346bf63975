use std::sync::Mutex;

use super::super::kernel::Kernel;
use super::super::kernel::tests::{inside, on_every_set};
use super::*;
use crate::platform::Simd;

/// A function of one register over many numbers.
fn over<K: Kernel>(numbers: &[f32], f: impl Fn(K::Lanes) -> K::Lanes + Sync) -> Vec<f32> {
    let mut padded = numbers.to_vec();
    padded.resize(numbers.len().next_multiple_of(K::Lanes::WIDTH), 0.0);
    let got = Mutex::new(padded);
    inside::<K>(|| {
        let mut got = got.lock().unwrap();
        for chunk in got.chunks_mut(K::Lanes::WIDTH) {
            // SAFETY: a chunk is a register.
            unsafe { f(K::Lanes::load(chunk.as_ptr())).store(chunk.as_mut_ptr()) }
        }
    });
    let mut got = got.into_inner().unwrap();
    got.truncate(numbers.len());
    got
}

fn range(from: f32, to: f32, count: usize) -> Vec<f32> {
    (0..=count).map(|at| from + (to - from) * at as f32 / count as f32).collect()
}

fn gelu_is_near<K: Kernel>() {
    let mut numbers = range(-9.0, 9.0, 20_000);
    numbers.extend([0.0, -0.0, 1e-30, -1e-30, 1e4, -1e4, 1e30, -1e30]);
    for (x, got) in numbers.iter().zip(over::<K>(&numbers, gelu)) {
        let wide = f64::from(*x);
        let phi = 0.5 * (1.0 + candle_core::cpu::erf::erf_f64(wide / std::f64::consts::SQRT_2));
        let want = wide * phi;
        // Without fused multiplication the last bits of the polynomial are lost.
        let tolerance = 1.5e-6 + 1.3e-7 * want.abs().max(wide.abs() * 1e-6);
        assert!((f64::from(got) - want).abs() <= tolerance, "{:?}: gelu({x}) = {got}", K::SIMD);
    }
}

#[test]
fn gelu_of_every_set_is_near_the_exact_one() {
    on_every_set!(gelu_is_near());
}

fn exp2_is_near<K: Kernel>() {
    let numbers = range(EXPONENT_MIN, 20.0, 30_000);
    for (x, got) in numbers.iter().zip(over::<K>(&numbers, exp2)) {
        let want = f64::from(*x).exp2();
        let error = (f64::from(got) - want).abs() / want;
        assert!(error <= 3e-7, "{:?}: 2^{x} = {got}, off by {error}", K::SIMD);
    }
    // What is smaller is as small as leaves its products with values normal, and so never slow.
    for got in over::<K>(&[-100.0, -101.0, -126.0, -150.0, -1e30, f32::NEG_INFINITY], exp2) {
        assert_eq!(got.to_bits(), EXPONENT_MIN.exp2().to_bits(), "{:?}", K::SIMD);
        assert!((got * 1e-6).is_normal(), "{:?}", K::SIMD);
    }
    assert_eq!(over::<K>(&[0.0, 1.0, -1.0, 10.0], exp2), [1.0, 2.0, 0.5, 1024.0]);
}

#[test]
fn exp2_of_every_set_is_near_the_exact_one() {
    on_every_set!(exp2_is_near());
}
