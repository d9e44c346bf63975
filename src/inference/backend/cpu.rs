//! The CPU, with kernels of our own for each instruction set.
//!
//! Weights are packed once, when a model is loaded. Activations are `[tokens, width]` in the numbers that
//! the set multiplies, and every operation is one pass over them that all threads share: a product with
//! what follows it, or attention. Each sum is added up in an order of its own, whatever the batch and
//! the number of threads, so a text has one vector, bit for bit.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for the set that a kernel was entered with"
)]

mod attention;
mod buffer;
mod kernel;
mod lanes;
mod math;
mod norm;
mod operand;
mod packed;
mod pool;
mod product;
mod team;
mod write;

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use self::attention::{Attend, Piece, pieces};
use self::buffer::{Rows, Shelf};
#[cfg(target_arch = "aarch64")]
pub(in crate::inference) use self::kernel::Neon;
#[cfg(target_arch = "x86_64")]
pub(in crate::inference) use self::kernel::{Amx, Avx2, Avx512, Avx512Bf16};
pub(in crate::inference) use self::kernel::{Kernel, Plain, with_kernel};
use self::norm::{Embed, SumsToRows};
use self::packed::{LookupTable, PackedMatrix, PackedVector};
use self::pool::Pool;
use self::product::{AddNorm, Epilogue, Product, Write, WriteGated};
use self::team::Team;
use super::{
    Activation, Attention, Backend, BackendError, EmbeddingTables, LayerNorm, Linear, Precision,
    Staged,
};
use crate::data::TokenBatch;
use crate::gpu::{DeviceInfo, DeviceKind};
use crate::inference::{Pooling, WeightView};

/// The CPU with the instruction set of `K`.
#[derive(Debug)]
pub(in crate::inference) struct CpuBackend<K: Kernel> {
    team: Team,
    shelf: Arc<Shelf>,
    kernel: PhantomData<K>,
}

/// Where the sequences of a batch lie, and how attention to them is shared.
#[derive(Debug)]
pub(in crate::inference) struct Plan {
    sequences: Vec<Range<usize>>,
    pieces: Vec<Piece>,
}

impl<K: Kernel> CpuBackend<K> {
    /// # Errors
    /// When the processor lacks the instruction set, or the system refuses the threads.
    pub fn new(threads: usize) -> Result<Self, BackendError> {
        let failed = |message: String| BackendError::Device { device: "CPU".to_owned(), message };
        if !K::SIMD.is_available() {
            return Err(failed(format!("this processor has no {}", K::SIMD.name())));
        }
        let team = Team::new(threads).map_err(|error| failed(error.to_string()))?;
        Ok(Self { team, shelf: Arc::default(), kernel: PhantomData })
    }

    fn rows(&self, rows: usize, columns: usize) -> Result<Rows<K::Operand>, BackendError> {
        Rows::new(&self.shelf, K::ROWS, rows, columns)
    }

    /// Runs all parts of a product; says whether its rows are finished.
    fn multiply<E: Epilogue<K>>(
        &mut self,
        x: &Rows<K::Operand>,
        linear: &Linear<PackedMatrix<K>, PackedVector>,
        epilogue: E,
    ) -> bool {
        let product = Product::new(x, &linear.weight, self.team.threads(), epilogue);
        // SAFETY: `new` asked for the set, and parts of a product write disjoint tiles.
        unsafe { self.team.run::<K, _>(&product, product.grid.parts()) }
        product.grid.whole_rows()
    }
}

fn bias<M>(linear: &Linear<M, PackedVector>) -> Option<*const f32> {
    linear.bias.as_ref().map(PackedVector::start)
}

impl<K: Kernel> Backend for CpuBackend<K> {
    type Tensor = Rows<K::Operand>;
    type Table = LookupTable;
    type Matrix = PackedMatrix<K>;
    type Vector = PackedVector;
    // The host is the device.
    type StagedTable = LookupTable;
    type StagedMatrix = PackedMatrix<K>;
    type StagedVector = PackedVector;
    type Plan = Plan;
    type Pending = Vec<Vec<f32>>;

    fn stage_table(
        _precision: Precision,
        table: &WeightView<'_>,
    ) -> Result<Staged<LookupTable>, BackendError> {
        let weights = LookupTable::new(table);
        Ok(Staged { bytes: weights.bytes(), weights })
    }

