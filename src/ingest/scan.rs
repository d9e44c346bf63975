use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::WalkBuilder;
use tracing::debug_span;

use super::exclusion;
use crate::config::Limits;
use crate::platform;

/// What a scan finds, one at a time.
#[derive(Debug)]
pub(super) enum Found {
    File(FoundFile),
    /// A folder that another disk is mounted at; what it holds is told of after it.
    Mount(PathBuf),
    /// Something that is there and is not read.
    Skipped {
        path: PathBuf,
        reason: String,
    },
}

impl Found {
    fn path(&self) -> &Path {
        match self {
            Self::File(file) => &file.path,
            Self::Mount(path) | Self::Skipped { path, .. } => path,
        }
    }
}

#[derive(Debug)]
pub(super) struct FoundFile {
    pub path: PathBuf,
    pub bytes: u64,
    /// Seconds since the Unix epoch.
    pub modified: Option<i64>,
    /// Nanoseconds since the Unix epoch; `None` while it could be written again without its changing.
    pub stamp: Option<i64>,
}

/// Where to look.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Absolute files and folders.
    pub roots: Vec<PathBuf>,
    /// Only these places below them, with all that is in them.
    pub only: Option<Arc<BTreeSet<PathBuf>>>,
}

/// Lists the files of a scope in the order of their names and hands each to `found`, until that
/// returns false.
///
/// A file that is named is taken as it is, unless a link has taken its place. A folder is walked without following symbolic links, and
/// without what its `.gitignore` files and [`Limits::exclusions`] exclude and hidden files: a link to a
/// place inside leads to what is found anyway, and one to a place outside is reported. Loops cannot occur.
pub(super) fn scan(scope: &Scope, limits: &Limits, mut found: impl FnMut(Found) -> bool) {
    let _span = debug_span!("scan").entered();
    for root in &scope.roots {
        let go_on = match std::fs::metadata(root) {
            Ok(metadata) if metadata.is_dir() => {
                scan_folder(root, scope.only.clone(), limits, &mut found)
            }
            Ok(_) if root.is_symlink() => found(Found::Skipped {
                path: root.clone(),
                reason: "a link now; add the file that it leads to".to_owned(),
            }),
            Ok(metadata) => found(classify(root.clone(), &metadata, limits)),
            Err(error) => found(Found::Skipped { path: root.clone(), reason: reason(&error) }),
        };
        if !go_on {
            return;
        }
    }
}

fn scan_folder(
    root: &Path,
    only: Option<Arc<BTreeSet<PathBuf>>>,
    limits: &Limits,
    found: &mut impl FnMut(Found) -> bool,
) -> bool {
    let mut walk = WalkBuilder::new(root);
    walk.follow_links(false)
        .require_git(false)
        .max_depth(Some(limits.depth_max))
        .overrides(exclusion::overrides(root, &limits.exclusions))
        .sort_by_file_name(std::ffi::OsStr::cmp);
    let asked = only.clone();
    if let Some(only) = only {
        walk.filter_entry(move |entry| leads_to(&only, entry.path()));
    }
    let is_asked = |path: &Path| asked.as_ref().is_none_or(|only| is_within(only, path));
    let walk = walk.build();
    for entry in walk {
        let next = match entry {
            Ok(entry) => match entry.file_type() {
                Some(kind) if kind.is_dir() => folder(root, entry.depth(), entry.path(), limits),
                Some(kind) if kind.is_symlink() => outside_link(root, entry.path()),
                _ => Some(match entry.path().symlink_metadata() {
                    Ok(metadata) => classify(entry.into_path(), &metadata, limits),
                    Err(error) => {
                        Found::Skipped { path: entry.into_path(), reason: reason(&error) }
                    }
                }),
            },
            Err(error) => Some(walk_error(root, &error)),
        };
        if let Some(next) = next.filter(|next| is_asked(next.path()))
            && !found(next)
        {
            return false;
        }
    }
    true
}

