//! What is left out of folders, by the patterns that a person chose.

use std::path::{Path, PathBuf};

use ignore::overrides::{Override, OverrideBuilder};
use tracing::warn;

use crate::storage::Root;

/// The exclusions of several roots.
#[derive(Debug)]
pub struct Exclusions(Vec<(PathBuf, Override)>);

impl Exclusions {
    #[must_use]
    pub fn new(roots: &[Root], patterns: &[String]) -> Self {
        let of = |root: &Root| (root.path.clone(), overrides(&root.path, patterns));
        Self(roots.iter().map(of).collect())
    }

    /// Whether a file or folder lies in roots, and each of them leaves it out. A root itself is never
    /// left out: it was named.
    #[must_use]
    pub fn cover(&self, path: &Path, is_dir: bool) -> bool {
        let mut of = self.0.iter().filter(|(root, _)| path.starts_with(root)).peekable();
        of.peek().is_some() && of.all(|(root, rules)| is_excluded(root, rules, path, is_dir))
    }
}

fn is_excluded(root: &Path, rules: &Override, path: &Path, is_dir: bool) -> bool {
    let mut below = path.ancestors().take_while(|at| *at != root);
    below.any(|at| rules.matched(at, is_dir || at != path).is_ignore())
}

/// Patterns that do not parse are left out; they are refused where a person writes them.
pub(super) fn overrides(root: &Path, patterns: &[String]) -> Override {
    let mut builder = OverrideBuilder::new(root);
    for pattern in patterns {
        // An override names what is wanted; `!` turns that round.
        if let Err(error) = builder.add(&format!("!{pattern}")) {
            warn!(%error, pattern, "an exclusion is not used");
        }
    }
    builder.build().unwrap_or_else(|error| {
        warn!(%error, "no exclusion is used");
        Override::empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_left_out_when_every_root_around_it_leaves_it_out() {
        let root = |path: &str| Root { path: path.into(), watched: true, is_mount: false };
        let roots = ["/r", "/r/build/kept", "/r/a.log"].map(root);
        let patterns = ["build/".to_owned(), "*.log".to_owned()];
        let exclusions = Exclusions::new(&roots, &patterns);
        let check = |path: &str, expected| {
            assert_eq!(exclusions.cover(path.as_ref(), false), expected, "{path}");
        };
        check("/r/b.txt", false);
        check("/r/b.log", true);
        check("/r/build", false);
        check("/r/build/b.txt", true);
        check("/r/sub/build/x/b.txt", true);
        check("/r/build/kept/b.txt", false);
        check("/r/build/kept/b.log", true);
        check("/r/a.log", false);
        check("/other/b.log", false);
        assert!(exclusions.cover("/r/build".as_ref(), true));
    }
}
