use candle_core::{Device, Result, Tensor};

use super::DecoderConfig;

/// Rotary position embedding (Su et al. 2021), the variety of the original Llama: neighboring
/// components of a head turn together.
#[derive(Clone, Debug)]
pub(super) struct Rope {
    /// Angle of each pair of components at position 1.
    frequencies: Vec<f64>,
}

impl Rope {
    /// `factors` slow the pairs down one by one, as Llama 3.1 does to reach further.
    pub fn new(config: &DecoderConfig, factors: Option<&[f32]>) -> Self {
        let frequency = |pair: usize| {
            let exponent = 2.0 * pair as f64 / config.head_width as f64;
            let factor = factors.map_or(1.0, |factors| f64::from(factors[pair]));
            f64::from(config.rope_base).powf(-exponent) / factor / f64::from(config.rope_scale)
        };
        Self { frequencies: (0..config.head_width / 2).map(frequency).collect() }
    }

    /// Cosines and sines for `count` positions from `start` on, `[count, head_width / 2]`.
    ///
    /// Made for each step and not kept: a step has few positions, a context has many.
    pub fn angles(&self, start: usize, count: usize, device: &Device) -> Result<(Tensor, Tensor)> {
        let angles = (start..start + count)
            .flat_map(|at| self.frequencies.iter().map(move |frequency| at as f64 * frequency));
        let (cos, sin): (Vec<f32>, Vec<f32>) =
            angles.map(|angle| (angle.cos() as f32, angle.sin() as f32)).unzip();
        let shape = (count, self.frequencies.len());
        Ok((Tensor::from_vec(cos, shape, device)?, Tensor::from_vec(sin, shape, device)?))
    }
}
