//! Small inputs through the kernels of a tier, beside the same in plain Rust.
//!
//! A driver that lists a feature may still compute it wrongly, and says nothing about it: the only way to
//! know is to look at its numbers.

use std::sync::Arc;

use super::kernels::RowEnd;
use super::kernels::plain::{self, Rows};
use super::tensor::{Init, Storage, Tensor};
use super::tier::Numbers;
use super::weights::{Matrix, Vector};
use super::{Plan, WgpuBackend};
use crate::data::TokenBatch;
use crate::inference::Alibi;
use crate::inference::backend::{Attention, Backend as _, BackendError, LayerNorm, Linear};

/// Greatest difference, beside numbers of about one: what f16 rounds off, and room for the order of sums.
const APART_MAX: f32 = 0.01;

/// Runs products of few and of many rows, attention and a norm.
///
/// # Errors
/// When a kernel does not compile, or computes something else.
pub(super) fn run(backend: &mut WgpuBackend) -> Result<(), BackendError> {
    let outcome = Test { backend, seed: 1 }.run();
    backend.stream().abandon();
    outcome
}

struct Test<'a> {
    backend: &'a mut WgpuBackend,
    seed: u32,
}

impl Test<'_> {
    fn run(&mut self) -> Result<(), BackendError> {
        for (rows, end) in [
            (5, RowEnd::Residual),
            (131, RowEnd::Residual),
            (131, RowEnd::Geglu),
            (5, RowEnd::Gelu),
        ] {
            self.product(rows, end)?;
        }
        self.attention()?;
        self.norm()
    }

    /// Numbers between −1 and 1 that f16 holds exactly.
    fn numbers(&mut self, count: usize) -> Vec<f32> {
        let mut number = || {
            self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (self.seed >> 21) as f32 / 1_024.0 - 1.0
        };
        (0..count).map(|_| number()).collect()
    }

    fn tensor(&mut self, rows: &Rows) -> Result<Tensor, BackendError> {
        let shape = [rows.rows().len(), rows.columns];
        let numbers = self.backend.numbers();
        let init = Init::Copy(&rows.values);
        Tensor::new(self.backend.stream(), shape, numbers, Storage::Dedicated, &init)
    }

    fn compare(&mut self, what: &str, got: &Tensor, want: &Rows) -> Result<(), BackendError> {
        let values = got.read(&mut self.backend.stream)?;
        let apart = values.iter().zip(&want.values).map(|(a, b)| (a - b).abs());
        // A number that is none is far from every other.
        let apart = apart.fold(0.0, |most, apart| if apart <= most { most } else { apart });
        if apart <= APART_MAX {
            return Ok(());
        }
        let gpu = self.backend.stream.gpu();
        Err(gpu.failed(format_args!("{what} is off by {apart}; update its driver")))
    }

    fn product(&mut self, rows: usize, end: RowEnd) -> Result<(), BackendError> {
        let (inputs, outputs) = (96, 136);
        let x = Rows::new(inputs, self.numbers(rows * inputs));
        // Sums of so many products stay about one.
        let smaller = |values: Vec<f32>| values.into_iter().map(|value| value / 8.0).collect();
        let weight = Rows::new(inputs, smaller(self.numbers(outputs * inputs)));
        let bias = self.numbers(outputs);
        let residual = Rows::new(outputs, self.numbers(rows * outputs));
        let has_residual = (end == RowEnd::Residual).then_some(&residual);
        let want = plain::multiply(&x, &weight, Some(&bias), end, has_residual);
        let gpu = Arc::clone(self.backend.stream.gpu());
        let linear = Linear {
            weight: Matrix::new(&gpu, &weight, Numbers::F16, end == RowEnd::Geglu)?,
            bias: Some(Vector::new(&gpu, &bias)?),
        };
        let (x, residual) = (self.tensor(&x)?, self.tensor(&residual)?);
        let got = self.backend.multiply(&x, &linear, end, Some(&residual))?;
        self.compare("a product", &got, &want)
    }

    fn attention(&mut self) -> Result<(), BackendError> {
        let attention = Attention { heads: 2, alibi: Some(Alibi::new(2)) };
        let mut batch = TokenBatch::default();
        batch.push(&[0; 3]);
        batch.push(&[0; 70]);
        let qkv = Rows::new(3 * 64, self.numbers(batch.tokens() * 3 * 64));
        let sequences: Vec<_> = batch.ranges().collect();
        let slopes = attention.alibi.as_ref().map_or(&[][..], Alibi::slopes);
        let want = plain::attend(&qkv, &sequences, 2, slopes);
        let plan: Plan = self.backend.plan(&batch, &attention)?;
        let qkv = self.tensor(&qkv)?;
        let got = self.backend.attention(&qkv, &plan, &attention)?;
        self.compare("attention", &got, &want)
    }

    fn norm(&mut self) -> Result<(), BackendError> {
        let width = 264;
        let x = Rows::new(width, self.numbers(3 * width));
        let (gain, bias) = (self.numbers(width), self.numbers(width));
        let want = plain::norm(&x, &gain, &bias, 1e-12);
        let gpu = Arc::clone(self.backend.stream.gpu());
        let norm = LayerNorm {
            gain: Vector::new(&gpu, &gain)?,
            bias: Vector::new(&gpu, &bias)?,
            epsilon: 1e-12,
        };
        let x = self.tensor(&x)?;
        let got = self.backend.normalize(&x, &norm)?;
        self.compare("a norm", &got, &want)
    }
}
