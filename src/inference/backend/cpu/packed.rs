//! Weights in the layout that products read from front to back.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::buffer::Buffer;
use super::kernel::Kernel;
use super::operand::Operand;
use crate::inference::backend::BackendError;
use crate::inference::weights::{WeightType, WeightView, Weights};

/// Numbers beyond the end of a vector that may be read, and are zero.
const SLACK: usize = 64;

/// A matrix `[outputs, inputs]` as panels of [`Kernel::OUTPUTS`] outputs. In a panel, inputs follow each
/// other in groups of [`Operand::GROUP`], and each group has one after the other of all outputs:
/// `panel[k / G][c][k % G]`. Outputs and inputs that fill up a panel are zero.
#[derive(Debug)]
pub(in crate::inference) struct PackedMatrix<K: Kernel> {
    panels: Buffer,
    /// Matrices of equal shape one below the other, each with panels of its own.
    pub(super) parts: usize,
    /// Of a part.
    pub(super) outputs: usize,
    /// Filled up to a multiple of [`Kernel::DEPTH`].
    pub(super) depth: usize,
    kernel: PhantomData<K>,
}

impl<K: Kernel> PackedMatrix<K> {
    /// Packs parts of equal shape.
    ///
    /// # Errors
    /// When the system has no memory.
    pub fn pack(parts: &[WeightView<'_>]) -> Result<Self, BackendError> {
        let (outputs, inputs) = (parts[0].shape[0], parts[0].shape[1]);
        debug_assert!(parts.iter().all(|part| part.shape == [outputs, inputs]));
        let depth = inputs.next_multiple_of(K::DEPTH);
        let panels_a_part = outputs.div_ceil(K::OUTPUTS);
        let panel_len = depth * K::OUTPUTS;
        let panels =
            Buffer::zeroed(parts.len() * panels_a_part * panel_len * size_of::<K::Operand>())?;
        let packed = Self { panels, parts: parts.len(), outputs, depth, kernel: PhantomData };
        let mut row = vec![0.0; inputs];
        for (at, part) in parts.iter().enumerate() {
            for output in 0..outputs {
                part.read(output * inputs, &mut row);
                let panel = packed.panel(at * panels_a_part + output / K::OUTPUTS);
                for (k, x) in row.iter().enumerate() {
                    // SAFETY: the place is within the panel, which nobody else has yet.
                    unsafe {
                        let place = place::<K>(k, output % K::OUTPUTS);
                        *panel.cast_mut().add(place) = K::Operand::from_f32(flushed(*x));
                    }
                }
            }
        }
        Ok(packed)
    }

    pub fn bytes(&self) -> u64 {
        self.panels.bytes() as u64
    }

    /// Panels of each part.
    pub(super) fn panels(&self) -> usize {
        self.outputs.div_ceil(K::OUTPUTS)
    }

    pub(super) fn panel(&self, at: usize) -> *const K::Operand {
        debug_assert!(at < self.parts * self.panels());
        // SAFETY: the panel lies in the buffer.
        unsafe { self.panels.start().cast::<K::Operand>().add(at * self.depth * K::OUTPUTS) }
    }
}

/// Where a panel has input `k` of output `c`.
#[inline(always)]
pub(super) fn place<K: Kernel>(k: usize, c: usize) -> usize {
    let group = K::Operand::GROUP;
    (k / group * K::OUTPUTS + c) * group + k % group
}

/// Weights so small add nothing that f32 could show, and make a processor a hundred times slower.
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0.0 } else { x }
}

/// A vector in f32, which may be read a register beyond its end.
#[derive(Debug)]
pub(in crate::inference) struct PackedVector(Buffer);

impl PackedVector {
    /// Lays the parts one behind the other.
    ///
    /// # Errors
    /// When the system has no memory.
    pub fn pack(parts: &[WeightView<'_>]) -> Result<Self, BackendError> {
        let len = |part: &WeightView<'_>| part.shape.iter().product::<usize>();
        let buffer =
            Buffer::zeroed((parts.iter().map(len).sum::<usize>() + SLACK) * size_of::<f32>())?;
        let mut at = 0;
        for part in parts {
            let start: *mut f32 = buffer.start().cast();
            // SAFETY: the buffer holds all parts, and nobody else has it yet.
            let room = unsafe { std::slice::from_raw_parts_mut(start.add(at), len(part)) };
            part.read(0, room);
            at += room.len();
        }
        Ok(Self(buffer))
    }

    pub fn bytes(&self) -> u64 {
        self.0.bytes() as u64
    }

    pub(super) fn start(&self) -> *const f32 {
        self.0.start().cast()
    }
}

/// A lookup table in the file that it came from: of the pages of a large vocabulary, only those with
/// words that occur are ever in memory.
#[derive(Debug)]
pub(in crate::inference) struct LookupTable {
    weights: Arc<Weights>,
    bytes: Range<usize>,
    dtype: WeightType,
    pub(super) rows: usize,
    pub(super) width: usize,
}

impl LookupTable {
    pub fn new(view: &WeightView<'_>) -> Self {
        let weights = Arc::clone(view.weights);
        let start = view.bytes.as_ptr().addr() - weights.bytes().as_ptr().addr();
        let bytes = start..start + view.bytes.len();
        Self { weights, bytes, dtype: view.dtype, rows: view.shape[0], width: view.shape[1] }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Reads a row.
    ///
    /// # Panics
    /// When there is no such row.
    pub(super) fn read(&self, row: usize, into: &mut [f32]) {
        debug_assert_eq!(into.len(), self.width);
        let (dtype, shape) = (self.dtype, vec![]);
        let bytes = &self.weights.bytes()[self.bytes.clone()];
        WeightView { shape, dtype, bytes, weights: &self.weights }.read(row * self.width, into);
    }
}

impl WeightView<'_> {
    /// Reads numbers from the `first` on, whatever they are stored as.
    ///
    /// # Panics
    /// When the view ends before.
    fn read(&self, first: usize, into: &mut [f32]) {
        let size = self.dtype.bytes();
        let bytes = &self.bytes[first * size..(first + into.len()) * size];
        match self.dtype {
            WeightType::F32 => {
                for (x, bytes) in into.iter_mut().zip(bytes.as_chunks().0) {
                    *x = f32::from_le_bytes(*bytes);
                }
            }
            WeightType::F16 => read_halves(bytes, into, f16::from_le_bytes),
            WeightType::Bf16 => read_halves(bytes, into, bf16::from_le_bytes),
        }
    }
}

/// Reads a piece at a time: the conversion of a slice uses the processor's own instruction.
fn read_halves<H: Copy + Default>(bytes: &[u8], into: &mut [f32], number: impl Fn([u8; 2]) -> H)
where
    [H]: HalfFloatSliceExt,
{
    let mut piece = [H::default(); 64];
    for (into, bytes) in into.chunks_mut(piece.len()).zip(bytes.chunks(2 * piece.len())) {
        let piece = &mut piece[..into.len()];
        for (half, bytes) in piece.iter_mut().zip(bytes.as_chunks().0) {
            *half = number(*bytes);
        }
        piece.convert_to_f32_slice(into);
    }
}

#[cfg(test)]
mod tests;
