//! The file of a graph: `docs/file-format.md`.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use memmap2::Mmap;

use super::image::Image;
use super::near::NODES_MAX;
use super::shape::{LEVELS_MAX, PAGE, Part, Shape};
use super::{Graph, GraphOptions};
use crate::data::ChangeNumber;

/// Changes when the format does; a file of another version is made anew.
const MAGIC: [u8; 8] = *b"LODEVEC1";

/// Bytes of the header that are in use, its checksum included.
const HEADER: usize = 576;
const CHECKSUM: usize = 32;
const STORE_MAX: usize = 64;

/// Where the checksums of the parts are.
const CHECKSUMS_AT: usize = 248;

/// Which vectors a graph holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorOrigin {
    /// The store that they come from.
    pub store: String,
    /// Number of the model that made them.
    pub model: i64,
}

/// Why a file cannot be used. Everything in it can be had from the store again.
#[derive(Debug, thiserror::Error)]
pub enum VectorFileError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("is no vector index of this version")]
    Foreign,
    #[error("is {found} bytes long where {expected} were written")]
    Length { expected: u64, found: u64 },
    #[error("is damaged: the checksum of {part} differs")]
    Damaged { part: String },
    #[error("holds other vectors than the store")]
    Other,
}

impl VectorFileError {
    fn damaged(part: impl std::fmt::Debug) -> Self {
        Self::Damaged { part: format!("{part:?}").to_lowercase() }
    }
}

/// The numbers of a header, in their order.
struct Fields<'a> {
    bytes: &'a [u8],
}

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.bytes.split_at(N);
        self.bytes = rest;
        let mut taken = [0; N];
        taken.copy_from_slice(head);
        taken
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

impl Graph {
    /// Writes the graph to `path`, so that it is there whole or not at all even after a power cut.
    pub fn save(
        &self,
        path: &Path,
        origin: &VectorOrigin,
        reached: ChangeNumber,
    ) -> Result<(), VectorFileError> {
        let draft = path.with_extension("draft");
        let mut file = File::create(&draft)?;
        file.write_all(&self.header(origin, reached))?;
        file.write_all(&self.image[PAGE..])?;
        file.sync_all()?;
        std::fs::rename(&draft, path)?;
        #[cfg(unix)]
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }

    fn header(&self, origin: &VectorOrigin, reached: ChangeNumber) -> Vec<u8> {
        let shape = &self.shape;
        let mut header = Vec::with_capacity(PAGE);
        header.extend(MAGIC);
        header.extend((shape.dim as u32).to_le_bytes());
        header.extend((shape.m as u32).to_le_bytes());
        header.extend((shape.nodes as u64).to_le_bytes());
        header.extend((shape.upper.len() as u32).to_le_bytes());
        header.extend(self.scale.to_le_bytes());
        let upper = shape.upper.iter().map(|count| *count as u64);
        for count in upper.chain(std::iter::repeat(0)).take(LEVELS_MAX) {
            header.extend(count.to_le_bytes());
        }
        header.extend(origin.model.to_le_bytes());
        header.extend(reached.0.to_le_bytes());
        let store = &origin.store.as_bytes()[..origin.store.len().min(STORE_MAX)];
        header.extend((store.len() as u64).to_le_bytes());
        header.extend(store.iter().copied().chain(std::iter::repeat(0)).take(STORE_MAX));
        debug_assert_eq!(header.len(), CHECKSUMS_AT);
        for part in Part::ALL {
            header.extend(self.checksum(part));
        }
        header.resize(HEADER - CHECKSUM, 0);
        let checksum = *blake3::hash(&header).as_bytes();
        header.extend(checksum);
        header.resize(PAGE, 0);
        header
    }

    fn checksum(&self, part: Part) -> [u8; CHECKSUM] {
        // Padding up to the next part is checked as well.
        *blake3::hash(&self.image[self.shape.padded(part)]).as_bytes()
    }

    /// Maps the file at `path`, which takes no longer for a large one: only the header and the length are
    /// checked, the rest by [`Graph::verify`].
    pub fn open(
        path: &Path,
        origin: &VectorOrigin,
        options: &GraphOptions,
    ) -> Result<(Self, ChangeNumber), VectorFileError> {
        let file = File::open(path)?;
        let found = file.metadata()?.len();
        if found < PAGE as u64 {
            return Err(VectorFileError::Length { expected: PAGE as u64, found });
        }
        // SAFETY: the file is private to the application, written once under another name and never
        // again; a process that wants another one makes a new file.
        let image = unsafe { Mmap::map(&file)? };
        let mut fields = Fields { bytes: &image[..HEADER] };
        if fields.take() != MAGIC {
            return Err(VectorFileError::Foreign);
        }
        let (header, checksum) = image[..HEADER].split_at(HEADER - CHECKSUM);
        if blake3::hash(header).as_bytes() != checksum
            || image[HEADER..PAGE].iter().any(|b| *b != 0)
        {
            return Err(VectorFileError::damaged("the header"));
        }
        let (dim, m) = (fields.u32() as usize, fields.u32() as usize);
        let (nodes, levels) = (fields.u64() as usize, fields.u32() as usize);
        let scale = f32::from_le_bytes(fields.take());
        let counts: Vec<usize> = (0..LEVELS_MAX).map(|_| fields.u64() as usize).collect();
        let model = i64::from_le_bytes(fields.take());
        let reached = ChangeNumber(fields.u64());
        let store_len = fields.u64() as usize;
        let store: [u8; STORE_MAX] = fields.take();
        let store = store.get(..store_len).unwrap_or_default();
        if dim != options.dim || model != origin.model || store != origin.store.as_bytes() {
            return Err(VectorFileError::Other);
        }
        let upper = counts.get(..levels).unwrap_or_default().to_vec();
        let is_falling = upper.is_sorted_by(|a, b| a >= b) && upper.iter().all(|n| *n <= nodes);
        if m != options.m || nodes == 0 || nodes > NODES_MAX || !is_falling {
            return Err(VectorFileError::Foreign);
        }
        let shape = Shape { dim, m, upper, nodes };
        let expected = shape.len() as u64;
        if found != expected {
            return Err(VectorFileError::Length { expected, found });
        }
        // What every walk needs is read ahead while other things go on.
        #[cfg(unix)]
        let _ = image.advise_range(memmap2::Advice::WillNeed, 0, shape.range(Part::Rows).start);
        Ok((Self::new(shape, scale, Image::File(image), options.simd), reached))
    }

    /// Compares every byte with the checksums in the header; false when it `is_cancelled` before.
    pub fn verify(&self, is_cancelled: &dyn Fn() -> bool) -> Result<bool, VectorFileError> {
        /// Bytes between two questions whether to stop: a millisecond or so.
        const STRETCH: usize = 1 << 22;
        let Image::File(image) = &self.image else { return Ok(true) };
        let mut fields = Fields { bytes: &image[CHECKSUMS_AT..] };
        for part in Part::ALL {
            let expected: [u8; CHECKSUM] = fields.take();
            let mut hasher = blake3::Hasher::new();
            for stretch in image[self.shape.padded(part)].chunks(STRETCH) {
                if is_cancelled() {
                    return Ok(false);
                }
                hasher.update(stretch);
            }
            if *hasher.finalize().as_bytes() != expected {
                return Err(VectorFileError::damaged(part));
            }
        }
        Ok(true)
    }
}
