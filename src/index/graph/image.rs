//! The memory that a graph lies in: made here, or a file.

use std::ops::Deref;

use memmap2::{Mmap, MmapMut};

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
