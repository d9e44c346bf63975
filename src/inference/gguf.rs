//! Files in GGUF, the format of llama.cpp: metadata, a tokenizer, and the weights of a language model.
//!
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>. A file may come from anywhere, so
//! everything it says about itself is checked before anything is made of it.

mod tokenizer;
mod vocabulary;

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use candle_core::Device;
use candle_core::quantized::QTensor;
use candle_core::quantized::gguf_file::{Content, Value};

pub use tokenizer::{GgufTokenizer, TokenizerKind};

#[derive(Debug, thiserror::Error)]
pub enum GgufError {
    #[error("language model {path} cannot be read: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("language model {path} is damaged: {reason}; fetch the file again")]
    Damaged { path: PathBuf, reason: String },
    #[error("language model {path} has no {key:?}, which is needed to run it")]
    Missing { path: PathBuf, key: String },
    #[error("language model {path} has {key:?} = {got}, which is not supported; {supported}")]
    Unsupported { path: PathBuf, key: String, got: String, supported: &'static str },
}

/// The header of a GGUF file. Weights are read from the file when they are asked for.
#[derive(Debug)]
pub struct GgufFile {
    path: PathBuf,
    content: Content,
}

impl GgufFile {
    /// Reads the header, and checks that every tensor it names lies within the file.
    ///
    /// # Errors
    /// When the file cannot be read, is no GGUF, or is cut short.
    pub fn open(path: &Path) -> Result<Self, GgufError> {
        let unreadable = |source| GgufError::Read { path: path.to_owned(), source };
        let damaged = |reason| GgufError::Damaged { path: path.to_owned(), reason };
        let file = File::open(path).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        // An alignment of zero makes candle 0.11.1 divide by it.
        let content = catch_unwind(|| Content::read(&mut BufReader::new(file)))
            .map_err(|_panic| damaged("its header contradicts itself".to_owned()))?
            .map_err(|error| damaged(error.to_string()))?;
        let gguf = Self { path: path.to_owned(), content };
        gguf.check_extents(bytes)?;
        Ok(gguf)
    }

    fn check_extents(&self, file_bytes: u64) -> Result<(), GgufError> {
        for (name, info) in &self.content.tensor_infos {
            let (block, block_bytes) = (info.ggml_dtype.block_size(), info.ggml_dtype.type_size());
            let elements = info.shape.dims().iter().try_fold(1_usize, |n, dim| n.checked_mul(*dim));
            let end = elements
                .filter(|elements| elements.is_multiple_of(block))
                .and_then(|elements| (elements / block).checked_mul(block_bytes))
                .and_then(|bytes| (bytes as u64).checked_add(info.offset))
                .and_then(|bytes| bytes.checked_add(self.content.tensor_data_offset));
            if end.is_none_or(|end| end > file_bytes) {
                let shape = info.shape.dims();
                return Err(self.damaged(format!(
                    "tensor {name} of shape {shape:?} does not lie within its {file_bytes} bytes"
                )));
            }
        }
        Ok(())
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub fn has_tensor(&self, name: &str) -> bool {
        self.content.tensor_infos.contains_key(name)
    }

    /// Rows and columns of a tensor, or the length of a vector.
    ///
    /// # Errors
    /// When there is no such tensor.
    pub fn shape(&self, tensor: &str) -> Result<&[usize], GgufError> {
        let info = self.content.tensor_infos.get(tensor);
        Ok(info.ok_or_else(|| self.missing(tensor))?.shape.dims())
    }

    /// Reads a tensor into main memory, as it is quantized.
    ///
    /// # Errors
    /// When there is none of this name and shape, or the file has changed since it was opened.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<QTensor, GgufError> {
        let got = self.shape(name)?;
        if got != shape {
            return Err(
                self.damaged(format!("tensor {name} has shape {got:?}, expected {shape:?}"))
            );
        }
        let mut file = File::open(&self.path)
            .map_err(|source| GgufError::Read { path: self.path.clone(), source })?;
        self.content
            .tensor(&mut file, name, &Device::Cpu)
            .map_err(|error| self.damaged(error.to_string()))
    }

