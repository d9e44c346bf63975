//! Files inside files: the members of an archive, the attachments of a message.

use super::{Extracted, Unreadable, extract_named};
use crate::data::{Locator, LocatorMap};

/// Archives in archives, messages in messages, so deep and no deeper.
pub(super) const LEVELS_MAX: u32 = 3;

/// Members of one archive.
pub(super) const MEMBERS_MAX: usize = 10_000;

/// Text of all members together.
const TEXT_BYTES_MAX: usize = 32 << 20;

/// Members that could not be read and are named all the same.
const NAMES_MAX: usize = 1_000;

/// The text of members, each under its name, with marks that say which member a place is in.
#[derive(Debug)]
pub(super) struct Members {
    pub text: String,
    pub locators: LocatorMap,
    pub unread: Unread,
    levels_left: u32,
}

impl Members {
    pub(super) fn new(levels_left: u32) -> Self {
        Self {
            text: String::new(),
            locators: LocatorMap::default(),
            unread: Unread::default(),
            levels_left,
        }
    }

    /// Reads a member and appends its text. One that gives none is only named, at the end.
    ///
    /// # Errors
    /// When the texts together are more than the limit.
    pub(super) fn push(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), Unreadable> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let read = match self.levels_left.checked_sub(1) {
            Some(left) => extract_named(name, bytes, left),
            None => Err(Unreadable::TooManyLevels { levels_max: LEVELS_MAX }),
        };
        match read {
            Ok(extracted) => self.append(path, &extracted),
            Err(Unreadable::Empty | Unreadable::Blank) => Ok(()),
            Err(reason) => {
                self.unread.push(path, &reason);
                Ok(())
            }
        }
    }

    fn append(&mut self, path: &str, extracted: &Extracted) -> Result<(), Unreadable> {
        if self.text.len() + extracted.text.len() > TEXT_BYTES_MAX {
            return Err(Unreadable::Expands { mb_max: TEXT_BYTES_MAX as u64 >> 20 });
        }
        let path = printable(path);
        self.gap();
        let start = self.text.len();
        self.text.push_str(&path);
        self.text.push_str("\n\n");
        let body = self.text.len();
        self.text.push_str(extracted.text.trim_end());
        self.text.push('\n');
        self.locators.push(start, Locator::Member { path: path.clone(), within: None });
        for (offset, locator) in extracted.locators.iter() {
            let within = Some(Box::new(locator.clone()));
            self.locators.push(body + offset, Locator::Member { path: path.clone(), within });
        }
        Ok(())
    }

    /// An empty line between what there is and what comes.
    pub(super) fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// Names what gave no text, under `heading`.
    pub(super) fn name_unread(&mut self, heading: &str) {
        self.unread.write(&mut self.text, heading);
    }
}

/// Parts of a document that gave no text, by name and reason: a person may look for a file by its name
/// alone, and is to know that something is missing.
#[derive(Debug, Default)]
pub(super) struct Unread {
    lines: Vec<String>,
    first: Option<Unreadable>,
    is_any_locked: bool,
}

impl Unread {
    pub(super) fn push(&mut self, path: &str, reason: &Unreadable) {
        self.is_any_locked |= *reason == Unreadable::Encrypted;
        self.first.get_or_insert_with(|| reason.clone());
        if self.lines.len() < NAMES_MAX {
            self.lines.push(format!("{} ({reason})", printable(path)));
        }
    }

    pub(super) fn is_any_locked(&self) -> bool {
        self.is_any_locked
    }

    /// Why a document without text has none.
    pub(super) fn into_reason(self) -> Unreadable {
        self.first.unwrap_or(Unreadable::NoText)
    }

    /// Names all of them at the end of a text, under `heading`.
    pub(super) fn write(&mut self, text: &mut String, heading: &str) {
        if self.lines.is_empty() {
            return;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(heading);
        text.push_str("\n\n");
        for line in self.lines.drain(..) {
            text.push_str(&line);
            text.push('\n');
        }
    }
}

/// A name on one line without control characters.
fn printable(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    name.trim().to_owned()
}
