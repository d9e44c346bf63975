use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::RegistryError;
use crate::config::ModelFiles;

/// Places in the weights that are looked at. Weights that were trained further differ nearly
/// everywhere, so a few places tell, and a start does not read gigabytes.
const PLACES: u64 = 64;
const PLACE_BYTES: u64 = 4 << 10;

const SMALL_FILES: [&str; 6] = [
    "config.json",
    "tokenizer.json",
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
];

/// Tells two versions of a model's files from each other; `None` for the one in the binary, whose
/// version is the program's.
///
/// # Errors
/// When a file is there and cannot be read.
pub fn fingerprint(files: &ModelFiles) -> Result<Option<String>, RegistryError> {
    let Some(folder) = files.folder() else { return Ok(None) };
    let mut hasher = blake3::Hasher::new();
    for name in SMALL_FILES {
        let path = folder.join(name);
        match std::fs::read(&path) {
            Ok(bytes) => hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => hasher.update(b"none"),
            Err(source) => return Err(RegistryError::Read { path, source }),
        };
    }
    let path = folder.join("model.safetensors");
    sample(&path, &mut hasher).map_err(|source| RegistryError::Read { path, source })?;
    Ok(Some(hasher.finalize().to_hex()[..16].to_owned()))
}

fn sample(path: &Path, hasher: &mut blake3::Hasher) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    hasher.update(&length.to_le_bytes());
    for place in 0..PLACES {
        let start = length.saturating_sub(PLACE_BYTES) * place / (PLACES - 1);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        (&mut file).take(PLACE_BYTES).read_to_end(&mut bytes)?;
        hasher.update(&bytes);
    }
    Ok(())
}
