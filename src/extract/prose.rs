//! Text as it is put together from the parts of a document: paragraphs, headings, list items and
//! rows of tables, in the Markdown-like form that HTML pages get as well.

use super::headings::Headings;
use super::one_line;
use crate::data::LocatorMap;

/// List items are indented no deeper.
const INDENT_LEVELS_MAX: usize = 8;

/// Appends blocks. Inside a row of a table they all go into the row's last cell.
#[derive(Debug, Default)]
pub(super) struct Prose {
    text: String,
    headings: Headings,
    /// Cells of each row that is open, outermost first: a table may stand in a cell.
    rows: Vec<Vec<String>>,
    /// Whether the last block was a row or an item, after which others stand close.
    after_line: bool,
}

/// How a block stands to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    Apart,
    /// On the next line where that one is of this kind too.
    Close,
}

impl Prose {
    /// Where the next block begins that stands apart from the one before.
    pub(super) fn next_offset(&self) -> usize {
        if self.text.is_empty() { 0 } else { self.text.len() + 2 }
    }

    /// Where the next block will begin, whatever it is: apart from what stands before it.
    pub(super) fn begin_part(&mut self) -> usize {
        self.after_line = false;
        self.next_offset()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// A paragraph; its own line breaks stay, runs of other white space become one space. One
    /// without text leaves no trace.
    pub(super) fn paragraph(&mut self, text: &str) {
        self.block(Spacing::Apart, "", text);
    }

    /// A list item, `depth` counted from one.
    pub(super) fn item(&mut self, depth: usize, text: &str) {
        let marker = format!("{}- ", "  ".repeat(depth.clamp(1, INDENT_LEVELS_MAX) - 1));
        self.block(Spacing::Close, &marker, text);
    }

    /// A heading of `level`, 1 to 6, on one line.
    pub(super) fn heading(&mut self, level: u8, text: &str) {
        let text = one_line(text);
        if !self.rows.is_empty() {
            return self.paragraph(&text);
        }
        let level = level.clamp(1, 6);
        let offset = self.next_offset();
        let marker = format!("{} ", "#".repeat(usize::from(level)));
        if self.block(Spacing::Apart, &marker, &text) {
            self.headings.push(offset, level, &text, None);
        }
    }

    pub(super) fn open_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn open_cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    /// Writes the cells on one line with ` | ` between; a row without text is left out.
    pub(super) fn close_row(&mut self) {
        let Some(mut row) = self.rows.pop() else { return };
        while row.pop_if(|cell| cell.is_empty()).is_some() {}
        self.block(Spacing::Close, "", &row.join(" | "));
    }

    /// Whether anything was written: text that no one can see leaves no trace.
    fn block(&mut self, spacing: Spacing, marker: &str, text: &str) -> bool {
        let is_close = spacing == Spacing::Close;
        let gap = if is_close && self.after_line { "\n" } else { "\n\n" };
        let in_cell = !self.rows.is_empty();
        let cell = self.rows.last_mut().and_then(|row| row.last_mut());
        let sink = match cell {
            Some(cell) => cell,
            // Between two cells there is no text.
            None if in_cell => return false,
            None => &mut self.text,
        };
        let mut begun = false;
        for line in text.lines() {
            let mut words =
                line.split_whitespace().map(without_invisible).filter(|w| !w.is_empty());
            let Some(first) = words.next() else { continue };
            let before = if in_cell {
                " "
            } else if begun {
                "\n"
            } else {
                gap
            };
            if !sink.is_empty() {
                sink.push_str(before);
            }
            if !begun && !in_cell {
                sink.push_str(marker);
            }
            begun = true;
            sink.push_str(&first);
            for word in words {
                sink.push(' ');
                sink.push_str(&word);
            }
        }
        if begun && !in_cell {
            self.after_line = is_close;
        }
        begun
    }

    /// Text of the first heading.
    pub(super) fn first_heading(&self) -> Option<&str> {
        self.headings.first()
    }

    /// The text, which ends in a line break unless it is empty, and the outline.
    pub(super) fn finish(mut self) -> (String, LocatorMap) {
        while !self.rows.is_empty() {
            self.close_row();
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        (self.text, self.headings.into_marks())
    }
}

/// A word without soft hyphens, marks of no width and control characters, which no one types into
/// a search.
fn without_invisible(word: &str) -> std::borrow::Cow<'_, str> {
    let is_invisible =
        |c: char| c.is_control() || matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}');
    if word.chars().any(is_invisible) {
        word.chars().filter(|c| !is_invisible(*c)).collect::<String>().into()
    } else {
        word.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stand_apart_and_empty_ones_leave_no_trace() {
        let mut prose = Prose::default();
        prose.paragraph(" \u{ad} ");
        prose.heading(1, "  A\n title ");
        prose.paragraph("One\u{a0} two\n\n three\u{ad}four\0");
        prose.item(1, "a");
        prose.item(2, "b\nc");
        prose.open_row();
        prose.close_row();
        prose.heading(9, "End");
        let (text, marks) = prose.finish();
        let expected = "# A title\n\nOne two\nthreefour\n\n- a\n  - b\nc\n\n###### End\n";
        assert_eq!(text, expected);
        for (offset, _) in marks.iter() {
            assert!(text[*offset..].starts_with('#'), "{offset}");
        }
    }

    #[test]
    fn lines_stand_close_whatever_leaves_no_trace_between_them() {
        let mut prose = Prose::default();
        prose.item(1, "a");
        prose.paragraph("");
        prose.item(1, "b");
        prose.heading(1, "\u{ad}");
        prose.item(1, "c");
        prose.paragraph("d");
        prose.item(1, " ");
        prose.paragraph("e");
        prose.open_row();
        prose.close_row();
        prose.item(1, "f");
        let (text, marks) = prose.finish();
        assert_eq!(text, "- a\n- b\n- c\n\nd\n\ne\n\n- f\n");
        assert_eq!(marks.iter().count(), 0);
    }

    #[test]
    fn a_part_begins_where_it_was_said_to() {
        let mut prose = Prose::default();
        let mut offsets = Vec::new();
        for text in ["a", "é", "c"] {
            offsets.push(prose.begin_part());
            prose.item(1, text);
        }
        let (text, _) = prose.finish();
        let starts = ["- a", "- é", "- c"].map(|item| text.find(item).unwrap());
        assert_eq!(offsets, starts, "{text:?}");
    }

    #[test]
    fn a_table_is_rows_and_a_table_in_a_cell_is_its_text() {
        let mut prose = Prose::default();
        prose.open_row();
        prose.paragraph("between cells");
        for cell in ["Name", "Born", ""] {
            prose.open_cell();
            prose.heading(2, cell);
        }
        prose.close_row();
        prose.open_row();
        prose.open_cell();
        prose.paragraph("Ada");
        prose.paragraph("Lovelace");
        prose.open_cell();
        prose.open_row();
        prose.open_cell();
        prose.paragraph("10");
        prose.open_cell();
        prose.paragraph("12");
        prose.close_row();
        assert_eq!(prose.first_heading(), None);
        assert_eq!(prose.finish().0, "Name | Born\nAda Lovelace | 10 | 12\n");
    }
}
