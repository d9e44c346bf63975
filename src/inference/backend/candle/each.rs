//! One sequence after the other.

use std::ops::Range;

use candle_core::Tensor;

use super::softmax::Softmax;
use crate::inference::backend::Attention;
use crate::inference::{Alibi, Pooling};

/// Queries whose scores `[heads, rows, n]` are held at once. A passage is one tile; 8,192 tokens with 12
/// heads hold 100 MB instead of 3.2 GB.
pub(super) const TILE_ROWS: usize = 256;

pub(super) fn attend(
    qkv: &Tensor,
    ranges: &[Range<usize>],
    attention: &Attention,
) -> candle_core::Result<Tensor> {
    let mixed = ranges
        .iter()
        .map(|range| attend_sequence(&qkv.narrow(0, range.start, range.len())?, attention))
        .collect::<candle_core::Result<Vec<_>>>()?;
    Tensor::cat(&mixed, 0)
}

/// `qkv` is `[n, 3 · width]` of one sequence; gives `[n, width]`.
fn attend_sequence(qkv: &Tensor, attention: &Attention) -> candle_core::Result<Tensor> {
    let heads = attention.heads;
    let (n, columns) = qkv.dims2()?;
    let width = columns / 3;
    let by_head = |part: usize| {
        qkv.narrow(1, part * width, width)?
            .reshape((n, heads, width / heads))?
            .transpose(0, 1)?
            .contiguous()
    };
    let (q, k, v) = (by_head(0)?, by_head(1)?.transpose(1, 2)?, by_head(2)?);
    let scale = 1.0 / ((width / heads) as f32).sqrt();
    let slopes = attention.alibi.as_ref().map_or(&[][..], Alibi::slopes);
    let tile = |first_row: usize| {
        let scores = q.narrow(1, first_row, TILE_ROWS.min(n - first_row))?.matmul(&k)?;
        scores.inplace_op1(&Softmax { scale, first_row, slopes })?;
        scores.matmul(&v)
    };
    let mixed = (0..n).step_by(TILE_ROWS).map(tile).collect::<candle_core::Result<Vec<_>>>()?;
    Tensor::cat(&mixed, 1)?.transpose(0, 1)?.contiguous()?.reshape((n, width))
}

pub(super) fn pool(
    x: &Tensor,
    ranges: &[Range<usize>],
    pooling: Pooling,
) -> candle_core::Result<Vec<Vec<f32>>> {
    let pool_one = |range: &Range<usize>| match pooling {
        Pooling::Mean => x.narrow(0, range.start, range.len())?.mean(0)?.to_vec1(),
        Pooling::Cls => x.get(range.start)?.to_vec1(),
    };
    ranges.iter().map(pool_one).collect()
}
