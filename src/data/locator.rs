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
    /// One-based slide of a presentation.
    Slide {
        slide: u32,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        title: Option<String>,
    },
    /// The first cell of a row of a spreadsheet, as `A1` names it.
    Cell { sheet: String, cell: String },
    /// A chapter of a book: one file of it.
    Chapter {
        /// Headings around the place, outermost first, the chapter's own name before them.
        path: Vec<String>,
        /// The file inside the book, with the fragment to jump to where there is one.
        href: String,
    },
    /// One-based message of a mailbox.
    Message { message: u32, subject: String },
    /// A file inside another: an attachment or a member of an archive.
    Member {
        /// Path inside the archive, `/` between its parts; the name of an attachment.
        path: String,
        /// The place inside that file.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        within: Option<Box<Locator>>,
    },
}

impl Locator {
    /// The one-based line to open at, where there is one.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        match self {
            Self::Line { line } => Some(*line),
            Self::Heading { line, .. } => *line,
            Self::Member { within, .. } => within.as_ref().and_then(|within| within.line()),
            _ => None,
        }
    }

    /// What stands above the place, outermost first: a passage that does not say it is found and
    /// embedded with it.
    #[must_use]
    pub fn headings(&self) -> &[String] {
        match self {
            Self::Heading { path, .. } | Self::Chapter { path, .. } => path,
            Self::Slide { title, .. } => title.as_slice(),
            Self::Cell { sheet: above, .. } | Self::Message { subject: above, .. } => {
                std::slice::from_ref(above)
            }
            Self::Member { path, within } => {
                match within.as_ref().map(|within| within.headings()) {
                    Some(headings) if !headings.is_empty() => headings,
                    _ => std::slice::from_ref(path),
                }
            }
            Self::Line { .. } | Self::Page { .. } => &[],
        }
    }

    /// The same place with the line of the source at which it starts, where it keeps one.
    fn with_line(mut self, at: Option<u32>) -> Self {
        if let Self::Heading { line, .. } = &mut self {
            *line = at;
        }
        self
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line } => write!(f, "line {line}"),
            Self::Chapter { path, href } if path.is_empty() => write!(f, "{href}"),
            Self::Heading { path, .. } | Self::Chapter { path, .. } => {
                write!(f, "§ {}", path.join(" › "))
            }
            Self::Page { page } => write!(f, "p. {page}"),
            Self::Slide { slide, title: None } => write!(f, "slide {slide}"),
            Self::Slide { slide, title: Some(title) } => write!(f, "slide {slide}: {title}"),
            Self::Cell { sheet, cell } => write!(f, "{sheet}!{cell}"),
            Self::Message { message, subject } => write!(f, "message {message}: {subject}"),
            Self::Member { path, within: None } => write!(f, "{path}"),
            Self::Member { path, within: Some(within) } => write!(f, "{path}, {within}"),
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
            Some(mark) => Some(mark.with_line(line)),
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

    #[test]
    fn every_place_is_said_in_words_and_survives_json() {
        let member = |within| Locator::Member { path: "notes/a.pdf".to_owned(), within };
        let page = Locator::Page { page: 12 };
        let slide = |title: Option<&str>| Locator::Slide { slide: 3, title: title.map(Into::into) };
        let href = "text/ch1.xhtml#two".to_owned();
        for (locator, words, above) in [
            (Locator::Line { line: 7 }, "line 7", ""),
            (heading("A"), "§ A", "A"),
            (page.clone(), "p. 12", ""),
            (slide(None), "slide 3", ""),
            (slide(Some("Plan")), "slide 3: Plan", "Plan"),
            (Locator::Cell { sheet: "Q1".into(), cell: "A9".into() }, "Q1!A9", "Q1"),
            (Locator::Chapter { path: vec![], href: href.clone() }, "text/ch1.xhtml#two", ""),
            (Locator::Chapter { path: vec!["I".into(), "II".into()], href }, "§ I › II", "I/II"),
            (Locator::Message { message: 2, subject: "Hi".into() }, "message 2: Hi", "Hi"),
            (member(None), "notes/a.pdf", "notes/a.pdf"),
            (member(Some(Box::new(page))), "notes/a.pdf, p. 12", "notes/a.pdf"),
            (member(Some(Box::new(heading("B")))), "notes/a.pdf, § B", "B"),
        ] {
            assert_eq!(locator.to_string(), words);
            assert_eq!(locator.headings().join("/"), above, "{words}");
            let json = serde_json::to_string(&locator).unwrap();
            assert_eq!(serde_json::from_str::<Locator>(&json).unwrap(), locator, "{json}");
        }
    }
}
