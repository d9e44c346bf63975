use std::ops::Range;

use lodestone::data::{MediaType, TextLayout};
use lodestone::engine::DocumentView;

use super::lines;
use super::markdown;
use super::node::{Kind, Node};

/// A document that is no longer than this is in the page as a whole.
const WHOLE_BYTES_MAX: usize = 160 << 10;
const WHOLE_BLOCKS_MAX: usize = 1_500;
/// How much is put into the page at a time.
#[derive(Clone, Copy)]
struct Part {
    blocks: usize,
    bytes: usize,
}

/// A part of a longer one.
const PART: Part = Part { blocks: 500, bytes: 48 << 10 };
/// What is there at once, above the place that is read and from it on: more than a screen. To put in more would hold
/// up the page for as long as a letter that is typed meanwhile should take.
const FIRST_ABOVE: Part = Part { blocks: 60, bytes: 4 << 10 };
const FIRST_BELOW: Part = Part { blocks: 120, bytes: 8 << 10 };
/// What follows at each step until the rest is there.
const STEP: Part = Part { blocks: 150, bytes: 12 << 10 };

/// The face that a text is read in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// Markdown and the like, laid out in blocks.
    Prose,
    /// Plain paragraphs whose line breaks count.
    Plain,
    /// Columns: tables, logs, settings.
    Columns,
    /// Numbered lines.
    Code,
}

/// A document's text as blocks from top to bottom.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub style: TextStyle,
    pub blocks: Vec<Node>,
}

impl Layout {
    pub fn of(view: &DocumentView) -> Self {
        let text = &view.text;
        let (style, blocks) = match (view.layout, view.media_type) {
            (TextLayout::Markdown, _) => (TextStyle::Prose, markdown::blocks(text)),
            (TextLayout::Plain, MediaType::Code) => (TextStyle::Code, lines::numbered(text)),
            (TextLayout::Plain, _) if lines::is_columnar(text) => {
                (TextStyle::Columns, lines::paragraphs(text, &Kind::Preformatted))
            }
            (TextLayout::Plain, _) => (TextStyle::Plain, lines::paragraphs(text, &Kind::Paragraph)),
            _ => (TextStyle::Code, lines::numbered(text)),
        };
        Self { style, blocks }
    }

    /// The first shown byte at or after `offset`.
    pub fn anchor(&self, offset: usize) -> Option<usize> {
        self.blocks[self.block_at(offset)..].iter().find_map(|block| block.anchor(offset))
    }

    /// The first block that ends after `offset`.
    fn block_at(&self, offset: usize) -> usize {
        self.blocks.partition_point(|block| block.range.end <= offset)
    }

    /// Blocks to put into the page so that `offset` is among them.
    pub fn window_around(&self, offset: usize) -> Range<usize> {
        let bytes = self.blocks.last().map_or(0, |block| block.range.end);
        if bytes <= WHOLE_BYTES_MAX && self.blocks.len() <= WHOLE_BLOCKS_MAX {
            return 0..self.blocks.len();
        }
        let at = self.block_at(offset).min(self.blocks.len().saturating_sub(1));
        self.extend_up(at)..self.extend_down(at)
    }

    pub fn covers(&self, window: &Range<usize>, offset: usize) -> bool {
        window.contains(&self.block_at(offset))
    }

    /// What of a window is put into the page first when `offset` is to be read.
    pub fn first_part(&self, window: &Range<usize>, offset: usize) -> Range<usize> {
        if window.is_empty() {
            return window.clone();
        }
        let at = self.block_at(offset).clamp(window.start, window.end - 1);
        let start = self.before(at, FIRST_ABOVE).max(window.start);
        start..self.after(at, FIRST_BELOW).min(window.end)
    }

    /// One step from the part of a window that is in the page towards the whole of it, first downwards.
    pub fn fill(&self, shown: &Range<usize>, window: &Range<usize>) -> Range<usize> {
        if shown.end < window.end {
            shown.start..self.after(shown.end, STEP).min(window.end)
        } else if shown.start > window.start {
            self.before(shown.start, STEP).max(window.start)..shown.end
        } else {
            shown.clone()
        }
    }

    /// Where a window that ends at block `end` ends with one more part.
    pub fn extend_down(&self, end: usize) -> usize {
        self.after(end, PART)
    }

    /// Where a window that starts at block `start` starts with one more part.
    pub fn extend_up(&self, start: usize) -> usize {
        self.before(start, PART)
    }

    fn after(&self, end: usize, part: Part) -> usize {
        let Some(first) = self.blocks.get(end) else { return self.blocks.len() };
        let limit = first.range.start + part.bytes;
        let by_bytes = self.blocks.partition_point(|block| block.range.start < limit);
        by_bytes.min(end + part.blocks).max(end + 1)
    }

    fn before(&self, start: usize, part: Part) -> usize {
        let Some(first) = self.blocks.get(start) else { return start.min(self.blocks.len()) };
        let limit = first.range.start.saturating_sub(part.bytes);
        let by_bytes = self.blocks.partition_point(|block| block.range.end < limit);
        by_bytes.max(start.saturating_sub(part.blocks)).min(start.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture;

    fn code(lines: usize) -> Layout {
        let mut view = fixture::document();
        view.layout = TextLayout::Rust;
        view.media_type = MediaType::Code;
        view.text = "let a = 1;\n".repeat(lines);
        Layout::of(&view)
    }

    #[test]
    fn a_short_document_is_shown_whole() {
        let layout = code(100);
        assert_eq!(layout.window_around(500), 0..100);
        assert_eq!(layout.anchor(11), Some(11));
    }

    #[test]
    fn what_is_shown_first_grows_to_its_window_in_small_steps() {
        let layout = code(1_000);
        let offset = 11 * 700;
        let window = layout.window_around(offset);
        let mut shown = layout.first_part(&window, offset);
        assert!(layout.covers(&shown, offset) && shown.len() <= 180, "{shown:?}");
        while shown != window {
            let next = layout.fill(&shown, &window);
            let (more, less) = (next.len() - shown.len(), next.start > shown.start);
            assert!((1..=STEP.blocks).contains(&more) && !less && next.end >= shown.end);
            shown = next;
        }
        assert_eq!(layout.fill(&shown, &window), window);
        assert_eq!(layout.first_part(&(0..0), 5), 0..0);
    }

    #[test]
    fn a_long_document_is_shown_in_parts_that_meet() {
        let layout = code(200_000);
        let offset = 11 * 100_000;
        let window = layout.window_around(offset);
        assert!(layout.covers(&window, offset));
        assert!(window.len() <= 2 * PART.blocks, "{window:?}");
        assert!(window.contains(&100_000));
        let mut end = window.end;
        while end < layout.blocks.len() {
            let next = layout.extend_down(end);
            assert!(next > end);
            end = next;
        }
        let mut start = window.start;
        while start > 0 {
            let next = layout.extend_up(start);
            assert!(next < start);
            start = next;
        }
    }

    #[test]
    fn an_anchor_skips_what_is_not_shown() {
        let mut view = fixture::document();
        view.text = "## Head\n\n**bold** text".to_owned();
        view.layout = TextLayout::Markdown;
        let layout = Layout::of(&view);
        assert_eq!(layout.anchor(0), Some(3));
        assert_eq!(layout.anchor(9), Some(11));
        assert_eq!(layout.anchor(13), Some(13));
        assert_eq!(layout.anchor(500), None);
    }
}
