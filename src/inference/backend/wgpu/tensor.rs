//! Rows of numbers on the device. Shape and type are known to the host; the numbers come only when they
//! are asked for.

use std::sync::{Arc, OnceLock};

use half::f16;
use half::slice::HalfFloatSliceExt;

use super::device::Block;
use super::shelf::Shelf;
use super::stream::{ReadBack, Stream};
use super::submission::Submission;
use super::tier::Numbers;
use crate::inference::backend::BackendError;

/// Activations `[rows, columns]`.
#[derive(Debug)]
pub(in crate::inference) struct Tensor {
    pub(super) block: Arc<Block>,
    pub rows: usize,
    pub columns: usize,
    pub numbers: Numbers,
    /// The submission that computes it.
    defined: Submission,
    host: OnceLock<Vec<f32>>,
}

/// Where the numbers of a new tensor lie.
#[derive(Debug)]
pub(super) enum Storage<'a> {
    /// In memory that goes back to the shelf when the tensor is dropped.
    Pooled(&'a mut Shelf),
    /// In memory of its own.
    Dedicated,
}

/// What they are at first.
#[cfg_attr(not(test), expect(dead_code, reason = "activations of an encoder borrow nothing"))]
#[derive(Debug)]
pub(super) enum Init<'a> {
    /// Anything; the next operation writes them.
    Uninitialized,
    Copy(&'a [f32]),
    /// Those of a buffer that somebody else made.
    Borrow(&'a Arc<Block>),
}

impl Tensor {
    /// Touches the device for [`Init::Copy`] alone, and waits for it never.
    ///
    /// # Errors
    /// When there is no room.
    pub(super) fn new(
        stream: &mut Stream,
        [rows, columns]: [usize; 2],
        numbers: Numbers,
        storage: Storage<'_>,
        init: &Init<'_>,
    ) -> Result<Self, BackendError> {
        let row_bytes = columns * numbers.bytes();
        let block = match (init, storage) {
            (Init::Borrow(block), _) => Arc::clone(block),
            (_, Storage::Pooled(shelf)) => shelf.take(rows, row_bytes)?,
            (_, Storage::Dedicated) => {
                let usage = wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_SRC
                    | wgpu::BufferUsages::COPY_DST;
                Arc::new(stream.gpu().buffer("tensor", (rows * row_bytes) as u64, usage, false)?)
            }
        };
        if let Init::Copy(values) = init {
            stream.upload(&to_bytes(values, numbers), &block, "copy")?;
        }
        let defined = stream.recording("tensor")?.submission().clone();
        Ok(Self { block, rows, columns, numbers, defined, host: OnceLock::new() })
    }

    /// The submission that computes it.
    #[cfg(test)]
    pub fn defined(&self) -> &Submission {
        &self.defined
    }

    /// Its numbers on the host, row by row. The first time this waits for the submission that computes it
    /// and for nothing behind that; afterwards it is free.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn read(&self, stream: &mut Stream) -> Result<&[f32], BackendError> {
        if let Some(values) = self.host.get() {
            return Ok(values);
        }
        let read_back = self.read_async(stream)?;
        let values = stream.finish(read_back, |bytes| from_bytes(bytes, self.numbers))?;
        Ok(self.host.get_or_init(|| values))
    }

    /// Sends its numbers on their way.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn read_async(&self, stream: &mut Stream) -> Result<ReadBack, BackendError> {
        let bytes = self.rows * self.columns * self.numbers.bytes();
        stream.read_async(&self.block, bytes, &self.defined)
    }
}

pub(super) fn to_bytes(values: &[f32], numbers: Numbers) -> Vec<u8> {
    match numbers {
        Numbers::F32 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Numbers::F16 => {
            values.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect()
        }
    }
}

pub(super) fn from_bytes(bytes: &[u8], numbers: Numbers) -> Vec<f32> {
    match numbers {
        Numbers::F32 => bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect(),
        Numbers::F16 => {
            let halves: Vec<_> =
                bytes.as_chunks().0.iter().map(|two| f16::from_le_bytes(*two)).collect();
            halves.to_f32_vec()
        }
    }
}
