//! Every desktop GPU, through wgpu: Vulkan, Metal or Direct3D 12, whichever the system has.
//!
//! A forward is one submission. Nothing waits before its answer is asked for, and a few forwards are on
//! their way at once (`stream`). Kernels are WGSL in `shaders/`, in tiers (`tier`); which tier a device runs is decided
//! by trying them on inputs whose results are known (`self_test`).

mod counters;
mod device;
mod kernels;
mod ladder;
mod recording;
mod self_test;
mod shelf;
mod staging;
mod stream;
mod submission;
mod tensor;
mod tier;
mod weights;

use std::num::NonZeroUsize;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

#[cfg(test)]
use self::counters::Counters;
use self::device::Block;
pub(in crate::inference) use self::device::{AdapterChoice, Gpu};
use self::kernels::program::{POOL_LANES, QUERIES, Tile};
use self::kernels::{Kernels, Product, Program, RowEnd};
use self::ladder::Ladder;
use self::shelf::Shelf;
pub(in crate::inference) use self::stream::DEPTH;
use self::stream::ReadBack;
use self::stream::{Mode, Stream};
use self::tensor::{Init, Storage, Tensor};
use self::tier::Numbers;
pub(in crate::inference) use self::tier::Tier;
use self::weights::{HostMatrix, HostVector, Matrix, Vector};
use super::{
    Activation, Attention, Backend, BackendError, EmbeddingTables, LayerNorm, Linear, Precision,
    Staged,
};
use crate::data::TokenBatch;
use crate::gpu::{DeviceInfo, DeviceKind};
use crate::inference::{Alibi, Pooling, WeightView};

/// Tokens of one submission at most: with more a GPU is no busier, and activations take memory.
const BATCH_TOKENS_MAX: usize = 16_384;

/// A GPU with the kernels of one tier.
#[derive(Debug)]
pub(in crate::inference) struct WgpuBackend {
    stream: Stream,
    kernels: Kernels,
    shelf: Shelf,
    /// What the kernels have to know of a batch; see [`Plan`].
    inputs: Arc<Block>,
    notices: Vec<String>,
    batch_tokens_max: usize,
    /// Bytes of the widest row of activations so far.
    row_bytes_max: AtomicUsize,
}

/// Where the sequences of a batch lie. All of it is in one buffer of `u32`, in which these are places.
#[derive(Debug)]
pub(in crate::inference) struct Plan {
    ids: u32,
    positions: u32,
    sequences: u32,
    tiles: u32,
    slopes: u32,
    tile_count: u32,
    sequence_count: u32,
}

/// Pooled rows on their way to the host.
#[derive(Debug)]
pub(in crate::inference) struct Pending {
    read_back: ReadBack,
    width: usize,
}

impl WgpuBackend {
    /// Opens a device and finds its best tier that computes what it should; what is found is kept in the data
    /// directory, if there is one, and asked there at the next start.
    ///
    /// # Errors
    /// When there is no such device, or none of its tiers computes right numbers.
    pub fn open(
        choice: &AdapterChoice,
        depth: NonZeroUsize,
        data_dir: Option<&Path>,
    ) -> Result<Self, BackendError> {
        let gpu = Gpu::open(choice)?;
        let mut ladder = Ladder::open(data_dir, gpu.identity());
        let mut notices = Vec::new();
        for &tier in gpu.tiers() {
            if let Some(reason) = ladder.failure(tier) {
                notices.push(format!("{tier} not used: {reason}"));
                continue;
            }
            match Self::with_tier(&gpu, tier, depth).and_then(|b| b.tried(tier, &mut ladder)) {
                Ok(backend) => return Ok(Self { notices, ..backend }),
                Err(error @ BackendError::Lost { .. }) => return Err(error),
                Err(error) => notices.push(format!("{tier} not used: {error}")),
            }
        }
        Err(gpu.failed(notices.join("; ")))
    }

    /// Itself, if it computes what it should.
    fn tried(mut self, tier: Tier, ladder: &mut Ladder) -> Result<Self, BackendError> {
        if ladder.has_passed(tier) {
            return Ok(self);
        }
        ladder.tries(tier);
        match self_test::run(&mut self) {
            Ok(()) => {
                ladder.passes(tier);
                Ok(self)
            }
            Err(error) => {
                let has_room = !matches!(error, BackendError::OutOfMemory { .. });
                ladder.fails(tier, has_room.then(|| error.to_string()));
                Err(error)
            }
        }
    }

