//! ZIP and tar archives: one document with the text of every member, each place marked with the
//! member that it is in.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};

use super::nested::{LEVELS_MAX, MEMBERS_MAX, Members};
use super::package::{PACKAGE_BYTES_MAX, PART_BYTES_MAX, Package, too_large};
use super::{Extracted, Unreadable, extract_named, stem};
use crate::data::{MediaType, TextLayout};

/// # Errors
/// When the archive is damaged, over the limits, or no member gives text.
pub(super) fn read_zip(
    mut package: Package,
    name: &str,
    levels_left: u32,
) -> Result<Extracted, Unreadable> {
    let mut paths: Vec<String> =
        package.names().filter(|path| !path.ends_with('/')).map(Cow::into_owned).collect();
    if paths.len() > MEMBERS_MAX {
        return Err(Unreadable::TooManyMembers { members_max: MEMBERS_MAX });
    }
    paths.sort_unstable();
    let mut members = Members::new(levels_left);
    for path in paths.iter().filter(|path| !is_bookkeeping(path)) {
        match package.part(path) {
            Ok(Some(bytes)) => members.push(path, bytes)?,
            Ok(None) => {}
            Err(bomb @ Unreadable::Expands { .. }) => return Err(bomb),
            Err(reason) => members.unread.push(path, &reason),
        }
    }
    finish(members, name)
}

/// # Errors
/// As [`read_zip`].
pub(super) fn read_tar(
    bytes: impl Read,
    name: &str,
    levels_left: u32,
) -> Result<Extracted, Unreadable> {
    let damaged = |error: &std::io::Error| Unreadable::Damaged { what: error.to_string().into() };
    // What is passed over is unpacked as well.
    let mut archive = Archive::new(bytes.take(PACKAGE_BYTES_MAX + 1));
    let mut members = Members::new(levels_left);
    let mut bytes_left = PACKAGE_BYTES_MAX;
    let mut count = 0;
    for entry in archive.entries().map_err(|error| damaged(&error))? {
        let entry = match entry {
            Ok(entry) => entry,
            // What came before the damage is there to be found.
            Err(error) if !members.text.is_empty() => {
                members.unread.push("what follows", &damaged(&error));
                break;
            }
            Err(error) => return Err(damaged(&error)),
        };
        count += 1;
        if count > MEMBERS_MAX {
            return Err(Unreadable::TooManyMembers { members_max: MEMBERS_MAX });
        }
        if !matches!(entry.header().entry_type(), EntryType::Regular | EntryType::Continuous) {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let limit = PART_BYTES_MAX.min(bytes_left);
        let mut bytes = Vec::new();
        let read = entry.take(limit + 1).read_to_end(&mut bytes);
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes_left));
        }
        bytes_left -= bytes.len() as u64;
        match read {
            Ok(_) if is_bookkeeping(&path) => {}
            Ok(_) => members.push(&path, bytes)?,
            Err(error) => members.unread.push(&path, &damaged(&error)),
        }
    }
    finish(members, name)
}

/// A file that was made smaller by itself, or a tar archive.
///
/// # Errors
/// As [`read_zip`], and as the file inside.
pub(super) fn read_gzip(
    bytes: &[u8],
    name: &str,
    levels_left: u32,
) -> Result<Extracted, Unreadable> {
    let mut head = Vec::new();
    // An error shows again when the whole is read.
    let _ = MultiGzDecoder::new(bytes).take(512).read_to_end(&mut head);
    if is_tar(&head) {
        return read_tar(MultiGzDecoder::new(bytes), name, levels_left);
    }
    let mut inner = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(PART_BYTES_MAX + 1).read_to_end(&mut inner);
    if inner.len() as u64 > PART_BYTES_MAX {
        return Err(Unreadable::Expands { mb_max: PART_BYTES_MAX >> 20 });
    }
    if let Err(error) = read {
        return Err(Unreadable::Damaged { what: error.to_string().into() });
    }
    let too_deep = Unreadable::TooManyLevels { levels_max: LEVELS_MAX };
    let levels_left = levels_left.checked_sub(1).ok_or(too_deep)?;
    extract_named(stem(name), inner, levels_left)
}

/// Whether bytes open with the header of a tar archive.
pub(super) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// What systems put into archives for themselves.
fn is_bookkeeping(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.starts_with("__MACOSX/") || matches!(name, ".DS_Store" | "Thumbs.db" | "desktop.ini")
}

fn finish(mut members: Members, name: &str) -> Result<Extracted, Unreadable> {
    if members.text.is_empty() {
        let is_locked = members.unread.is_any_locked();
        return Err(if is_locked { Unreadable::Encrypted } else { Unreadable::NoMemberWithText });
    }
    members.name_unread("Without text:");
    Ok(Extracted {
        media_type: MediaType::Archive,
        title: name.to_owned(),
        text: members.text,
        layout: TextLayout::Plain,
        has_lines: false,
        locators: members.locators,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_damage_of_an_archive_is_said_to_be_missing() {
        let mut tar = tar::Builder::new(Vec::new());
        for name in ["a.txt", "b.txt"] {
            let mut header = tar::Header::new_gnu();
            header.set_size(5);
            tar.append_data(&mut header, name, &b"Straw"[..]).unwrap();
        }
        let mut bytes = tar.into_inner().unwrap();
        bytes[1024..1536].fill(b'?');
        let text = read_tar(bytes.as_slice(), "a.tar", 1).unwrap().text;
        assert!(
            text.starts_with(
                "a.txt\n\nStraw\n\nWithout text:\n\nwhat follows (the file is damaged"
            )
        );
    }

    #[test]
    fn an_archive_of_locked_members_asks_for_its_password() {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        zip.start_file("a.txt", zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut zip, b"Straw").unwrap();
        let mut bytes = zip.finish().unwrap().into_inner();
        // The flag of encryption, where the member is and in the list at the end.
        let listed = memchr::memmem::find(&bytes, b"PK\x01\x02").unwrap();
        bytes[6] |= 1;
        bytes[listed + 8] |= 1;
        let refused = read_zip(Package::open(bytes).unwrap(), "a.zip", 1).unwrap_err();
        assert_eq!(refused, Unreadable::Encrypted);
    }
}