    fn stage_matrix(
        _precision: Precision,
        parts: &[WeightView<'_>],
    ) -> Result<Staged<PackedMatrix<K>>, BackendError> {
        let weights = PackedMatrix::pack(parts)?;
        Ok(Staged { bytes: weights.bytes(), weights })
    }

    fn stage_vector(
        _precision: Precision,
        parts: &[WeightView<'_>],
    ) -> Result<Staged<PackedVector>, BackendError> {
        let weights = PackedVector::pack(parts)?;
        Ok(Staged { bytes: weights.bytes(), weights })
    }

    fn device(&self) -> DeviceInfo {
        let (threads, set) = (self.team.threads(), K::SIMD.name());
        let plural = if threads == 1 { "" } else { "s" };
        DeviceInfo { kind: DeviceKind::Cpu, name: format!("CPU, {threads} thread{plural}, {set}") }
    }

    fn table(&self, staged: LookupTable) -> Result<LookupTable, BackendError> {
        Ok(staged)
    }

    fn matrix(&self, staged: PackedMatrix<K>) -> Result<PackedMatrix<K>, BackendError> {
        Ok(staged)
    }

    fn vector(&self, staged: PackedVector) -> Result<PackedVector, BackendError> {
        Ok(staged)
    }

    fn plan(&mut self, batch: &TokenBatch, _attention: &Attention) -> Result<Plan, BackendError> {
        assert!(batch.ranges().all(|range| !range.is_empty()), "a sequence has at least one token");
        Ok(Plan { sequences: batch.ranges().collect(), pieces: pieces(batch.ranges()) })
    }

    fn embed(
        &mut self,
        batch: &TokenBatch,
        _plan: &Plan,
        tables: &EmbeddingTables<LookupTable, PackedVector>,
        norm: &LayerNorm<PackedVector>,
    ) -> Result<Self::Tensor, BackendError> {
        let (vocabulary, width) = (tables.word.rows, tables.word.width);
        if let Some(&id) = batch.ids().iter().find(|id| **id as usize >= vocabulary) {
            return Err(BackendError::Vocabulary { id, vocabulary });
        }
        let out = self.rows(batch.tokens(), width)?;
        let threads = self.team.threads();
        let sums = Rows::<f32>::exactly(&self.shelf, threads, width)?;
        let positions = Rows::<f32>::exactly(&self.shelf, threads, width)?;
        let norm = SumsToRows::new(sums.block_mut(), width, norm, out.block_mut());
        let embed = Embed { batch, tables, norm, positions: positions.block_mut() };
        // SAFETY: `new` asked for the set, and parts have rows of their own.
        unsafe { self.team.run::<K, _>(&embed, embed.parts()) }
        Ok(out)
    }

    fn project(
        &mut self,
        x: &Self::Tensor,
        linear: &Linear<PackedMatrix<K>, PackedVector>,
        activation: Activation,
    ) -> Result<Self::Tensor, BackendError> {
        let Linear { weight, .. } = linear;
        let columns = match activation {
            Activation::Identity | Activation::Gelu => weight.parts * weight.outputs,
            Activation::Geglu => weight.outputs,
        };
        let y = self.rows(x.count, columns)?;
        let (bias, out) = (bias(linear), y.block_mut());
        match activation {
            Activation::Identity => self.multiply(x, linear, Write::<_, false> { bias, out }),
            Activation::Gelu => self.multiply(x, linear, Write::<_, true> { bias, out }),
            Activation::Geglu => {
                self.multiply(x, linear, WriteGated { bias, outputs: weight.outputs, out })
            }
        };
        Ok(y)
    }

    fn project_add_norm(
        &mut self,
        x: &Self::Tensor,
        linear: &Linear<PackedMatrix<K>, PackedVector>,
        residual: &Self::Tensor,
        norm: &LayerNorm<PackedVector>,
    ) -> Result<Self::Tensor, BackendError> {
        let width = linear.weight.outputs;
        let out = self.rows(x.count, width)?;
        let sums = Rows::<f32>::exactly(&self.shelf, x.count, width)?;
        let norm = || SumsToRows::new(sums.block_mut(), width, norm, out.block_mut());
        let epilogue = AddNorm { bias: bias(linear), residual: residual.block(), norm: norm() };
        if !self.multiply(x, linear, epilogue) {
            // SAFETY: `new` asked for the set, and parts are rows.
            unsafe { self.team.run::<K, _>(&norm(), x.count) }
        }
        Ok(out)
    }

    fn attention(
        &mut self,
        qkv: &Self::Tensor,
        plan: &Plan,
        attention: &Attention,
    ) -> Result<Self::Tensor, BackendError> {
        let out = self.rows(qkv.count, qkv.columns / 3)?;
        let threads = self.team.threads();
        let attend = Attend::new(&self.shelf, threads, qkv, &out, &plan.pieces, attention)?;
        // SAFETY: `new` asked for the set, and parts have heads and rows of their own.
        unsafe { self.team.run::<K, _>(&attend, attend.parts()) }
        Ok(out)
    }

    fn pool(
        &mut self,
        x: &Self::Tensor,
        plan: &Plan,
        pooling: Pooling,
    ) -> Result<Vec<Vec<f32>>, BackendError> {
        let (sequences, width) = (plan.sequences.as_slice(), x.columns);
        let out = Rows::<f32>::exactly(&self.shelf, sequences.len(), width)?;
        let pool = Pool { x: x.block(), sequences, pooling, out: out.block_mut(), width };
        // SAFETY: `new` asked for the set, and parts are sequences.
        unsafe { self.team.run::<K, _>(&pool, sequences.len()) }
        Ok((0..sequences.len()).map(|at| out.row(at).to_vec()).collect())
    }

    fn finish(&mut self, pending: Vec<Vec<f32>>) -> Result<Vec<Vec<f32>>, BackendError> {
        Ok(pending)
    }
}

#[cfg(test)]
mod tests;
