use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{Device, Module as _, Result, Tensor};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};
use candle_nn::rotary_emb::rope_i;
use std::sync::Arc;

use super::DecoderConfig;
use super::cache::KvCache;
use super::rope::Rope;

/// A decoder of the Llama family with quantized weights on one device.
///
/// The forward pass is that of candle's `quantized_llama`, which a test holds it to. Written here
/// because that one copies the keys and values of the whole past for every token, stops at 4,096
/// tokens, knows no Llama 3.1, and can only be loaded in one go, which would make searches wait.
#[derive(Debug)]
pub(super) struct Llama {
    pub config: DecoderConfig,
    pub device: Device,
    pub rope: Rope,
    pub embedding: Arc<QTensor>,
    pub layers: Vec<Layer>,
    pub norm: Tensor,
    pub output: QMatMul,
}

#[derive(Debug)]
pub(super) struct Layer {
    pub attention_norm: Tensor,
    pub q: QMatMul,
    pub k: QMatMul,
    pub v: QMatMul,
    pub attended: QMatMul,
    pub inner_norm: Tensor,
    pub gate: QMatMul,
    pub up: QMatMul,
    pub down: QMatMul,
}

/// What the layers of one step share.
struct Step {
    cos: Tensor,
    sin: Tensor,
    /// `[1, count, tokens so far]`: 0 where a token may look, else minus infinity; none for a token
    /// alone, which may look at everything.
    mask: Option<Tensor>,
}

impl Llama {
    /// Reads `ids` behind the tokens of `cache`; gives the final row of each, `[1, count, width]`.
    pub fn read(&self, ids: &[u32], cache: &mut KvCache) -> Result<Tensor> {
        let count = ids.len();
        let start = cache.tokens();
        cache.reserve(count, self.layers.len())?;
        let (cos, sin) = self.rope.angles(start, count, &self.device)?;
        let mask = (count > 1).then(|| causal_mask(start, count, &self.device)).transpose()?;
        let step = Step { cos, sin, mask };
        let ids = Tensor::from_slice(ids, (1, count), &self.device)?;
        let mut x = self.embedding.embedding(&ids)?;
        for (at, layer) in self.layers.iter().enumerate() {
            let epsilon = self.config.norm_epsilon;
            let attended = self.attend(
                at,
                layer,
                &rms_norm(&x, &layer.attention_norm, epsilon)?,
                &step,
                cache,
            )?;
            x = (attended + x)?;
            let inner = rms_norm(&x, &layer.inner_norm, epsilon)?;
            let gated = (silu(&layer.gate.forward(&inner)?)? * layer.up.forward(&inner)?)?;
            x = (layer.down.forward(&gated)? + x)?;
        }
        cache.advance(count);
        Ok(x)
    }

    /// How likely each token of the vocabulary is behind the last of `rows`, before softmax.
    pub fn logits(&self, rows: &Tensor) -> Result<Vec<f32>> {
        let last = rows.narrow(1, rows.dim(1)? - 1, 1)?.contiguous()?;
        let last = rms_norm(&last, &self.norm, self.config.norm_epsilon)?;
        self.output.forward(&last)?.flatten_all()?.to_vec1()
    }

    fn attend(
        &self,
        at: usize,
        layer: &Layer,
        rows: &Tensor,
        step: &Step,
        cache: &KvCache,
    ) -> Result<Tensor> {
        let DecoderConfig { heads, kv_heads, head_width, .. } = self.config;
        let count = rows.dim(1)?;
        let split = |projected: Tensor, heads: usize| {
            projected.reshape((1, count, heads, head_width))?.transpose(1, 2)?.contiguous()
        };
        let q = split(layer.q.forward(rows)?, heads)?;
        let k = split(layer.k.forward(rows)?, kv_heads)?;
        let v = split(layer.v.forward(rows)?, kv_heads)?.squeeze(0)?;
        let q = rope_i(&q, &step.cos, &step.sin)?;
        let k = rope_i(&k, &step.cos, &step.sin)?.squeeze(0)?;
        let (k, v) = cache.append(at, &k, &v)?;

        // The heads of queries that share keys stand one below the other, so that keys and values
        // need not be repeated.
        let group = heads / kv_heads;
        let q = (q.reshape((kv_heads, group * count, head_width))? / (head_width as f64).sqrt())?;
        let scores = q.matmul(&k.t()?)?;
        let scores = match &step.mask {
            None => scores,
            Some(mask) => {
                let tokens = k.dim(1)?;
                let shared = scores.reshape((kv_heads, group, count, tokens))?;
                shared.broadcast_add(mask)?.reshape((kv_heads, group * count, tokens))?
            }
        };
        let seen = softmax_last_dim(&scores)?.matmul(&v)?;
        let seen = seen.reshape((heads, count, head_width))?.transpose(0, 1)?.contiguous()?;
        layer.attended.forward(&seen.reshape((1, count, heads * head_width))?)
    }
}

/// A token looks at itself and at those before it.
fn causal_mask(start: usize, count: usize, device: &Device) -> Result<Tensor> {
    let tokens = start + count;
    let value = |row: usize, column: usize| {
        if column <= start + row { 0.0 } else { f32::NEG_INFINITY }
    };
    let mask = (0..count).flat_map(|row| (0..tokens).map(move |column| value(row, column)));
    Tensor::from_iter(mask, device)?.reshape((count, tokens))
}
