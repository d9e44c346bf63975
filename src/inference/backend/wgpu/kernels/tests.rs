//! Every kernel beside the same in plain Rust, on a software driver.

use proptest::prelude::*;

use super::super::tensor::{Init, Storage, Tensor};
use super::super::tests::{self, with_backend};
use super::super::tier::{Numbers, Tier};
use super::super::weights::{Matrix, Vector};
use super::super::{Stream, WgpuBackend};
use super::RowEnd;
use super::plain::{self, Rows};
use crate::data::TokenBatch;
use crate::inference::backend::{
    Activation, Attention, Backend as _, EmbeddingTables, LayerNorm, Linear,
};
use crate::inference::{Alibi, Pooling};

/// Numbers between −1 and 1 that f16 holds exactly, another lot for each seed.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut number = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 21) as f32 / 1_024.0 - 1.0
    };
    (0..count).map(|_| number()).collect()
}

fn rows(count: usize, columns: usize, seed: u32) -> Rows {
    Rows::new(columns, numbers(count * columns, seed))
}

fn upload(backend: &mut WgpuBackend, rows: &Rows) -> Tensor {
    let (shape, numbers) = ([rows.rows().len(), rows.columns], backend.numbers());
    let init = Init::Copy(&rows.values);
    Tensor::new(backend.stream(), shape, numbers, Storage::Dedicated, &init).unwrap()
}

fn vector(stream: &mut Stream, values: &[f32]) -> Vector {
    Vector::new(stream.gpu(), values).unwrap()
}

/// What f16 rounds off a number of this size, and what f32 does in another order.
fn tolerance(tier: Tier, want: f32) -> f32 {
    match tier.activations() {
        Numbers::F16 => 2e-3 * (1.0 + want.abs()),
        Numbers::F32 => 2e-5 * (1.0 + want.abs()),
    }
}

#[track_caller]
fn assert_close(backend: &mut WgpuBackend, got: &Tensor, want: &Rows) {
    let tier = backend.tier();
    let columns = want.columns;
    let got = got.read(backend.stream()).unwrap();
    assert_eq!(got.len(), want.values.len(), "{tier}");
    for (at, (got, want)) in got.iter().zip(&want.values).enumerate() {
        // NaN is close to nothing.
        let is_close = (got - want).abs() <= tolerance(tier, *want);
        assert!(is_close, "{tier}: {got} for {want} at {at} of rows of {columns}");
    }
}

/// Sizes at the edges of tiles, and some between.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1), Just(63), Just(64), Just(65), Just(129), 2..140_usize]
}

/// Columns in quads: one, odd, around a tile of products and of row lanes.
fn quads() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1), Just(15), Just(16), Just(17), Just(65), 2..40_usize]
}

fn end() -> impl Strategy<Value = RowEnd> {
    prop_oneof![
        Just(RowEnd::Plain),
        Just(RowEnd::Gelu),
        Just(RowEnd::Geglu),
        Just(RowEnd::Residual)
    ]
}