    /// # Errors
    /// When the device has no room at all.
    pub fn with_tier(
        gpu: &Arc<Gpu>,
        tier: Tier,
        depth: NonZeroUsize,
    ) -> Result<Self, BackendError> {
        let inputs = Arc::new(input_block(gpu, 4_096)?);
        Ok(Self {
            stream: Stream::new(Arc::clone(gpu), depth),
            kernels: Kernels::new(Arc::clone(gpu), tier)?,
            shelf: Shelf::new(Arc::clone(gpu)),
            inputs,
            notices: Vec::new(),
            batch_tokens_max: BATCH_TOKENS_MAX,
            row_bytes_max: AtomicUsize::new(1),
        })
    }

    pub fn tier(&self) -> Tier {
        self.kernels.tier()
    }

    pub fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// What it has done so far.
    #[cfg(test)]
    pub fn counters(&self) -> Counters {
        self.stream.counters()
    }

    /// Makes every operation a submission of its own, timed by the clock of the device, for whoever reads the
    /// log. It is several times slower.
    pub fn time_operations(&mut self) {
        self.stream.set_mode(Mode::Latency);
        self.stream.profile(true);
    }

    fn numbers(&self) -> Numbers {
        self.tier().activations()
    }

    fn tensor(&mut self, rows: usize, columns: usize) -> Result<Tensor, BackendError> {
        self.tensor_of(rows, columns, self.numbers())
    }

    fn tensor_of(
        &mut self,
        rows: usize,
        columns: usize,
        numbers: Numbers,
    ) -> Result<Tensor, BackendError> {
        if self.shelf.make_room(rows) {
            self.kernels.forget_groups();
        }
        let storage = Storage::Pooled(&mut self.shelf);
        Tensor::new(&mut self.stream, [rows, columns], numbers, storage, &Init::Uninitialized)
    }

    /// Records one kernel.
    fn record(
        &mut self,
        program: Program,
        blocks: &[Option<&Block>],
        scalars: &[u32],
        grid: [u32; 3],
    ) -> Result<(), BackendError> {
        let recording = self.stream.recording("forward")?;
        self.kernels.run(recording, program, blocks, scalars, grid)
    }

    fn multiply(
        &mut self,
        x: &Tensor,
        linear: &Linear<Matrix, Vector>,
        end: RowEnd,
        residual: Option<&Tensor>,
    ) -> Result<Tensor, BackendError> {
        let Linear { weight, bias } = linear;
        if weight.interleaved != (end == RowEnd::Geglu) || x.columns != weight.columns {
            let gpu = self.stream.gpu();
            return Err(gpu.failed("a matrix was staged for another product"));
        }
        let columns = if weight.interleaved { weight.rows / 2 } else { weight.rows };
        let y = self.tensor(x.rows, columns)?;
        let product = Product { bias: bias.is_some(), end };
        let (program, rows, outputs) = self.product_program(product, x.rows, weight);
        let blocks = [
            Some(&*x.block),
            Some(&weight.block),
            bias.as_ref().map(|bias| &bias.block),
            residual.map(|residual| &*residual.block),
            Some(&*y.block),
        ];
        let scalars = [x.rows, weight.rows / 4, weight.columns / 4].map(|count| count as u32);
        let grid = [(weight.rows as u32).div_ceil(outputs), (x.rows as u32).div_ceil(rows), 1];
        self.record(program, &blocks, &scalars, grid)?;
        Ok(y)
    }

    /// The kernel of a product, and rows and outputs of its tile.
    fn product_program(
        &self,
        product: Product,
        rows: usize,
        weight: &Matrix,
    ) -> (Program, u32, u32) {
        let plain = (Program::Gemm { product, weights: weight.numbers }, 64, 64);
        let Tier::Cooperative(size) = self.tier() else { return plain };
        let memory = self.stream.gpu().limits().max_compute_workgroup_storage_size;
        let tile = Tile::for_rows(size, rows, memory);
        let fits = weight.columns.is_multiple_of(4 * tile.step as usize);
        if fits && weight.numbers == Numbers::F16 {
            (Program::CooperativeGemm { product, tile }, tile.rows(), tile.outputs())
        } else {
            plain
        }
    }

    fn normalize(
        &mut self,
        sums: &Tensor,
        norm: &LayerNorm<Vector>,
    ) -> Result<Tensor, BackendError> {
        let y = self.tensor(sums.rows, sums.columns)?;
        let program = Program::Norm { quads: (sums.columns / 4) as u32 };
        let blocks = [&*sums.block, &norm.gain.block, &norm.bias.block, &*y.block].map(Some);
        let scalars = [(norm.epsilon as f32).to_bits()];
        self.record(program, &blocks, &scalars, [sums.rows as u32, 1, 1])?;
        Ok(y)
    }
}

