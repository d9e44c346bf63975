use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A place inside a document that a person, and the application that opens it, can find again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Locator {
    /// One-based line of the source file.
    Line { line: u32 },
    /// The innermost heading above the place, outermost first in `path`.
    Heading {
        path: Vec<String>,
        /// Fragment that a browser can jump to, without the `#`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        anchor: Option<String>,
        /// One-based line, where the source is text of its own.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        line: Option<u32>,
    },
    /// One-based page.
    Page { page: u32 },
}

impl Locator {
    /// The one-based line to open at, where there is one.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        match self {
            Self::Line { line } => Some(*line),
            Self::Heading { line, .. } => *line,
            Self::Page { .. } => None,
        }
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line } => write!(f, "line {line}"),
            Self::Heading { path, .. } => write!(f, "§ {}", path.join(" › ")),
            Self::Page { page } => write!(f, "p. {page}"),
        }
    }
}

/// Which locator holds from which byte of [`super::Document::text`] on.
///
/// Offsets ascend strictly. Lines are not stored: they follow from the text, so a plain file has an
/// empty map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocatorMap {
    marks: Vec<(usize, Locator)>,
}

impl LocatorMap {
    /// Appends a mark; one at or before the last offset replaces what stands there.
    pub fn push(&mut self, offset: usize, locator: Locator) {
        while self.marks.last().is_some_and(|(last, _)| *last >= offset) {
            self.marks.pop();
        }
        self.marks.push((offset, locator));
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &(usize, Locator)> {
        self.marks.iter()
    }

    /// The locator of `range`: the mark that covers its start, or the first inside it when the range
    /// begins before every mark, or else its line.
    ///
    /// `line` is the one-based line of the source at which the range starts, where the source has
    /// lines; a place without line and mark has no locator.
    #[must_use]
    pub fn locate(&self, range: &Range<usize>, line: Option<u32>) -> Option<Locator> {
        let next = self.marks.partition_point(|(offset, _)| *offset <= range.start);
        let mark = next
            .checked_sub(1)
            .or_else(|| (next < self.marks.len() && self.marks[next].0 < range.end).then_some(next))
            .map(|at| self.marks[at].1.clone());
        match mark {
            Some(Locator::Heading { path, anchor, .. }) => {
                Some(Locator::Heading { path, anchor, line })
            }
            Some(other) => Some(other),
            None => line.map(|line| Locator::Line { line }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading(name: &str) -> Locator {
        Locator::Heading { path: vec![name.to_owned()], anchor: None, line: None }
    }

    #[test]
    fn a_place_belongs_to_the_mark_before_it() {
        let mut map = LocatorMap::default();
        map.push(6, heading("A"));
        map.push(15, heading("B"));
        let at = |range, line| map.locate(&range, Some(line)).unwrap().to_string();
        assert_eq!(at(0..5, 1), "line 1");
        assert_eq!(at(0..9, 1), "§ A");
        assert_eq!(at(10..14, 3), "§ A");
        assert_eq!(at(19..23, 5), "§ B");
        assert_eq!(map.locate(&(19..23), Some(5)).unwrap().line(), Some(5));
        assert_eq!(map.locate(&(0..5), None), None);
    }
}
