//! The memory that a graph lies in: made here, or a file.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use memmap2::{Mmap, MmapMut};

use super::plain::{Plain, cast, cast_mut};

/// Page-aligned bytes.
#[derive(Debug)]
pub(super) enum Image {
    Memory(MmapMut),
    File(Mmap),
}

impl Deref for Image {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::File(bytes) => bytes,
        }
    }
}

/// Memory of `len` zeros. It is walked at random, so large pages are asked for; without them it only gets
/// slower.
pub(super) fn memory(len: usize) -> std::io::Result<MmapMut> {
    let bytes = MmapMut::map_anon(len)?;
    #[cfg(target_os = "linux")]
    let _ = bytes.advise(memmap2::Advice::HugePage);
    Ok(bytes)
}

/// Numbers that are walked at random, at first all zero.
#[derive(Debug)]
pub(super) struct Numbers<T> {
    bytes: MmapMut,
    len: usize,
    of: PhantomData<T>,
}

impl<T: Plain> Numbers<T> {
    pub fn zeros(len: usize) -> std::io::Result<Self> {
        // No mapping is empty.
        Ok(Self { bytes: memory((len * size_of::<T>()).max(1))?, len, of: PhantomData })
    }
}

impl<T: Plain> Deref for Numbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        cast(&self.bytes[..self.len * size_of::<T>()])
    }
}

impl<T: Plain> DerefMut for Numbers<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        cast_mut(&mut self.bytes[..self.len * size_of::<T>()])
    }
}