/// Whether one of the places is `path`, above or below it. The paths below one stand right behind it.
fn leads_to(places: &BTreeSet<PathBuf>, path: &Path) -> bool {
    let below = places.range::<Path, _>((Bound::Included(path), Bound::Unbounded)).next();
    below.is_some_and(|below| below.starts_with(path)) || is_within(places, path)
}

pub(super) fn is_within(places: &BTreeSet<PathBuf>, path: &Path) -> bool {
    path.ancestors().any(|above| places.contains(above))
}

fn classify(path: PathBuf, metadata: &Metadata, limits: &Limits) -> Found {
    let skipped = |path, reason: &str| Found::Skipped { path, reason: reason.to_owned() };
    if !metadata.is_file() {
        return skipped(path, "a device, pipe or socket, not a file");
    }
    if platform::is_cloud_placeholder(&path, metadata) {
        return skipped(path, "kept in the cloud only; download it to have it searched");
    }
    let bytes = metadata.len();
    if bytes > limits.file_bytes_max {
        let reason = format!(
            "{} MB, over the limit of {} MB for one file",
            bytes >> 20,
            limits.file_bytes_max >> 20
        );
        return Found::Skipped { path, reason };
    }
    let modified = platform::modified_seconds(metadata);
    let stamp = platform::settled_stamp(metadata);
    Found::File(FoundFile { path, bytes, modified, stamp })
}

/// What is to be said of a folder itself.
fn folder(root: &Path, depth: usize, path: &Path, limits: &Limits) -> Option<Found> {
    if path == root {
        return None;
    }
    let path = path.to_owned();
    if depth >= limits.depth_max {
        let reason = format!("more than {} folders deep; add it by itself", limits.depth_max);
        return Some(Found::Skipped { path, reason });
    }
    platform::is_mount_point(&path).then_some(Found::Mount(path))
}

fn outside_link(root: &Path, path: &Path) -> Option<Found> {
    let reason = match path.canonicalize() {
        Ok(target) if target.starts_with(root) => return None,
        Ok(target) => {
            format!("a link out of the folder; add {} itself to have it searched", target.display())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            "a link to a place that does not exist".to_owned()
        }
        Err(error) => reason(&error),
    };
    Some(Found::Skipped { path: path.to_owned(), reason })
}

fn walk_error(root: &Path, error: &ignore::Error) -> Found {
    let path = match error {
        ignore::Error::WithPath { path, .. } => path.clone(),
        ignore::Error::WithDepth { err, .. } => match &**err {
            ignore::Error::WithPath { path, .. } => path.clone(),
            _ => root.to_owned(),
        },
        _ => root.to_owned(),
    };
    let reason = error.io_error().map_or_else(|| error.to_string(), reason);
    Found::Skipped { path, reason }
}

