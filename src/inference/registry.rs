//! Which models there are on this machine, and whether they can be used.

mod fingerprint;
mod hub;
mod known;
mod shelf;

#[cfg(test)]
mod tests;

pub use fingerprint::fingerprint;
pub use hub::{FetchProgress, Hub};
pub use known::{KnownModel, KnownModelKind, check, check_embedding, list};
pub use shelf::{add, forget};

use std::io;
use std::path::PathBuf;

use super::ModelFilesError;
use crate::config::SettingsError;
use crate::gpu::ModelError;

#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("{path} cannot be read: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} cannot be written: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "{path} is no model folder: it has neither model.safetensors with config.json and \
         tokenizer.json, nor a .gguf file"
    )]
    NoModel { path: PathBuf },
    #[error("model {name} is not usable: {source}")]
    Load { name: String, source: ModelError },
    #[error("{path} is damaged: {reason}; fetch the model again")]
    Damaged { path: PathBuf, reason: String },
    #[error("a model {name} is known already; remove it first, or give the folder another name")]
    NameTaken { name: String },
    #[error("{name} is neither a folder nor a name on a hub (owner/name or owner/name@revision)")]
    NoName { name: String },
    #[error(
        "{name} is not on this machine and the hub cannot be reached: {reason}; connect once, or add a \
         folder with lode models add FOLDER"
    )]
    Offline { name: String, reason: String },
    #[error("the hub has no model {name}, or does not show it without a token (HF_HOME)")]
    NotOnHub { name: String },
    #[error(
        "the hub gives {name} only to those who have asked for it: accept its conditions on its page, \
         and store your token with hf auth login"
    )]
    Gated { name: String },
    #[error(
        "{name} has no files that can be used: config.json, tokenizer.json and model.safetensors, or a \
         .gguf file"
    )]
    NothingToFetch { name: String },
    #[error(
        "{file} did not arrive as the hub has it: {found}, expected {expected}; it is not used, try \
         again"
    )]
    Checksum { file: String, found: String, expected: String },
    #[error("{needed_mb} MB are needed on the disk of {path}, and {free_mb} MB are free")]
    DiskFull { path: PathBuf, needed_mb: u64, free_mb: u64 },
    #[error("no model {name} is on this machine; lode models lists them")]
    Unknown { name: String },
    #[error("{name} is a language model; searches need an embedding model")]
    NoEmbedding { name: String },
    #[error("model {name} is in use; choose another with lode models use first")]
    InUse { name: String },
    #[error("model {name} is part of the program and cannot be removed")]
    Bundled { name: String },
    #[error(transparent)]
    Files(#[from] ModelFilesError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

impl RegistryError {
    /// Whether disk or line are at fault rather than what was asked for.
    #[must_use]
    pub fn is_environment(&self) -> bool {
        match self {
            Self::NoModel { .. }
            | Self::NameTaken { .. }
            | Self::NoName { .. }
            | Self::NotOnHub { .. }
            | Self::NothingToFetch { .. }
            | Self::NoEmbedding { .. }
            | Self::Unknown { .. }
            | Self::InUse { .. }
            | Self::Bundled { .. } => false,
            Self::Read { .. }
            | Self::Write { .. }
            | Self::Load { .. }
            | Self::Damaged { .. }
            | Self::Offline { .. }
            | Self::Gated { .. }
            | Self::Checksum { .. }
            | Self::DiskFull { .. }
            | Self::Files(_)
            | Self::Settings(_) => true,
        }
    }
}
