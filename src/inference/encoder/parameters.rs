//! Which tensors an encoder has, by the names that transformers gives them.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{EncoderConfig, EncoderError, FeedForward, Positions};
use crate::inference::backend::{
    Backend, BackendError, EmbeddingTables, LayerNorm, Linear, Precision, Staged,
};
use crate::inference::weights::Tensors;
use crate::inference::{WeightView, Weights, WeightsError};

/// The parameters of an encoder, where tables, matrices and vectors are staged on the host or lie on a
/// device.
#[derive(Debug)]
pub(super) struct Parameters<T, M, V> {
    pub tables: EmbeddingTables<T, V>,
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

type StagedTables<B> = EmbeddingTables<<B as Backend>::StagedTable, <B as Backend>::StagedVector>;
type StagedLinear<B> = Linear<<B as Backend>::StagedMatrix, <B as Backend>::StagedVector>;
pub(super) type StagedLayer<B> = Layer<<B as Backend>::StagedMatrix, <B as Backend>::StagedVector>;

/// Parameters on the host.
pub(super) type StagedParameters<B> = Parameters<
    <B as Backend>::StagedTable,
    <B as Backend>::StagedMatrix,
    <B as Backend>::StagedVector,
>;

/// Finds every tensor, checks its shape and converts it for a device of `precision`; with the bytes that
/// all will take there.
///
/// # Errors
/// When a tensor is missing or misshapen.
pub(super) fn stage<B: Backend>(
    weights: &Arc<Weights>,
    config: &EncoderConfig,
    precision: Precision,
) -> Result<(StagedParameters<B>, u64), EncoderError> {
    let tensors = weights.tensors()?;
    let stager =
        Stager::<B> { tensors, config, precision, bytes: Cell::new(0), backend: PhantomData };
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
    backend: PhantomData<B>,
}

impl<B: Backend> Stager<'_, B> {
    fn count<T>(&self, staged: Result<Staged<T>, BackendError>) -> Result<T, BackendError> {
        let Staged { weights, bytes } = staged?;
        self.bytes.set(self.bytes.get() + bytes);
        Ok(weights)
    }

    fn table(&self, view: &WeightView<'_>) -> Result<B::StagedTable, BackendError> {
        self.count(B::stage_table(self.precision, view))
    }

    fn matrix(&self, parts: &[WeightView<'_>]) -> Result<B::StagedMatrix, BackendError> {
        self.count(B::stage_matrix(self.precision, parts))
    }

    fn vector(&self, parts: &[WeightView<'_>]) -> Result<B::StagedVector, BackendError> {
        self.count(B::stage_vector(self.precision, parts))
    }

    fn tables(&self) -> Result<StagedTables<B>, EncoderError> {
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
            word: self.table(&table("word", vocabulary)?)?,
            position: position.map(|used| self.table(&used)).transpose()?,
            token_type: self.vector(&[token_type])?,
        })
    }

    fn layer(&self, at: usize) -> Result<StagedLayer<B>, EncoderError> {
        let EncoderConfig { width, inner, .. } = *self.config;
        let name = |part: &str| format!("encoder.layer.{at}.{part}");
        let qkv = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
        let (names, up) = match self.config.feed_forward {
            FeedForward::Gelu => (BERT, self.linear(&[name(BERT.up)], inner, width)?),
            FeedForward::Geglu => (JINA, self.gated(&name(JINA.up), inner, width)?),
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
    ) -> Result<StagedLinear<B>, EncoderError> {
        let part = |suffix: &str, shape: &[usize]| -> Result<Vec<_>, WeightsError> {
            names.iter().map(|name| self.tensors.get(&format!("{name}.{suffix}"), shape)).collect()
        };
        Ok(Linear {
            weight: self.matrix(&part("weight", &[outputs, inputs])?)?,
            bias: Some(self.vector(&part("bias", &[outputs])?)?),
        })
    }

    /// Two projections whose second is gated by the first, in one tensor without a bias.
    fn gated(
        &self,
        name: &str,
        outputs: usize,
        inputs: usize,
    ) -> Result<StagedLinear<B>, EncoderError> {
        let both = self.tensors.get(&format!("{name}.weight"), &[2 * outputs, inputs])?;
        let parts = [both.rows(0..outputs), both.rows(outputs..2 * outputs)];
        Ok(Linear { weight: self.matrix(&parts)?, bias: None })
    }

    fn norm(&self, name: &str) -> Result<LayerNorm<B::StagedVector>, EncoderError> {
        let vector = |suffix: &str| -> Result<B::StagedVector, EncoderError> {
            let view = self.tensors.get(&format!("{name}.{suffix}"), &[self.config.width])?;
            Ok(self.vector(&[view])?)
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
        staged: StagedTables<B>,
    ) -> Result<EmbeddingTables<B::Table, B::Vector>, BackendError> {
        Ok(EmbeddingTables {
            word: self.0.table(staged.word)?,
            position: staged.position.map(|table| self.0.table(table)).transpose()?,
            token_type: self.0.vector(staged.token_type)?,
        })
    }

    pub fn layer(
        &self,
        staged: StagedLayer<B>,
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

    pub fn norm(
        &self,
        staged: LayerNorm<B::StagedVector>,
    ) -> Result<LayerNorm<B::Vector>, BackendError> {
        let LayerNorm { gain, bias, epsilon } = staged;
        Ok(LayerNorm { gain: self.0.vector(gain)?, bias: self.0.vector(bias)?, epsilon })
    }

    fn linear(
        &self,
        staged: StagedLinear<B>,
    ) -> Result<Linear<B::Matrix, B::Vector>, BackendError> {
        Ok(Linear {
            weight: self.0.matrix(staged.weight)?,
            bias: staged.bias.map(|bias| self.0.vector(bias)).transpose()?,
        })
    }
}
