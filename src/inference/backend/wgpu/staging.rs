//! Buffers between host and device. They are made when none is free, and come back when the device and
//! the host are done with them.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::device::{Block, Gpu};
use crate::inference::backend::BackendError;

/// Free buffers of one use.
#[derive(Clone, Debug, Default)]
struct Free(Arc<Mutex<Vec<Block>>>);

impl Free {
    /// The smallest that holds `bytes`.
    fn take(&self, bytes: u64) -> Option<Block> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |(_, block): &(usize, &Block)| block.buffer.size() >= bytes;
        let smallest = free.iter().enumerate().filter(fits).min_by_key(|(_, b)| b.buffer.size());
        let at = smallest?.0;
        Some(free.swap_remove(at))
    }

    fn put(&self, block: Block) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(block);
    }
}

/// Room to grow, so that a few tokens more need no new buffer.
fn room(bytes: u64) -> u64 {
    bytes.next_power_of_two().max(4_096)
}

/// From the host to the device. Free ones are mapped: writing to them waits for nothing.
#[derive(Debug, Default)]
pub(super) struct Uploads(Free);

/// Bytes on their way.
#[derive(Debug)]
pub(super) struct Upload {
    pub block: Block,
    free: Free,
}

impl Uploads {
    pub fn write(&self, gpu: &Gpu, bytes: &[u8]) -> Result<Upload, BackendError> {
        let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
        let block = match self.0.take(bytes.len() as u64) {
            Some(block) => block,
            None => gpu.buffer("upload", room(bytes.len() as u64), usage, true)?,
        };
        let mapped = block.buffer.slice(..).get_mapped_range_mut();
        let mut mapped = mapped.map_err(|error| gpu.failed(error))?;
        mapped.slice(..bytes.len()).copy_from_slice(bytes);
        drop(mapped);
        block.buffer.unmap();
        Ok(Upload { block, free: self.0.clone() })
    }
}

impl Upload {
    /// To be called when what copies from it was submitted: it becomes free when the device is done.
    pub fn recycle(self) {
        let Self { block, free } = self;
        let buffer = block.buffer.clone();
        buffer.map_async(wgpu::MapMode::Write, .., move |mapped| {
            // Lost with its device otherwise.
            if mapped.is_ok() {
                free.put(block);
            }
        });
    }
}

const UNASKED: u8 = 0;
const PENDING: u8 = 1;
const MAPPED: u8 = 2;
const FAILED: u8 = 3;

/// From the device to the host.
#[derive(Debug, Default)]
pub(super) struct Downloads(Free);

/// A buffer that is being brought to the host.
#[derive(Debug)]
pub(super) struct Download {
    block: Option<Block>,
    state: Arc<AtomicU8>,
    free: Free,
}

impl Downloads {
    pub fn take(&self, gpu: &Gpu, bytes: u64) -> Result<Download, BackendError> {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let block = match self.0.take(bytes) {
            Some(block) => block,
            None => gpu.buffer("read-back", room(bytes), usage, false)?,
        };
        let state = Arc::new(AtomicU8::new(UNASKED));
        Ok(Download { block: Some(block), state, free: self.0.clone() })
    }
}

impl Download {
    pub fn buffer(&self) -> Option<&wgpu::Buffer> {
        self.block.as_ref().map(|block| &block.buffer)
    }

    /// To be called when what copies to it was submitted.
    pub fn map(&self) {
        let state = Arc::clone(&self.state);
        state.store(PENDING, Ordering::Release);
        if let Some(buffer) = self.buffer() {
            buffer.map_async(wgpu::MapMode::Read, .., move |mapped| {
                state.store(if mapped.is_ok() { MAPPED } else { FAILED }, Ordering::Release);
            });
        }
    }

    pub fn is_pending(&self) -> bool {
        self.state.load(Ordering::Acquire) == PENDING
    }

    pub fn is_mapped(&self) -> bool {
        self.state.load(Ordering::Acquire) == MAPPED
    }

    /// Hands the first `bytes` to `read`.
    pub fn read<T>(
        &self,
        gpu: &Gpu,
        bytes: usize,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, BackendError> {
        match (self.is_mapped(), self.buffer()) {
            (true, Some(buffer)) => {
                let mapped = buffer.slice(..bytes as u64).get_mapped_range();
                Ok(read(&mapped.map_err(|error| gpu.failed(error))?))
            }
            _ => Err(gpu.failed("a read-back did not arrive")),
        }
    }
}

impl Drop for Download {
    /// Unmapping cancels a mapping that is still due; a later submission that copies to the buffer runs
    /// after the one that does so now.
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            if matches!(self.state.load(Ordering::Acquire), PENDING | MAPPED) {
                block.buffer.unmap();
            }
            self.free.put(block);
        }
    }
}