fn check_product(
    tier: Tier,
    [count, inputs, outputs]: [usize; 3],
    end: RowEnd,
    has_bias: bool,
    weights: Numbers,
) {
    with_backend(tier, |backend| {
        let parts = if end == RowEnd::Geglu { 2 } else { 1 };
        let x = rows(count, inputs, 1);
        let mut weight = rows(parts * outputs, inputs, 2);
        // Sums stay about one, so that f16 has digits for them, and are exact in f16 themselves.
        for value in &mut weight.values {
            *value = half::f16::from_f32(*value / (inputs as f32).sqrt()).to_f32();
        }
        let bias = has_bias.then(|| numbers(parts * outputs, 3));
        let residual = (end == RowEnd::Residual).then(|| rows(count, outputs, 4));
        let want = plain::multiply(&x, &weight, bias.as_deref(), end, residual.as_ref());
        let gpu = std::sync::Arc::clone(backend.stream().gpu());
        let linear = Linear {
            weight: Matrix::new(&gpu, &weight, weights, parts == 2).unwrap(),
            bias: bias.map(|bias| vector(backend.stream(), &bias)),
        };
        let x = upload(backend, &x);
        let residual = residual.map(|rows| upload(backend, &rows));
        let got = backend.multiply(&x, &linear, end, residual.as_ref()).unwrap();
        assert_close(backend, &got, &want);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn products_are_those_of_plain_rust(
        rows in size(), inputs in quads(), outputs in quads(), end in end(), bias in any::<bool>(),
    ) {
        for tier in tests::tiers() {
            check_product(tier, [rows, 4 * inputs, 4 * outputs], end, bias, Numbers::F16);
        }
        check_product(Tier::Base, [rows, 4 * inputs, 4 * outputs], end, bias, Numbers::F32);
    }

    #[test]
    fn norms_are_those_of_plain_rust(count in size(), quads in quads()) {
        for tier in tests::tiers() {
            with_backend(tier, |backend| {
                let x = rows(count, 4 * quads, 5);
                let (gain, bias) = (numbers(4 * quads, 6), numbers(4 * quads, 7));
                let want = plain::norm(&x, &gain, &bias, 1e-5);
                let norm = LayerNorm {
                    gain: vector(backend.stream(), &gain),
                    bias: vector(backend.stream(), &bias),
                    epsilon: 1e-5,
                };
                let x = upload(backend, &x);
                let got = backend.normalize(&x, &norm).unwrap();
                assert_close(backend, &got, &want);
            });
        }
    }

    #[test]
    fn attention_is_that_of_plain_rust(
        lengths in prop::collection::vec(size(), 1..4),
        heads in 1..4_usize,
        head_quads in prop_oneof![Just(1), Just(6), Just(8)],
        has_alibi in any::<bool>(),
    ) {
        for tier in tests::tiers() {
            with_backend(tier, |backend| {
                let attention = Attention { heads, alibi: has_alibi.then(|| Alibi::new(heads)) };
                let batch = batch(&lengths);
                let sequences: Vec<_> = batch.ranges().collect();
                let qkv = rows(batch.tokens(), 12 * heads * head_quads, 8);
                let slopes = attention.alibi.as_ref().map_or(&[][..], Alibi::slopes);
                let want = plain::attend(&qkv, &sequences, heads, slopes);
                let plan = backend.plan(&batch, &attention).unwrap();
                let qkv = upload(backend, &qkv);
                let got = backend.attention(&qkv, &plan, &attention).unwrap();
                assert_close(backend, &got, &want);
            });
        }
    }

    #[test]
    fn embedding_and_pooling_are_those_of_plain_rust(
        lengths in prop::collection::vec(size(), 1..4),
        quads in quads(),
        has_positions in any::<bool>(),
        cls in any::<bool>(),
    ) {
        for tier in tests::tiers() {
            with_backend(tier, |backend| {
                let (width, batch) = (4 * quads, batch(&lengths));
                let words = rows(32, width, 9);
                let positions = has_positions.then(|| rows(150, width, 10));
                let [token_type, gain, bias] = [11, 12, 13].map(|seed| numbers(width, seed));
                let at: Vec<usize> = batch.ranges().flat_map(|range| 0..range.len()).collect();
                let sums = plain::look_up(batch.ids(), &at, &words, positions.as_ref(), &token_type);
                let want = plain::norm(&sums, &gain, &bias, 1e-5);
                let gpu = std::sync::Arc::clone(backend.stream().gpu());
                let table = |rows: &Rows| Matrix::new(&gpu, rows, Numbers::F16, false).unwrap();
                let tables = EmbeddingTables {
                    word: table(&words),
                    position: positions.as_ref().map(table),
                    token_type: vector(backend.stream(), &token_type),
                };
                let norm = LayerNorm {
                    gain: vector(backend.stream(), &gain),
                    bias: vector(backend.stream(), &bias),
                    epsilon: 1e-5,
                };
                let attention = Attention { heads: 1, alibi: None };
                let plan = backend.plan(&batch, &attention).unwrap();
                let got = backend.embed(&batch, &plan, &tables, &norm).unwrap();
                assert_close(backend, &got, &want);

                let sequences: Vec<_> = batch.ranges().collect();
                let want = plain::pool(&want, &sequences, cls);
                let plan = backend.plan(&batch, &attention).unwrap();
                let rows = backend.embed(&batch, &plan, &tables, &norm).unwrap();
                let pooling = if cls { Pooling::Cls } else { Pooling::Mean };
                let pending = backend.pool(&rows, &plan, pooling).unwrap();
                let tier = backend.tier();
                let got: Vec<f32> = backend.finish(pending).unwrap().into_iter().flatten().collect();
                for (got, want) in got.iter().zip(&want.values) {
                    assert!((got - want).abs() <= tolerance(tier, *want), "{tier}: {got} {want}");
                }
                assert_eq!(got.len(), want.values.len());
            });
        }
    }
}

fn batch(lengths: &[usize]) -> TokenBatch {
    let mut batch = TokenBatch::default();
    for (at, length) in lengths.iter().enumerate() {
        let ids: Vec<u32> = (0..*length).map(|token| ((token * 7 + at) % 32) as u32).collect();
        batch.push(&ids);
    }
    batch
}

/// Of 64 rows a tile ends; larger products have many of them.
#[test]
fn large_products_are_those_of_plain_rust() {
    for tier in tests::tiers() {
        check_product(tier, [300, 384, 384], RowEnd::Residual, true, Numbers::F16);
        check_product(tier, [70, 512, 260], RowEnd::Geglu, false, Numbers::F16);
    }
}

/// Scores far apart overflow an exponential that is taken before the maximum is known.
#[test]
fn attention_holds_its_scores_in_range() {
    for tier in tests::tiers() {
        with_backend(tier, |backend| {
            let attention = Attention { heads: 1, alibi: None };
            let batch = batch(&[70]);
            let mut qkv = rows(70, 96, 14);
            qkv.values.iter_mut().for_each(|value| *value *= 32.0);
            let sequences: Vec<_> = batch.ranges().collect();
            let want = plain::attend(&qkv, &sequences, 1, &[]);
            let plan = backend.plan(&batch, &attention).unwrap();
            let qkv = upload(backend, &qkv);
            let got = backend.attention(&qkv, &plan, &attention).unwrap();
            assert_close(backend, &got, &want);
        });
    }
}

#[test]
fn an_unknown_id_is_named() {
    with_backend(Tier::Base, |backend| {
        let batch = batch(&[40]);
        let attention = Attention { heads: 1, alibi: None };
        let gpu = std::sync::Arc::clone(backend.stream().gpu());
        let tables = EmbeddingTables {
            word: Matrix::new(&gpu, &rows(8, 8, 1), Numbers::F16, false).unwrap(),
            position: None,
            token_type: vector(backend.stream(), &numbers(8, 2)),
        };
        let norm = LayerNorm {
            gain: vector(backend.stream(), &numbers(8, 3)),
            bias: vector(backend.stream(), &numbers(8, 4)),
            epsilon: 1e-5,
        };
        let plan = backend.plan(&batch, &attention).unwrap();
        let error = backend.embed(&batch, &plan, &tables, &norm).unwrap_err();
        assert_eq!(error.to_string(), "token 14 is outside the vocabulary of 8");
    });
}

/// A matrix whose parts come in turn is of no use to any other product.
#[test]
fn a_matrix_is_not_multiplied_in_a_way_that_it_was_not_staged_for() {
    with_backend(Tier::Base, |backend| {
        let gpu = std::sync::Arc::clone(backend.stream().gpu());
        let weight = Matrix::new(&gpu, &rows(16, 8, 1), Numbers::F16, true).unwrap();
        let linear = Linear { weight, bias: None };
        let x = upload(backend, &rows(2, 8, 2));
        assert!(backend.project(&x, &linear, Activation::Gelu).is_err());
        assert!(backend.project(&x, &linear, Activation::Geglu).is_ok());
    });
}
