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
    /// Names and reasons of the members that gave no text.
    unread: Vec<String>,
    levels_left: u32,
}

impl Members {
    pub(super) fn new(levels_left: u32) -> Self {
        Self {
            text: String::new(),
            locators: LocatorMap::default(),
            unread: Vec::new(),
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
                self.unread(path, &reason);
                Ok(())
            }
        }
    }

    pub(super) fn unread(&mut self, path: &str, reason: &Unreadable) {
        if self.unread.len() < NAMES_MAX {
            self.unread.push(format!("{} ({reason})", printable(path)));
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

    /// Names what gave no text, under `heading`: a person may look for a file by its name alone.
    pub(super) fn name_unread(&mut self, heading: &str) {
        if self.unread.is_empty() {
            return;
        }
        self.gap();
        self.text.push_str(heading);
        self.text.push_str("\n\n");
        for line in self.unread.drain(..) {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }
}

/// A name on one line without control characters.
fn printable(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    name.trim().to_owned()
}
