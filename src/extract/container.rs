//! Formats whose bytes are no text: which of them a file is, and who reads it.

use super::package::Package;
use super::{Extracted, Unreadable, archive, caught, epub, extension, mail, office, pdf};
use office::Workbook;

/// A format that is told by its first bytes, or by its name where these say nothing, and whose parser
/// is not trusted with the process of the application: it runs in one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Pdf,
    Rtf,
    /// Office Open XML, OpenDocument, EPUB or an archive.
    Zip,
    /// What Office wrote before 2007, and what it writes for encrypted documents.
    Compound,
    Gzip,
    Tar,
    Message,
    Mailbox,
    WebArchive,
}

impl Container {
    /// Whatever the name says, unless it says that the file is text of another kind: a page about mail
    /// may open like a message.
    pub(super) fn detect(bytes: &[u8], name: &str) -> Option<Self> {
        const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
        let extension = extension(name);
        // Some printers put a line before the signature; readers look for it in the first 1024 bytes.
        let head = &bytes[..bytes.len().min(1024)];
        if memchr::memmem::find(head, b"%PDF-").is_some_and(|at| at == 0 || extension == "pdf") {
            return Some(Self::Pdf);
        }
        for (magic, container) in [
            (&b"{\\rtf"[..], Self::Rtf),
            (b"PK\x03\x04", Self::Zip),
            (COMPOUND, Self::Compound),
            (b"\x1f\x8b", Self::Gzip),
        ] {
            if bytes.starts_with(magic) {
                return Some(container);
            }
        }
        if archive::is_tar(bytes) {
            return Some(Self::Tar);
        }
        match extension.as_str() {
            "eml" => Some(Self::Message),
            "mbox" | "mbx" => Some(Self::Mailbox),
            "mht" | "mhtml" => Some(Self::WebArchive),
            _ if super::format::is_known(name) => None,
            _ if mail::is_mailbox(bytes) => Some(Self::Mailbox),
            _ if mail::is_message(bytes) => Some(Self::Message),
            _ => None,
        }
    }

    pub(super) fn read(
        self,
        bytes: Vec<u8>,
        name: &str,
        levels_left: u32,
    ) -> Result<Extracted, Unreadable> {
        caught(|| self.parse(bytes, name, levels_left))
    }

    fn parse(self, bytes: Vec<u8>, name: &str, levels_left: u32) -> Result<Extracted, Unreadable> {
        match self {
            Self::Pdf => pdf::read(bytes, name),
            Self::Rtf => office::read_rtf(&bytes, name),
            Self::Zip => read_zip(bytes, name, levels_left),
            Self::Compound => read_compound(bytes, name),
            Self::Gzip => archive::read_gzip(&bytes, name, levels_left),
            Self::Tar => archive::read_tar(bytes.as_slice(), name, levels_left),
            Self::Message => mail::read_message(&bytes, name, levels_left),
            Self::Mailbox => mail::read_mailbox(&bytes, name, levels_left),
            Self::WebArchive => mail::read_web_archive(&bytes, name),
        }
    }
}

/// A ZIP file is what its parts make it, whatever its name.
fn read_zip(bytes: Vec<u8>, name: &str, levels_left: u32) -> Result<Extracted, Unreadable> {
    let mut package = Package::open(bytes)?;
    let media_type = package.optional("mimetype").unwrap_or_default();
    let is_spreadsheet = package.contains("xl/workbook.xml") || package.contains("xl/workbook.bin");
    match media_type.trim() {
        "application/epub+zip" => return epub::read(package, name),
        opendocument if opendocument.starts_with("application/vnd.oasis.opendocument.") => {
            let kind = opendocument.rsplit('.').next().unwrap_or_default();
            return match kind.trim_end_matches("-template") {
                "text" | "text-master" | "text-web" => office::read_odt(package, name),
                "presentation" => office::read_odp(package, name),
                "spreadsheet" => {
                    office::read_workbook(package.into_bytes(), name, Workbook::OpenDocument)
                }
                _ => Err(Unreadable::Unsupported {
                    kind: "an OpenDocument drawing or formula".into(),
                }),
            };
        }
        _ => {}
    }
    if package.contains("word/document.xml") {
        office::read_docx(package, name)
    } else if package.contains("ppt/presentation.xml") {
        office::read_pptx(package, name)
    } else if is_spreadsheet {
        let is_binary = package.contains("xl/workbook.bin");
        let kind = if is_binary { Workbook::Xlsb } else { Workbook::Xlsx };
        office::read_workbook(package.into_bytes(), name, kind)
    } else if package.contains("META-INF/container.xml") {
        epub::read(package, name)
    } else {
        archive::read_zip(package, name, levels_left)
    }
}

/// A compound file lists its streams by UTF-16 names.
fn read_compound(bytes: Vec<u8>, name: &str) -> Result<Extracted, Unreadable> {
    let holds = |stream: &str| {
        let name: Vec<u8> = stream.encode_utf16().flat_map(u16::to_le_bytes).collect();
        memchr::memmem::find(&bytes, &name).is_some()
    };
    let unsupported = |kind: &'static str| Unreadable::Unsupported { kind: kind.into() };
    if holds("EncryptedPackage") {
        Err(Unreadable::Encrypted)
    } else if holds("WordDocument") {
        Err(unsupported("a Word document of before 2007"))
    } else if holds("PowerPoint Document") {
        Err(unsupported("a PowerPoint presentation of before 2007"))
    } else if !office::has_sound_chains(&bytes) {
        Err(Unreadable::Damaged {
            what: "the list of its parts is cut off or runs in a circle".into(),
        })
    } else if holds("Workbook") || holds("Book") {
        office::read_workbook(bytes, name, Workbook::Xls)
    } else if holds("__nameid_version1.0") {
        Err(unsupported("an Outlook message"))
    } else {
        Err(unsupported("an old Office document (doc, xls, ppt, msg)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_told_by_its_first_bytes_else_by_its_name() {
        let of = Container::detect;
        assert_eq!(of(b"%PDF-1.7\n", "paper.txt"), Some(Container::Pdf));
        assert_eq!(of(b"\r\n\n%PDF-1.7\n", "paper.PDF"), Some(Container::Pdf));
        assert_eq!(of(b"It says %PDF-1.7", "paper.txt"), None);
        assert_eq!(of(b"PK\x03\x04", "x"), Some(Container::Zip));
        assert_eq!(of(b"Subject: hi\n", "a.eml"), Some(Container::Message));
        let message = b"From: a@b\nMessage-ID: <1>\n\nText";
        assert_eq!(of(message, "1700.M5P1.host,S=2:2,S"), Some(Container::Message));
        assert_eq!(of(message, "notes.md"), None);
    }
}
