use crate::inference::gguf::{GgufError, GgufFile};

/// The shape of a decoder of the Llama family (Touvron et al. 2023), with grouped queries
/// (Ainslie et al. 2023).
#[derive(Clone, Debug, PartialEq)]
pub struct DecoderConfig {
    pub vocabulary: usize,
    /// Components of a row.
    pub width: usize,
    pub layers: usize,
    pub heads: usize,
    /// Heads of keys and values; each serves `heads / kv_heads` heads of queries.
    pub kv_heads: usize,
    /// Components of a head.
    pub head_width: usize,
    /// Width between the two products of the feed-forward part.
    pub inner: usize,
    pub norm_epsilon: f32,
    /// Base of the rotary angles.
    pub rope_base: f32,
    /// Positions are divided by it ("linear" scaling); 1 in most models.
    pub rope_scale: f32,
    /// Tokens of prompt and answer together, as the model was trained.
    pub tokens_max: usize,
}

impl DecoderConfig {
    const ARCHITECTURE: &str = "general.architecture";
    const SCALING: &str = "llama.rope.scaling.type";
    /// Far beyond any model; a bound on what a damaged file can ask for.
    const LAYERS_MAX: usize = 4_096;

    /// # Errors
    /// When the file holds no Llama, or a variety of it that is not supported.
    pub fn read(gguf: &GgufFile) -> Result<Self, GgufError> {
        let architecture = gguf.text(Self::ARCHITECTURE)?;
        if architecture != "llama" {
            return Err(gguf.unsupported(Self::ARCHITECTURE, architecture, "llama is"));
        }
        let experts = gguf.optional_count("llama.expert_count").unwrap_or(0);
        if experts > 1 {
            let supported = "models without experts are";
            return Err(gguf.unsupported("llama.expert_count", experts, supported));
        }
        let rope_scale = match gguf.optional_text(Self::SCALING) {
            None | Some("none") => 1.0,
            Some("linear") => gguf.number("llama.rope.scaling.factor")?,
            Some(other) => {
                return Err(gguf.unsupported(Self::SCALING, other, "none and linear are"));
            }
        };
        let width = gguf.count("llama.embedding_length")?;
        let heads = gguf.count("llama.attention.head_count")?;
        let table = gguf.shape("token_embd.weight")?;
        let head_width = gguf.optional_count("llama.attention.key_length");
        let config = Self {
            vocabulary: table.first().copied().unwrap_or(0),
            width,
            layers: gguf.count("llama.block_count")?,
            heads,
            kv_heads: gguf.optional_count("llama.attention.head_count_kv").unwrap_or(heads),
            head_width: head_width.unwrap_or(width.checked_div(heads).unwrap_or(0)),
            inner: gguf.count("llama.feed_forward_length")?,
            norm_epsilon: gguf.number("llama.attention.layer_norm_rms_epsilon")?,
            rope_base: gguf.optional_number("llama.rope.freq_base").unwrap_or(10_000.0),
            rope_scale,
            tokens_max: gguf.count("llama.context_length")?,
        };
        config.check(gguf)?;
        Ok(config)
    }

    fn check(&self, gguf: &GgufFile) -> Result<(), GgufError> {
        let sizes = [self.vocabulary, self.width, self.layers, self.heads, self.kv_heads];
        let possible = sizes.iter().all(|size| *size > 0)
            && self.layers <= Self::LAYERS_MAX
            && self.tokens_max >= 2
            && self.heads.is_multiple_of(self.kv_heads)
            && self.head_width > 0
            && self.head_width.is_multiple_of(2)
            && self.heads.checked_mul(self.head_width).is_some()
            && self.rope_scale > 0.0
            && self.rope_base > 0.0;
        if !possible {
            return Err(gguf.damaged(format!("no decoder has this shape: {self:?}")));
        }
        let rotated = gguf.optional_count("llama.rope.dimension_count").unwrap_or(self.head_width);
        if rotated != self.head_width {
            let supported = "models that rotate whole heads are";
            return Err(gguf.unsupported("llama.rope.dimension_count", rotated, supported));
        }
        Ok(())
    }
}
