use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::scan::{Found, Scope, scan};
use crate::config::Limits;

/// What files and folders hold, before any of it is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Survey {
    pub files: u64,
    pub bytes: u64,
    /// By what stands behind the last dot of a name, in lower case; empty for names without. Largest first.
    pub kinds: Vec<SurveyedKind>,
    /// What will not be read: links, devices, files over the limit.
    pub left_out: u64,
    /// Whether all of it was looked at, and not only what there was time for.
    pub is_whole: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SurveyedKind {
    pub extension: String,
    pub files: u64,
    pub bytes: u64,
}

/// Looks through files and folders as an indexing run would, for so long at most.
#[must_use]
pub fn survey(paths: Vec<PathBuf>, limits: &Limits, time_max: Duration) -> Survey {
    let until = Instant::now() + time_max;
    let mut kinds: BTreeMap<String, SurveyedKind> = BTreeMap::new();
    let mut survey = Survey { is_whole: true, ..Survey::default() };
    scan(&Scope { roots: paths, only: None }, limits, |found| {
        match found {
            Found::File(file) => {
                let extension = extension(&file.path);
                let kind = kinds
                    .entry(extension.clone())
                    .or_insert_with(|| SurveyedKind { extension, ..SurveyedKind::default() });
                kind.files += 1;
                kind.bytes += file.bytes;
                survey.files += 1;
                survey.bytes += file.bytes;
            }
            Found::Mount(_) => {}
            Found::Skipped { .. } => survey.left_out += 1,
        }
        survey.is_whole = Instant::now() < until;
        survey.is_whole
    });
    survey.kinds = kinds.into_values().collect();
    survey.kinds.sort_by_key(|kind| std::cmp::Reverse(kind.bytes));
    survey
}

fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [("a.MD", 10), ("b.md", 20), ("c.pdf", 100), ("README", 5)] {
            fs::write(folder.path().join(name), vec![b'x'; bytes]).unwrap();
        }
        fs::write(folder.path().join("huge.txt"), vec![b'x'; 2_000]).unwrap();
        folder
    }

    #[test]
    fn files_are_counted_by_kind_and_what_is_not_read_is_told() {
        let folder = folder();
        let limits = Limits { file_bytes_max: 1_000, ..Limits::default() };
        let path = folder.path().canonicalize().unwrap();
        let found = survey(vec![path], &limits, Duration::from_mins(1));
        assert_eq!((found.files, found.bytes, found.left_out), (4, 135, 1));
        let kinds: Vec<_> = found
            .kinds
            .iter()
            .map(|kind| (kind.extension.as_str(), kind.files, kind.bytes))
            .collect();
        assert_eq!(kinds, [("pdf", 1, 100), ("md", 2, 30), ("", 1, 5)]);
        assert!(found.is_whole);
    }

    #[test]
    fn without_time_it_says_that_there_is_more() {
        let folder = folder();
        let found =
            survey(vec![folder.path().canonicalize().unwrap()], &Limits::default(), Duration::ZERO);
        assert_eq!((found.files + found.left_out, found.is_whole), (1, false));
    }
}
