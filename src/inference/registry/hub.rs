//! Models from a hub in the way of Hugging Face: what is needed of one, and no more.
//!
//! A model is fetched under a name of its own that no list shows, checked, and made visible by renaming
//! its folder. What was fetched of a file stays when the line breaks, and the next attempt goes on there.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use hf_hub::api::{Progress, RepoInfo};
use hf_hub::{Cache, Repo, RepoType};
use sha2::{Digest as _, Sha256};

use super::{RegistryError, check};
use crate::config::{HubName, ModelFiles, downloads};
use crate::platform;

/// How often one file is tried again in one attempt, with growing pauses.
const RETRIES: usize = 3;

/// What stays free on the disk beside the model.
const FREE_BYTES_MIN: u64 = 256 << 20;

const NEEDED: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];
const WANTED: [&str; 4] = [
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
];

/// Of several sizes of a language model the first of these: small, and close to the original.
const QUANTIZATIONS: [&str; 4] = ["q4_k_m", "q4_1", "q4_0", "q8_0"];

/// How far a model is fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchProgress {
    pub file: String,
    pub bytes_done: u64,
    /// Of all files.
    pub bytes_total: u64,
}

/// Where models come from.
#[derive(Clone, Debug)]
pub struct Hub {
    /// `None`: `HF_ENDPOINT`, else the public hub.
    pub endpoint: Option<String>,
    pub retries: usize,
}

impl Default for Hub {
    fn default() -> Self {
        Self { endpoint: None, retries: RETRIES }
    }
}

/// A file of a model on the hub.
struct RemoteFile {
    name: String,
    bytes: u64,
    /// Known of large files; of others only the size is.
    sha256: Option<String>,
}

impl Hub {
    /// Fetches a model into a data directory and opens it once. Blocks; `progress` is told all along.
    ///
    /// # Errors
    /// [`RegistryError`] says whether there is no line, no such model or no right to it, and what was
    /// wrong with what came.
    pub fn fetch(
        &self,
        name: &HubName,
        data_dir: &Path,
        progress: &mut dyn FnMut(FetchProgress),
    ) -> Result<ModelFiles, RegistryError> {
        let files = name.files(data_dir);
        let home = downloads(data_dir);
        let folder = home.join(name.folder_name());
        if folder.is_dir() {
            return Ok(files);
        }
        let parts = home.join(format!(".parts-{}", name.folder_name()));
        create(&parts)?;
        // Of two processes that fetch the same model, the second finds it there.
        let _turn = lock(&parts.join("turn.lock"))?;
        if folder.is_dir() {
            return Ok(files);
        }
        let fresh = home.join(format!(".new-{}", name.folder_name()));
        let fetched = self.fetch_into(&fresh, name, &parts, progress);
        let checked = fetched.and_then(|()| check(&ModelFiles::Folder(fresh.clone())).map(drop));
        if let Err(error) = checked {
            remove(&fresh)?;
            return Err(error);
        }
        let write = |source| RegistryError::Write { path: folder.clone(), source };
        fs::rename(&fresh, &folder).map_err(write)?;
        remove(&parts)?;
        Ok(files)
    }

    fn fetch_into(
        &self,
        fresh: &Path,
        name: &HubName,
        parts: &Path,
        progress: &mut dyn FnMut(FetchProgress),
    ) -> Result<(), RegistryError> {
        let fail = |error| failure(name, error);
        let api = self.api(parts).map_err(fail)?;
        let repo = |revision| {
            let id = format!("{}/{}", name.owner, name.model);
            Repo::with_revision(id, RepoType::Model, revision)
        };
        let revision = name.revision.clone().unwrap_or_else(|| "main".to_owned());
        let info = api.repo(repo(revision)).info().map_err(fail)?;
        // By commit from here on, so that all files are of one version.
        let commit = repo(info.sha.clone());
        let remote = api.repo(commit.clone());
        let wanted = choose(name, &info)?;
        let describe = |file: &String| describe(&api, &remote, file).map_err(fail);
        let described: Vec<RemoteFile> = wanted.iter().map(describe).collect::<Result<_, _>>()?;
        let bytes_total: u64 = described.iter().map(|file| file.bytes).sum();
        check_disk(parts, bytes_total)?;

        remove(fresh)?;
        let known = Cache::new(parts.to_owned()).repo(commit);
        let mut before = 0;
        for file in &described {
            let shown = Shown { file, before, bytes_total, done: 0, tell: progress };
            let path = match known.get(&file.name) {
                Some(path) => path,
                None => remote.download_with_progress(&file.name, shown).map_err(fail)?,
            };
            // The cache links to where the bytes are.
            let path = path.canonicalize().unwrap_or(path);
            if let Err(error) = verify(&path, file) {
                // Otherwise the next attempt would take it for whole.
                remove(parts)?;
                return Err(error);
            }
            let target = fresh.join(&file.name);
            create(target.parent().unwrap_or(fresh))?;
            fs::copy(&path, &target)
                .map_err(|source| RegistryError::Write { path: target.clone(), source })?;
            before += file.bytes;
        }
        Ok(())
    }