    /// # Errors
    /// When there is no such text.
    pub fn text(&self, key: &str) -> Result<&str, GgufError> {
        self.optional_text(key).ok_or_else(|| self.missing(key))
    }

    #[must_use]
    pub fn optional_text(&self, key: &str) -> Option<&str> {
        match self.content.metadata.get(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    #[must_use]
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.content.metadata.get(key) {
            Some(Value::Bool(flag)) => Some(*flag),
            _ => None,
        }
    }

    /// A whole number, whatever its width in the file.
    ///
    /// # Errors
    /// When there is no such number, or it is negative.
    pub fn count(&self, key: &str) -> Result<usize, GgufError> {
        self.optional_count(key).ok_or_else(|| self.missing(key))
    }

    #[must_use]
    pub fn optional_count(&self, key: &str) -> Option<usize> {
        count(self.content.metadata.get(key)?)
    }

    /// # Errors
    /// When there is no such number, or it is not finite.
    pub fn number(&self, key: &str) -> Result<f32, GgufError> {
        self.optional_number(key).ok_or_else(|| self.missing(key))
    }

    #[must_use]
    pub fn optional_number(&self, key: &str) -> Option<f32> {
        self.content.metadata.get(key)?.to_f32().ok().filter(|number| number.is_finite())
    }

    /// # Errors
    /// When there is no such list, or something in it is no text.
    pub fn texts(&self, key: &str) -> Result<Vec<&str>, GgufError> {
        self.list(key, |value| value.to_string().ok().map(String::as_str))
    }

    /// # Errors
    /// When there is no such list, or something in it is no number.
    pub fn numbers(&self, key: &str) -> Result<Vec<f32>, GgufError> {
        self.list(key, |value| value.to_f32().ok())
    }

    /// # Errors
    /// When there is no such list, or something in it is no whole number.
    pub fn counts(&self, key: &str) -> Result<Vec<usize>, GgufError> {
        self.list(key, count)
    }

    fn list<'a, T>(
        &'a self,
        key: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Vec<T>, GgufError> {
        let Some(Value::Array(values)) = self.content.metadata.get(key) else {
            return Err(self.missing(key));
        };
        let read: Option<Vec<T>> = values.iter().map(read).collect();
        read.ok_or_else(|| self.damaged(format!("{key:?} holds values of a wrong type")))
    }

    /// Frees the vocabulary and all else but the places of the tensors.
    pub(super) fn forget_metadata(&mut self) {
        self.content.metadata = std::collections::HashMap::default();
    }

    pub(super) fn damaged(&self, reason: impl Into<String>) -> GgufError {
        GgufError::Damaged { path: self.path.clone(), reason: reason.into() }
    }

    pub(super) fn missing(&self, key: &str) -> GgufError {
        GgufError::Missing { path: self.path.clone(), key: key.to_owned() }
    }

    pub(super) fn unsupported(
        &self,
        key: &str,
        got: impl Display,
        supported: &'static str,
    ) -> GgufError {
        let (path, key) = (self.path.clone(), key.to_owned());
        GgufError::Unsupported { path, key, got: got.to_string(), supported }
    }
}

fn count(value: &Value) -> Option<usize> {
    match *value {
        Value::U8(n) => Some(n.into()),
        Value::U16(n) => Some(n.into()),
        Value::U32(n) => usize::try_from(n).ok(),
        Value::U64(n) => usize::try_from(n).ok(),
        Value::I8(n) => usize::try_from(n).ok(),
        Value::I16(n) => usize::try_from(n).ok(),
        Value::I32(n) => usize::try_from(n).ok(),
        Value::I64(n) => usize::try_from(n).ok(),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod fixture;
#[cfg(test)]
mod tests;
