use std::fmt;

use serde::{Deserialize, Serialize};

use super::{LocatorMap, Source};

/// Identifies a document by where it comes from, so the same file has the same id on every run and
/// in every index of the same machine: the first 63 bits of BLAKE3 over [`Source::key`].
///
/// At a million documents two collide with a probability of 5e-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(u64);

impl DocumentId {
    #[must_use]
    pub fn of(source: &Source) -> Self {
        let hash = blake3::hash(source.key().as_bytes());
        let mut head = [0; 8];
        head.copy_from_slice(&hash.as_bytes()[..8]);
        Self(u64::from_be_bytes(head) >> 1)
    }

    /// The number; it fits a signed 64-bit column.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }

    /// Reads a stored number back.
    #[must_use]
    pub fn from_stored(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for DocumentId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// BLAKE3 over the bytes that a document was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

/// Counts committed changes of the store; an index that has reached `n` reflects every change up to
/// `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ChangeNumber(pub u64);

/// What kind of file or page a document is, by its content and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaType {
    Text,
    Markdown,
    Html,
    Code,
    Pdf,
    /// A text of a word processor.
    Document,
    Presentation,
    Spreadsheet,
    Book,
    /// A message or a mailbox.
    Email,
    Notebook,
    Archive,
}

impl MediaType {
    pub const ALL: [Self; 12] = [
        Self::Text,
        Self::Markdown,
        Self::Html,
        Self::Code,
        Self::Pdf,
        Self::Document,
        Self::Presentation,
        Self::Spreadsheet,
        Self::Book,
        Self::Email,
        Self::Notebook,
        Self::Archive,
    ];

    /// The word used in `type:` filters, in JSON and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Code => "code",
            Self::Pdf => "pdf",
            Self::Document => "document",
            Self::Presentation => "presentation",
            Self::Spreadsheet => "spreadsheet",
            Self::Book => "book",
            Self::Email => "email",
            Self::Notebook => "notebook",
            Self::Archive => "archive",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|media_type| media_type.name() == name)
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How the text of a document is laid out: it decides where chunks may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextLayout {
    Plain,
    Markdown,
    Rust,
    Python,
    JavaScript,
    TypeScript,
    Tsx,
    Go,
    Java,
    C,
    Cpp,
}

/// A file or page as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub id: DocumentId,
    pub source: Source,
    pub media_type: MediaType,
    pub title: String,
    /// UTF-8 without a byte order mark; every range in the program counts bytes of this text.
    pub text: String,
    pub layout: TextLayout,
    /// Whether lines of `text` are lines of the source (true for files shown as they are).
    pub has_lines: bool,
    pub locators: LocatorMap,
    pub content_hash: ContentHash,
    /// Size of the source in bytes.
    pub bytes: u64,
    /// Last modification, seconds since the Unix epoch, where the source tells.
    pub modified: Option<i64>,
}

impl Document {
    /// Plain text that has no places but its own characters and no date.
    #[must_use]
    pub fn plain(source: Source, title: String, text: String) -> Self {
        Self {
            id: DocumentId::of(&source),
            source,
            media_type: MediaType::Text,
            title,
            layout: TextLayout::Plain,
            has_lines: true,
            locators: LocatorMap::default(),
            content_hash: ContentHash::of(text.as_bytes()),
            bytes: text.len() as u64,
            modified: None,
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_depends_on_the_source_alone_and_fits_63_bits() {
        let a = DocumentId::of(&Source::File("/a".into()));
        assert_eq!(a, DocumentId::of(&Source::File("/a".into())));
        assert_ne!(a, DocumentId::of(&Source::File("/b".into())));
        assert!(i64::try_from(a.get()).is_ok());
        assert_eq!(DocumentId::from_stored(a.get()), a);
    }

    #[test]
    fn media_type_names_round_trip() {
        for media_type in MediaType::ALL {
            assert_eq!(MediaType::from_name(media_type.name()), Some(media_type));
        }
    }
}
