//! Sequences of similar length side by side, padded to the longest of their group.
//!
//! Padding is exact: a padded key weighs nothing, and the row of a padded query is left behind.

use std::collections::BTreeMap;
use std::ops::Range;

use candle_core::{D, DType, Device, Tensor};

use crate::data::TokenBatch;
use crate::inference::Pooling;
use crate::inference::backend::Attention;

/// Sequences are grouped by their length up to the next power of two, from here on; so there are at
/// most ten groups, and less than half of a group is padding beyond this many tokens.
const SHORTEST_GROUP: usize = 16;

/// Scores that are held at once, `[sequences, heads, rows, n]`: 256 MB in f16. Longer ones are cut into
/// tiles of rows.
const SCORES_MAX: usize = 128 << 20;

#[derive(Debug)]
pub struct PaddedPlan {
    groups: Vec<Group>,
    /// Where the row of each token lies in the groups laid end to end; `None` when nothing moved.
    back: Option<Tensor>,
    /// For each sequence of the batch, its place among the groups' sequences.
    places: Vec<usize>,
    /// Slopes of ALiBi in f32, `[heads, 1, 1]`.
    slopes: Option<Tensor>,
}

#[derive(Debug)]
struct Group {
    sequences: usize,
    /// Tokens of the longest.
    n: usize,
    /// The row of the batch in each cell of `[sequences · n]`; a padded cell repeats the first row of
    /// its sequence. `None` when it is the whole batch as it lies.
    gather: Option<Tensor>,
    /// Row of the batch with the first token of each, `[sequences]`.
    first: Tensor,
    /// 1 / length on tokens and 0 on padding in f32, `[sequences, n, 1]`.
    share: Tensor,
    /// 0 on tokens and −∞ on padding in f32, `[sequences, 1, 1, n]`; `None` without padding.
    mask: Option<Tensor>,
    /// 0, 1, 2, … in f32, `[n]`.
    positions: Tensor,
}

impl PaddedPlan {
    pub(super) fn new(
        batch: &TokenBatch,
        attention: &Attention,
        device: &Device,
    ) -> candle_core::Result<Self> {
        let ranges: Vec<Range<usize>> = batch.ranges().collect();
        let mut by_length = BTreeMap::<usize, Vec<usize>>::new();
        for (at, range) in ranges.iter().enumerate() {
            let length = range.len().next_power_of_two().max(SHORTEST_GROUP);
            by_length.entry(length).or_default().push(at);
        }
        let mut places = vec![0; ranges.len()];
        let mut rows = vec![0_u32; batch.tokens()];
        let (mut groups, mut sequences, mut cells) = (Vec::new(), 0, 0);
        for members in by_length.values() {
            let n = members.iter().map(|at| ranges[*at].len()).max().unwrap_or(0);
            for at in members {
                places[*at] = sequences;
                sequences += 1;
                for (row, token) in ranges[*at].clone().enumerate() {
                    rows[token] = (cells + row) as u32;
                }
                cells += n;
            }
            let members: Vec<_> = members.iter().map(|at| ranges[*at].clone()).collect();
            groups.push(Group::new(&members, n, batch.tokens(), device)?);
        }
        let unmoved =
            cells == batch.tokens() && rows.iter().enumerate().all(|(at, row)| at == *row as usize);
        let back = (!unmoved).then(|| Tensor::new(rows.as_slice(), device)).transpose()?;
        let slopes = attention
            .alibi
            .as_ref()
            .map(|alibi| Tensor::new(alibi.slopes(), device)?.reshape((attention.heads, 1, 1)));
        Ok(Self { groups, back, places, slopes: slopes.transpose()? })
    }

    /// `qkv` is `[tokens, 3 · width]`; gives `[tokens, width]`.
    pub(super) fn attend(
        &self,
        qkv: &Tensor,
        attention: &Attention,
    ) -> candle_core::Result<Tensor> {
        let attend = |group: &Group| group.attend(qkv, attention.heads, self.slopes.as_ref());
        let mixed = self.groups.iter().map(attend).collect::<candle_core::Result<Vec<_>>>()?;
        let mixed = Tensor::cat(&mixed, 0)?;
        match &self.back {
            Some(rows) => mixed.index_select(rows, 0),
            None => Ok(mixed),
        }
    }

    pub(super) fn pool(&self, x: &Tensor, pooling: Pooling) -> candle_core::Result<Vec<Vec<f32>>> {
        let pool = |group: &Group| match pooling {
            Pooling::Mean => group.mean(x),
            Pooling::Cls => x.index_select(&group.first, 0)?.to_dtype(DType::F32),
        };
        let rows = self.groups.iter().map(pool).collect::<candle_core::Result<Vec<_>>>()?;
        let mut rows = Tensor::cat(&rows, 0)?.to_vec2()?;
        Ok(self.places.iter().map(|place| std::mem::take(&mut rows[*place])).collect())
    }
}

