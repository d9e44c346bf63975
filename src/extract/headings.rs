use super::one_line;
use crate::data::{Locator, LocatorMap};

/// Longest heading that is kept in a path, in characters; every mark repeats the headings above it,
/// so one endless heading must not be copied under each of its children.
const HEADING_CHARS_MAX: usize = 200;

/// Marks beyond this many are left out: a file that has more has no outline a person would follow.
const MARKS_MAX: usize = 100_000;

/// Follows the headings of a document from top to bottom and marks where each begins.
#[derive(Debug, Default)]
pub(super) struct Headings {
    /// Level and text of the headings that enclose the current place, levels ascending.
    open: Vec<(u8, String)>,
    marks: LocatorMap,
    count: usize,
    first: Option<String>,
}

impl Headings {
    /// A heading of `level` (1 is outermost) that begins at byte `offset` of the text. One without
    /// text is no heading.
    pub(super) fn push(&mut self, offset: usize, level: u8, text: &str, anchor: Option<String>) {
        let text = collapse(text);
        if text.is_empty() || self.count == MARKS_MAX {
            return;
        }
        if self.first.is_none() {
            self.first = Some(text.clone());
        }
        self.open.retain(|(above, _)| *above < level);
        self.open.push((level, text));
        let path = self.open.iter().map(|(_, text)| text.clone()).collect();
        self.marks.push(offset, Locator::Heading { path, anchor, line: None });
        self.count += 1;
    }

    /// Text of the first heading.
    pub(super) fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }

    pub(super) fn into_marks(self) -> LocatorMap {
        self.marks
    }
}

/// One line with single spaces, cut to the length that a path keeps.
fn collapse(text: &str) -> String {
    let words = one_line(text);
    match words.char_indices().nth(HEADING_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_holds_the_headings_that_enclose_a_place() {
        let mut headings = Headings::default();
        headings.push(0, 1, "Guide", None);
        headings.push(10, 3, " Deep\n inside ", Some("deep".to_owned()));
        headings.push(20, 2, "Next", None);
        headings.push(30, 2, "", None);
        headings.push(40, 1, &"x".repeat(300), None);
        assert_eq!(headings.first(), Some("Guide"));
        let marks = headings.into_marks();
        let shown: Vec<_> = marks.iter().map(|(at, locator)| format!("{at} {locator}")).collect();
        assert_eq!(shown[..3], ["0 § Guide", "10 § Guide › Deep inside", "20 § Guide › Next"]);
        assert_eq!(shown[3].chars().count(), "40 § ".len() - 1 + HEADING_CHARS_MAX + 1);
    }
}
