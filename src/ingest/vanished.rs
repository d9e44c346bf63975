use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::IngestError;
use crate::data::Source;
use crate::storage::Store;

/// Forgets what is stored below `folders` and no longer exists; returns how many documents went.
///
/// Only a plain "not found" counts: a folder that cannot be entered now may be readable tomorrow, so
/// what is known of it stays.
pub(super) fn forget(store: &Store, folders: &[PathBuf]) -> Result<u64, IngestError> {
    let mut gone = Vec::new();
    for folder in folders {
        gone.extend(store.sources_under(folder)?.into_iter().filter(is_gone));
    }
    if gone.is_empty() { Ok(0) } else { Ok(store.remove(&gone)?) }
}

fn is_gone(source: &Source) -> bool {
    source.path().is_some_and(|path: &Path| {
        path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
    })
}
