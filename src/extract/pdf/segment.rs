use super::glyphs::Glyph;

/// Glyphs this far apart, in sizes of the font, belong to different words. Typesetters shrink the
/// space between words to 0.2, and kern letters by less than 0.1.
const WORD_GAP: f32 = 0.14;

/// Glyphs that are painted one after the other and this far apart are of different columns or cells.
const SEGMENT_GAP: f32 = 1.0;

/// Pieces that are painted at different times and stand this close are one line.
const JOIN_GAP: f32 = 0.6;

/// Superscripts and subscripts are off the line by less.
const BASELINE_SHIFT: f32 = 0.45;

/// The text of a page in the four directions it may be written in, the ordinary one first.
#[derive(Debug, Default)]
pub(super) struct PageText {
    pub directions: [Vec<Segment>; 4],
    /// Height of the page in points.
    pub height: f32,
}

/// A piece of a line with no large gap in it. Coordinates in points, `y` downwards, turned so that the
/// text runs to the right.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Segment {
    pub text: String,
    pub left: f32,
    pub right: f32,
    pub baseline: f32,
    /// Size of the largest letters.
    pub size: f32,
    /// Whether every letter is as wide as every other, as in code.
    pub is_monospaced: bool,
}

impl Segment {
    pub(super) fn top(&self) -> f32 {
        self.baseline - 0.75 * self.size
    }

    pub(super) fn bottom(&self) -> f32 {
        self.baseline + 0.2 * self.size
    }
}

/// Makes segments of the glyphs of one direction, in the order they are painted.
#[derive(Debug, Default)]
pub(super) struct Segments {
    done: Vec<Segment>,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    segment: Segment,
    /// Where the next glyph of the same word would stand.
    pen: f32,
    space: bool,
    /// Least and greatest width of a letter, in sizes of the font.
    widths: (f32, f32),
    letters: usize,
}

impl Segments {
    pub(super) fn push(&mut self, glyph: &Glyph, text: &str) {
        if text.trim().is_empty() {
            if let Some(open) = &mut self.open {
                open.space |= !text.is_empty();
                // A glyph that was spoken for by another takes its room all the same.
                if text.is_empty() && open.continues(glyph) {
                    open.pen = glyph.x + glyph.width;
                }
            }
            return;
        }
        if let Some(open) = &mut self.open
            && open.continues(glyph)
        {
            open.append(glyph, text);
            return;
        }
        self.close();
        self.open = Some(Open::new(glyph, text));
    }

    fn close(&mut self) {
        let Some(Open { mut segment, widths, letters, .. }) = self.open.take() else { return };
        // Chinese characters are all as wide as high.
        segment.is_monospaced = letters >= 3 && widths.1 - widths.0 < 0.01 && widths.1 < 0.9;
        // Bold letters are made by painting a text twice with a slight shift.
        let is_repeated = self.done.iter().rev().take(8).any(|other| {
            other.text == segment.text
                && (other.left - segment.left).abs() < 0.3 * segment.size
                && (other.baseline - segment.baseline).abs() < 0.3 * segment.size
        });
        if !is_repeated {
            self.done.push(segment);
        }
    }

    /// The segments from top to bottom; pieces of one word are joined whenever they were painted.
    pub(super) fn finish(mut self) -> Vec<Segment> {
        self.close();
        let mut joined: Vec<Segment> = Vec::new();
        for row in rows(self.done) {
            let mut in_row: Option<Segment> = None;
            for segment in row {
                match &mut in_row {
                    Some(before) if segment.left - before.right < JOIN_GAP * segment.size => {
                        let gap = segment.left - before.right;
                        if gap > WORD_GAP * segment.size.min(before.size) {
                            before.text.push(' ');
                        }
                        before.text.push_str(&segment.text);
                        before.right = before.right.max(segment.right);
                        before.is_monospaced &= segment.is_monospaced;
                        if segment.size > before.size {
                            (before.size, before.baseline) = (segment.size, segment.baseline);
                        }
                    }
                    _ => joined.extend(in_row.replace(segment)),
                }
            }
            joined.extend(in_row);
        }
        joined
    }
}

impl Open {
    fn new(glyph: &Glyph, text: &str) -> Self {
        let segment = Segment {
            text: String::new(),
            left: glyph.x,
            right: glyph.x,
            baseline: glyph.y,
            size: glyph.size,
            is_monospaced: false,
        };
        let widths = (f32::MAX, 0.0);
        let mut open = Self { segment, pen: glyph.x, space: false, widths, letters: 0 };
        open.append(glyph, text);
        open
    }

    fn continues(&self, glyph: &Glyph) -> bool {
        let size = self.segment.size.max(glyph.size);
        let gap = glyph.x - self.pen;
        (glyph.y - self.segment.baseline).abs() < BASELINE_SHIFT * size
            && gap > -0.6 * size
            && gap < SEGMENT_GAP * size
    }

    fn append(&mut self, glyph: &Glyph, text: &str) {
        let Self { segment, .. } = self;
        let gap = glyph.x - self.pen;
        let is_apart = self.space || gap > WORD_GAP * glyph.size.min(segment.size);
        if is_apart && !segment.text.is_empty() {
            segment.text.push(' ');
        }
        self.space = text.ends_with(char::is_whitespace);
        segment.text.push_str(text.trim());
        self.pen = glyph.x + glyph.width;
        segment.right = segment.right.max(self.pen);
        // The mark of a note before a word is smaller than the word and off its line.
        if glyph.size > 1.3 * segment.size {
            segment.baseline = glyph.y;
        }
        segment.size = segment.size.max(glyph.size);
        if text.starts_with(char::is_alphabetic) {
            let width = glyph.width / glyph.size;
            self.widths = (self.widths.0.min(width), self.widths.1.max(width));
            self.letters += 1;
        }
    }
}

/// Segments that stand on one line, from left to right; the lines from top to bottom.
pub(super) fn rows(mut segments: Vec<Segment>) -> Vec<Vec<Segment>> {
    segments.sort_by(|a, b| a.baseline.total_cmp(&b.baseline));
    let mut rows: Vec<Vec<Segment>> = Vec::new();
    for segment in segments {
        match rows.last_mut() {
            Some(row) if row.first().is_some_and(|first| is_beside(first, &segment)) => {
                row.push(segment);
            }
            _ => rows.push(vec![segment]),
        }
    }
    for row in &mut rows {
        row.sort_by(|a, b| a.left.total_cmp(&b.left));
    }
    rows
}

fn is_beside(a: &Segment, b: &Segment) -> bool {
    (a.baseline - b.baseline).abs() < BASELINE_SHIFT * a.size.min(b.size)
}

/// The middle one of some numbers; `None` of none.
pub(super) fn median(numbers: impl Iterator<Item = f32>) -> Option<f32> {
    let mut numbers: Vec<f32> = numbers.collect();
    numbers.sort_by(f32::total_cmp);
    numbers.get(numbers.len() / 2).copied()
}
