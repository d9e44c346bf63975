//! Which tensors an encoder has, by the names that transformers gives them.

use std::cell::Cell;

use super::{EncoderConfig, EncoderError, FeedForward, Positions};
use crate::inference::backend::{
    Backend, BackendError, EmbeddingTables, LayerNorm, Linear, Precision,
};
use crate::inference::weights::Tensors;
use crate::inference::{WeightView, Weights, WeightsError};

/// The parameters of an encoder, where `M` and `V` are staged on the host or lie on a device.
#[derive(Debug)]
pub(super) struct Parameters<M, V> {
    pub tables: EmbeddingTables<M, V>,
    pub norm: LayerNorm<V>,
    pub layers: Vec<Layer<M, V>>,
}

#[derive(Debug)]
pub(super) struct Layer<M, V> {
    /// Queries, keys and values in one product, `[3 · width, width]`.
    pub qkv: Linear<M, V>,
    pub attended: Linear<M, V>,
    pub attended_norm: LayerNorm<V>,
    /// `[inner, width]`, or twice the rows when it is gated.
    pub up: Linear<M, V>,
    pub down: Linear<M, V>,
    pub down_norm: LayerNorm<V>,
}

/// What a layer's tensors are called, behind `encoder.layer.N.`.
struct LayerNames {
    up: &'static str,
    down: &'static str,
    down_norm: &'static str,
}

const BERT: LayerNames =
    LayerNames { up: "intermediate.dense", down: "output.dense", down_norm: "output.LayerNorm" };
const JINA: LayerNames =
    LayerNames { up: "mlp.gated_layers", down: "mlp.wo", down_norm: "mlp.layernorm" };

/// Parameters on the host with the bytes that they will take on the device.
pub(super) type Staged<B> = Parameters<<B as Backend>::Staged, <B as Backend>::Staged>;

/// Finds every tensor, checks its shape and converts it for a device of `precision`.
///
/// # Errors
/// When a tensor is missing or misshapen.
pub(super) fn stage<B: Backend>(
    weights: &Weights,
    config: &EncoderConfig,
    precision: Precision,
) -> Result<(Staged<B>, u64), EncoderError> {
    let tensors = weights.tensors()?;
    let stager = Stager::<B> { tensors, config, precision, bytes: Cell::new(0), stage: B::stage };
    let parameters = Parameters {
        tables: stager.tables()?,
        norm: stager.norm("embeddings.LayerNorm")?,
        layers: (0..config.layers).map(|at| stager.layer(at)).collect::<Result<_, _>>()?,
    };
    Ok((parameters, stager.bytes.get()))
}

