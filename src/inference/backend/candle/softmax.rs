//! Softmax over the scores of a tile of queries, in place, with the scale and the bias that go before it.

use candle_core::{CpuStorage, InplaceOp1, Layout, bail};
use rayon::prelude::*;

use super::exponential::exp;

/// Numbers that one task takes at least: 64 KB.
const CHUNK: usize = 16 << 10;

/// Numbers that are summed side by side, so that the loops become vector code.
const LANES: usize = 16;

/// softmax(scale · score − slope · |i − j|) over the last axis of scores `[heads, rows, n]`, whose first
/// row belongs to query `first_row`.
pub(super) struct Softmax<'a> {
    pub scale: f32,
    pub first_row: usize,
    /// One for each head, or none.
    pub slopes: &'a [f32],
}

impl InplaceOp1 for Softmax<'_> {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> candle_core::Result<()> {
        let (CpuStorage::F32(values), Some((start, end))) = (storage, layout.contiguous_offsets())
        else {
            bail!("softmax takes contiguous f32");
        };
        let (_heads, rows, n) = layout.shape().dims3()?;
        values[start..end].par_chunks_mut(n).enumerate().with_min_len(CHUNK.div_ceil(n)).for_each(
            |(at, row)| {
                let query = self.first_row + at % rows;
                match self.slopes.get(at / rows) {
                    Some(slope) => bias(row, self.scale, *slope, query),
                    None => row.iter_mut().for_each(|score| *score *= self.scale),
                }
                normalize(row);
            },
        );
        Ok(())
    }
}

fn bias(row: &mut [f32], scale: f32, slope: f32, query: usize) {
    let query = query as f32;
    for (at, score) in row.iter_mut().enumerate() {
        *score = *score * scale - slope * (at as f32 - query).abs();
    }
}

/// Scores to weights that sum to one.
fn normalize(row: &mut [f32]) {
    let highest = fold(row, f32::NEG_INFINITY, |a, b| if a > b { a } else { b });
    for score in row.iter_mut() {
        *score = exp(*score - highest);
    }
    let factor = 1.0 / fold(row, 0.0, |a, b| a + b);
    for weight in row {
        *weight *= factor;
    }
}

fn fold(row: &[f32], first: f32, merge: impl Fn(f32, f32) -> f32) -> f32 {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut lanes = [first; LANES];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = merge(*lane, *value);
        }
    }
    lanes.iter().chain(rest).fold(first, |a, b| merge(a, *b))
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Candle's own softmax of plainly biased scores is the oracle.
        #[test]
        fn agrees_with_the_plain_computation(
            heads in 1..4_usize,
            rows in 1..5_usize,
            n in 1..70_usize,
            first_row in 0..70_usize,
            slope in prop::option::of(0.0_f32..1.0),
            seed in prop::collection::vec(-30.0_f32..30.0, 1..200),
        ) {
            let numbers: Vec<f32> = seed.into_iter().cycle().take(heads * rows * n).collect();
            let scale = 0.3;
            let slopes: Vec<f32> = slope.map_or(vec![], |slope| vec![slope; heads]);
            let biased = numbers.iter().enumerate().map(|(at, score)| {
                let (query, key) = (first_row + at / n % rows, at % n);
                score * scale - slope.unwrap_or(0.0) * query.abs_diff(key) as f32
            });
            let shape = (heads, rows, n);
            let want = Tensor::from_iter(biased, &Device::Cpu).unwrap().reshape(shape).unwrap();
            let want = candle_nn::ops::softmax_last_dim(&want).unwrap();
            let got = Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap();
            got.inplace_op1(&Softmax { scale, first_row, slopes: &slopes }).unwrap();
            let flat = |t: &Tensor| t.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            for (got, want) in flat(&got).into_iter().zip(flat(&want)) {
                prop_assert!((got - want).abs() <= 1e-6, "{got} {want}");
            }
        }
    }
}
