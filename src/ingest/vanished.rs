use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::scan::is_within;
use super::{Exclusions, IngestError};
use crate::data::Source;
use crate::platform;
use crate::storage::{Root, Store};

/// Forgets what is known below `roots`, or of it only what is below the places of `only`, and no longer
/// exists or is left out of every root by `exclusions`; returns how many documents went.
///
/// Only a plain "not found" counts: a folder that cannot be entered now may be readable tomorrow, and a
/// disk that was unplugged comes back, so what is known of them stays.
pub(super) fn forget(
    store: &Store,
    roots: &[Root],
    only: Option<&BTreeSet<PathBuf>>,
    exclusions: &[String],
) -> Result<u64, IngestError> {
    let exclusions = Exclusions::new(&store.roots()?, exclusions);
    let goes = |source: &Source| {
        source.path().is_some_and(|path| is_gone(path) || exclusions.cover(path, false))
    };
    let mut going = Vec::new();
    for root in roots {
        let places: Vec<&Path> = match only {
            Some(only) => {
                only.iter().map(PathBuf::as_path).filter(|p| p.starts_with(&root.path)).collect()
            }
            None => vec![&root.path],
        };
        let mut going_here = Vec::new();
        for place in places {
            going_here.extend(store.sources_under(place)?.into_iter().filter(goes));
        }
        // Looked at last: the disk may have gone while its files were asked for.
        if is_online(root) {
            going.append(&mut going_here);
        }
    }
    // As late, for the same reason.
    let away: BTreeSet<PathBuf> =
        store.mounts()?.into_iter().filter(|mount| !platform::is_mount_point(mount)).collect();
    going.retain(|source| source.path().is_none_or(|path| !is_within(&away, path)));
    // A file may have come back while the others were looked at.
    if going.is_empty() { Ok(0) } else { Ok(store.remove_if(&going, goes)?) }
}

/// Whether a root can be looked into: one that is not there, or whose disk is not, is offline and nothing
/// of it was deleted.
#[must_use]
pub fn is_online(root: &Root) -> bool {
    root.path.exists() && (!root.is_mount || platform::is_mount_point(&root.path))
}

fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}
