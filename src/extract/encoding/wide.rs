//! UTF-16 and UTF-32, which a decoder of single bytes cannot tell from binary data.

use encoding_rs::{UTF_16BE, UTF_16LE};

/// Bytes looked at where there is no byte order mark.
const SAMPLE_BYTES: usize = 8192;

/// An encoding with two or four bytes a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Utf16Le,
    Utf16Be,
    Utf32Le,
    Utf32Be,
}

impl Width {
    /// Told by a byte order mark, whose length comes with it.
    pub(super) fn of_mark(bytes: &[u8]) -> Option<(Self, usize)> {
        // The mark of UTF-32 LE starts with the one of UTF-16 LE; a text that starts with a NUL is
        // the less likely of the two.
        if bytes.starts_with(b"\xff\xfe\0\0") && bytes.len().is_multiple_of(4) {
            Some((Self::Utf32Le, 4))
        } else if bytes.starts_with(b"\0\0\xfe\xff") {
            Some((Self::Utf32Be, 4))
        } else if bytes.starts_with(b"\xff\xfe") {
            Some((Self::Utf16Le, 2))
        } else if bytes.starts_with(b"\xfe\xff") {
            Some((Self::Utf16Be, 2))
        } else {
            None
        }
    }

    /// UTF-16 without a mark, told by zero bytes: spaces, digits and Latin letters have a zero as
    /// their upper byte, and no character of a text has one as its lower byte but U+0100, U+0200 ….
    pub(super) fn of_zeros(bytes: &[u8]) -> Option<Self> {
        let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
        let units = sample.len() / 2;
        if units < 2 || !bytes.len().is_multiple_of(2) {
            return None;
        }
        let (mut first, mut second) = (0, 0);
        for unit in sample.chunks_exact(2) {
            first += usize::from(unit[0] == 0);
            second += usize::from(unit[1] == 0);
        }
        let many = |zeros: usize| zeros * 10 >= units;
        let few = |zeros: usize| zeros * 100 <= units;
        match (first, second) {
            (first, second) if few(first) && many(second) => Some(Self::Utf16Le),
            (first, second) if many(first) && few(second) => Some(Self::Utf16Be),
            _ => None,
        }
    }

    /// The text, and whether some units could not be decoded.
    pub(super) fn decode(self, bytes: &[u8]) -> (String, bool) {
        let encoding = match self {
            Self::Utf16Le => UTF_16LE,
            Self::Utf16Be => UTF_16BE,
            Self::Utf32Le => return decode_utf32(bytes, u32::from_le_bytes),
            Self::Utf32Be => return decode_utf32(bytes, u32::from_be_bytes),
        };
        let (text, damaged) = encoding.decode_without_bom_handling(bytes);
        (text.into_owned(), damaged)
    }
}

fn decode_utf32(bytes: &[u8], order: fn([u8; 4]) -> u32) -> (String, bool) {
    let (units, rest) = bytes.as_chunks::<4>();
    let mut damaged = !rest.is_empty();
    let text = units
        .iter()
        .map(|unit| {
            char::from_u32(order(*unit)).unwrap_or_else(|| {
                damaged = true;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect();
    (text, damaged)
}
