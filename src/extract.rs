//! Bytes of any format to a [`Document`].
//!
//! One file a format: [`format`] decides by name, magic bytes and content which of them reads, and
//! each gives title, text and marks. A new format is a variant of [`Format`], a file beside these
//! and a line less in [`signature`]. Nothing here touches the disk.

mod encoding;
mod format;
mod headings;
mod html;
mod language;
mod markdown;
mod plain;
mod signature;

use crate::data::{ContentHash, Document, DocumentId, LocatorMap, MediaType, Source, TextLayout};
use format::Format;

/// Why a source gives no document, in words that a person can act on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("the file is empty")]
    Empty,
    #[error("the file holds only white space")]
    Blank,
    /// A format for text that has no reader here.
    #[error("{kind}, which this version cannot read yet; export it as text, Markdown or HTML")]
    Unsupported { kind: &'static str },
    /// A format that is recognized and is not for text.
    #[error("{kind}, which holds no text to search")]
    NotForText { kind: &'static str },
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
}

/// What a format's reader finds; the rest of a [`Document`] is the same for all of them.
#[derive(Debug)]
struct Extracted {
    media_type: MediaType,
    title: String,
    text: String,
    layout: TextLayout,
    has_lines: bool,
    locators: LocatorMap,
}

/// Reads a file or page. Takes time and memory linear in the size; never panics.
///
/// `modified` is in seconds since the Unix epoch and is passed on.
///
/// # Errors
/// When there is no text to search, with the reason.
pub fn read_document(
    source: Source,
    bytes: Vec<u8>,
    modified: Option<i64>,
) -> Result<Document, Unreadable> {
    let size = bytes.len() as u64;
    let content_hash = ContentHash::of(&bytes);
    let Extracted { media_type, title, text, layout, has_lines, locators } =
        extract(&source, bytes)?;
    Ok(Document {
        id: DocumentId::of(&source),
        source,
        media_type,
        title,
        text,
        layout,
        has_lines,
        locators,
        content_hash,
        bytes: size,
        modified,
    })
}

fn extract(source: &Source, bytes: Vec<u8>) -> Result<Extracted, Unreadable> {
    if bytes.is_empty() {
        return Err(Unreadable::Empty);
    }
    let name = source.name();
    if let Some(reason) = signature::recognize(&bytes, &name) {
        return Err(reason);
    }
    let declared = html::declared_encoding(&bytes);
    let text = encoding::decode(bytes, declared)?;
    if is_blank(&text) {
        return Err(Unreadable::Blank);
    }
    match Format::detect(source, &name, &text) {
        Format::Plain => Ok(plain::read(text, &name)),
        Format::Code(_) if language::is_minified(&name, &text) => Err(Unreadable::Minified),
        Format::Code(layout) => Ok(plain::read_code(text, name, layout)),
        Format::Markdown => Ok(markdown::read(text, &name)),
        Format::Html => html::read(&text, &name),
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

#[cfg(test)]
mod tests;
