//! Bytes of any format to a [`Document`].
//!
//! One file a format: [`format`] decides by name, magic bytes and content which of them reads, and
//! each gives title, text and marks. A new format is a variant of [`Format`], a file beside these
//! and a line less in [`signature`]. Nothing here touches the disk.

mod archive;
mod container;
mod encoding;
mod epub;
mod format;
mod headings;
mod html;
mod isolation;
mod language;
mod latex;
mod mail;
mod markdown;
mod nested;
mod notebook;
mod office;
mod package;
mod page;
mod pdf;
mod plain;
mod prose;
mod signature;
mod title;
pub(crate) mod xml;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use encoding_rs::Encoding;
use serde::{Deserialize, Serialize};

use crate::data::{ContentHash, Document, DocumentId, LocatorMap, MediaType, Source, TextLayout};
use container::Container;
use format::Format;
pub use isolation::{READER_ARGUMENT, ReaderLimits, Readers, serve};
pub use page::{AGENT, Link, PageHead, PageHints, ReadPage};

/// Why a source gives no document, in words that a person can act on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Unreadable {
    #[error("the file is empty")]
    Empty,
    #[error("the file holds only white space")]
    Blank,
    /// A format for text that has no reader here.
    #[error("{kind}, which this version cannot read yet; export it as text, Markdown or HTML")]
    Unsupported { kind: Cow<'static, str> },
    /// A format that is recognized and is not for text.
    #[error("{kind}, which holds no text to search")]
    NotForText { kind: Cow<'static, str> },
    #[error("binary data of an unknown kind, not text")]
    Binary,
    #[error("minified code, made for machines to load; index its source instead")]
    Minified,
    #[error(
        "the page holds no text; where scripts build it, save it from a browser as a complete page"
    )]
    NoTextInPage,
    #[error("the page only leads on to {target}; add that page instead")]
    Redirect { target: String },
    #[error(
        "the page nests more than {levels_max} elements, so it is damaged or made by a fault; open \
         and save it in a browser"
    )]
    TooDeep { levels_max: usize },
    #[error("it is protected by a password; save it without one to have it searched")]
    Encrypted,
    #[error("the file is damaged: {what}; get it again from where it came from, or save it anew")]
    Damaged { what: Cow<'static, str> },
    #[error("it holds no text")]
    NoText,
    #[error("its pages are pictures; run text recognition (OCR) over it to have it searched")]
    Scanned,
    #[error(
        "its fonts do not say which letters they show; export it again, or run text recognition"
    )]
    NamelessGlyphs,
    #[error("it unpacks to more than {mb_max} MB; unpack it yourself and add what you need of it")]
    Expands { mb_max: u64 },
    #[error("it holds more than {members_max} files; unpack it yourself and add the folder")]
    TooManyMembers { members_max: usize },
    #[error("archives lie in archives, more than {levels_max} deep; unpack it yourself")]
    TooManyLevels { levels_max: u32 },
    #[error("none of the files in it holds text")]
    NoMemberWithText,
    #[error("reading it took longer than {seconds_max} seconds and was given up")]
    TooSlow { seconds_max: u64 },
    #[error("reading it takes more than {mb_max} MB of memory")]
    TooMuchMemory { mb_max: u64 },
    #[error("its reader crashed ({how}); please report the file's format")]
    ReaderCrashed { how: String },
    /// Says nothing of the file, which may be read another time.
    #[error("the process that reads such files cannot be started: {why}; install Lodestone again")]
    NoReader { why: String },
}

impl Unreadable {
    /// Whether the reason lies with the file and holds as long as its bytes are the same.
    #[must_use]
    pub fn is_of_the_file(&self) -> bool {
        !matches!(self, Self::NoReader { .. })
    }
}

/// What a format's reader finds; the rest of a [`Document`] is the same for all of them.
#[derive(Debug, Serialize, Deserialize)]
struct Extracted {
    media_type: MediaType,
    title: String,
    text: String,
    layout: TextLayout,
    has_lines: bool,
    locators: LocatorMap,
}

impl Extracted {
    /// What was turned into Markdown, whose lines are not those of the file.
    fn converted(media_type: MediaType, title: String, text: String, locators: LocatorMap) -> Self {
        let layout = TextLayout::Markdown;
        Self { media_type, title, text, layout, has_lines: false, locators }
    }
}

