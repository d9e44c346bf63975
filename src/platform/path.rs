use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The one name of a place: absolute, without `.` and `..`, with symbolic links followed.
///
/// What does not exist, or no longer, is named by the part of the path that does: so a folder that
/// was deleted still has the name it was indexed under.
#[must_use]
pub fn resolve(path: &Path) -> PathBuf {
    let mut existing = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut rest: Vec<OsString> = Vec::new();
    loop {
        if let Ok(canonical) = existing.canonicalize() {
            let mut resolved = without_verbatim_prefix(canonical);
            resolved.extend(rest.into_iter().rev());
            return resolved;
        }
        match existing.components().next_back() {
            Some(Component::Normal(name)) => {
                let name = name.to_owned();
                existing.pop();
                rest.push(name);
            }
            // `..` behind what is missing takes back the name before it.
            Some(Component::ParentDir) => {
                existing.pop();
                existing.pop();
            }
            _ => return path.to_path_buf(),
        }
    }
}

/// Windows answers `\\?\C:\folder`, a form that programs and people do not expect; it is kept where
/// the short form would not name the same file.
fn without_verbatim_prefix(path: PathBuf) -> PathBuf {
    #[cfg(windows)]
    {
        const SHORT_MAX: usize = 260;
        if let Some(short) = path.to_str().and_then(|path| path.strip_prefix(r"\\?\"))
            && short.as_bytes().get(1) == Some(&b':')
            && short.len() < SHORT_MAX
        {
            return PathBuf::from(short);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_a_place_has_the_same_name() {
        let dir = tempfile::tempdir().unwrap();
        let here = dir.path().canonicalize().unwrap();
        std::fs::create_dir(here.join("sub")).unwrap();
        let name = without_verbatim_prefix(here.join("sub"));
        for way in ["sub", "sub/", "./sub", "sub/../sub", "gone/../sub"] {
            assert_eq!(resolve(&here.join(way)), name, "{way}");
        }
        assert_eq!(resolve(&here.join("sub/gone/a.txt")), name.join("gone/a.txt"));
        assert!(resolve(Path::new("gone.txt")).is_absolute());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_also_above_what_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let here = dir.path().canonicalize().unwrap();
        std::fs::create_dir(here.join("real")).unwrap();
        std::os::unix::fs::symlink(here.join("real"), here.join("link")).unwrap();
        assert_eq!(resolve(&here.join("link/gone.txt")), here.join("real/gone.txt"));
    }
}
