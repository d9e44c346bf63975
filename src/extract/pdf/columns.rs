//! The order in which the parts of a page are read: a recursive cut of the page at its white space.

use std::collections::BTreeMap;

use super::segment::{Segment, median};

/// White space between columns, in sizes of the ordinary letters, at least.
const GUTTER: f32 = 0.7;

/// White space above or below what spans the columns.
const BAND_GAP: f32 = 0.3;

/// Letters of a heading are larger than the ordinary ones by this factor.
const HEADING_SIZE: f32 = 1.12;

/// Lines that a column has at least: fewer are a table or a form, which is read line by line.
const COLUMN_LINES_MIN: usize = 4;

/// Characters of the middle one of the lines of a column, at least; cells of tables have fewer.
const COLUMN_CHARS_MIN: f32 = 15.0;

/// Gutters that are tried, the widest first: a page has few, a broken file any number.
const GUTTERS_MAX: usize = 8;

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
    let all: Vec<&Segment> = segments.iter().collect();
    let gutter = gutter(&all, size);
    let band = if gutter.is_some() { heading_below(&all, size) } else { band(&all, size) };
    let (first, second): (Vec<Segment>, Vec<Segment>) = match (band, gutter) {
        (Some(y), _) => segments.into_iter().partition(|segment| segment.baseline < y),
        (None, Some(x)) => segments.into_iter().partition(|segment| segment.left < x),
        (None, None) => return blocks.push(segments),
    };
    cut(first, cuts_left - 1, blocks);
    cut(second, cuts_left - 1, blocks);
}

/// Where a gutter without any text parts two columns of text.
fn gutter(segments: &[&Segment], size: f32) -> Option<f32> {
    let spans = segments.iter().map(|segment| (segment.left, segment.right)).collect();
    gaps(spans, GUTTER * size)
        .into_iter()
        .take(GUTTERS_MAX)
        .map(|(start, end)| f32::midpoint(start, end))
        .find(|x| {
            let (left, right): (Vec<&Segment>, Vec<&Segment>) =
                segments.iter().copied().partition(|segment| segment.left < *x);
            is_column(&left) && is_column(&right) && are_beside(&left, &right)
        })
}

/// Where the largest part of the page that has columns begins, or else where it ends: at white space
/// that goes all across.
fn band(segments: &[&Segment], size: f32) -> Option<f32> {
    let cuts = cuts(segments, size);
    let mut strips: Vec<Vec<&Segment>> = vec![Vec::new(); cuts.len() + 1];
    for segment in segments {
        strips[cuts.partition_point(|cut| *cut < segment.baseline)].push(segment);
    }
    let mut best: Option<(usize, usize, usize)> = None;
    for first in 0..strips.len() {
        let mut part: Vec<&Segment> = Vec::new();
        for (last, strip) in strips.iter().enumerate().skip(first) {
            part.extend(strip);
            let spans = part.iter().map(|segment| (segment.left, segment.right)).collect();
            if gaps(spans, GUTTER * size).is_empty() {
                break;
            }
            if best.is_none_or(|(.., count)| part.len() > count) && gutter(&part, size).is_some() {
                best = Some((first, last, part.len()));
            }
        }
    }
    let (first, last, _) = best?;
    // All of the page would have had the gutter, so one of the two is inside it.
    first.checked_sub(1).or_else(|| (last < cuts.len()).then_some(last)).map(|at| cuts[at])
}

/// Where the headings begin that stand below columns: none ends a column, it belongs to what comes after.
fn heading_below(segments: &[&Segment], size: f32) -> Option<f32> {
    let are_headings = |y: &f32| {
        let mut below = segments.iter().filter(|segment| segment.baseline > *y);
        below.all(|segment| segment.size > HEADING_SIZE * size)
    };
    cuts(segments, size).into_iter().rev().take_while(are_headings).last()
}

/// White space that goes all across, from top to bottom.
fn cuts(segments: &[&Segment], size: f32) -> Vec<f32> {
    let spans = segments.iter().map(|segment| (segment.top(), segment.bottom())).collect();
    let mut cuts: Vec<f32> = gaps(spans, BAND_GAP * size)
        .into_iter()
        .take(BANDS_MAX)
        .map(|(start, end)| f32::midpoint(start, end))
        .collect();
    cuts.sort_by(f32::total_cmp);
    cuts
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

/// Whether segments, from top to bottom, are lines of running text, and not cells of a table: these have
/// white space between them all the way down, while the words of a justified line have it here and there.
fn is_column(segments: &[&Segment]) -> bool {
    let size = median(segments.iter().map(|segment| segment.size)).unwrap_or(0.0);
    let spans = segments.iter().map(|segment| (segment.left, segment.right)).collect();
    let mut cells: Vec<f32> = gaps(spans, GUTTER * size).iter().map(|(_, start)| *start).collect();
    cells.sort_by(f32::total_cmp);
    let mut lines = 0_usize;
    let mut last = f32::NEG_INFINITY;
    let mut chars: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for segment in segments {
        if segment.baseline - last > 0.5 * segment.size {
            lines += 1;
        }
        last = last.max(segment.baseline);
        let cell = cells.partition_point(|start| *start <= segment.left);
        *chars.entry((lines, cell)).or_default() += segment.text.chars().count();
    }
    let chars = chars.values().map(|chars| *chars as f32);
    lines >= COLUMN_LINES_MIN && median(chars).is_some_and(|chars| chars >= COLUMN_CHARS_MIN)
}

/// Whether two groups share at least half of the height of the smaller.
fn are_beside(left: &[&Segment], right: &[&Segment]) -> bool {
    let (left, right) = (height(left), height(right));
    let shared = left.1.min(right.1) - left.0.max(right.0);
    shared * 2.0 >= (left.1 - left.0).min(right.1 - right.0)
}

fn height(segments: &[&Segment]) -> (f32, f32) {
    segments.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(top, bottom), segment| {
        (top.min(segment.top()), bottom.max(segment.bottom()))
    })
}
