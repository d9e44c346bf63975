//! Vectors as int8 codes: what a walk of the graph compares.
//!
//! One scale serves all vectors, so the dot product of two codes orders pairs as their cosines do, up to
//! rounding, and needs nothing but the codes.

use half::f16;

/// A code is a whole number of cache lines long, and so of registers; what is beyond the dimension is 0.
pub(super) const CODE_ALIGN: usize = 64;

/// The largest magnitude of a component. The kernels count on it that none is -128.
const CODE_MAX: f32 = 127.0;

/// Rows that the scale is chosen by.
const SAMPLE_ROWS: usize = 2_048;

/// Codes of all nodes, end to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeTable<'a> {
    bytes: &'a [i8],
    stride: usize,
}

impl<'a> CodeTable<'a> {
    pub fn new(bytes: &'a [i8], stride: usize) -> Self {
        Self { bytes, stride }
    }

    #[inline]
    pub fn of(self, node: u32) -> &'a [i8] {
        let at = node as usize * self.stride;
        &self.bytes[at..at + self.stride]
    }
}

/// Bytes of a code of `dim` components.
pub(super) fn code_len(dim: usize) -> usize {
    dim.next_multiple_of(CODE_ALIGN)
}

/// The magnitude that becomes 127, chosen so that codes of a sample of `rows` differ least from the rows
/// in the mean of squares: cutting a few outliers off makes every other component finer.
pub(super) fn choose_scale<'a>(rows: impl ExactSizeIterator<Item = &'a [f16]>) -> f32 {
    let stride = (rows.len() / SAMPLE_ROWS).max(1);
    let sample = rows.step_by(stride).flatten();
    let mut magnitudes: Vec<f32> =
        sample.map(|value| value.to_f32().abs()).filter(|value| value.is_finite()).collect();
    magnitudes.sort_unstable_by(f32::total_cmp);
    let Some(&largest) = magnitudes.last().filter(|largest| **largest > 0.0) else { return 1.0 };
    let loss = |scale: f32| {
        let step = scale / CODE_MAX;
        let cut = magnitudes.partition_point(|value| *value <= scale);
        // Rounding errs evenly up to half a step.
        let rounding = f64::from(step * step / 12.0) * cut as f64;
        let cutting: f64 = magnitudes[cut..].iter().map(|v| f64::from(v - scale).powi(2)).sum();
        rounding + cutting
    };
    // From the largest down to an eighth of it.
    let scales = (0..24).map(|step| largest * (0.5_f32).powf(step as f32 / 8.0));
    scales.min_by(|a, b| loss(*a).total_cmp(&loss(*b))).unwrap_or(largest)
}

/// Writes the code of a vector whose magnitude `scale` becomes 127.
pub(super) fn encode(values: impl Iterator<Item = f32>, scale: f32, code: &mut [i8]) {
    let factor = CODE_MAX / scale;
    code.fill(0);
    for (code, value) in code.iter_mut().zip(values) {
        // What is no number becomes 0.
        *code = (value * factor).round().clamp(-CODE_MAX, CODE_MAX) as i8;
    }
}

/// The code of a query, at its own scale: only comparisons with one query are made.
pub(super) fn encode_query(query: &[f32], code: &mut Vec<i8>) {
    let largest = query.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    code.resize(code_len(query.len()), 0);
    encode(query.iter().copied(), if largest > 0.0 { largest } else { 1.0 }, code);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_are_cut_when_that_makes_the_rest_finer() {
        let even: Vec<f16> = (0..1_000).map(|n| f16::from_f32(n as f32 / 1e3)).collect();
        let scale = choose_scale([even.as_slice()].into_iter());
        assert!((scale - 0.999).abs() < 1e-2, "nothing to cut: {scale}");
        let mut spiked: Vec<f16> =
            (0..40_000).map(|n| f16::from_f32((n % 1_000) as f32 / 1e5)).collect();
        spiked[7] = f16::from_f32(0.0125);
        let scale = choose_scale([spiked.as_slice()].into_iter());
        assert!(scale < 0.0122 && scale > 0.009, "{scale}");
        assert!((choose_scale([].into_iter()) - 1.0).abs() < f32::EPSILON);
    }

    #[test]
    fn a_code_is_the_vector_up_to_half_a_step() {
        let mut code = vec![9; CODE_ALIGN];
        encode([0.5, -0.5, 2.0, -2.0, f32::NAN, 0.003].into_iter(), 0.5, &mut code);
        assert_eq!(code[..7], [127, -127, 127, -127, 0, 1, 0]);
        let mut query = Vec::new();
        encode_query(&[0.0, -0.25], &mut query);
        assert_eq!((query.len(), query[0], query[1]), (CODE_ALIGN, 0, -127));
    }
}
