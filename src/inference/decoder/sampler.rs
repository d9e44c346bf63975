use std::fmt;

use candle_core::{Device, Result, Tensor};
use candle_transformers::generation::{LogitsProcessor, Sampling as Method};
use candle_transformers::utils::apply_repeat_penalty;

use crate::gpu::{ModelError, Sampling};

/// Tokens that a repeat penalty looks back on.
const REPEAT_WINDOW: usize = 64;

/// Chooses the next token. Always on the CPU: the same seed gives the same answer on every device
/// that computes the same logits.
pub(super) struct Sampler {
    processor: LogitsProcessor,
    /// None when it would change nothing.
    repeat_penalty: Option<f32>,
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampler")
            .field("repeat_penalty", &self.repeat_penalty)
            .finish_non_exhaustive()
    }
}

impl Sampler {
    pub fn new(sampling: &Sampling) -> std::result::Result<Self, ModelError> {
        check(sampling)?;
        let temperature = f64::from(sampling.temperature);
        let p = sampling.top_p.map(f64::from).filter(|p| *p < 1.0);
        let method = match (sampling.top_k, p) {
            _ if temperature == 0.0 => Method::ArgMax,
            (None, None) => Method::All { temperature },
            (Some(k), None) => Method::TopK { k, temperature },
            (None, Some(p)) => Method::TopP { p, temperature },
            (Some(k), Some(p)) => Method::TopKThenTopP { k, p, temperature },
        };
        let processor = LogitsProcessor::from_sampling(sampling.seed, method);
        let repeat_penalty =
            Some(sampling.repeat_penalty).filter(|penalty| (penalty - 1.0).abs() > 1e-6);
        Ok(Self { processor, repeat_penalty })
    }

    /// The token behind `history`.
    pub fn choose(&mut self, logits: Vec<f32>, history: &[u32]) -> Result<u32> {
        let logits = Tensor::new(logits, &Device::Cpu)?;
        let Some(penalty) = self.repeat_penalty else { return self.processor.sample(&logits) };
        let recent = &history[history.len().saturating_sub(REPEAT_WINDOW)..];
        self.processor.sample(&apply_repeat_penalty(&logits, penalty, recent)?)
    }
}

fn check(sampling: &Sampling) -> std::result::Result<(), ModelError> {
    let Sampling { temperature, top_k, top_p, repeat_penalty, .. } = *sampling;
    let refuse = |what: String| Err(ModelError::new(what));
    if !(temperature >= 0.0 && temperature.is_finite()) {
        return refuse(format!("a temperature of {temperature} is not possible; it is 0 or more"));
    }
    if top_k == Some(0) {
        return refuse("top-k of 0 leaves no token to choose; it is 1 or more".to_owned());
    }
    if let Some(p) = top_p.filter(|p| !(*p > 0.0 && *p <= 1.0)) {
        return refuse(format!("top-p of {p} is not possible; it lies above 0 and up to 1"));
    }
    if !(repeat_penalty > 0.0 && repeat_penalty.is_finite()) {
        return refuse(format!("a repeat penalty of {repeat_penalty} is not possible; 1 is none"));
    }
    Ok(())
}
