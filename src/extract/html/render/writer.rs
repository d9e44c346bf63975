use crate::extract::headings::Headings;
use crate::extract::markdown::fence;

/// Deeper lists and quotations are indented no further: each line repeats its indent, which would
/// make a hostile page's text grow with the square of its length.
const INDENT_LEVELS_MAX: usize = 8;

/// Space that has to stand before the next text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    None,
    Line,
    Paragraph,
}

/// Builds the text. Gaps and markers are only wished for and come into being with the next text, so
/// empty elements leave no trace.
#[derive(Debug, Default)]
pub(super) struct Writer {
    out: String,
    headings: Headings,
    gap: Gap,
    /// White space was seen since the last text.
    space: bool,
    /// Stands at the start of the next line: a bullet, a number or the hashes of a heading.
    marker: Option<String>,
    /// Next number of each open list, `None` for bullets.
    lists: Vec<Option<u32>>,
    quotes: usize,
    heading: Option<OpenHeading>,
    code: Option<CodeBlock>,
    row: Option<Vec<String>>,
    ticks: Ticks,
}

#[derive(Debug)]
struct OpenHeading {
    level: u8,
    anchor: Option<String>,
    /// Where its line begins, and its text after the hashes; known with its first character.
    starts: Option<(usize, usize)>,
}

#[derive(Debug, Default)]
struct CodeBlock {
    language: String,
    text: String,
    /// Blocks of code inside this one that are still open.
    nested: usize,
}

/// The backticks of inline code, with how many such elements are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ticks {
    #[default]
    None,
    Wanted(usize),
    Written(usize),
}

impl Writer {
    pub(super) fn finish(mut self) -> (String, Headings) {
        self.out.truncate(self.out.trim_end().len());
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        (self.out, self.headings)
    }

