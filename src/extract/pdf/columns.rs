//! The order in which the parts of a page are read: a recursive cut of the page at its white space.

use super::segment::{Segment, median};

/// White space between columns, in sizes of the ordinary letters, at least.
const GUTTER: f32 = 0.7;

/// White space above or below what spans the columns.
const BAND_GAP: f32 = 0.3;

/// Lines that a column has at least: fewer are a table or a form, which is read line by line.
const COLUMN_LINES_MIN: usize = 4;

/// Characters of the middle line of a column, at least; cells of tables have fewer.
const COLUMN_CHARS_MIN: usize = 15;

/// Places that are tried for a cut across the page.
const BANDS_MAX: usize = 64;

/// How often a page is cut into parts of parts.
const CUTS_MAX: usize = 32;

/// Blocks of segments in reading order: left column before right, what spans them where it stands.
pub(super) fn reading_order(segments: Vec<Segment>) -> Vec<Vec<Segment>> {
    let mut blocks = Vec::new();
    cut(segments, CUTS_MAX, &mut blocks);
    blocks
}

fn cut(segments: Vec<Segment>, cuts_left: usize, blocks: &mut Vec<Vec<Segment>>) {
    let size = median(segments.iter().map(|segment| segment.size)).unwrap_or(0.0);
    if cuts_left == 0 || segments.len() < 2 * COLUMN_LINES_MIN {
        blocks.extend((!segments.is_empty()).then_some(segments));
        return;
    }
    let parts = match gutter(&segments, size) {
        Some(x) => Some(segments.iter().cloned().partition(|segment| segment.left < x)),
        None => band(&segments, size)
            .map(|y| segments.iter().cloned().partition(|segment| segment.baseline < y)),
    };
    match parts {
        Some((first, second)) => {
            let (first, second): (Vec<Segment>, Vec<Segment>) = (first, second);
            cut(first, cuts_left - 1, blocks);
            cut(second, cuts_left - 1, blocks);
        }
        None => blocks.push(segments),
    }
}

/// Where a gutter without any text parts two columns of text.
fn gutter(segments: &[Segment], size: f32) -> Option<f32> {
    let spans = segments.iter().map(|segment| (segment.left, segment.right));
    gaps(spans.collect(), GUTTER * size)
        .into_iter()
        .map(|(start, end)| f32::midpoint(start, end))
        .find(|x| {
            let half = |is_left: bool| {
                segments.iter().filter(move |segment| (segment.left < *x) == is_left)
            };
            is_column(half(true)) && is_column(half(false)) && are_beside(half(true), half(false))
        })
}

/// Where a cut across leaves a part that has columns.
fn band(segments: &[Segment], size: f32) -> Option<f32> {
    let spans = segments.iter().map(|segment| (segment.top(), segment.bottom()));
    gaps(spans.collect(), BAND_GAP * size).into_iter().take(BANDS_MAX).find_map(|(start, end)| {
        let y = f32::midpoint(start, end);
        let (above, below): (Vec<_>, Vec<_>) =
            segments.iter().cloned().partition(|segment| segment.baseline < y);
        (gutter(&above, size).is_some() || gutter(&below, size).is_some()).then_some(y)
    })
}

/// Gaps between intervals that are at least so wide, the widest first.
fn gaps(mut spans: Vec<(f32, f32)>, width_min: f32) -> Vec<(f32, f32)> {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut gaps = Vec::new();
    let mut end = f32::INFINITY;
    for (start, stop) in spans {
        if start - end >= width_min {
            gaps.push((end, start));
        }
        end = if end.is_finite() { end.max(stop) } else { stop };
    }
    gaps.sort_by(|a: &(f32, f32), b| (b.1 - b.0).total_cmp(&(a.1 - a.0)));
    gaps
}

/// Whether segments are lines of running text, and not cells of a table.
fn is_column<'a>(segments: impl Iterator<Item = &'a Segment> + Clone) -> bool {
    let mut lines = 0;
    let mut last = f32::NEG_INFINITY;
    for segment in segments.clone() {
        if segment.baseline - last > 0.5 * segment.size {
            lines += 1;
        }
        last = last.max(segment.baseline);
    }
    let chars = median(segments.map(|segment| segment.text.chars().count() as f32));
    lines >= COLUMN_LINES_MIN && chars.is_some_and(|chars| chars >= COLUMN_CHARS_MIN as f32)
}

/// Whether two groups share at least half of the height of the smaller.
fn are_beside<'a>(
    left: impl Iterator<Item = &'a Segment>,
    right: impl Iterator<Item = &'a Segment>,
) -> bool {
    let (left, right) = (height(left), height(right));
    let shared = left.1.min(right.1) - left.0.max(right.0);
    shared * 2.0 >= (left.1 - left.0).min(right.1 - right.0)
}

fn height<'a>(segments: impl Iterator<Item = &'a Segment>) -> (f32, f32) {
    segments.fold((f32::INFINITY, f32::NEG_INFINITY), |(top, bottom), segment| {
        (top.min(segment.top()), bottom.max(segment.bottom()))
    })
}