impl Group {
    fn new(
        members: &[Range<usize>],
        n: usize,
        tokens: usize,
        device: &Device,
    ) -> candle_core::Result<Self> {
        let sequences = members.len();
        let (mut gather, mut share, mut mask) = (Vec::new(), Vec::new(), Vec::new());
        for range in members {
            let (length, padding) = (range.len(), n - range.len());
            gather.extend(range.clone().map(|row| row as u32));
            gather.extend(std::iter::repeat_n(range.start as u32, padding));
            share.extend(std::iter::repeat_n(1.0 / length as f32, length));
            share.extend(std::iter::repeat_n(0.0_f32, padding));
            mask.extend(std::iter::repeat_n(0.0_f32, length));
            mask.extend(std::iter::repeat_n(f32::NEG_INFINITY, padding));
        }
        let first: Vec<u32> = members.iter().map(|range| range.start as u32).collect();
        let padded = mask.contains(&f32::NEG_INFINITY);
        let whole = gather.len() == tokens && gather.is_sorted() && !padded;
        Ok(Self {
            sequences,
            n,
            gather: (!whole).then(|| Tensor::new(gather.as_slice(), device)).transpose()?,
            first: Tensor::new(first.as_slice(), device)?,
            share: Tensor::from_vec(share, (sequences, n, 1), device)?,
            mask: padded
                .then(|| Tensor::from_vec(mask, (sequences, 1, 1, n), device))
                .transpose()?,
            positions: Tensor::arange(0.0, n as f32, device)?,
        })
    }

    /// The group's rows of `x`, `[sequences · n, columns]`.
    fn rows(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        match &self.gather {
            Some(rows) => x.index_select(rows, 0),
            None => Ok(x.clone()),
        }
    }

    fn mean(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let columns = x.dim(1)?;
        let rows = self.rows(x)?.to_dtype(DType::F32)?;
        rows.reshape((self.sequences, self.n, columns))?.broadcast_mul(&self.share)?.sum(1)
    }

    fn attend(
        &self,
        qkv: &Tensor,
        heads: usize,
        slopes: Option<&Tensor>,
    ) -> candle_core::Result<Tensor> {
        let (sequences, n, width) = (self.sequences, self.n, qkv.dim(1)? / 3);
        let head = width / heads;
        // [3, sequences, heads, n, head] in one copy.
        let parts = self.rows(qkv)?.reshape(&[sequences, n, 3, heads, head][..])?;
        let parts = parts.permute(vec![2, 0, 3, 1, 4])?.contiguous()?;
        let part = |at: usize| parts.get(at)?.reshape((sequences * heads, n, head));
        let (q, k, v) = (part(0)?, part(1)?.transpose(1, 2)?, part(2)?);
        // Before the product, because in f16 the plain scores could overflow.
        let q = (q * (1.0 / (head as f64).sqrt()))?;
        let mask = self.mask.as_ref().map(|mask| mask.to_dtype(qkv.dtype())).transpose()?;

        let rows_max = (SCORES_MAX / (sequences * heads * n)).clamp(1, n);
        let tile = |first_row: usize| {
            let rows = rows_max.min(n - first_row);
            let scores = q.narrow(1, first_row, rows)?.contiguous()?.matmul(&k)?;
            let mut scores = scores.reshape((sequences, heads, rows, n))?;
            if let Some(slopes) = slopes {
                let bias = self.bias(slopes, first_row, rows)?.to_dtype(scores.dtype())?;
                scores = scores.broadcast_sub(&bias)?;
            }
            if let Some(mask) = &mask {
                scores = scores.broadcast_add(mask)?;
            }
            let weights = candle_nn::ops::softmax_last_dim(&scores)?;
            weights.reshape((sequences * heads, rows, n))?.matmul(&v)
        };
        let mixed = (0..n).step_by(rows_max).map(tile).collect::<candle_core::Result<Vec<_>>>()?;
        let mixed = Tensor::cat(&mixed, 1)?.reshape((sequences, heads, n, head))?;
        mixed.transpose(1, 2)?.contiguous()?.reshape((sequences * n, width))
    }

    /// What ALiBi takes from the scores of some rows, `[1, heads, rows, n]` in f32: distances beyond 2,048
    /// are no longer whole in f16.
    fn bias(&self, slopes: &Tensor, first_row: usize, rows: usize) -> candle_core::Result<Tensor> {
        let queries = self.positions.narrow(0, first_row, rows)?.unsqueeze(D::Minus1)?;
        let distances = self.positions.unsqueeze(0)?.broadcast_sub(&queries)?.abs()?;
        distances.unsqueeze(0)?.broadcast_mul(slopes)?.unsqueeze(0)
    }
}
