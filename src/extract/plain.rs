//! Plain text and source code: the text is the file as it is.

use super::{Extracted, stem};
use crate::data::{LocatorMap, MediaType, TextLayout};

/// Longest first line that may be a title.
const TITLE_CHARS_MAX: usize = 80;

/// Plain text. Its title is the first line when that stands alone like one, else the name.
pub(super) fn read(text: String, name: &str) -> Extracted {
    let title = title_line(&text).unwrap_or_else(|| stem(name)).to_owned();
    as_it_is(MediaType::Text, title, text, TextLayout::Plain)
}

/// A table is known by its file name; its first line is the names of its columns.
pub(super) fn read_table(text: String, name: &str) -> Extracted {
    as_it_is(MediaType::Spreadsheet, stem(name).to_owned(), text, TextLayout::Plain)
}

/// Source code is known by its file name.
pub(super) fn read_code(text: String, name: String, layout: TextLayout) -> Extracted {
    as_it_is(MediaType::Code, name, text, layout)
}

fn as_it_is(media_type: MediaType, title: String, text: String, layout: TextLayout) -> Extracted {
    Extracted { media_type, title, text, layout, has_lines: true, locators: LocatorMap::default() }
}

/// The first line that is not blank, when it is short, has letters, is followed by a blank line or an
/// underline and more text, and does not end like a sentence or a list that goes on.
fn title_line(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim).skip_while(|line| line.is_empty());
    let first = lines.next()?;
    let next = lines.next()?;
    let stands_alone = next.is_empty() || is_underline(next);
    let has_body = lines.any(|line| !line.is_empty());
    let reads_as_title = first.chars().count() <= TITLE_CHARS_MAX
        && first.chars().any(char::is_alphabetic)
        && !first.ends_with(['.', ',', ';', ':']);
    (stands_alone && has_body && reads_as_title).then_some(first)
}

fn is_underline(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|b| b"=-~*_".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_title(text: &str, expected: &str) {
        assert_eq!(read(text.to_owned(), "trip notes.txt").title, expected, "{text:?}");
    }

    #[test]
    fn a_first_line_that_stands_alone_is_the_title() {
        check_title("\n  Journey to Lisbon\r\n\r\nWe left early.", "Journey to Lisbon");
        check_title("Lisbon\n======\nWe left early.", "Lisbon");
    }

    #[test]
    fn otherwise_the_name_is() {
        check_title("We left early.\n\nIt rained.", "trip notes");
        check_title("We left early\nIt rained.", "trip notes");
        check_title("2024-05-01\n\nIt rained.", "trip notes");
        check_title("Only one line", "trip notes");
        check_title("Only one line\n\n", "trip notes");
    }
}
