//! Every operation but the lookup on every set beside its definition in f64, over shapes that fill no tile.

use proptest::prelude::*;

use super::kernel::tests::{noise, on_every_set};
use super::operand::Operand;
use super::*;
use crate::inference::weights::WeightType;
use crate::inference::{Alibi, Weights};
use crate::platform::Simd;

/// A matrix in f64, row by row.
#[derive(Clone, Debug)]
struct Matrix {
    columns: usize,
    numbers: Vec<f64>,
}

impl Matrix {
    /// Random numbers that `O` can hold, so that only the computation differs.
    fn noise<O: Operand>(rows: usize, columns: usize, seed: u32) -> Self {
        let number = |x: f32| f64::from(Into::<f32>::into(O::from_f32(x)));
        Self { columns, numbers: noise(rows * columns, seed).into_iter().map(number).collect() }
    }

    fn row(&self, at: usize) -> &[f64] {
        &self.numbers[at * self.columns..(at + 1) * self.columns]
    }

    fn rows(&self) -> usize {
        self.numbers.len() / self.columns
    }

    fn tensor<K: Kernel>(&self, backend: &CpuBackend<K>) -> Rows<K::Operand> {
        let rows = backend.rows(self.rows(), self.columns).unwrap();
        let block = rows.block_mut();
        for at in 0..self.rows() {
            for (c, x) in self.row(at).iter().enumerate() {
                // SAFETY: the place lies within the rows, which nobody else has.
                unsafe {
                    *block.start.add(at * block.stride + c) = K::Operand::from_f32(*x as f32);
                }
            }
        }
        rows
    }

    fn bytes(&self) -> Vec<u8> {
        self.numbers.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect()
    }
}

fn view<'a>(bytes: &'a [u8], shape: &[usize], weights: &'a Arc<Weights>) -> WeightView<'a> {
    WeightView { shape: shape.to_vec(), dtype: WeightType::F32, bytes, weights }
}

/// A projection, on the backend and as numbers.
struct Projection<K: Kernel> {
    linear: Linear<PackedMatrix<K>, PackedVector>,
    weight: Matrix,
    bias: Matrix,
}

impl<K: Kernel> Projection<K> {
    fn new(inputs: usize, outputs: usize, parts: usize, biased: bool) -> Self {
        let weight = Matrix::noise::<K::Operand>(outputs * parts, inputs, 11);
        let mut bias = Matrix::noise::<f32>(1, outputs * parts, 12);
        if !biased {
            bias.numbers.fill(0.0);
        }
        let (none, bytes) = (Arc::new(Weights::embedded("none", &[])), weight.bytes());
        let part = bytes.len() / parts;
        let views: Vec<_> =
            bytes.chunks(part).map(|bytes| view(bytes, &[outputs, inputs], &none)).collect();
        let matrix = PackedMatrix::pack(&views).unwrap();
        let bytes = bias.bytes();
        let vector = || PackedVector::pack(&[view(&bytes, &[outputs * parts], &none)]).unwrap();
        Self { linear: Linear { weight: matrix, bias: biased.then(vector) }, weight, bias }
    }

    /// x · weightᵀ + bias.
    fn expected(&self, x: &[f64]) -> Vec<f64> {
        let output = |at: usize| {
            let products = x.iter().zip(self.weight.row(at)).map(|(x, w)| x * w);
            products.sum::<f64>() + self.bias.numbers[at]
        };
        (0..self.weight.rows()).map(output).collect()
    }
}

fn norm(width: usize) -> (LayerNorm<PackedVector>, impl Fn(&[f64]) -> Vec<f64>) {
    let none = Arc::new(Weights::embedded("none", &[]));
    let (gain, shift) = (Matrix::noise::<f32>(1, width, 21), Matrix::noise::<f32>(1, width, 22));
    let vector =
        |matrix: &Matrix| PackedVector::pack(&[view(&matrix.bytes(), &[width], &none)]).unwrap();
    let norm = LayerNorm { gain: vector(&gain), bias: vector(&shift), epsilon: 1e-5 };
    let expected = move |x: &[f64]| {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
        let scale = 1.0 / (variance + 1e-5).sqrt();
        let numbers = x.iter().zip(gain.row(0)).zip(shift.row(0));
        numbers.map(|((x, gain), shift)| (x - mean) * scale * gain + shift).collect()
    };
    (norm, expected)
}

fn gelu(x: f64) -> f64 {
    x * 0.5 * (1.0 + candle_core::cpu::erf::erf_f64(x / std::f64::consts::SQRT_2))
}

/// Results are near, as near as the numbers that they are kept in allow.
#[track_caller]
fn assert_near<O: Operand>(got: &[O], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let relative = if O::GROUP == 1 { 2e-5 } else { 1.0 / 200.0 };
    for (got, want) in got.iter().zip(want) {
        let got = f64::from(Into::<f32>::into(*got));
        let tolerance = relative * want.abs().max(1.0);
        assert!((got - want).abs() <= tolerance, "{what}: {got} for {want}");
    }
}

