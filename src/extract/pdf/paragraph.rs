//! Lines to paragraphs.

use super::segment::{Segment, median, rows};
use super::spelling::{BROKEN, joins_without_space};

/// White space inside a line that parts the cells of a table, in sizes of the letters.
const CELL_GAP: f32 = 2.5;

/// A line this much further down than usual begins a paragraph.
const LEADING: f32 = 1.35;

/// Letters this much larger or smaller begin a paragraph.
const SIZE_CHANGE: f32 = 1.12;

/// An indentation, in sizes of the letters.
const INDENT: f32 = 0.8;

/// A line that ends this part of the width before the edge, after a full stop, ends a paragraph.
const SHORT_LINE: f32 = 0.3;

#[derive(Debug)]
struct Line {
    text: String,
    left: f32,
    right: f32,
    baseline: f32,
    size: f32,
    /// Cells of a table, or code: its line breaks mean something.
    stands_alone: bool,
}

/// What stands between two lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    None,
    Line,
    Paragraph,
}

/// The text of a block, paragraphs with a blank line between.
pub(super) fn text(block: Vec<Segment>) -> String {
    let lines: Vec<Line> = rows(block).into_iter().map(Line::of).collect();
    let block = Block::of(&lines);
    let mut text = String::new();
    // Lines of the paragraph that is open.
    let mut count = 0;
    for (at, line) in lines.iter().enumerate() {
        let stop = match at.checked_sub(1).map(|before| &lines[before]) {
            Some(before) => block.between(before, line, count),
            None => Break::Paragraph,
        };
        count = if stop == Break::None { count + 1 } else { 1 };
        match stop {
            _ if text.is_empty() => text.push_str(&line.text),
            Break::None => join(&mut text, &line.text),
            Break::Line => text.extend(["\n", &line.text]),
            Break::Paragraph => text.extend(["\n\n", &line.text]),
        }
    }
    text
}

impl Line {
    fn of(segments: Vec<Segment>) -> Self {
        let first = &segments[0];
        let (left, baseline) = (first.left, first.baseline);
        let size = median(segments.iter().map(|segment| segment.size)).unwrap_or(first.size);
        let is_code = segments.iter().all(|segment| segment.is_monospaced);
        let mut line =
            Self { text: String::new(), left, right: left, baseline, size, stands_alone: is_code };
        for segment in segments {
            if !line.text.is_empty() {
                let is_cell = segment.left - line.right > CELL_GAP * size;
                line.stands_alone |= is_cell;
                line.text.push_str(if is_cell { " | " } else { " " });
            }
            line.text.push_str(&segment.text);
            line.right = line.right.max(segment.right);
        }
        line
    }

    fn is_list_item(&self) -> bool {
        let first = self.text.split_whitespace().next().unwrap_or_default();
        let number = first.trim_start_matches(['(', '[']).trim_end_matches(['.', ')', ']']);
        let is_marked = number.len() < first.len()
            && number.len() <= 3
            && number.chars().all(|c| c.is_ascii_alphanumeric());
        is_marked || first.chars().next().is_some_and(|c| "•◦▪■●–—*·‣⁃∙\u{f0b7}".contains(c))
    }
}

/// What is usual in a block.
#[derive(Debug)]
struct Block {
    /// From one baseline to the next.
    leading: f32,
    left: f32,
    right: f32,
    lines: usize,
}

impl Block {
    fn of(lines: &[Line]) -> Self {
        let steps = lines.windows(2).map(|pair| pair[1].baseline - pair[0].baseline);
        let usual = lines.windows(2).filter_map(|pair| {
            let step = pair[1].baseline - pair[0].baseline;
            (step < 2.5 * pair[0].size.max(pair[1].size)).then_some(step)
        });
        Self {
            leading: median(usual).or_else(|| median(steps)).unwrap_or(0.0),
            left: lines.iter().map(|line| line.left).fold(f32::INFINITY, f32::min),
            right: lines.iter().map(|line| line.right).fold(f32::NEG_INFINITY, f32::max),
            lines: lines.len(),
        }
    }

    fn between(&self, before: &Line, line: &Line, count: usize) -> Break {
        let step = line.baseline - before.baseline;
        let usual = self.leading.max(line.size.min(before.size));
        let sizes = line.size.max(before.size) / line.size.min(before.size);
        if step > LEADING * usual || sizes > SIZE_CHANGE {
            return Break::Paragraph;
        }
        if before.stands_alone || line.stands_alone {
            return Break::Line;
        }
        if line.is_list_item()
            && (before.is_list_item() || line.left <= before.left + 0.1 * line.size)
        {
            return Break::Line;
        }
        let indent = INDENT * line.size;
        let is_indented =
            line.left > before.left + indent && !(count == 1 && before.is_list_item());
        let is_outdented = count > 1 && line.left < before.left - indent;
        let width = self.right - self.left;
        let ends = before.text.ends_with(['.', '!', '?', ':', '”', '。']);
        let is_short = self.lines >= 3 && before.right < self.right - SHORT_LINE * width && ends;
        if is_indented || is_outdented || is_short { Break::Paragraph } else { Break::None }
    }
}

/// Appends the next line of a paragraph; where the end of the line broke a word, it leaves a mark.
fn join(text: &mut String, line: &str) {
    let last = text.chars().next_back();
    let first = line.chars().next();
    match (last, first) {
        (Some('-' | '\u{ad}' | '\u{2010}'), Some(first)) if first.is_lowercase() => {
            let is_broken = text.chars().rev().nth(1).is_some_and(char::is_lowercase);
            if is_broken {
                text.pop();
                text.push(BROKEN);
            }
        }
        (Some(last), Some(first)) if joins_without_space(last, first) => {}
        _ => text.push(' '),
    }
    text.push_str(line);
}