struct Stager<'a, B: Backend> {
    tensors: Tensors<'a>,
    config: &'a EncoderConfig,
    precision: Precision,
    bytes: Cell<u64>,
    stage: fn(Precision, &[WeightView<'_>]) -> Result<B::Staged, BackendError>,
}

impl<B: Backend> Stager<'_, B> {
    fn convert(&self, parts: &[WeightView<'_>]) -> Result<B::Staged, BackendError> {
        let numbers: usize = parts.iter().map(|part| part.shape.iter().product::<usize>()).sum();
        self.bytes.set(self.bytes.get() + (numbers * self.precision.bytes()) as u64);
        (self.stage)(self.precision, parts)
    }

    fn tables(&self) -> Result<EmbeddingTables<B::Staged, B::Staged>, EncoderError> {
        let EncoderConfig { vocabulary, token_types, width, .. } = *self.config;
        let table = |name: &str, rows: usize| {
            self.tensors.get(&format!("embeddings.{name}_embeddings.weight"), &[rows, width])
        };
        let position = match self.config.positions {
            Positions::Alibi => None,
            Positions::Learned { rows, first } => Some(table("position", rows)?.rows(first..rows)),
        };
        let token_type =
            WeightView { shape: vec![width], ..table("token_type", token_types)?.rows(0..1) };
        Ok(EmbeddingTables {
            word: self.convert(&[table("word", vocabulary)?])?,
            position: position.map(|used| self.convert(&[used])).transpose()?,
            token_type: self.convert(&[token_type])?,
        })
    }

    fn layer(&self, at: usize) -> Result<Layer<B::Staged, B::Staged>, EncoderError> {
        let EncoderConfig { width, inner, .. } = *self.config;
        let name = |part: &str| format!("encoder.layer.{at}.{part}");
        let qkv = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
        let (names, up) = match self.config.feed_forward {
            FeedForward::Gelu => (BERT, self.linear(&[name(BERT.up)], inner, width)?),
            FeedForward::Geglu => (JINA, self.linear_no_bias(&name(JINA.up), 2 * inner, width)?),
        };
        Ok(Layer {
            qkv: self.linear(&qkv, width, width)?,
            attended: self.linear(&[name("attention.output.dense")], width, width)?,
            attended_norm: self.norm(&name("attention.output.LayerNorm"))?,
            up,
            down: self.linear(&[name(names.down)], width, inner)?,
            down_norm: self.norm(&name(names.down_norm))?,
        })
    }

    /// Projections of the same inputs, stacked into one.
    fn linear(
        &self,
        names: &[String],
        outputs: usize,
        inputs: usize,
    ) -> Result<Linear<B::Staged, B::Staged>, EncoderError> {
        let part = |suffix: &str, shape: &[usize]| -> Result<Vec<_>, WeightsError> {
            names.iter().map(|name| self.tensors.get(&format!("{name}.{suffix}"), shape)).collect()
        };
        Ok(Linear {
            weight: self.convert(&part("weight", &[outputs, inputs])?)?,
            bias: Some(self.convert(&part("bias", &[outputs])?)?),
        })
    }

    fn linear_no_bias(
        &self,
        name: &str,
        outputs: usize,
        inputs: usize,
    ) -> Result<Linear<B::Staged, B::Staged>, EncoderError> {
        let weight = self.tensors.get(&format!("{name}.weight"), &[outputs, inputs])?;
        Ok(Linear { weight: self.convert(&[weight])?, bias: None })
    }

    fn norm(&self, name: &str) -> Result<LayerNorm<B::Staged>, EncoderError> {
        let vector = |suffix: &str| -> Result<B::Staged, EncoderError> {
            let view = self.tensors.get(&format!("{name}.{suffix}"), &[self.config.width])?;
            Ok(self.convert(&[view])?)
        };
        let epsilon = self.config.norm_epsilon;
        Ok(LayerNorm { gain: vector("weight")?, bias: vector("bias")?, epsilon })
    }
}

/// Brings parameters from the host to a device, piece by piece.
pub(super) struct Uploader<'a, B: Backend>(pub &'a B);

impl<B: Backend> Uploader<'_, B> {
    pub fn tables(
        &self,
        staged: EmbeddingTables<B::Staged, B::Staged>,
    ) -> Result<EmbeddingTables<B::Matrix, B::Vector>, BackendError> {
        Ok(EmbeddingTables {
            word: self.0.matrix(staged.word)?,
            position: staged.position.map(|table| self.0.matrix(table)).transpose()?,
            token_type: self.0.vector(staged.token_type)?,
        })
    }

    pub fn layer(
        &self,
        staged: Layer<B::Staged, B::Staged>,
    ) -> Result<Layer<B::Matrix, B::Vector>, BackendError> {
        Ok(Layer {
            qkv: self.linear(staged.qkv)?,
            attended: self.linear(staged.attended)?,
            attended_norm: self.norm(staged.attended_norm)?,
            up: self.linear(staged.up)?,
            down: self.linear(staged.down)?,
            down_norm: self.norm(staged.down_norm)?,
        })
    }

    pub fn norm(&self, staged: LayerNorm<B::Staged>) -> Result<LayerNorm<B::Vector>, BackendError> {
        let LayerNorm { gain, bias, epsilon } = staged;
        Ok(LayerNorm { gain: self.0.vector(gain)?, bias: self.0.vector(bias)?, epsilon })
    }

    fn linear(
        &self,
        staged: Linear<B::Staged, B::Staged>,
    ) -> Result<Linear<B::Matrix, B::Vector>, BackendError> {
        Ok(Linear {
            weight: self.0.matrix(staged.weight)?,
            bias: staged.bias.map(|bias| self.0.vector(bias)).transpose()?,
        })
    }
}
