//! What a reader is asked and says, over its standard input and output.
//!
//! A frame is the length of its head (4 bytes, little-endian), the length of its body (8 bytes), the
//! head in JSON and the body as it is: bytes of a file one way, text the other.

use std::io::{self, Read as _, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::extract::{Extracted, PageHead, PageHints, Unreadable};

/// What a reader says first. It changes with the form of the frames, so that a program that was
/// replaced while it runs does not talk to another version of itself.
pub(super) const HELLO: &str = "lodestone reader 2";

/// Longer heads are no heads: something else writes there.
const HEAD_BYTES_MAX: u32 = 64 << 20;

/// Longer bodies are none either: no file over the limit of ingest is read, and no text is larger.
const BODY_BYTES_MAX: u64 = 1 << 30;

/// A file to read.
#[derive(Debug)]
pub(super) struct Request {
    pub name: String,
    pub from_web: bool,
    /// What else is known of a page of the web, whose head is to be read as well.
    pub page: Option<Box<PageRequest>>,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PageRequest {
    pub url: Url,
    pub hints: PageHints,
}

/// What became of a file. The head is empty for what is no page.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Read {
    pub head: PageHead,
    pub extracted: Result<Extracted, Unreadable>,
}

impl From<Result<Extracted, Unreadable>> for Read {
    fn from(extracted: Result<Extracted, Unreadable>) -> Self {
        Self { head: PageHead::default(), extracted }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct RequestHead {
    name: String,
    from_web: bool,
    page: Option<Box<PageRequest>>,
    time_max_ms: u64,
}

impl Request {
    pub(super) fn write(self, to: &mut impl Write, time_max_ms: u64) -> io::Result<()> {
        let Self { name, from_web, page, bytes } = self;
        write(to, &RequestHead { name, from_web, page, time_max_ms }, &bytes)
    }

    /// The next request and how many milliseconds it may take; `None` when nobody will ask again.
    pub(super) fn read(from: &mut impl io::Read) -> io::Result<Option<(Self, u64)>> {
        let Some((RequestHead { name, from_web, page, time_max_ms }, bytes)) = read(from)? else {
            return Ok(None);
        };
        Ok(Some((Self { name, from_web, page, bytes }, time_max_ms)))
    }
}

pub(super) fn write_reply(to: &mut impl Write, mut reply: Read) -> io::Result<()> {
    let text = match &mut reply.extracted {
        Ok(extracted) => std::mem::take(&mut extracted.text),
        Err(_) => String::new(),
    };
    write(to, &reply, text.as_bytes())
}

pub(super) fn read_reply(from: &mut impl io::Read) -> io::Result<Read> {
    let ended = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let (mut reply, text): (Read, _) = read(from)?.ok_or_else(ended)?;
    if let Ok(extracted) = &mut reply.extracted {
        extracted.text = String::from_utf8(text).map_err(io::Error::other)?;
    }
    Ok(reply)
}

pub(super) fn write(to: &mut impl Write, head: &impl Serialize, body: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    to.write_all(&(head.len() as u32).to_le_bytes())?;
    to.write_all(&(body.len() as u64).to_le_bytes())?;
    to.write_all(&head)?;
    to.write_all(body)?;
    to.flush()
}

/// `None` where the other side has closed before a frame.
pub(super) fn read<H: DeserializeOwned>(
    from: &mut impl io::Read,
) -> io::Result<Option<(H, Vec<u8>)>> {
    let mut lengths = [0; 12];
    match from.read_exact(&mut lengths[..1]) {
        Ok(()) => from.read_exact(&mut lengths[1..])?,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let (head, body) = lengths.split_at(4);
    let head = u32::from_le_bytes(head.try_into().unwrap_or_default());
    let body = u64::from_le_bytes(body.try_into().unwrap_or_default());
    if head > HEAD_BYTES_MAX || body > BODY_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a frame"));
    }
    let head = exactly(from, u64::from(head))?;
    let body = exactly(from, body)?;
    Ok(Some((serde_json::from_slice(&head)?, body)))
}

/// Grows with what comes, so that a length that lies takes no memory.
fn exactly(from: &mut impl io::Read, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(count).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == count { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::{Locator, LocatorMap, MediaType, TextLayout};
    use crate::extract::Link;

    #[test]
    fn requests_and_replies_come_through_whole() {
        let mut pipe = Vec::new();
        let page = PageRequest {
            url: Url::parse("https://a.test/ä.pdf").unwrap(),
            hints: PageHints { content_type: Some("text/html".into()), charset: None },
        };
        let request = Request {
            name: "ä.pdf".into(),
            from_web: true,
            page: Some(Box::new(page.clone())),
            bytes: vec![0, 255, 7],
        };
        request.write(&mut pipe, 9).unwrap();
        let mut from = pipe.as_slice();
        let (request, time_max_ms) = Request::read(&mut from).unwrap().unwrap();
        assert_eq!((request.name.as_str(), request.from_web, time_max_ms), ("ä.pdf", true, 9));
        assert_eq!(
            (request.bytes.as_slice(), request.page),
            ([0, 255, 7].as_slice(), Some(Box::new(page)))
        );
        assert!(Request::read(&mut from).unwrap().is_none());

        let mut locators = LocatorMap::default();
        locators.push(3, Locator::Page { page: 2 });
        let extracted = Extracted {
            media_type: MediaType::Pdf,
            title: "T".into(),
            text: "grüße".into(),
            layout: TextLayout::Plain,
            has_lines: false,
            locators,
        };
        for reply in [Ok(extracted), Err(Unreadable::Unsupported { kind: "a drawing".into() })] {
            let expected = format!("{reply:?}");
            let mut pipe = Vec::new();
            let link = Link { url: Url::parse("https://a.test/b").unwrap(), nofollow: true };
            let head = PageHead { links: vec![link], noindex: true, ..PageHead::default() };
            write_reply(&mut pipe, Read { head: head.clone(), extracted: reply }).unwrap();
            let read = read_reply(&mut pipe.as_slice()).unwrap();
            assert_eq!((format!("{:?}", read.extracted), read.head), (expected, head));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_fault(bytes: Vec<u8>) {
            let _ = Request::read(&mut bytes.as_slice());
            let _ = read_reply(&mut bytes.as_slice());
        }
    }
}