/// A failure of the file system in words that say what to do.
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "not found; it was moved, renamed or deleted".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "no permission to read it; change its permissions and index again".to_owned()
        }
        _ => format!("cannot be read: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn scan_all(root: &Path, limits: &Limits) -> (Vec<String>, Vec<(String, String)>) {
        scan_only(root, None, limits)
    }

    fn scan_only(
        root: &Path,
        only: Option<&[&str]>,
        limits: &Limits,
    ) -> (Vec<String>, Vec<(String, String)>) {
        let root = root.canonicalize().unwrap();
        let only = only.map(|places| Arc::new(places.iter().map(|at| root.join(at)).collect()));
        let (mut files, mut skipped) = (Vec::new(), Vec::new());
        let relative =
            |path: &Path| path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let scope = Scope { roots: vec![root.clone()], only };
        scan(&scope, limits, |found| {
            match found {
                Found::File(file) => files.push(relative(&file.path)),
                Found::Mount(path) => panic!("{path:?} is a mount point"),
                Found::Skipped { path, reason } => skipped.push((relative(&path), reason)),
            }
            true
        });
        (files, skipped)
    }

    #[test]
    fn a_folder_is_listed_in_order_without_what_git_ignores() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.txt", "a.txt", "build/out.txt", ".hidden", "deep/er/c d ü.md"] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        fs::write(dir.path().join(".gitignore"), "build/\n").unwrap();
        let (files, skipped) = scan_all(dir.path(), &Limits::default());
        assert_eq!(files, ["a.txt", "b.txt", "deep/er/c d ü.md"]);
        assert_eq!(skipped, []);
    }

    fn tree(names: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        dir
    }

    #[test]
    fn changed_places_are_listed_by_the_same_rules_as_all_of_them() {
        let dir = tree(&["a/b/c.txt", "a/b/d.txt", "a/e.txt", "f.txt", "build/b/g.txt", "a/.h"]);
        fs::write(dir.path().join(".gitignore"), "build/\n").unwrap();
        let check = |only: &[&str], expected: &[&str]| {
            let (files, skipped) = scan_only(dir.path(), Some(only), &Limits::default());
            assert_eq!(files, expected, "{only:?}");
            assert_eq!(skipped, []);
        };
        check(&["a/b/c.txt"], &["a/b/c.txt"]);
        check(&["a/b", "f.txt"], &["a/b/c.txt", "a/b/d.txt", "f.txt"]);
        check(&["build/b/g.txt", "a/.h", "gone.txt"], &[]);
        check(&[""], &["a/b/c.txt", "a/b/d.txt", "a/e.txt", "f.txt"]);
    }

    #[test]
    fn exclusions_hold_wherever_the_folder_lies() {
        let dir = tree(&["a.txt", "x/node_modules/b.txt", "~$c.txt", "x/keep/b.txt"]);
        let (files, _) = scan_all(dir.path(), &Limits::default());
        assert_eq!(files, ["a.txt", "x/keep/b.txt"]);
        let none = Limits { exclusions: Vec::new(), ..Limits::default() };
        assert_eq!(scan_all(dir.path(), &none).0.len(), 4);
        let broken = Limits { exclusions: vec!["a[".into(), "keep/".into()], ..none };
        assert_eq!(scan_all(dir.path(), &broken).0, ["a.txt", "x/node_modules/b.txt", "~$c.txt"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_loop_or_escape() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.txt"), "x").unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.txt"), "x").unwrap();
        let link = |target: &Path, name| {
            std::os::unix::fs::symlink(target, dir.path().join(name)).unwrap();
        };
        link(dir.path(), "loop");
        link(&dir.path().join("a.txt"), "again.txt");
        link(outside.path(), "out");
        link(Path::new("/nowhere/at/all"), "broken");
        let (files, skipped) = scan_all(dir.path(), &Limits::default());
        assert_eq!(files, ["a.txt"]);
        let names: Vec<_> = skipped.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["broken", "out"]);
        assert!(skipped[1].1.starts_with("a link out of the folder"), "{}", skipped[1].1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_named_file_is_not_followed() {
        let dir = tree(&["secret.txt"]);
        let named = dir.path().canonicalize().unwrap().join("named.txt");
        std::os::unix::fs::symlink(dir.path().join("secret.txt"), &named).unwrap();
        let scope = Scope { roots: vec![named], only: None };
        scan(&scope, &Limits::default(), |found| {
            assert!(matches!(found, Found::Skipped { .. }), "{found:?}");
            true
        });
    }

    #[test]
    fn limits_are_reasons() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("1/2/3")).unwrap();
        fs::write(dir.path().join("1/2/3/deep.txt"), "x").unwrap();
        fs::write(dir.path().join("large.txt"), [b'x'; 100]).unwrap();
        let limits = Limits { file_bytes_max: 99, depth_max: 2, ..Limits::default() };
        let (files, skipped) = scan_all(dir.path(), &limits);
        assert_eq!(files, [""; 0]);
        let names: Vec<_> = skipped.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["1/2", "large.txt"]);
    }

    #[test]
    fn a_missing_root_is_reported() {
        let missing = PathBuf::from("/nowhere/at/all");
        let mut reasons = Vec::new();
        let scope = Scope { roots: vec![missing], only: None };
        scan(&scope, &Limits::default(), |found| {
            if let Found::Skipped { reason, .. } = found {
                reasons.push(reason);
            }
            true
        });
        assert_eq!(reasons, ["not found; it was moved, renamed or deleted"]);
    }
}
