//! Memory for activations, kept from one step to the next.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use super::kernel::Block;
use super::operand::Operand;
use crate::inference::backend::BackendError;

/// A cache line, and the widest register.
const ALIGNMENT: usize = 64;

/// Bytes that begin on a cache line. All are zero at first.
pub(super) struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its bytes, as a `Vec` does.
unsafe impl Send for Buffer {}
// SAFETY: through a shared reference it only gives its address away.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// # Errors
    /// When the system has no memory.
    pub fn zeroed(bytes: usize) -> Result<Self, BackendError> {
        let full = || BackendError::OutOfMemory {
            device: "CPU".to_owned(),
            message: format!("{bytes} bytes were asked for"),
        };
        let layout =
            Layout::from_size_align(bytes.max(ALIGNMENT), ALIGNMENT).map_err(|_| full())?;
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(full)?;
        Ok(Self { start, layout })
    }

    pub fn bytes(&self) -> usize {
        self.layout.size()
    }

    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Buffer").field(&self.bytes()).finish()
    }
}

/// Buffers that are not in use, so that a step allocates none once others of its size have run.
#[derive(Debug, Default)]
pub(in crate::inference) struct Shelf(Mutex<Vec<Buffer>>);

/// A buffer beyond it goes back to the system: one very long text is no reason to hold its memory.
const KEPT_BYTES_MAX: usize = 64 << 20;

impl Shelf {
    fn take(&self, bytes: usize) -> Result<Buffer, BackendError> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |at: &usize| free[*at].bytes() >= bytes;
        if let Some(at) = (0..free.len()).filter(fits).min_by_key(|at| free[*at].bytes()) {
            return Ok(free.swap_remove(at));
        }
        // Too small for today's steps; without this, buffers would pile up as steps grow.
        if let Some(smallest) = (0..free.len()).min_by_key(|at| free[*at].bytes()) {
            free.swap_remove(smallest);
        }
        Buffer::zeroed(bytes.next_multiple_of((bytes.next_power_of_two() / 8).max(ALIGNMENT)))
    }

    fn put(&self, buffer: Buffer) {
        if buffer.bytes() <= KEPT_BYTES_MAX {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        }
    }
}

/// A matrix `[rows, columns]` of activations. Rows begin `stride` numbers apart, and what lies between
/// is zero; there may be room for whole tiles of rows, whose numbers beyond the last row mean nothing.
pub(in crate::inference) struct Rows<O: Operand> {
    /// `None` while it is dropped.
    buffer: Option<Buffer>,
    shelf: Arc<Shelf>,
    pub(super) count: usize,
    pub(super) columns: usize,
    pub(super) stride: usize,
    operand: PhantomData<O>,
}

/// The largest number of inputs that a tile takes at once, and twice the widest register.
const DEPTH_MAX: usize = 32;

impl<O: Operand> Rows<O> {
    /// With room for whole tiles of `tile_rows` rows.
    ///
    /// # Errors
    /// When the system has no memory.
    pub fn new(
        shelf: &Arc<Shelf>,
        tile_rows: usize,
        rows: usize,
        columns: usize,
    ) -> Result<Self, BackendError> {
        Self::with_room(shelf, rows.next_multiple_of(tile_rows), rows, columns)
    }

    /// Rows that no product reads: there is no room but for them.
    ///
    /// # Errors
    /// When the system has no memory.
    pub fn exactly(shelf: &Arc<Shelf>, rows: usize, columns: usize) -> Result<Self, BackendError> {
        Self::with_room(shelf, rows, rows, columns)
    }

    fn with_room(
        shelf: &Arc<Shelf>,
        room: usize,
        rows: usize,
        columns: usize,
    ) -> Result<Self, BackendError> {
        let stride = columns.next_multiple_of(DEPTH_MAX);
        let buffer = shelf.take(room * stride * size_of::<O>())?;
        let made = Self {
            buffer: Some(buffer),
            shelf: Arc::clone(shelf),
            count: rows,
            columns,
            stride,
            operand: PhantomData,
        };
        if stride > columns {
            let Block { start, .. } = made.block_mut();
            for row in 0..rows {
                // SAFETY: the row lies in the buffer, and nobody else has the buffer yet.
                unsafe { start.add(row * stride + columns).write_bytes(0, stride - columns) }
            }
        }
        Ok(made)
    }

    /// # Panics
    /// When there is no such row.
    pub fn row(&self, at: usize) -> &[O] {
        assert!(at < self.count, "row {at} of {self:?}");
        let Block { start, stride } = self.block();
        // SAFETY: the row lies in the buffer, and all bits are numbers.
        unsafe { std::slice::from_raw_parts(start.add(at * stride), self.columns) }
    }

    pub fn block(&self) -> Block<*const O> {
        let Block { start, stride } = self.block_mut();
        Block { start: start.cast_const(), stride }
    }

    /// For tasks that write disjoint parts at a time when nobody reads them.
    pub fn block_mut(&self) -> Block<*mut O> {
        let start = self.buffer.as_ref().map_or(std::ptr::null_mut(), Buffer::start);
        Block { start: start.cast(), stride: self.stride }
    }
}

impl<O: Operand> Drop for Rows<O> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.shelf.put(buffer);
        }
    }
}

impl<O: Operand> fmt::Debug for Rows<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows[{}, {}]", self.count, self.columns)
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;

    #[test]
    fn a_buffer_is_used_again_where_it_fits() {
        let shelf = Arc::new(Shelf::default());
        let address = |rows: usize| Rows::<f32>::new(&shelf, 32, rows, 64).unwrap().block().start;
        let first = address(100);
        assert_eq!(address(90), first);
        assert_eq!(address(100), first);
        address(1_000);
        assert_eq!(shelf.0.lock().unwrap().len(), 1, "the smaller one was given up");
    }

    #[test]
    fn what_lies_between_rows_is_zero_whoever_had_the_buffer() {
        let shelf = Arc::new(Shelf::default());
        let dirty = Rows::<f32>::new(&shelf, 32, 32, 32).unwrap();
        // SAFETY: 32 rows of 32 numbers are there.
        unsafe { dirty.block_mut().start.write_bytes(0xff, 32 * 32) }
        drop(dirty);
        let rows = Rows::<bf16>::new(&shelf, 32, 3, 33).unwrap();
        assert_eq!(rows.stride, 64);
        for row in 0..3 {
            // SAFETY: the stride lies within the row.
            let gap =
                unsafe { std::slice::from_raw_parts(rows.block().start.add(row * 64 + 33), 31) };
            assert!(gap.iter().all(|x| x.to_bits() == 0));
        }
    }
}
