use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};

#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    #[error("weights {path} cannot be opened: {source}")]
    Open { path: PathBuf, source: std::io::Error },
    #[error("weights {name} are damaged: {reason}; fetch the model again")]
    Damaged { name: String, reason: String },
    #[error("weights {name} have no tensor {tensor}: this is no encoder of its kind")]
    Missing { name: String, tensor: String },
    #[error("tensor {tensor} in {name} is {got}, expected {expected}")]
    Shape { name: String, tensor: String, expected: String, got: String },
}

/// The weights of a model: part of the binary, or a mapped file. Pages are read when first touched.
#[derive(Debug)]
pub struct Weights {
    name: String,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Embedded(&'static [u8]),
    Mapped(Mmap),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightType {
    F16,
    Bf16,
    F32,
}

impl WeightType {
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
        }
    }
}

/// A tensor as it lies in the file, row by row, little-endian.
#[derive(Clone, Debug)]
pub struct WeightView<'a> {
    pub shape: Vec<usize>,
    pub dtype: WeightType,
    pub bytes: &'a [u8],
    /// What the bytes are part of.
    pub weights: &'a Arc<Weights>,
}

impl<'a> WeightView<'a> {
    /// Some rows of a matrix.
    #[must_use]
    pub fn rows(&self, range: std::ops::Range<usize>) -> WeightView<'a> {
        let row_bytes = self.bytes.len() / self.shape[0];
        WeightView {
            shape: std::iter::once(range.len()).chain(self.shape[1..].iter().copied()).collect(),
            dtype: self.dtype,
            bytes: &self.bytes[range.start * row_bytes..range.end * row_bytes],
            weights: self.weights,
        }
    }
}

impl Weights {
    #[must_use]
    pub fn embedded(name: &str, bytes: &'static [u8]) -> Self {
        Self { name: name.to_owned(), bytes: Bytes::Embedded(bytes) }
    }

    /// Maps a safetensors file.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn map(path: &Path) -> Result<Self, WeightsError> {
        let open = |source| WeightsError::Open { path: path.to_owned(), source };
        let file = std::fs::File::open(path).map_err(open)?;
        // SAFETY: the map is read-only and private to this struct. Another process that truncated the
        // file while it is mapped could raise a bus error, as with every mapped file.
        let map = unsafe { Mmap::map(&file) }.map_err(open)?;
        Ok(Self { name: path.display().to_string(), bytes: Bytes::Mapped(map) })
    }

    /// The whole file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Embedded(bytes) => bytes,
            Bytes::Mapped(map) => map.as_ref(),
        }
    }

    /// Reads the header and checks it against the length of the file.
    ///
    /// # Errors
    /// When the bytes are no safetensors, or cut short.
    pub fn tensors(self: &Arc<Self>) -> Result<Tensors<'_>, WeightsError> {
        let inner = SafeTensors::deserialize(self.bytes()).map_err(|error| {
            WeightsError::Damaged { name: self.name.clone(), reason: error.to_string() }
        })?;
        let prefix = inner
            .names()
            .into_iter()
            .find_map(|name| name.strip_suffix("embeddings.word_embeddings.weight"))
            .unwrap_or_default()
            .to_owned();
        Ok(Tensors { weights: self, inner, prefix })
    }
}

/// The named tensors of one file. Models exported from a larger class carry a prefix such as `bert.`,
/// which is found and added.
#[derive(Debug)]
pub struct Tensors<'a> {
    weights: &'a Arc<Weights>,
    inner: SafeTensors<'a>,
    prefix: String,
}

impl<'a> Tensors<'a> {
    /// # Errors
    /// When there is no such tensor, or it has another shape or an unsupported type.
    pub fn get(&self, tensor: &str, shape: &[usize]) -> Result<WeightView<'a>, WeightsError> {
        let full = format!("{}{tensor}", self.prefix);
        let missing =
            |_| WeightsError::Missing { name: self.weights.name.clone(), tensor: full.clone() };
        let view = self.inner.tensor(&full).map_err(missing)?;
        let unexpected = || WeightsError::Shape {
            name: self.weights.name.clone(),
            tensor: full.clone(),
            expected: format!("{shape:?} of F16, BF16 or F32"),
            got: format!("{:?} of {:?}", view.shape(), view.dtype()),
        };
        let dtype = match view.dtype() {
            Dtype::F16 => WeightType::F16,
            Dtype::BF16 => WeightType::Bf16,
            Dtype::F32 => WeightType::F32,
            _ => return Err(unexpected()),
        };
        if view.shape() != shape {
            return Err(unexpected());
        }
        Ok(WeightView { shape: shape.to_vec(), dtype, bytes: view.data(), weights: self.weights })
    }
}