/// Reads a file or page in this process; never panics. For text the time and memory are linear in the
/// size; what the parsers of binary formats take nobody knows, so [`Readers`] is for files of others.
///
/// `modified` is in seconds since the Unix epoch and is passed on.
///
/// # Errors
/// When there is no text to search, with the reason.
pub fn read_document_here(
    source: Source,
    bytes: Vec<u8>,
    modified: Option<i64>,
) -> Result<Document, Unreadable> {
    let origin = Origin::of(&source, &bytes);
    let extracted = extract(&origin.name, origin.from_web, bytes)?;
    Ok(origin.document(source, extracted, modified))
}

/// What a document keeps of the bytes that it is read from.
struct Origin {
    name: String,
    from_web: bool,
    content_hash: ContentHash,
    bytes: u64,
}

impl Origin {
    fn of(source: &Source, bytes: &[u8]) -> Self {
        Self {
            name: source.name(),
            from_web: matches!(source, Source::Web(_)),
            content_hash: ContentHash::of(bytes),
            bytes: bytes.len() as u64,
        }
    }

    fn document(self, source: Source, extracted: Extracted, modified: Option<i64>) -> Document {
        let Extracted { media_type, title, text, layout, has_lines, locators } = extracted;
        Document {
            id: DocumentId::of(&source),
            source,
            media_type,
            title,
            text,
            layout,
            has_lines,
            locators,
            content_hash: self.content_hash,
            bytes: self.bytes,
            modified,
        }
    }
}

/// What a reader finds, or that it panicked: a parser of others may, over a file or over one inside it.
fn caught<T>(read: impl FnOnce() -> Result<T, Unreadable>) -> Result<T, Unreadable> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<&str>().copied();
        let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(Unreadable::ReaderCrashed { how: message.unwrap_or("a panic").to_owned() })
    })
}

fn extract(name: &str, from_web: bool, bytes: Vec<u8>) -> Result<Extracted, Unreadable> {
    if bytes.is_empty() {
        return Err(Unreadable::Empty);
    }
    match Container::detect(&bytes, name) {
        Some(container) => container.read(bytes, name, nested::LEVELS_MAX),
        None => extract_text(name, from_web, bytes),
    }
}

/// Reads a file inside another, which holds others to `levels_left` levels.
fn extract_named(name: &str, bytes: Vec<u8>, levels_left: u32) -> Result<Extracted, Unreadable> {
    if bytes.is_empty() {
        return Err(Unreadable::Empty);
    }
    match Container::detect(&bytes, name) {
        Some(container) => container.read(bytes, name, levels_left),
        None => extract_text(name, false, bytes),
    }
}

fn extract_text(name: &str, from_web: bool, bytes: Vec<u8>) -> Result<Extracted, Unreadable> {
    let text = decode(name, bytes, None)?;
    extract_decoded(Format::detect(name, from_web, &text), name, text)
}

/// `charset` is what the bytes are said to be by who gave them; it wins over what they say themselves.
fn decode(name: &str, bytes: Vec<u8>, charset: Option<&str>) -> Result<String, Unreadable> {
    if let Some(reason) = signature::recognize(&bytes, name) {
        return Err(reason);
    }
    let given = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    let declared = given.or_else(|| html::declared_encoding(&bytes));
    let text = encoding::decode(bytes, declared)?;
    if is_blank(&text) { Err(Unreadable::Blank) } else { Ok(text) }
}

fn extract_decoded(format: Format, name: &str, text: String) -> Result<Extracted, Unreadable> {
    match format {
        Format::Plain => Ok(plain::read(text, name)),
        Format::Table => Ok(plain::read_table(text, name)),
        Format::Latex => Ok(latex::read(text, name)),
        Format::Notebook => notebook::read(&text, name),
        Format::Code(_) if language::is_minified(name, &text) => Err(Unreadable::Minified),
        Format::Code(layout) => Ok(plain::read_code(text, name.to_owned(), layout)),
        Format::Markdown => Ok(markdown::read(text, name)),
        Format::Html => html::read(&text, name),
    }
}

/// Whether nothing can be seen: white space, byte order marks and spaces without width.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}'))
}

/// A file name without its last extension, for formats whose text may name no title.
fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// What stands after the last dot of a file name, in lower case; empty where there is none.
fn extension(name: &str) -> String {
    name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase()
}

/// The words of a text with single spaces between.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