fn input_block(gpu: &Gpu, words: usize) -> Result<Block, BackendError> {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
    gpu.buffer("inputs", (4 * words) as u64, usage, false)
}

impl Backend for WgpuBackend {
    type Tensor = Tensor;
    type Table = Matrix;
    type Matrix = Matrix;
    type Vector = Vector;
    type StagedTable = HostMatrix;
    type StagedMatrix = HostMatrix;
    type StagedVector = HostVector;
    type Plan = Plan;
    type Pending = Pending;

    fn stage_table(
        precision: Precision,
        table: &WeightView<'_>,
    ) -> Result<Staged<HostMatrix>, BackendError> {
        Ok(HostMatrix::stage(precision, std::slice::from_ref(table)))
    }

    fn stage_matrix(
        precision: Precision,
        parts: &[WeightView<'_>],
    ) -> Result<Staged<HostMatrix>, BackendError> {
        Ok(HostMatrix::stage(precision, parts))
    }

    fn stage_vector(
        _precision: Precision,
        parts: &[WeightView<'_>],
    ) -> Result<Staged<HostVector>, BackendError> {
        Ok(HostVector::stage(parts))
    }

    fn device(&self) -> DeviceInfo {
        let gpu = self.stream.gpu();
        let name = format!("{} ({}), {}", gpu.name(), gpu.backend(), self.tier());
        DeviceInfo { kind: DeviceKind::Wgpu, name }
    }

    fn notices(&self) -> Vec<String> {
        self.notices.clone()
    }

    fn table(&self, staged: HostMatrix) -> Result<Matrix, BackendError> {
        staged.upload(self.stream.gpu())
    }

    fn matrix(&self, staged: HostMatrix) -> Result<Matrix, BackendError> {
        let matrix = staged.upload(self.stream.gpu())?;
        let row_bytes = matrix.rows.max(matrix.columns) * self.numbers().bytes();
        self.row_bytes_max.fetch_max(row_bytes, Ordering::Relaxed);
        Ok(matrix)
    }

    fn vector(&self, staged: HostVector) -> Result<Vector, BackendError> {
        staged.upload(self.stream.gpu())
    }

    fn depth(&self) -> NonZeroUsize {
        self.stream.depth()
    }

    fn batch_tokens_max(&self) -> usize {
        let limits = self.stream.gpu().limits();
        let row_bytes = self.row_bytes_max.load(Ordering::Relaxed) as u64;
        // Buffers have room for a power of two of rows.
        let fit = (limits.max_storage_buffer_binding_size / row_bytes).max(1).ilog2();
        self.batch_tokens_max.min(1 << fit.min(31))
    }

    fn plan(&mut self, batch: &TokenBatch, attention: &Attention) -> Result<Plan, BackendError> {
        // One that is still open belongs to a forward that has failed.
        self.stream.abandon();
        let tokens = batch.tokens();
        let mut words = Vec::with_capacity(2 * tokens + 8 * batch.sequences() + tokens / 16);
        words.extend_from_slice(batch.ids());
        let positions = words.len() as u32;
        words.extend(batch.ranges().flat_map(|range| 0..range.len() as u32));
        let sequences = words.len() as u32;
        words.extend(batch.ranges().flat_map(|range| [range.start as u32, range.len() as u32]));
        let tiles = words.len() as u32;
        for range in batch.ranges() {
            let queries = (0..range.len()).step_by(QUERIES);
            words.extend(
                queries.flat_map(|query| [range.start, range.len(), query].map(|n| n as u32)),
            );
        }
        let slopes = words.len() as u32;
        let alibi = attention.alibi.as_ref().map_or(&[][..], Alibi::slopes);
        words.extend(alibi.iter().map(|slope| slope.to_bits()));
        if self.inputs.buffer.size() < 4 * words.len() as u64 {
            let gpu = Arc::clone(self.stream.gpu());
            self.inputs = Arc::new(input_block(&gpu, words.len().next_power_of_two())?);
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.stream.upload(&bytes, &self.inputs, "forward")?;
        Ok(Plan {
            ids: 0,
            positions,
            sequences,
            tiles,
            slopes,
            tile_count: (slopes - tiles) / 3,
            sequence_count: batch.sequences() as u32,
        })
    }

    fn embed(
        &mut self,
        batch: &TokenBatch,
        plan: &Plan,
        tables: &EmbeddingTables<Matrix, Vector>,
        norm: &LayerNorm<Vector>,
    ) -> Result<Tensor, BackendError> {
        let vocabulary = tables.word.rows;
        if let Some(&id) = batch.ids().iter().find(|id| **id as usize >= vocabulary) {
            return Err(BackendError::Vocabulary { id, vocabulary });
        }
        let width = tables.word.columns;
        let rows = self.tensor(batch.tokens(), width)?;
        let program = Program::Embed {
            quads: (width / 4) as u32,
            positions: tables.position.is_some(),
            weights: tables.word.numbers,
        };
        let inputs = Arc::clone(&self.inputs);
        let blocks = [
            Some(&*inputs),
            Some(&tables.word.block),
            tables.position.as_ref().map(|table| &table.block),
            Some(&tables.token_type.block),
            Some(&norm.gain.block),
            Some(&norm.bias.block),
            Some(&*rows.block),
        ];
        let scalars = [plan.ids, plan.positions, (norm.epsilon as f32).to_bits()];
        self.record(program, &blocks, &scalars, [batch.tokens() as u32, 1, 1])?;
        self.stream.operation_ends()?;
        Ok(rows)
    }

    fn project(
        &mut self,
        x: &Tensor,
        linear: &Linear<Matrix, Vector>,
        activation: Activation,
    ) -> Result<Tensor, BackendError> {
        let y = self.multiply(x, linear, activation.into(), None)?;
        self.stream.operation_ends()?;
        Ok(y)
    }

    fn project_add_norm(
        &mut self,
        x: &Tensor,
        linear: &Linear<Matrix, Vector>,
        residual: &Tensor,
        norm: &LayerNorm<Vector>,
    ) -> Result<Tensor, BackendError> {
        let sums = self.multiply(x, linear, RowEnd::Residual, Some(residual))?;
        let y = self.normalize(&sums, norm)?;
        self.stream.operation_ends()?;
        Ok(y)
    }

    fn attention(
        &mut self,
        qkv: &Tensor,
        plan: &Plan,
        attention: &Attention,
    ) -> Result<Tensor, BackendError> {
        let (width, heads) = (qkv.columns / 3, attention.heads);
        let head = width / heads;
        if !head.is_multiple_of(4) {
            let gpu = self.stream.gpu();
            return Err(gpu.failed(format_args!("heads of {head} numbers are no multiple of four")));
        }
        let mixed = self.tensor(qkv.rows, width)?;
        let program = Program::Attention {
            quads: (width / 4) as u32,
            head_quads: (head / 4) as u32,
            alibi: attention.alibi.is_some(),
        };
        let inputs = Arc::clone(&self.inputs);
        let blocks = [&*inputs, &*qkv.block, &*mixed.block].map(Some);
        let scale = 1.0 / (head as f32).sqrt();
        let scalars = [plan.tiles, plan.slopes, scale.to_bits()];
        self.record(program, &blocks, &scalars, [plan.tile_count, heads as u32, 1])?;
        self.stream.operation_ends()?;
        Ok(mixed)
    }

    fn pool(&mut self, x: &Tensor, plan: &Plan, pooling: Pooling) -> Result<Pending, BackendError> {
        let width = x.columns;
        let pooled = self.tensor_of(plan.sequence_count as usize, width, Numbers::F32)?;
        let quads = (width / 4) as u32;
        let program = Program::Pool { quads, cls: pooling == Pooling::Cls };
        let inputs = Arc::clone(&self.inputs);
        let blocks = [&*inputs, &*x.block, &*pooled.block].map(Some);
        let grid = [plan.sequence_count, quads.div_ceil(POOL_LANES), 1];
        self.record(program, &blocks, &[plan.sequences], grid)?;
        let read_back = pooled.read_async(&mut self.stream)?;
        Ok(Pending { read_back, width })
    }

    fn finish(&mut self, pending: Pending) -> Result<Vec<Vec<f32>>, BackendError> {
        let Pending { read_back, width } = pending;
        let rows = |bytes: &[u8]| {
            let values = tensor::from_bytes(bytes, Numbers::F32);
            values.chunks(width).map(<[f32]>::to_vec).collect()
        };
        self.stream.finish(read_back, rows)
    }
}

/// Runs a future of wgpu to its end. On a desktop they are ready at once, or as soon as the driver has
/// answered.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

#[cfg(test)]
mod tests;
