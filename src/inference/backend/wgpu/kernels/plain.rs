//! The kernels in plain Rust, with sums in f64: what the self-test and the property tests compare with.

use std::ops::Range;

use super::RowEnd;

/// Rows `[rows, columns]` on the host.
#[derive(Clone, Debug)]
pub(in super::super) struct Rows {
    pub columns: usize,
    pub values: Vec<f32>,
}

impl Rows {
    pub fn new(columns: usize, values: Vec<f32>) -> Self {
        Self { columns, values }
    }

    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.columns)
    }

    fn row(&self, at: usize) -> &[f32] {
        &self.values[at * self.columns..(at + 1) * self.columns]
    }
}

/// end(x · weightᵀ + bias), where the rows of `weight` come four by four in turn for [`RowEnd::Geglu`].
pub(in super::super) fn multiply(
    x: &Rows,
    weight: &Rows,
    bias: Option<&[f32]>,
    end: RowEnd,
    residual: Option<&Rows>,
) -> Rows {
    let product = |row: &[f32], output: usize| {
        let pairs = row.iter().zip(weight.row(output));
        let sum: f64 = pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        sum + bias.map_or(0.0, |bias| f64::from(bias[output]))
    };
    let outputs = weight.rows().len();
    let columns = if end == RowEnd::Geglu { outputs / 2 } else { outputs };
    let at = |row: usize, column: usize| {
        let x = x.row(row);
        let sum = match end {
            RowEnd::Plain => product(x, column),
            RowEnd::Gelu => gelu(product(x, column)),
            RowEnd::Geglu => {
                let first = column / 4 * 8 + column % 4;
                gelu(product(x, first)) * product(x, first + 4)
            }
            RowEnd::Residual => {
                let residual = residual.map_or(0.0, |rows| f64::from(rows.row(row)[column]));
                product(x, column) + residual
            }
        };
        sum as f32
    };
    let count = x.rows().len();
    let values = (0..count).flat_map(|row| (0..columns).map(move |column| (row, column)));
    Rows::new(columns, values.map(|(row, column)| at(row, column)).collect())
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2))
}

/// By its series in which no terms cancel (Abramowitz and Stegun 7.1.6).
fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= 2.0 * x * x / f64::from(2 * n + 1);
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

pub(in super::super) fn norm(x: &Rows, gain: &[f32], bias: &[f32], epsilon: f64) -> Rows {
    let normalized = x.rows().flat_map(|row| {
        let row: Vec<f64> = row.iter().map(|value| f64::from(*value)).collect();
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let squares: f64 = row.iter().map(|value| (value - mean).powi(2)).sum();
        let scale = 1.0 / (squares / row.len() as f64 + epsilon).sqrt();
        let at = move |(at, value): (usize, f64)| {
            ((value - mean) * scale * f64::from(gain[at]) + f64::from(bias[at])) as f32
        };
        row.into_iter().enumerate().map(at).collect::<Vec<_>>()
    });
    Rows::new(x.columns, normalized.collect())
}

/// Rows of the tables added up, before the norm.
#[cfg(test)]
pub(in super::super) fn look_up(
    ids: &[u32],
    positions: &[usize],
    words: &Rows,
    table: Option<&Rows>,
    token_type: &[f32],
) -> Rows {
    let sums = ids.iter().zip(positions).flat_map(|(id, position)| {
        let at = move |column: usize| {
            let position = table.map_or(0.0, |table| table.row(*position)[column]);
            words.row(*id as usize)[column] + token_type[column] + position
        };
        (0..words.columns).map(at)
    });
    Rows::new(words.columns, sums.collect())
}

/// `qkv` is `[tokens, 3 · width]`; ALiBi without slopes is none.
pub(in super::super) fn attend(
    qkv: &Rows,
    sequences: &[Range<usize>],
    heads: usize,
    slopes: &[f32],
) -> Rows {
    let width = qkv.columns / 3;
    let head = width / heads;
    let mut mixed = vec![0.0; qkv.rows().len() * width];
    for range in sequences {
        for (query, first) in range.clone().flat_map(|q| (0..heads).map(move |h| (q, h * head))) {
            let part = |row: usize, part: usize| {
                let from = part * width + first;
                &qkv.row(row)[from..from + head]
            };
            let score = |key: usize| {
                let pairs = part(query, 0).iter().zip(part(key, 1));
                let dot: f64 = pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                let slope = slopes.get(first / head).copied().map_or(0.0, f64::from);
                dot / (head as f64).sqrt() - slope * query.abs_diff(key) as f64
            };
            let scores: Vec<f64> = range.clone().map(score).collect();
            let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - greatest).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for at in 0..head {
                let values = range.clone().zip(&weights);
                let value: f64 =
                    values.map(|(key, weight)| weight * f64::from(part(key, 2)[at])).sum();
                mixed[query * width + first + at] = (value / sum) as f32;
            }
        }
    }
    Rows::new(width, mixed)
}

#[cfg(test)]
pub(in super::super) fn pool(x: &Rows, sequences: &[Range<usize>], cls: bool) -> Rows {
    let pooled = sequences.iter().flat_map(|range| {
        let range = if cls { range.start..range.start + 1 } else { range.clone() };
        let count = range.len() as f64;
        let mean = move |column: usize| {
            let sum: f64 = range.clone().map(|row| f64::from(x.row(row)[column])).sum();
            (sum / count) as f32
        };
        (0..x.columns).map(mean).collect::<Vec<_>>()
    });
    Rows::new(x.columns, pooled.collect())
}