/// The same with one thread and with three, and for each row alone.
fn on_teams<K: Kernel>(
    x: &Matrix,
    run: impl Fn(&mut CpuBackend<K>, &Matrix) -> Rows<K::Operand>,
) -> Rows<K::Operand> {
    let mut one = CpuBackend::<K>::new(1).unwrap();
    let mut three = CpuBackend::<K>::new(3).unwrap();
    let (result, other) = (run(&mut one, x), run(&mut three, x));
    for at in 0..x.rows() {
        let alone = Matrix { columns: x.columns, numbers: x.row(at).to_vec() };
        let alone = run(&mut three, &alone);
        assert!(same(result.row(at), other.row(at)), "{:?}: row {at} by threads", K::SIMD);
        assert!(same(result.row(at), alone.row(0)), "{:?}: row {at} by neighbors", K::SIMD);
    }
    result
}

fn same<O: Operand>(a: &[O], b: &[O]) -> bool {
    let bits = |x: &O| Into::<f32>::into(*x).to_bits();
    a.iter().map(bits).eq(b.iter().map(bits))
}

fn projections_agree<K: Kernel>(rows: usize, inputs: usize, outputs: usize, biased: bool) {
    let x = Matrix::noise::<K::Operand>(rows, inputs, 1);
    for (activation, parts) in
        [(Activation::Identity, 3), (Activation::Gelu, 1), (Activation::Geglu, 2)]
    {
        let projection = Projection::<K>::new(inputs, outputs, parts, biased);
        let run = |backend: &mut CpuBackend<K>, x: &Matrix| {
            backend.project(&x.tensor(backend), &projection.linear, activation).unwrap()
        };
        let got = on_teams(&x, run);
        for at in 0..rows {
            let sums = projection.expected(x.row(at));
            let want: Vec<f64> = match activation {
                Activation::Identity => sums,
                Activation::Gelu => sums.into_iter().map(gelu).collect(),
                Activation::Geglu => {
                    let (gate, plain) = sums.split_at(outputs);
                    gate.iter().zip(plain).map(|(gate, plain)| gelu(*gate) * plain).collect()
                }
            };
            assert_near(got.row(at), &want, &format!("{:?} {activation:?} row {at}", K::SIMD));
        }
    }
}

