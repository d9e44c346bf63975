use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::RegistryError;
use crate::config::{DeviceChoice, HubName, ModelFiles, Settings, downloads};
use crate::gpu::{Lane, Model, ModelError};
use crate::inference::{EmbeddingModel, bundled};
use crate::platform;

/// A model on this machine.
#[derive(Clone, Debug)]
pub struct KnownModel {
    pub files: ModelFiles,
    pub kind: KnownModelKind,
    /// Components of an embedding.
    pub dim: Option<usize>,
    /// Of its files.
    pub bytes: u64,
    /// Why it cannot be used.
    pub problem: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownModelKind {
    Embedding,
    Language,
    Unknown,
}

/// Every model: the one in the binary, folders that were added, and what was fetched. The weights are
/// not read.
///
/// # Errors
/// When the folder of what was fetched cannot be read.
pub fn list(data_dir: &Path, settings: &Settings) -> Result<Vec<KnownModel>, RegistryError> {
    let mut models = vec![ModelFiles::Bundled];
    models.extend(settings.model_folders.iter().cloned().map(ModelFiles::Folder));
    let folder = downloads(data_dir);
    let mut fetched: Vec<HubName> = match fs::read_dir(&folder) {
        Ok(entries) => entries
            .flatten()
            .filter_map(|entry| HubName::from_folder_name(entry.file_name().to_str()?))
            .collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(RegistryError::Read { path: folder, source }),
    };
    fetched.sort();
    models.extend(fetched.into_iter().map(|name| name.files(data_dir)));
    Ok(models.into_iter().map(describe).collect())
}

fn describe(files: ModelFiles) -> KnownModel {
    let kind = kind_of(&files);
    let mut known = KnownModel { bytes: bytes_of(&files), kind, dim: None, problem: None, files };
    match kind {
        KnownModelKind::Embedding => match EmbeddingModel::open(&known.files) {
            Ok(model) => known.dim = Some(model.config.width),
            Err(error) => known.problem = Some(error.to_string()),
        },
        KnownModelKind::Language => {}
        KnownModelKind::Unknown => {
            let path = known.files.folder().unwrap_or(Path::new("")).to_owned();
            known.problem = Some(RegistryError::NoModel { path }.to_string());
        }
    }
    known
}

/// Opens a model wholly, as it will be opened to be used, and describes it.
///
/// # Errors
/// When anything of it is missing, damaged or of a kind that is not supported.
pub fn check(files: &ModelFiles) -> Result<KnownModel, RegistryError> {
    let kind = kind_of(files);
    let dim = match kind {
        KnownModelKind::Embedding => Some(load_once(files)?),
        KnownModelKind::Language => {
            check_gguf(files)?;
            None
        }
        KnownModelKind::Unknown => {
            let path = files.folder().unwrap_or(Path::new("")).to_owned();
            return Err(RegistryError::NoModel { path });
        }
    };
    Ok(KnownModel { kind, dim, bytes: bytes_of(files), problem: None, files: files.clone() })
}

/// Whether a model can be opened to embed, as far as it shows without its weights.
///
/// # Errors
/// When it is damaged, or a language model.
pub fn check_embedding(files: &ModelFiles) -> Result<(), RegistryError> {
    match kind_of(files) {
        KnownModelKind::Embedding => Ok(EmbeddingModel::open(files).map(drop)?),
        KnownModelKind::Language => Err(RegistryError::NoEmbedding { name: files.name() }),
        KnownModelKind::Unknown => {
            let path = files.folder().unwrap_or(Path::new("")).to_owned();
            Err(RegistryError::NoModel { path })
        }
    }
}

/// Components of an embedding; every tensor was found with its shape.
fn load_once(files: &ModelFiles) -> Result<usize, RegistryError> {
    let loader = EmbeddingModel::open(files)?.into_loader(DeviceChoice::Cpu, 1)?;
    let load = || -> Result<Model, ModelError> {
        let mut upload = loader.prepare(Lane { index: 0, lanes: 1 })?;
        loop {
            if let Some(model) = upload.step()? {
                return Ok(model);
            }
        }
    };
    let model = load().map_err(|source| RegistryError::Load { name: files.name(), source })?;
    Ok(match model {
        Model::Encoder(encoder) => encoder.info().dim,
        Model::Decoder(decoder) => decoder.info().dim,
    })
}

fn check_gguf(files: &ModelFiles) -> Result<(), RegistryError> {
    let Some(path) = files.folder().and_then(|folder| gguf_files(folder).into_iter().next()) else {
        return Ok(());
    };
    let read = |source| RegistryError::Read { path: path.clone(), source };
    let mut file = fs::File::open(&path).map_err(read)?;
    candle_core::quantized::gguf_file::Content::read(&mut file).map_err(|error| {
        RegistryError::Damaged { path: path.clone(), reason: error.to_string() }
    })?;
    Ok(())
}

fn kind_of(files: &ModelFiles) -> KnownModelKind {
    let Some(folder) = files.folder() else { return KnownModelKind::Embedding };
    if folder.join("config.json").is_file() && folder.join("model.safetensors").is_file() {
        KnownModelKind::Embedding
    } else if gguf_files(folder).is_empty() {
        KnownModelKind::Unknown
    } else {
        KnownModelKind::Language
    }
}

fn gguf_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_gguf = |path: &PathBuf| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gguf"));
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_gguf).collect();
    files.sort();
    files
}

fn bytes_of(files: &ModelFiles) -> u64 {
    files.folder().map_or_else(|| bundled::weights().len() as u64, platform::directory_bytes)
}