    /// Text in flow: runs of white space become one space. In a code block it stays as it is.
    pub(super) fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            code.text.push_str(text);
            return;
        }
        for c in text.chars() {
            if c.is_whitespace() {
                self.space = true;
            } else {
                self.begin_text();
                self.sink().push(c);
            }
        }
    }

    /// Wishes for space before the next text. A heading and a row are one line, so there it is a
    /// space; right after a bullet there is none.
    pub(super) fn gap(&mut self, gap: Gap) {
        if let Some(code) = &mut self.code {
            if !code.text.is_empty() && !code.text.ends_with('\n') {
                code.text.push('\n');
            }
        } else if self.heading.is_some() || self.row.is_some() {
            self.space = true;
        } else if self.marker.is_none() {
            self.gap = self.gap.max(gap);
        }
    }

    pub(super) fn division(&mut self) {
        self.gap(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
    }

    pub(super) fn line_break(&mut self) {
        match &mut self.code {
            Some(code) => code.text.push('\n'),
            None => self.gap(Gap::Line),
        }
    }

    pub(super) fn open_heading(&mut self, level: u8, anchor: Option<String>) {
        if self.code.is_some() || self.heading.is_some() || self.row.is_some() {
            return;
        }
        self.marker = None;
        self.gap(Gap::Paragraph);
        self.marker = Some(format!("{} ", "#".repeat(usize::from(level))));
        self.heading = Some(OpenHeading { level, anchor, starts: None });
    }

    pub(super) fn close_heading(&mut self) {
        let Some(OpenHeading { level, anchor, starts }) = self.heading.take() else { return };
        self.marker = None;
        if let Some((line, text)) = starts {
            self.headings.push(line, level, &self.out[text..], anchor);
        }
        self.gap(Gap::Paragraph);
    }

    pub(super) fn open_code(&mut self, language: String) {
        match &mut self.code {
            Some(code) => code.nested += 1,
            None => self.code = Some(CodeBlock { language, ..CodeBlock::default() }),
        }
    }

    /// Writes the block between fences. It stands at the left margin even in a list, so that its lines
    /// are those of the page.
    pub(super) fn close_code(&mut self) {
        let Some(mut code) = self.code.take() else { return };
        if code.nested > 0 {
            code.nested -= 1;
            self.code = Some(code);
            return;
        }
        let text = code.text.trim_end();
        let text = text.trim_start_matches(['\n', '\r']);
        if text.is_empty() {
            return;
        }
        if self.heading.is_some() || self.row.is_some() {
            self.text(text);
            return;
        }
        self.marker = None;
        self.gap = Gap::None;
        self.space = false;
        if !self.out.is_empty() {
            self.out.push_str("\n\n");
        }
        let fence = fence(text);
        for part in [&fence, &code.language, "\n", text, "\n", &fence] {
            self.out.push_str(part);
        }
        self.gap(Gap::Paragraph);
    }

    pub(super) fn open_list(&mut self, first_number: Option<u32>) {
        self.division();
        self.lists.push(first_number);
    }

    pub(super) fn close_list(&mut self) {
        self.lists.pop();
        self.marker = self.marker.take().filter(|_| self.heading.is_some());
        self.division();
    }

    pub(super) fn open_item(&mut self) {
        if self.code.is_some() || self.heading.is_some() || self.row.is_some() {
            return self.gap(Gap::Line);
        }
        self.marker = None;
        self.gap(Gap::Line);
        self.marker = Some(match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            _ => "- ".to_owned(),
        });
    }

    pub(super) fn close_item(&mut self) {
        if self.heading.is_none() {
            self.marker = None;
        }
        self.gap(Gap::Line);
    }

    pub(super) fn open_quote(&mut self) {
        self.gap(Gap::Paragraph);
        self.quotes += 1;
    }

    pub(super) fn close_quote(&mut self) {
        self.quotes = self.quotes.saturating_sub(1);
        self.gap(Gap::Paragraph);
    }

    pub(super) fn open_row(&mut self) {
        if self.code.is_none() && self.heading.is_none() {
            self.gap(Gap::Line);
            self.row = Some(Vec::new());
        }
    }

    pub(super) fn open_cell(&mut self) {
        self.space = false;
        if let Some(row) = &mut self.row {
            row.push(String::new());
        }
    }

    /// Writes the cells on one line with ` | ` between; a row without text is left out.
    pub(super) fn close_row(&mut self) {
        self.space = false;
        let Some(mut row) = self.row.take() else { return };
        while row.pop_if(|cell| cell.is_empty()).is_some() {}
        if !row.is_empty() {
            self.begin_text();
            self.out.push_str(&row.join(" | "));
        }
        self.gap(Gap::Line);
    }

    pub(super) fn open_inline_code(&mut self) {
        self.ticks = match self.ticks {
            Ticks::None if self.code.is_some() || self.heading.is_some() => Ticks::None,
            Ticks::None => Ticks::Wanted(1),
            Ticks::Wanted(open) => Ticks::Wanted(open + 1),
            Ticks::Written(open) => Ticks::Written(open + 1),
        };
    }

    pub(super) fn close_inline_code(&mut self) {
        self.ticks = match self.ticks {
            Ticks::None | Ticks::Wanted(0 | 1) => Ticks::None,
            Ticks::Written(0 | 1) => {
                self.sink().push('`');
                Ticks::None
            }
            Ticks::Wanted(open) => Ticks::Wanted(open - 1),
            Ticks::Written(open) => Ticks::Written(open - 1),
        };
    }

    /// Where text goes: the current cell, or the page.
    fn sink(&mut self) -> &mut String {
        match self.row.as_mut().and_then(|row| row.last_mut()) {
            Some(cell) => cell,
            None => &mut self.out,
        }
    }

    /// Writes what was wished for before the next character.
    fn begin_text(&mut self) {
        if self.row.is_none() {
            self.begin_line();
        } else if self.space && !self.sink().is_empty() {
            self.sink().push(' ');
        }
        self.space = false;
        if let Ticks::Wanted(open) = self.ticks {
            self.sink().push('`');
            self.ticks = Ticks::Written(open);
        }
    }

    fn begin_line(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        let marker = self.marker.take();
        if gap == Gap::None && marker.is_none() && !self.out.is_empty() {
            if self.space {
                self.out.push(' ');
            }
            return;
        }
        if !self.out.is_empty() {
            self.out.push_str(if gap == Gap::Paragraph { "\n\n" } else { "\n" });
        }
        self.out.extend(std::iter::repeat_n("> ", self.quotes.min(INDENT_LEVELS_MAX)));
        let line = self.out.len();
        if self.heading.is_none() {
            let levels = self.lists.len() - usize::from(marker.is_some() && !self.lists.is_empty());
            self.out.extend(std::iter::repeat_n("  ", levels.min(INDENT_LEVELS_MAX)));
        }
        self.out.push_str(marker.as_deref().unwrap_or_default());
        let text = self.out.len();
        if let Some(heading) = &mut self.heading {
            heading.starts.get_or_insert((line, text));
        }
    }
}
