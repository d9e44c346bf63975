//! ZIP files as packages of parts, read with limits: what unpacks to more than a person could have
//! meant is refused before it is unpacked.

use std::borrow::Cow;
use std::io::{Cursor, Read as _};

use zip::ZipArchive;
use zip::result::ZipError;

use super::{Unreadable, encoding};

/// Bytes that one part may unpack to.
pub(super) const PART_BYTES_MAX: u64 = 128 << 20;

/// Bytes that all parts read from one package may unpack to.
pub(super) const PACKAGE_BYTES_MAX: u64 = 256 << 20;

#[derive(Debug)]
pub(super) struct Package {
    archive: ZipArchive<Cursor<Vec<u8>>>,
    /// Bytes that may still be unpacked.
    left: u64,
}

impl Package {
    /// # Errors
    /// When the bytes hold no list of parts, which stands at the end and is lost when a file is cut.
    pub(super) fn open(bytes: Vec<u8>) -> Result<Self, Unreadable> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
        Ok(Self { archive, left: PACKAGE_BYTES_MAX })
    }

    /// The bytes of the package as a whole.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.archive.into_inner().into_inner()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.archive.file_names().filter_map(Result::ok)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// The bytes of a part; `None` where there is none of that name.
    ///
    /// # Errors
    /// When it is encrypted, damaged or larger than the limits.
    pub(super) fn part(&mut self, name: &str) -> Result<Option<Vec<u8>>, Unreadable> {
        let limit = PART_BYTES_MAX.min(self.left);
        let part = match self.archive.by_name(name) {
            Ok(part) => part,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(damaged(&error)),
        };
        let mut bytes = Vec::new();
        let read = part.take(limit + 1).read_to_end(&mut bytes);
        if bytes.len() as u64 > limit {
            return Err(too_large(self.left));
        }
        self.left -= bytes.len() as u64;
        match read {
            Ok(_) => Ok(Some(bytes)),
            Err(error) => Err(Unreadable::Damaged { what: error.to_string().into() }),
        }
    }

    /// A part as text.
    ///
    /// # Errors
    /// As [`Package::part`].
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Unreadable> {
        let Some(bytes) = self.part(name)? else { return Ok(None) };
        encoding::decode(bytes, None).map(Some)
    }

    /// A part without which the document is none.
    ///
    /// # Errors
    /// As [`Package::part`], and when it is missing.
    pub(super) fn required(&mut self, name: &str) -> Result<String, Unreadable> {
        let what = || Unreadable::Damaged { what: format!("its part {name} is missing").into() };
        self.text(name)?.ok_or_else(what)
    }

    /// A part that adds something where it can be read.
    pub(super) fn optional(&mut self, name: &str) -> Option<String> {
        self.text(name).ok().flatten()
    }
}

/// Why a part was refused that is larger than its limit, where `left` bytes might still be unpacked.
pub(super) fn too_large(left: u64) -> Unreadable {
    let bytes_max = if left > PART_BYTES_MAX { PART_BYTES_MAX } else { PACKAGE_BYTES_MAX };
    Unreadable::Expands { mb_max: bytes_max >> 20 }
}

fn damaged(error: &ZipError) -> Unreadable {
    match error {
        ZipError::UnsupportedArchive(why) if *why == ZipError::PASSWORD_REQUIRED => {
            Unreadable::Encrypted
        }
        error => Unreadable::Damaged { what: error.to_string().into() },
    }
}

/// The name that `target` has in a package when it is written in the part `base`: targets are
/// relative to the folder of the part, or to the package where they begin with a slash.
pub(super) fn resolve(base: &str, target: &str) -> String {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    let (folder, target) = match target.strip_prefix('/') {
        Some(absolute) => ("", absolute),
        None => (base.rsplit_once('/').map_or("", |(folder, _)| folder), target),
    };
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_relative_to_the_part_that_names_them() {
        assert_eq!(resolve("ppt/presentation.xml", "slides/slide1.xml"), "ppt/slides/slide1.xml");
        assert_eq!(resolve("ppt/slides/s.xml", "../notes/n.xml#a"), "ppt/notes/n.xml");
        assert_eq!(resolve("ppt/slides/s.xml", "/word/a.xml"), "word/a.xml");
        assert_eq!(resolve("content.opf", "./a.xhtml"), "a.xhtml");
        assert_eq!(resolve("a/b.opf", "../../../c.xhtml"), "c.xhtml");
    }
}
