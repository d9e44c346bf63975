//! Memory of activations, used over and over.
//!
//! A forward asks for the same sizes in the same order as the one before it and gets the same buffers, so
//! their bind groups are found again as well. It works because the lowest free buffer is always taken, and because the
//! device runs submissions in order: a buffer that the host has let go of may be written by the next one.

use std::collections::HashMap;
use std::sync::Arc;

use super::device::{Block, Gpu};
use crate::inference::backend::BackendError;

/// Rows that buffers have at least.
const ROWS_MIN: usize = 256;

#[derive(Debug)]
pub(super) struct Shelf {
    gpu: Arc<Gpu>,
    /// Rows that every buffer on it has room for.
    rows: usize,
    /// By bytes of a row.
    blocks: HashMap<usize, Vec<Arc<Block>>>,
}

impl Shelf {
    pub fn new(gpu: Arc<Gpu>) -> Self {
        Self { gpu, rows: ROWS_MIN, blocks: HashMap::new() }
    }

    /// Makes room for `rows`. Says whether the buffers so far are gone.
    pub fn make_room(&mut self, rows: usize) -> bool {
        if rows <= self.rows {
            return false;
        }
        self.rows = rows.next_power_of_two();
        self.blocks.clear();
        true
    }

    /// So many rows of `row_bytes` that nobody uses.
    ///
    /// # Panics
    /// When nobody has made room for them.
    pub fn take(&mut self, rows: usize, row_bytes: usize) -> Result<Arc<Block>, BackendError> {
        assert!(rows <= self.rows, "room for {} rows, and {rows} are wanted", self.rows);
        let blocks = self.blocks.entry(row_bytes).or_default();
        // Whoever uses one holds it as well.
        if let Some(free) = blocks.iter().find(|block| Arc::strong_count(block) == 1) {
            return Ok(Arc::clone(free));
        }
        let usage = wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST;
        let block = self.gpu.buffer("activations", (self.rows * row_bytes) as u64, usage, false)?;
        let block = Arc::new(block);
        blocks.push(Arc::clone(&block));
        Ok(block)
    }
}
