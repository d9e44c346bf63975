use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

/// Where a document comes from: a file by its absolute path, or a page by its URL.
///
/// The key form is a URL (`file:///…` for files), which keeps every byte of a Unix path, including
/// bytes that are no UTF-8; the display form is for people and may replace such bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Source {
    File(PathBuf),
    Web(Url),
}

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("{0:?} is not a source: a file needs an absolute path, a page a full URL")]
    Malformed(String),
}

impl Source {
    /// The unique, lossless text form that is stored.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::File(path) => Url::from_file_path(path)
                .map_or_else(|()| path.to_string_lossy().into_owned(), String::from),
            Self::Web(url) => url.to_string(),
        }
    }

    /// Reads [`Source::key`] back.
    ///
    /// # Errors
    /// When the text is no URL, or a `file:` URL that names no path on this platform.
    pub fn from_key(key: &str) -> Result<Self, SourceError> {
        let malformed = || SourceError::Malformed(key.to_owned());
        let url = Url::parse(key).map_err(|_| malformed())?;
        if url.scheme() == "file" {
            url.to_file_path().map(Self::File).map_err(|()| malformed())
        } else {
            Ok(Self::Web(url))
        }
    }

    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Web(_) => None,
        }
    }

    /// The last part of the path or URL: what a list shows when there is no title.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.file_name().map_or_else(
                || path.display().to_string(),
                |name| name.to_string_lossy().into_owned(),
            ),
            Self::Web(url) => url
                .path_segments()
                .and_then(|mut segments| segments.rfind(|s| !s.is_empty()))
                .or_else(|| url.host_str())
                .unwrap_or(url.as_str())
                .to_owned(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Web(url) => url.fmt(f),
        }
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.key()
    }
}

impl TryFrom<String> for Source {
    type Error = SourceError;

    fn try_from(key: String) -> Result<Self, SourceError> {
        Self::from_key(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_round_trip(source: &Source) {
        assert_eq!(Source::from_key(&source.key()).unwrap(), *source);
    }

    #[test]
    fn a_key_keeps_odd_names() {
        for path in ["/a b/ü#?.md", "/x/%41.txt", "/new\nline", "/emoji 🦀"] {
            check_round_trip(&Source::File(PathBuf::from(path)));
        }
        check_round_trip(&Source::Web(Url::parse("https://example.org/a?b=c").unwrap()));
    }

    #[cfg(unix)]
    #[test]
    fn a_key_keeps_bytes_that_are_no_utf8() {
        use std::os::unix::ffi::OsStrExt as _;
        let name = std::ffi::OsStr::from_bytes(b"/tmp/caf\xe9.txt");
        check_round_trip(&Source::File(PathBuf::from(name)));
    }

    #[test]
    fn relative_text_is_refused() {
        assert!(Source::from_key("notes.md").is_err());
    }
}
