//! Candle: the reference on the CPU.

mod gelu;

use candle_core::{D, DType, Device, Tensor};

use self::gelu::Gelu;
use super::{Activation, Backend, BackendError, EmbeddingTables, LayerNorm, Linear};
use crate::data::TokenBatch;
use crate::inference::Pooling;
use crate::inference::weights::{WeightType, WeightView};

/// Runs on a candle device in f32.
#[derive(Debug)]
pub struct CandleBackend {
    device: Device,
    /// Candle spreads an operation over the rayon pool that it is called in.
    pool: rayon::ThreadPool,
}

impl CandleBackend {
    /// The CPU with `threads` threads.
    ///
    /// # Errors
    /// When the system refuses the threads.
    pub fn cpu(threads: usize) -> Result<Self, BackendError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|at| format!("cpu-{at}"))
            .build()
            .map_err(|error| BackendError::Device {
                device: "CPU".to_owned(),
                message: error.to_string(),
            })?;
        Ok(Self { device: Device::Cpu, pool })
    }

    fn run<T: Send>(
        &self,
        operation: impl FnOnce() -> candle_core::Result<T> + Send,
    ) -> Result<T, BackendError> {
        self.pool.install(operation).map_err(|error| self.failed(&error))
    }

    fn tensor(&self, view: &WeightView<'_>) -> Result<Tensor, BackendError> {
        let dtype = match view.dtype {
            WeightType::F16 => DType::F16,
            WeightType::Bf16 => DType::BF16,
            WeightType::F32 => DType::F32,
        };
        let stored = Tensor::from_raw_buffer(view.bytes, dtype, &view.shape, &self.device);
        stored.and_then(|t| t.to_dtype(DType::F32)).map_err(|e| self.failed(&e))
    }

    fn failed(&self, error: &candle_core::Error) -> BackendError {
        BackendError::Device { device: self.device(), message: error.to_string() }
    }

    fn stacked(&self, parts: &[WeightView<'_>]) -> Result<Tensor, BackendError> {
        let parts = parts.iter().map(|view| self.tensor(view)).collect::<Result<Vec<_>, _>>()?;
        Tensor::cat(&parts, 0).map_err(|e| self.failed(&e))
    }
}

impl Backend for CandleBackend {
    type Tensor = Tensor;
    type Matrix = Tensor;
    type Vector = Tensor;

    fn device(&self) -> String {
        let threads = self.pool.current_num_threads();
        let plural = if threads == 1 { "" } else { "s" };
        format!("CPU, {threads} thread{plural}")
    }

    fn matrix(&self, parts: &[WeightView<'_>]) -> Result<Tensor, BackendError> {
        self.stacked(parts)
    }

    fn vector(&self, parts: &[WeightView<'_>]) -> Result<Tensor, BackendError> {
        self.stacked(parts)
    }

    fn embed(
        &mut self,
        batch: &TokenBatch,
        tables: &EmbeddingTables<Tensor, Tensor>,
        norm: &LayerNorm<Tensor>,
    ) -> Result<Tensor, BackendError> {
        let vocabulary = tables.word.dims()[0];
        if let Some(&id) = batch.ids().iter().find(|id| **id as usize >= vocabulary) {
            return Err(BackendError::Vocabulary { id, vocabulary });
        }
        let positions: Vec<u32> = batch.ranges().flat_map(|range| 0..range.len() as u32).collect();
        self.run(|| {
            let ids = Tensor::new(batch.ids(), &self.device)?;
            let positions = Tensor::new(positions.as_slice(), &self.device)?;
            let words = tables.word.index_select(&ids, 0)?;
            let summed = (words + tables.position.index_select(&positions, 0)?)?;
            normalize(&summed.broadcast_add(&tables.token_type)?, norm)
        })
    }

    fn project(
        &mut self,
        x: &Tensor,
        linear: &Linear<Tensor, Tensor>,
        activation: Activation,
    ) -> Result<Tensor, BackendError> {
        self.run(|| {
            let y = multiply(x, linear)?;
            match activation {
                Activation::Identity => Ok(y),
                Activation::Gelu => y.apply_op1_no_bwd(&Gelu),
            }
        })
    }

    fn project_add_norm(
        &mut self,
        x: &Tensor,
        linear: &Linear<Tensor, Tensor>,
        residual: &Tensor,
        norm: &LayerNorm<Tensor>,
    ) -> Result<Tensor, BackendError> {
        self.run(|| normalize(&(multiply(x, linear)? + residual)?, norm))
    }

    fn attention(
        &mut self,
        qkv: &Tensor,
        batch: &TokenBatch,
        heads: usize,
    ) -> Result<Tensor, BackendError> {
        self.run(|| {
            let mixed = batch
                .ranges()
                .map(|range| attend_sequence(&qkv.narrow(0, range.start, range.len())?, heads))
                .collect::<candle_core::Result<Vec<_>>>()?;
            Tensor::cat(&mixed, 0)
        })
    }

    fn pool(
        &mut self,
        x: &Tensor,
        batch: &TokenBatch,
        pooling: Pooling,
    ) -> Result<Vec<Vec<f32>>, BackendError> {
        let pool_one = |range: std::ops::Range<usize>| match pooling {
            Pooling::Mean => x.narrow(0, range.start, range.len())?.mean(0)?.to_vec1(),
            Pooling::Cls => x.get(range.start)?.to_vec1(),
        };
        self.run(|| batch.ranges().map(pool_one).collect())
    }
}

fn multiply(x: &Tensor, linear: &Linear<Tensor, Tensor>) -> candle_core::Result<Tensor> {
    x.matmul(&linear.weight.t()?)?.broadcast_add(&linear.bias)
}

fn normalize(x: &Tensor, norm: &LayerNorm<Tensor>) -> candle_core::Result<Tensor> {
    candle_nn::ops::layer_norm(x, &norm.gain, &norm.bias, norm.epsilon as f32)
}

/// `qkv` is `[n, 3 · width]` of one sequence; gives `[n, width]`.
fn attend_sequence(qkv: &Tensor, heads: usize) -> candle_core::Result<Tensor> {
    let (n, columns) = qkv.dims2()?;
    let width = columns / 3;
    let by_head = |part: usize| {
        qkv.narrow(1, part * width, width)?
            .reshape((n, heads, width / heads))?
            .transpose(0, 1)?
            .contiguous()
    };
    let (q, k, v) = (by_head(0)?, by_head(1)?, by_head(2)?);
    let scale = 1.0 / ((width / heads) as f64).sqrt();
    let weights = (q.matmul(&k.transpose(D::Minus1, D::Minus2)?)? * scale)?;
    let mixed = candle_nn::ops::softmax_last_dim(&weights)?.matmul(&v)?;
    mixed.transpose(0, 1)?.contiguous()?.reshape((n, width))
}