fn sums_are_normalized<K: Kernel>(rows: usize, inputs: usize, width: usize, biased: bool) {
    let both = Matrix::noise::<K::Operand>(rows, inputs + width, 2);
    let projection = Projection::<K>::new(inputs, width, 1, biased);
    let (norm, expected) = norm(width);
    // The residual is part of the row, so that a row alone has its own.
    let split = |rows: &Matrix| {
        let part = |columns: usize, of: fn(&[f64], usize) -> &[f64]| Matrix {
            columns,
            numbers: (0..rows.rows()).flat_map(|at| of(rows.row(at), inputs).to_vec()).collect(),
        };
        (part(inputs, |row, at| &row[..at]), part(width, |row, at| &row[at..]))
    };
    let run = |backend: &mut CpuBackend<K>, rows: &Matrix| {
        let (x, residual) = split(rows);
        let (x, residual) = (x.tensor(backend), residual.tensor(backend));
        backend.project_add_norm(&x, &projection.linear, &residual, &norm).unwrap()
    };
    let got = on_teams(&both, run);
    let (x, residual) = split(&both);
    for at in 0..rows {
        let sums = projection.expected(x.row(at));
        let sums: Vec<f64> = sums.iter().zip(residual.row(at)).map(|(x, y)| x + y).collect();
        // Of one or two numbers the variance may be next to nothing, and what divides by it is noise.
        if width > 3 {
            assert_near(got.row(at), &expected(&sums), &format!("{:?} row {at}", K::SIMD));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn projections_are_what_they_say(
        rows in 1..70_usize, inputs in 1..80_usize, outputs in 1..80_usize, biased: bool,
    ) {
        on_every_set!(projections_agree(rows, inputs, outputs, biased));
    }

    #[test]
    fn residuals_are_added_and_rows_normalized(
        rows in 1..70_usize, inputs in 1..80_usize, width in 1..80_usize, biased: bool,
    ) {
        on_every_set!(sums_are_normalized(rows, inputs, width, biased));
    }
}

/// Many rows: parts have whole rows, and the caches' size cuts them.
#[test]
fn products_of_many_rows_agree() {
    on_every_set!(projections_agree(200, 130, 33, true));
    on_every_set!(sums_are_normalized(200, 130, 70, true));
}

fn batch_of(lengths: &[usize]) -> TokenBatch {
    let mut batch = TokenBatch::default();
    for length in lengths {
        batch.push(&vec![0; *length]);
    }
    batch
}

fn attention_agrees<K: Kernel>(lengths: &[usize], heads: usize, d: usize, alibi: bool) {
    let width = heads * d;
    let tokens: usize = lengths.iter().sum();
    let mut qkv = Matrix::noise::<K::Operand>(tokens, 3 * width, 5);
    // Scores that differ, so that weights do.
    for x in &mut qkv.numbers {
        *x *= 2.0;
    }
    let attention = Attention { heads, alibi: alibi.then(|| Alibi::new(heads)) };
    let run = |backend: &mut CpuBackend<K>, qkv: &Matrix, lengths: &[usize]| {
        let batch = batch_of(lengths);
        let plan = backend.plan(&batch, &attention).unwrap();
        backend.attention(&qkv.tensor(backend), &plan, &attention).unwrap()
    };
    let got = run(&mut CpuBackend::<K>::new(3).unwrap(), &qkv, lengths);
    let mut alone = CpuBackend::<K>::new(1).unwrap();
    let mut first = 0;
    for &n in lengths {
        let numbers = qkv.numbers[first * 3 * width..(first + n) * 3 * width].to_vec();
        let sequence = Matrix { columns: 3 * width, numbers };
        let single = run(&mut alone, &sequence, &[n]);
        for query in 0..n {
            let row = got.row(first + query);
            assert!(same(row, single.row(query)), "{:?}: {query} of {n}", K::SIMD);
            if query % 37 == 0 || query + 1 == n {
                let want = attended(&sequence, query, &attention);
                assert_near(row, &want, &format!("{:?}: {query} of {n}", K::SIMD));
            }
        }
        first += n;
    }
}

/// By the definition.
fn attended(qkv: &Matrix, query: usize, attention: &Attention) -> Vec<f64> {
    let width = qkv.columns / 3;
    let d = width / attention.heads;
    let head = |which: usize, row: usize, head: usize| {
        let first = which * width + head * d;
        &qkv.row(row)[first..first + d]
    };
    let mut mixed = Vec::new();
    for h in 0..attention.heads {
        let slope = attention.alibi.as_ref().map_or(0.0, |alibi| f64::from(alibi.slopes()[h]));
        let score = |key: usize| {
            let dot: f64 = head(0, query, h).iter().zip(head(1, key, h)).map(|(q, k)| q * k).sum();
            dot / (d as f64).sqrt() - slope * query.abs_diff(key) as f64
        };
        let scores: Vec<f64> = (0..qkv.rows()).map(score).collect();
        let largest = scores.iter().copied().fold(f64::MIN, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
        let total: f64 = weights.iter().sum();
        mixed.extend((0..d).map(|c| {
            let share = |(key, weight): (usize, &f64)| weight / total * head(2, key, h)[c];
            weights.iter().enumerate().map(share).sum::<f64>()
        }));
    }
    mixed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn attention_is_what_it_says(
        lengths in prop::collection::vec(1..70_usize, 1..5),
        heads in 1..4_usize,
        d in 1..40_usize,
        alibi: bool,
    ) {
        on_every_set!(attention_agrees(&lengths, heads, d, alibi));
    }
}

/// Beyond a piece of queries and a stretch of keys.
#[test]
fn attention_to_long_sequences_agrees() {
    on_every_set!(attention_agrees(&[1, 513, 2, 1_100], 2, 24, true));
    on_every_set!(attention_agrees(&[512, 256, 257], 1, 64, false));
}

fn rows_are_pooled<K: Kernel>(lengths: &[usize], width: usize) {
    let tokens = lengths.iter().sum();
    let x = Matrix::noise::<K::Operand>(tokens, width, 9);
    let batch = batch_of(lengths);
    let mut backend = CpuBackend::<K>::new(2).unwrap();
    let plan = backend.plan(&batch, &Attention { heads: 1, alibi: None }).unwrap();
    let tensor = x.tensor(&backend);
    let mean = backend.pool(&tensor, &plan, Pooling::Mean).unwrap();
    let cls = backend.pool(&tensor, &plan, Pooling::Cls).unwrap();
    for ((range, mean), cls) in batch.ranges().zip(mean).zip(cls) {
        let sum = |column: usize| range.clone().map(|row| x.row(row)[column]).sum::<f64>();
        let want: Vec<f64> = (0..width).map(|at| sum(at) / range.len() as f64).collect();
        assert_near(&mean, &want, "mean");
        assert_near(&cls, x.row(range.start), "first");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn pooling_is_what_it_says(
        lengths in prop::collection::vec(1..40_usize, 1..6), width in 1..80_usize,
    ) {
        on_every_set!(rows_are_pooled(&lengths, width));
    }
}

#[test]
fn a_set_that_the_processor_lacks_is_refused() {
    for simd in Simd::ALL.into_iter().filter(|simd| !simd.is_available()) {
        // Sets of another architecture stand for the plain one.
        with_kernel!(simd, K => {
            if K::SIMD == simd {
                let error = CpuBackend::<K>::new(1).unwrap_err().to_string();
                assert!(error.contains(simd.name()), "{error}");
            }
        });
    }
}
