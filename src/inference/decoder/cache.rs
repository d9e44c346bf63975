use candle_core::{DType, Device, Result, Tensor};

use super::DecoderConfig;

/// Keys and values of the tokens that a session has read, for every layer.
///
/// Room doubles when it is used up, so appending costs a constant time a token. Joining tensors
/// instead, as candle's own model does, copies the whole past for every token.
#[derive(Debug)]
pub(super) struct KvCache {
    layers: Vec<(Tensor, Tensor)>,
    tokens: usize,
    capacity: usize,
    kv_heads: usize,
    head_width: usize,
    tokens_max: usize,
    device: Device,
}

impl KvCache {
    const FIRST_CAPACITY: usize = 64;

    pub fn new(config: &DecoderConfig, device: &Device) -> Self {
        Self {
            layers: Vec::new(),
            tokens: 0,
            capacity: 0,
            kv_heads: config.kv_heads,
            head_width: config.head_width,
            tokens_max: config.tokens_max,
            device: device.clone(),
        }
    }

    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Makes room for `count` more tokens in each of `layers` layers.
    pub fn reserve(&mut self, count: usize, layers: usize) -> Result<()> {
        let wanted = self.tokens + count;
        if wanted <= self.capacity {
            return Ok(());
        }
        let doubled = wanted.next_power_of_two().max(Self::FIRST_CAPACITY);
        let capacity = doubled.min(self.tokens_max).max(wanted);
        let zeros = || {
            let shape = (self.kv_heads, capacity, self.head_width);
            Tensor::zeros(shape, DType::F32, &self.device)
        };
        let grown = |old: Option<&Tensor>| {
            let new = zeros()?;
            if let (Some(old), true) = (old, self.tokens > 0) {
                new.slice_set(&old.narrow(1, 0, self.tokens)?.contiguous()?, 1, 0)?;
            }
            Ok::<_, candle_core::Error>(new)
        };
        let layer = |at: usize| {
            let old = self.layers.get(at);
            Ok((grown(old.map(|(k, _)| k))?, grown(old.map(|(_, v)| v))?))
        };
        self.layers = (0..layers).map(layer).collect::<Result<_>>()?;
        self.capacity = capacity;
        Ok(())
    }

    /// Puts the keys and values `[kv_heads, count, head_width]` of new tokens behind those of a
    /// layer, and gives all of them. The tokens count once [`KvCache::advance`] is called.
    pub fn append(&self, layer: usize, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        let (keys, values) = &self.layers[layer];
        let tokens = self.tokens + k.dim(1)?;
        keys.slice_set(k, 1, self.tokens)?;
        values.slice_set(v, 1, self.tokens)?;
        Ok((keys.narrow(1, 0, tokens)?, values.narrow(1, 0, tokens)?))
    }

    pub fn advance(&mut self, count: usize) {
        self.tokens += count;
    }
}
