//! Candle: the reference on the CPU, and Metal and CUDA.

mod device;
mod each;
mod exponential;
mod gelu;
mod padded;
mod softmax;

pub(in crate::inference) use self::device::{is_full, message};

use std::ops::Range;

use candle_core::{DType, Device, Tensor};

use self::gelu::{Geglu, Gelu};
use self::padded::PaddedPlan;
use super::{
    Activation, Attention, Backend, BackendError, EmbeddingTables, LayerNorm, Linear, Precision,
    Staged,
};
use crate::data::TokenBatch;
use crate::gpu::DeviceInfo;
use crate::inference::Pooling;
use crate::inference::weights::{WeightType, WeightView};

/// Runs on a candle device: the CPU in f32, a GPU in f16.
#[derive(Debug)]
pub struct CandleBackend {
    device: Device,
    info: DeviceInfo,
    layout: Layout,
    /// Candle spreads an operation on the CPU over the rayon pool that it is called in. A GPU is driven
    /// from the calling thread alone, because CUDA orders work by thread.
    pool: Option<rayon::ThreadPool>,
}

/// How attention and pooling see a batch, and whose element-by-element operations run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// One sequence after the other, with operations of our own: a CPU loses nothing by it and computes no
    /// padding.
    Each,
    /// Sequences of similar length side by side, padded, with candle's operations: the number of kernels
    /// that a GPU starts does not grow with the number of sequences.
    Padded,
}

/// Where the sequences of a batch lie.
#[derive(Debug)]
pub enum Plan {
    Each(Vec<Range<usize>>),
    Padded(PaddedPlan),
}

impl CandleBackend {
    /// What language models compute on: they bring candle's own quantized products along.
    pub(in crate::inference) fn candle_device(&self) -> &Device {
        &self.device
    }

    pub(in crate::inference) fn run<T: Send>(
        &self,
        operation: impl FnOnce() -> candle_core::Result<T> + Send,
    ) -> Result<T, BackendError> {
        let result = match &self.pool {
            Some(pool) => pool.install(operation),
            None => operation(),
        };
        result.map_err(|error| device::failed(&self.info.name, &error))
    }

    fn move_here(&self, staged: &Tensor) -> Result<Tensor, BackendError> {
        self.run(|| staged.to_device(&self.device))
    }
}

impl Backend for CandleBackend {
    type Tensor = Tensor;
    type Table = Tensor;
    type Matrix = Tensor;
    type Vector = Tensor;
    // Staged tensors are candle's on the CPU.
    type StagedTable = Tensor;
    type StagedMatrix = Tensor;
    type StagedVector = Tensor;
    type Plan = Plan;
    type Pending = Vec<Vec<f32>>;

    fn stage_table(
        precision: Precision,
        table: &WeightView<'_>,
    ) -> Result<Staged<Tensor>, BackendError> {
        stage(precision, std::slice::from_ref(table))
    }

