use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::ModelFilesError;
use crate::inference::{Weights, bundled};

/// Where the files of one model lie.
pub(super) enum FileSource<'a> {
    Bundled,
    Folder(&'a Path),
}

/// The weights, as every model of the Hugging Face kind names them.
const WEIGHTS: &str = "model.safetensors";

impl FileSource<'_> {
    /// How an error names the file.
    pub fn path(&self, file: &str) -> PathBuf {
        match self {
            Self::Bundled => Path::new(bundled::NAME).join(file),
            Self::Folder(folder) => folder.join(file),
        }
    }

    /// The bytes of a file, `None` when there is none.
    pub fn find(&self, file: &str) -> Result<Option<Cow<'static, [u8]>>, ModelFilesError> {
        match self {
            Self::Bundled => Ok(bundled::file(file).map(Cow::Borrowed)),
            Self::Folder(folder) => {
                let path = folder.join(file);
                match std::fs::read(&path) {
                    Ok(bytes) => Ok(Some(Cow::Owned(bytes))),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                    Err(source) => Err(ModelFilesError::Read { path, source }),
                }
            }
        }
    }

    /// # Errors
    /// When there is none.
    pub fn read(&self, file: &str) -> Result<Cow<'static, [u8]>, ModelFilesError> {
        self.find(file)?.ok_or_else(|| ModelFilesError::Read {
            path: self.path(file),
            source: io::ErrorKind::NotFound.into(),
        })
    }

    /// A JSON file as `T`, `None` when there is none.
    pub fn find_json<T: DeserializeOwned>(&self, file: &str) -> Result<Option<T>, ModelFilesError> {
        let parse = |bytes: Cow<'_, [u8]>| {
            serde_json::from_slice(&bytes).map_err(|error| self.damaged(file, error))
        };
        self.find(file)?.map(parse).transpose()
    }

    pub fn read_json<T: DeserializeOwned>(&self, file: &str) -> Result<T, ModelFilesError> {
        self.find_json(file)?.ok_or_else(|| ModelFilesError::Read {
            path: self.path(file),
            source: io::ErrorKind::NotFound.into(),
        })
    }

    pub fn weights(&self) -> Result<Weights, ModelFilesError> {
        let Self::Folder(folder) = self else {
            return Ok(Weights::embedded(bundled::NAME, bundled::weights()));
        };
        let other = ["model.safetensors.index.json", "pytorch_model.bin", "tf_model.h5"];
        match other.into_iter().find(|file| folder.join(file).exists()) {
            Some(file) if !folder.join(WEIGHTS).exists() => Err(self.unsupported(
                file,
                format!("weights are read from one {WEIGHTS}, which is missing"),
            )),
            _ => Ok(Weights::map(&folder.join(WEIGHTS))?),
        }
    }

    pub fn damaged(&self, file: &str, reason: impl Display) -> ModelFilesError {
        ModelFilesError::Damaged { path: self.path(file), reason: reason.to_string() }
    }

    pub fn unsupported(&self, file: &str, reason: impl Into<String>) -> ModelFilesError {
        ModelFilesError::Unsupported { path: self.path(file), reason: reason.into() }
    }
}