    fn api(&self, parts: &Path) -> Result<Api, ApiError> {
        let builder = ApiBuilder::from_env()
            .with_cache_dir(parts.to_owned())
            .with_progress(false)
            .with_retries(self.retries);
        match &self.endpoint {
            Some(endpoint) => builder.with_endpoint(endpoint.clone()).build(),
            None => builder.build(),
        }
    }
}

/// The files that a model is made of.
fn choose(name: &HubName, info: &RepoInfo) -> Result<Vec<String>, RegistryError> {
    let there: Vec<&str> = info.siblings.iter().map(|file| file.rfilename.as_str()).collect();
    if NEEDED.iter().all(|file| there.contains(file)) {
        let wanted = NEEDED.iter().chain(&WANTED).filter(|file| there.contains(*file));
        return Ok(wanted.map(ToString::to_string).collect());
    }
    let mut language: Vec<&str> = there
        .into_iter()
        .filter(|file| {
            let is_gguf =
                Path::new(file).extension().is_some_and(|e| e.eq_ignore_ascii_case("gguf"));
            is_gguf && !file.contains('/')
        })
        .collect();
    language.sort_unstable();
    let of = |part: &&str| language.iter().find(|file| file.to_lowercase().contains(*part));
    let chosen = QUANTIZATIONS.iter().find_map(of).or_else(|| language.first());
    chosen
        .map(|file| vec![(*file).to_owned()])
        .ok_or_else(|| RegistryError::NothingToFetch { name: name.to_string() })
}

fn describe(api: &Api, remote: &ApiRepo, file: &str) -> Result<RemoteFile, ApiError> {
    let metadata = api.metadata(&remote.url(file))?;
    let etag = metadata.etag();
    let is_sha256 = etag.len() == 64 && etag.bytes().all(|b| b.is_ascii_hexdigit());
    let sha256 = is_sha256.then(|| etag.to_lowercase());
    Ok(RemoteFile { name: file.to_owned(), bytes: metadata.size() as u64, sha256 })
}

fn check_disk(path: &Path, bytes: u64) -> Result<(), RegistryError> {
    // Twice: what was fetched is copied once it is whole. Where the system does not tell, writing fails.
    let needed = 2 * bytes + FREE_BYTES_MIN;
    match platform::free_bytes(path) {
        Ok(free) if free < needed => Err(RegistryError::DiskFull {
            path: path.to_owned(),
            needed_mb: needed >> 20,
            free_mb: free >> 20,
        }),
        _ => Ok(()),
    }
}

fn verify(path: &Path, file: &RemoteFile) -> Result<(), RegistryError> {
    let read = |source| RegistryError::Read { path: path.to_owned(), source };
    let wrong = |found: String, expected: String| RegistryError::Checksum {
        file: file.name.clone(),
        found,
        expected,
    };
    let mut opened = File::open(path).map_err(read)?;
    let bytes = opened.metadata().map_err(read)?.len();
    if bytes != file.bytes {
        return Err(wrong(format!("{bytes} bytes"), format!("{} bytes", file.bytes)));
    }
    let Some(expected) = &file.sha256 else { return Ok(()) };
    let mut hasher = Sha256::new();
    io::copy(&mut opened, &mut hasher).map_err(read)?;
    let found = hex(&hasher.finalize());
    if found == *expected { Ok(()) } else { Err(wrong(found, expected.clone())) }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // A string takes what is written.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Sorts what the hub said by what a person can do about it.
fn failure(name: &HubName, error: ApiError) -> RegistryError {
    let name = name.to_string();
    match error {
        ApiError::TooManyRetries(last) => failure_of(name, *last),
        other => failure_of(name, other),
    }
}

fn failure_of(name: String, error: ApiError) -> RegistryError {
    match error {
        ApiError::RequestError(request) => match *request {
            ureq::Error::StatusCode(401 | 403) => RegistryError::Gated { name },
            ureq::Error::StatusCode(404) => RegistryError::NotOnHub { name },
            other => RegistryError::Offline { name, reason: other.to_string() },
        },
        other => RegistryError::Offline { name, reason: other.to_string() },
    }
}

fn create(path: &Path) -> Result<(), RegistryError> {
    fs::create_dir_all(path)
        .map_err(|source| RegistryError::Write { path: path.to_owned(), source })
}

pub(super) fn remove(path: &Path) -> Result<(), RegistryError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(RegistryError::Write { path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

fn lock(path: &PathBuf) -> Result<File, RegistryError> {
    let write = |source| RegistryError::Write { path: path.clone(), source };
    let file = File::create(path).map_err(write)?;
    file.lock().map_err(write)?;
    Ok(file)
}

/// What hf-hub tells of one file, as a share of all.
struct Shown<'a> {
    file: &'a RemoteFile,
    before: u64,
    bytes_total: u64,
    done: u64,
    tell: &'a mut dyn FnMut(FetchProgress),
}

impl Progress for Shown<'_> {
    fn init(&mut self, _size: usize, _filename: &str) {
        // Also told when a broken file is taken up again.
        self.done = 0;
    }

    fn update(&mut self, size: usize) {
        self.done += size as u64;
        (self.tell)(FetchProgress {
            file: self.file.name.clone(),
            bytes_done: self.before + self.done,
            bytes_total: self.bytes_total,
        });
    }

    fn finish(&mut self) {}
}