    fn stage_matrix(
        precision: Precision,
        parts: &[WeightView<'_>],
    ) -> Result<Staged<Tensor>, BackendError> {
        stage(precision, parts)
    }

    fn stage_vector(
        precision: Precision,
        parts: &[WeightView<'_>],
    ) -> Result<Staged<Tensor>, BackendError> {
        stage(precision, parts)
    }

    fn device(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn table(&self, staged: Tensor) -> Result<Tensor, BackendError> {
        self.move_here(&staged)
    }

    fn matrix(&self, staged: Tensor) -> Result<Tensor, BackendError> {
        self.move_here(&staged)
    }

    fn vector(&self, staged: Tensor) -> Result<Tensor, BackendError> {
        self.move_here(&staged)
    }

    fn plan(&mut self, batch: &TokenBatch, attention: &Attention) -> Result<Plan, BackendError> {
        match self.layout {
            Layout::Each => Ok(Plan::Each(batch.ranges().collect())),
            Layout::Padded => {
                self.run(|| PaddedPlan::new(batch, attention, &self.device)).map(Plan::Padded)
            }
        }
    }

    fn embed(
        &mut self,
        batch: &TokenBatch,
        _plan: &Plan,
        tables: &EmbeddingTables<Tensor, Tensor>,
        norm: &LayerNorm<Tensor>,
    ) -> Result<Tensor, BackendError> {
        let vocabulary = tables.word.dims()[0];
        if let Some(&id) = batch.ids().iter().find(|id| **id as usize >= vocabulary) {
            return Err(BackendError::Vocabulary { id, vocabulary });
        }
        self.run(|| {
            let ids = Tensor::new(batch.ids(), &self.device)?;
            let mut rows = tables.word.index_select(&ids, 0)?;
            if let Some(table) = &tables.position {
                let at: Vec<u32> = batch.ranges().flat_map(|range| 0..range.len() as u32).collect();
                let at = Tensor::new(at.as_slice(), &self.device)?;
                rows = (rows + table.index_select(&at, 0)?)?;
            }
            normalize(&rows.broadcast_add(&tables.token_type)?, norm)
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
            match (activation, self.layout) {
                (Activation::Identity, _) => Ok(y),
                (Activation::Gelu, Layout::Each) => y.apply_op1_no_bwd(&Gelu),
                (Activation::Gelu, Layout::Padded) => y.gelu_erf(),
                (Activation::Geglu, Layout::Each) => y.apply_op1_no_bwd(&Geglu),
                (Activation::Geglu, Layout::Padded) => {
                    let inner = y.dim(1)? / 2;
                    y.narrow(1, 0, inner)?.contiguous()?.gelu_erf()? * y.narrow(1, inner, inner)?
                }
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
        plan: &Plan,
        attention: &Attention,
    ) -> Result<Tensor, BackendError> {
        self.run(|| match plan {
            Plan::Each(ranges) => each::attend(qkv, ranges, attention),
            Plan::Padded(plan) => plan.attend(qkv, attention),
        })
    }

    fn pool(
        &mut self,
        x: &Tensor,
        plan: &Plan,
        pooling: Pooling,
    ) -> Result<Vec<Vec<f32>>, BackendError> {
        self.run(|| match plan {
            Plan::Each(ranges) => each::pool(x, ranges, pooling),
            Plan::Padded(plan) => plan.pool(x, pooling),
        })
    }

    fn finish(&mut self, pending: Vec<Vec<f32>>) -> Result<Vec<Vec<f32>>, BackendError> {
        Ok(pending)
    }
}

/// Converts weights of equal columns, one below the other.
fn stage(precision: Precision, parts: &[WeightView<'_>]) -> Result<Staged<Tensor>, BackendError> {
    let target = match precision {
        Precision::F16 => DType::F16,
        Precision::F32 => DType::F32,
    };
    let convert = |view: &WeightView<'_>| {
        let stored = match view.dtype {
            WeightType::F16 => DType::F16,
            WeightType::Bf16 => DType::BF16,
            WeightType::F32 => DType::F32,
        };
        Tensor::from_raw_buffer(view.bytes, stored, &view.shape, &Device::Cpu)?.to_dtype(target)
    };
    let staged = parts.iter().map(convert).collect::<candle_core::Result<Vec<_>>>();
    let staged = staged.and_then(|parts| match parts.as_slice() {
        [one] => Ok(one.clone()),
        parts => Tensor::cat(parts, 0),
    });
    let weights = staged.map_err(|error| device::failed("CPU", &error))?;
    let bytes = (weights.elem_count() * precision.bytes()) as u64;
    Ok(Staged { weights, bytes })
}

fn multiply(x: &Tensor, linear: &Linear<Tensor, Tensor>) -> candle_core::Result<Tensor> {
    let y = x.matmul(&linear.weight.t()?)?;
    match &linear.bias {
        Some(bias) => y.broadcast_add(bias),
        None => Ok(y),
    }
}

fn normalize(x: &Tensor, norm: &LayerNorm<Tensor>) -> candle_core::Result<Tensor> {
    candle_nn::ops::layer_norm(x, &norm.gain, &norm.bias, norm.epsilon as f32)
}
