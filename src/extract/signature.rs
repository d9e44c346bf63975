//! Formats that are told by their first bytes and have no reader here.

use super::{Unreadable, extension};

enum Kind {
    /// May hold text; a reader can be added.
    Unsupported(&'static str),
    NotForText(&'static str),
}

use Kind::{NotForText, Unsupported};

/// Offset, bytes and kind. Prefixes that could open a text are checked in [`is_certain`] as well.
const SIGNATURES: &[(usize, &[u8], Kind)] = &[
    (0, b"%!PS", Unsupported("a PostScript document")),
    (0, b"AT&TFORM", Unsupported("a DjVu document")),
    (60, b"BOOKMOBI", Unsupported("a Mobipocket book")),
    (0, b"SQLite format 3\0", Unsupported("a SQLite database")),
    (0, b"\x89PNG\r\n\x1a\n", NotForText("a PNG image")),
    (0, b"\xff\xd8\xff", NotForText("a JPEG image")),
    (0, b"GIF87a", NotForText("a GIF image")),
    (0, b"GIF89a", NotForText("a GIF image")),
    (0, b"II*\0", NotForText("a TIFF image")),
    (0, b"MM\0*", NotForText("a TIFF image")),
    (0, b"BM", NotForText("a BMP image")),
    (0, b"8BPS", NotForText("a Photoshop image")),
    (0, b"\0\0\x01\0", NotForText("an icon")),
    (8, b"WEBP", NotForText("a WebP image")),
    (4, b"ftypheic", NotForText("a HEIF image")),
    (4, b"ftypavif", NotForText("an AVIF image")),
    (4, b"ftypM4A", NotForText("an MPEG-4 recording")),
    (4, b"ftyp", NotForText("an MPEG-4 or QuickTime film")),
    (0, b"\x1a\x45\xdf\xa3", NotForText("a Matroska or WebM film")),
    (8, b"AVI ", NotForText("an AVI film")),
    (8, b"WAVE", NotForText("a WAV recording")),
    (0, b"OggS", NotForText("an Ogg recording")),
    (0, b"fLaC", NotForText("a FLAC recording")),
    (0, b"ID3", NotForText("an MP3 recording")),
    (0, b"\xff\xfb", NotForText("an MP3 recording")),
    (0, b"PK\x05\x06", NotForText("an empty ZIP archive")),
    (0, b"BZh", Unsupported("a bzip2 archive")),
    (0, b"\xfd7zXZ\0", Unsupported("an xz archive")),
    (0, b"\x28\xb5\x2f\xfd", Unsupported("a Zstandard archive")),
    (0, b"7z\xbc\xaf\x27\x1c", Unsupported("a 7-Zip archive")),
    (0, b"Rar!\x1a\x07", Unsupported("a RAR archive")),
    (0, b"!<arch>\n", NotForText("a static library")),
    (0, b"\x7fELF", NotForText("a program or library (ELF)")),
    (0, b"MZ", NotForText("a Windows program or library")),
    (0, b"\xcf\xfa\xed\xfe", NotForText("a macOS program or library")),
    (0, b"\xca\xfe\xba\xbe", NotForText("a Java class or macOS program")),
    (0, b"\0asm", NotForText("a WebAssembly module")),
    (0, b"\0\x01\0\0\0", NotForText("a TrueType font")),
    (0, b"OTTO", NotForText("an OpenType font")),
    (0, b"ttcf", NotForText("a font collection")),
    (0, b"wOFF", NotForText("a web font")),
    (0, b"wOF2", NotForText("a web font")),
    (0, b"PAR1", NotForText("a Parquet table")),
    (0, b"glTF", NotForText("a 3D model")),
];

/// The reason to skip a file, when its first bytes name a format that is not read here; SVG opens
/// like any XML, so there its name tells.
pub(super) fn recognize(bytes: &[u8], name: &str) -> Option<Unreadable> {
    if extension(name) == "svg" {
        return Some(Unreadable::NotForText { kind: "an SVG drawing".into() });
    }
    SIGNATURES
        .iter()
        .find(|(offset, magic, _)| {
            bytes.get(*offset..).is_some_and(|rest| rest.starts_with(magic))
                && is_certain(bytes, magic)
        })
        .map(|(_, _, kind)| match kind {
            Unsupported(kind) => Unreadable::Unsupported { kind: (*kind).into() },
            NotForText(kind) => Unreadable::NotForText { kind: (*kind).into() },
        })
}

/// Signatures made of letters alone also open ordinary texts; those files hold NULs near the start.
fn is_certain(bytes: &[u8], magic: &[u8]) -> bool {
    let names_itself = [b"%!PS".as_slice(), b"GIF87a", b"GIF89a", b"!<arch>\n"];
    names_itself.contains(&magic)
        || !magic.is_ascii()
        || bytes[..bytes.len().min(512)].contains(&0)
        || (magic == b"BZh" && bytes.get(4..10) == Some(b"1AY&SY".as_slice()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], name: &str, expected: Option<&str>) {
        let found = recognize(bytes, name).map(|reason| reason.to_string());
        match expected {
            Some(expected) => {
                let found = found.unwrap_or_default();
                assert!(found.starts_with(expected), "{name}: {found}");
            }
            None => assert_eq!(found, None, "{name}"),
        }
    }

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        check(b"%!PS-Adobe-3.0\n", "paper.txt", Some("a PostScript document, which this version"));
        check(b"RIFF\x10\0\0\0WAVEfmt ", "x", Some("a WAV recording"));
        check(b"<?xml version='1.0'?><svg>", "logo.SVG", Some("an SVG drawing"));
        check(b"MZ\x90\0\x03\0", "setup", Some("a Windows program"));
    }

    #[test]
    fn texts_that_open_like_a_signature_stay_texts() {
        for text in ["BM stands for bowel movement", "MZ is a code", "ID3 tags", "BZh is", "OTTO"] {
            check(text.as_bytes(), "notes.txt", None);
        }
    }
}
