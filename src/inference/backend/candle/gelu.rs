//! GELU and GEGLU for candle's CPU, whose own GELU goes through a double-precision error function one number at a
//! time and took a fifth of the forward pass (see `docs/performance.md`).

use candle_core::{CpuStorage, CustomOp1, Layout, Shape, bail};
use rayon::prelude::*;

use super::exponential::exp;

/// Numbers that one task takes: 64 KB.
const CHUNK: usize = 16 << 10;

pub(super) struct Gelu;

impl CustomOp1 for Gelu {
    fn name(&self) -> &'static str {
        "gelu"
    }

    fn cpu_fwd(
        &self,
        storage: &CpuStorage,
        layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let (CpuStorage::F32(values), Some((start, end))) = (storage, layout.contiguous_offsets())
        else {
            bail!("gelu takes contiguous f32");
        };
        let mut output = vec![0.0; end - start];
        output.par_chunks_mut(CHUNK).zip(values[start..end].par_chunks(CHUNK)).for_each(
            |(output, input)| {
                for (y, x) in output.iter_mut().zip(input) {
                    *y = gelu(*x);
                }
            },
        );
        Ok((CpuStorage::F32(output), layout.shape().clone()))
    }
}

/// GELU of the first half of each row times the second half: `[n, 2 · inner]` to `[n, inner]`.
pub(super) struct Geglu;

impl CustomOp1 for Geglu {
    fn name(&self) -> &'static str {
        "geglu"
    }

    fn cpu_fwd(
        &self,
        storage: &CpuStorage,
        layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let (CpuStorage::F32(values), Some((start, end))) = (storage, layout.contiguous_offsets())
        else {
            bail!("geglu takes contiguous f32");
        };
        let (rows, columns) = layout.shape().dims2()?;
        let inner = columns / 2;
        let mut output = vec![0.0; rows * inner];
        let rows_a_task = CHUNK.div_ceil(columns);
        output
            .par_chunks_mut(inner)
            .zip(values[start..end].par_chunks(columns))
            .with_min_len(rows_a_task)
            .for_each(|(output, row)| {
                let (gated, plain) = row.split_at(inner);
                for ((y, x), factor) in output.iter_mut().zip(gated).zip(plain) {
                    *y = gelu(*x) * factor;
                }
            });
        Ok((CpuStorage::F32(output), Shape::from((rows, inner))))
    }
}

/// x · Φ(x). Free of branches and calls, so that the loop around it becomes vector code.
#[inline]
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// Abramowitz & Stegun 7.1.26; the absolute error is below 5e-7 in single precision.
#[inline]
fn erf(x: f32) -> f32 {
    const P: f32 = 0.327_591_1;
    const A: [f32; 5] = [0.254_829_6, -0.284_496_74, 1.421_413_7, -1.453_152, 1.061_405_4];
    let z = x.abs();
    let t = 1.0 / (1.0 + P * z);
    let polynomial = ((((A[4] * t + A[3]) * t + A[2]) * t + A[1]) * t + A[0]) * t;
    (1.0 - polynomial * exp(-z * z)).copysign(x)
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};
    use proptest::prelude::*;

    use super::*;

    /// Candle's own, through the double-precision error function, is the oracle.
    fn check(inputs: &[f32]) {
        let tensor = Tensor::new(inputs, &Device::Cpu).unwrap();
        let got = tensor.apply_op1_no_bwd(&Gelu).unwrap().to_vec1::<f32>().unwrap();
        let want = tensor.gelu_erf().unwrap().to_vec1::<f32>().unwrap();
        for ((x, got), want) in inputs.iter().zip(got).zip(want) {
            let tolerance = 5e-7 * x.abs().max(1.0);
            assert!((got - want).abs() <= tolerance, "gelu({x}) = {got}, not {want}");
        }
    }

    #[test]
    fn agrees_at_the_edges() {
        check(&[0.0, -0.0, 1e-30, -1e-30, 5.0, -5.0, 12.0, -12.0, 88.0, -88.0, 1e4, -1e4]);
    }

    proptest! {
        #[test]
        fn geglu_is_gelu_of_one_half_times_the_other(
            pairs in prop::collection::vec((-10.0_f32..10.0, -10.0_f32..10.0), 1..40),
            rows in 1..5_usize,
        ) {
            let (gated, plain): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let tensor = |row: &[f32]| {
                Tensor::from_vec(row.repeat(rows), (rows, row.len()), &Device::Cpu).unwrap()
            };
            let x = tensor(&[gated.as_slice(), &plain].concat());
            let got = x.apply_op1_no_bwd(&Geglu).unwrap().to_vec2::<f32>().unwrap();
            let want = (tensor(&gated).gelu_erf().unwrap() * tensor(&plain)).unwrap();
            let want = want.to_vec2::<f32>().unwrap();
            for (got, want) in got.iter().flatten().zip(want.iter().flatten()) {
                prop_assert!((got - want).abs() <= 1e-4, "{got} {want}");
            }
        }

        #[test]
        fn agrees_with_the_exact_function(inputs in prop::collection::vec(-10.0_f32..10.0, 1..200)) {
            check(&inputs);
        }
    }
}
