//! Weights on their way to a device.
//!
//! What lies in the file as the device wants it is copied from the mapped pages straight into the
//! device's memory; the rest is converted beforehand, off the device thread.

use std::ops::Range;
use std::sync::Arc;

use half::{bf16, f16};

use super::device::{Block, Gpu};
use super::kernels::plain::Rows;
use super::tier::Numbers;
use crate::inference::backend::{BackendError, Precision, Staged};
use crate::inference::weights::WeightType;
use crate::inference::{WeightView, Weights};

/// A table or matrix on the host, row by row.
#[derive(Debug)]
pub(in crate::inference) struct HostMatrix {
    rows: usize,
    columns: usize,
    numbers: Numbers,
    interleaved: bool,
    bytes: HostBytes,
}

#[derive(Debug)]
enum HostBytes {
    Mapped(Arc<Weights>, Range<usize>),
    Owned(Vec<u8>),
}

/// A table or matrix on the device: `[rows, columns]`.
#[derive(Debug)]
pub(in crate::inference) struct Matrix {
    pub block: Block,
    pub rows: usize,
    pub columns: usize,
    pub numbers: Numbers,
    /// Of two parts, whose rows come four by four in turn.
    pub interleaved: bool,
}

/// A vector on the host, in f32.
#[derive(Debug)]
pub(in crate::inference) struct HostVector(Vec<f32>);

/// A vector on the device, in f32.
#[derive(Debug)]
pub(in crate::inference) struct Vector {
    pub block: Block,
}

impl HostMatrix {
    pub fn stage(precision: Precision, parts: &[WeightView<'_>]) -> Staged<Self> {
        let numbers = match precision {
            Precision::F16 => Numbers::F16,
            Precision::F32 => Numbers::F32,
        };
        let columns = parts.first().map_or(0, |part| part.shape[1]);
        let rows = parts.iter().map(|part| part.shape[0]).sum();
        let as_stored = |view: &WeightView<'_>| {
            matches!(
                (view.dtype, numbers),
                (WeightType::F16, Numbers::F16) | (WeightType::F32, Numbers::F32)
            )
        };
        let bytes = match parts {
            [one] if as_stored(one) => {
                let start = one.bytes.as_ptr() as usize - one.weights.bytes().as_ptr() as usize;
                HostBytes::Mapped(Arc::clone(one.weights), start..start + one.bytes.len())
            }
            [first, second] => {
                let parts = [first, second].map(|part| convert(part, numbers));
                HostBytes::Owned(interleave(&parts, 4 * columns * numbers.bytes()))
            }
            parts => {
                HostBytes::Owned(parts.iter().flat_map(|part| convert(part, numbers)).collect())
            }
        };
        let interleaved = parts.len() == 2;
        let weights = Self { rows, columns, numbers, interleaved, bytes };
        Staged { bytes: (rows * columns * numbers.bytes()) as u64, weights }
    }

    /// # Errors
    /// When the device has no room, or rows are not made of vectors of four.
    pub fn upload(self, gpu: &Gpu) -> Result<Matrix, BackendError> {
        let Self { rows, columns, numbers, interleaved, bytes } = self;
        check_quads(gpu, columns)?;
        let block = match &bytes {
            HostBytes::Mapped(weights, range) => {
                gpu.filled("weights", &weights.bytes()[range.clone()])?
            }
            HostBytes::Owned(bytes) => gpu.filled("weights", bytes)?,
        };
        Ok(Matrix { block, rows, columns, numbers, interleaved })
    }
}

impl Matrix {
    /// # Errors
    /// When the device has no room.
    pub(super) fn new(
        gpu: &Gpu,
        rows: &Rows,
        numbers: Numbers,
        interleaved: bool,
    ) -> Result<Self, BackendError> {
        let block = gpu.filled("weights", &super::tensor::to_bytes(&rows.values, numbers))?;
        Ok(Self { block, rows: rows.rows().len(), columns: rows.columns, numbers, interleaved })
    }
}

impl Vector {
    /// # Errors
    /// When the device has no room.
    pub(super) fn new(gpu: &Gpu, values: &[f32]) -> Result<Self, BackendError> {
        HostVector(values.to_vec()).upload(gpu)
    }
}

impl HostVector {
    pub fn stage(parts: &[WeightView<'_>]) -> Staged<Self> {
        let bytes = match parts {
            [first, second] => interleave(&[first, second].map(|p| convert(p, Numbers::F32)), 16),
            parts => parts.iter().flat_map(|part| convert(part, Numbers::F32)).collect(),
        };
        let values = super::tensor::from_bytes(&bytes, Numbers::F32);
        Staged { bytes: bytes.len() as u64, weights: Self(values) }
    }

    /// # Errors
    /// When the device has no room.
    pub fn upload(self, gpu: &Gpu) -> Result<Vector, BackendError> {
        check_quads(gpu, self.0.len())?;
        let bytes = super::tensor::to_bytes(&self.0, Numbers::F32);
        Ok(Vector { block: gpu.filled("weights", &bytes)? })
    }
}

fn check_quads(gpu: &Gpu, count: usize) -> Result<(), BackendError> {
    if count.is_multiple_of(4) {
        return Ok(());
    }
    Err(gpu.failed(format_args!("{count} numbers in a row are no multiple of four")))
}

fn convert(view: &WeightView<'_>, numbers: Numbers) -> Vec<u8> {
    let two = |number: fn([u8; 2]) -> f32| {
        view.bytes.as_chunks::<2>().0.iter().map(move |bytes| number(*bytes))
    };
    let values: Vec<f32> = match (view.dtype, numbers) {
        (WeightType::F16, Numbers::F16) | (WeightType::F32, Numbers::F32) => {
            return view.bytes.to_vec();
        }
        (WeightType::F16, _) => two(|bytes| f16::from_le_bytes(bytes).to_f32()).collect(),
        (WeightType::Bf16, _) => two(|bytes| bf16::from_le_bytes(bytes).to_f32()).collect(),
        (WeightType::F32, _) => {
            view.bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
        }
    };
    super::tensor::to_bytes(&values, numbers)
}

/// Pieces of `piece` bytes, of either part in turn.
fn interleave(parts: &[Vec<u8>; 2], piece: usize) -> Vec<u8> {
    let [first, second] = parts;
    first
        .chunks(piece)
        .zip(second.chunks(piece))
        .flat_map(|(a, b)| [a, b])
        .flatten()
        .copied()
        .collect()
}
