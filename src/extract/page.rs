use serde::{Deserialize, Serialize};
use url::Url;

use super::container::Container;
use super::format::Format;
use super::{Extracted, Unreadable, decode, extract_decoded, html};
use crate::data::Document;

/// The name by which a page may ask this crawler alone for something, in `<meta name=…>`.
pub const AGENT: &str = "lodestone";

/// What the server said of a page besides its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageHints {
    /// In lower case and without parameters, such as `text/html`.
    pub content_type: Option<String>,
    pub charset: Option<String>,
}

/// What a page says to machines. Empty for what is no HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageHead {
    /// Where it leads, resolved and without fragments, each address once, in the order of the page.
    pub links: Vec<Link>,
    /// `<link rel=canonical>`, resolved.
    pub canonical: Option<Url>,
    /// `<meta name=robots>`, or of that name that is ours: not to be found in a search.
    pub noindex: bool,
    /// Likewise: none of its links is to be followed. [`Self::links`] has them all the same.
    pub nofollow: bool,
    /// `<html lang>`, such as `en-US`.
    pub language: Option<String>,
    /// Where `<meta http-equiv=refresh>` sends on to; it is the first of the links as well.
    pub refresh: Option<Url>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub url: Url,
    /// Every link to it on the page says `rel=nofollow`.
    pub nofollow: bool,
}

/// A page of the web, read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadPage {
    pub head: PageHead,
    pub document: Result<Document, Unreadable>,
}

impl PageHints {
    /// Whether the server says that it is a page.
    pub(super) fn is_html(&self) -> bool {
        matches!(self.content_type.as_deref(), Some("text/html" | "application/xhtml+xml"))
    }

    /// What the bytes are when they are no text. What is said to be a page may be named in any way, so
    /// its name then says nothing.
    pub(super) fn container(&self, name: &str, bytes: &[u8]) -> Option<Container> {
        Container::detect(bytes, if self.is_html() { "page.html" } else { name })
    }

    /// What a text is: by its server, else by its name and content. Where the server calls it plain,
    /// its name goes first: a page in a collection of sources is to be read as what it is there.
    fn format(&self, name: &str, text: &str) -> Format {
        match self.content_type.as_deref() {
            _ if self.is_html() => Format::Html,
            Some("text/markdown" | "text/x-markdown") => Format::Markdown,
            Some("text/plain") => Format::detect(name, false, text),
            _ => Format::detect(name, true, text),
        }
    }
}

/// Reads what a server gave under an address; its head is empty unless it is HTML.
pub(super) fn read(
    url: &Url,
    name: &str,
    bytes: Vec<u8>,
    hints: &PageHints,
) -> (PageHead, Result<Extracted, Unreadable>) {
    let without_head = |read| (PageHead::default(), read);
    if bytes.is_empty() {
        return without_head(Err(Unreadable::Empty));
    }
    if let Some(container) = hints.container(name, &bytes) {
        return without_head(container.read(bytes, name, super::nested::LEVELS_MAX));
    }
    let text = match decode(name, bytes, hints.charset.as_deref()) {
        Ok(text) => text,
        Err(error) => return without_head(Err(error)),
    };
    match hints.format(name, &text) {
        Format::Html => html::read_page(&text, name, url),
        format => without_head(extract_decoded(format, name, text)),
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{SHIFT_JIS, WINDOWS_1251};

    use super::*;
    use crate::data::MediaType;

    fn read_as(
        url: &str,
        bytes: &[u8],
        content_type: Option<&str>,
        charset: Option<&str>,
    ) -> (PageHead, Result<Extracted, Unreadable>) {
        let url = Url::parse(url).unwrap();
        let hints = PageHints {
            content_type: content_type.map(str::to_owned),
            charset: charset.map(str::to_owned),
        };
        let name = crate::data::Source::Web(url.clone()).name();
        read(&url, &name, bytes.to_vec(), &hints)
    }

    fn text_of(bytes: &[u8], charset: Option<&str>) -> String {
        read_as("https://a.test/p", bytes, Some("text/html"), charset).1.unwrap().text
    }

    #[test]
    fn the_charset_of_the_server_beats_that_of_the_page_and_a_mark_beats_both() {
        let page = "<meta charset=shift_jis><p>щи да каша";
        let (bytes, _, _) = WINDOWS_1251.encode(page);
        assert_eq!(text_of(&bytes, Some("windows-1251")), "щи да каша\n");
        let page = "<meta charset=shift_jis><p>吾輩は猫である";
        let (bytes, _, _) = SHIFT_JIS.encode(page);
        assert_eq!(text_of(&bytes, None), "吾輩は猫である\n");
        assert_eq!(text_of(&bytes, Some("klingon")), "吾輩は猫である\n");
        let utf16: Vec<u8> = "\u{feff}<meta charset=shift_jis><p>Grüße"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        assert_eq!(text_of(&utf16, Some("windows-1251")), "Grüße\n");
        // Of no other encoding would these bytes be words, so both declarations are wrong.
        let utf8 = "<meta charset=shift_jis><p>Grüße".as_bytes();
        assert_eq!(text_of(utf8, Some("windows-1251")), "Grüße\n");
        let utf16_unmarked: Vec<u8> =
            "<p>吾輩は猫である".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(text_of(&utf16_unmarked, Some("utf-16le")), "吾輩は猫である\n");
    }

    #[test]
    fn a_server_says_what_a_file_is() {
        let page = b"<html><p>text <a href=b>link</a></html>";
        let (head, read) = read_as("https://a.test/x.rs", page, Some("text/html"), None);
        assert_eq!((read.unwrap().media_type, head.links.len()), (MediaType::Html, 1));
        let (head, read) = read_as("https://a.test/x.rs", page, Some("text/plain"), None);
        assert_eq!((read.unwrap().media_type, head.links.len()), (MediaType::Code, 0));
        let (head, read) = read_as("https://a.test/x", page, None, None);
        assert_eq!((read.unwrap().media_type, head.links.len()), (MediaType::Html, 1));
        let (_, read) =
            read_as("https://a.test/x", b"# Title\n\ntext", Some("text/markdown"), None);
        assert_eq!(read.unwrap().media_type, MediaType::Markdown);
        let (_, read) = read_as("https://a.test/x", b"just text", Some("text/html"), None);
        assert_eq!(read.unwrap().media_type, MediaType::Html);
    }

    #[test]
    fn a_page_without_text_leads_on_all_the_same() {
        let page = b"<meta http-equiv=refresh content='0; url=/next'><a href=/b></a>";
        let (head, read) = read_as("https://a.test/x", page, Some("text/html"), None);
        assert!(read.is_err());
        let links: Vec<_> = head.links.iter().map(|link| link.url.path()).collect();
        assert_eq!(links, ["/next", "/b"]);
        let page = b"<meta http-equiv=refresh content='0; url=/next'><p>Moved";
        let (head, read) = read_as("https://a.test/x", page, Some("text/html"), None);
        assert_eq!(read.unwrap_err(), Unreadable::Redirect { target: "/next".into() });
        assert_eq!(head.refresh.unwrap().as_str(), "https://a.test/next");
        let (head, read) = read_as("https://a.test/x", b"", Some("text/html"), None);
        assert_eq!((head, read.unwrap_err()), (PageHead::default(), Unreadable::Empty));
    }
}
