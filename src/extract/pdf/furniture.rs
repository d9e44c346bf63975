//! Running heads, footers and page numbers: lines at the edge of a page that come back on others.

use std::collections::{HashMap, HashSet};

use super::segment::{PageText, Segment, rows};

/// Lines from the edge inwards that may be furniture.
const LINES_MAX: usize = 3;

/// Part of the page's height at its top and bottom where furniture stands.
const ZONE: f32 = 0.12;

/// Pages that a line comes back on to be furniture, in a document of more pages than that.
const PAGES_MIN: usize = 3;

/// Removes what repeats; the words of a running head stay where they come first, its numbers nowhere.
pub(super) fn remove(pages: &mut [PageText]) {
    let edges: Vec<[Vec<Line>; 2]> = pages.iter().map(edges).collect();
    let mut counts: HashMap<(usize, &str), usize> = HashMap::new();
    for page in &edges {
        for (edge, lines) in page.iter().enumerate() {
            // Numbers at the foot of one page look alike and are not repeated.
            let patterns: HashSet<&str> = lines.iter().map(|line| line.pattern.as_str()).collect();
            for pattern in patterns {
                *counts.entry((edge, pattern)).or_default() += 1;
            }
        }
    }
    let pages_min = PAGES_MIN.min(pages.len().max(2));
    let mut seen: HashSet<(usize, &str)> = HashSet::new();
    for (page, edges) in pages.iter_mut().zip(&edges) {
        for (edge, lines) in edges.iter().enumerate() {
            for line in lines {
                let key = (edge, line.pattern.as_str());
                if counts.get(&key).is_none_or(|count| *count < pages_min) {
                    break;
                }
                let is_first = seen.insert(key);
                if line.has_words() && is_first {
                    continue;
                }
                page.directions[0].retain(|segment| !line.baselines.contains(&segment.baseline));
            }
        }
    }
}

#[derive(Debug)]
struct Line {
    /// Its text with every number as `#`.
    pattern: String,
    baselines: Vec<f32>,
}

impl Line {
    /// Page numbers have none, whether in digits or Roman, nor have `Page 3 of 7` and `Seite 3`.
    fn has_words(&self) -> bool {
        let letters = self.pattern.chars().filter(|c| c.is_alphabetic()).count();
        letters > 8
    }
}

/// The lines at the top and at the bottom of a page, outermost first.
fn edges(page: &PageText) -> [Vec<Line>; 2] {
    let lines = rows(page.directions[0].clone());
    let is_top = |line: &&Vec<Segment>| line[0].baseline < page.height * ZONE;
    let is_bottom = |line: &&Vec<Segment>| line[0].baseline > page.height * (1.0 - ZONE);
    let top = lines.iter().take(LINES_MAX).take_while(is_top).map(|line| Line::of(line));
    let bottom =
        lines.iter().rev().take(LINES_MAX).take_while(is_bottom).map(|line| Line::of(line));
    [top.collect(), bottom.collect()]
}

impl Line {
    fn of(segments: &[Segment]) -> Self {
        let mut pattern = String::new();
        for word in segments.iter().flat_map(|segment| segment.text.split_whitespace()) {
            if !pattern.is_empty() {
                pattern.push(' ');
            }
            let is_roman = word.chars().all(|c| "ivxlcIVXLC".contains(c));
            let is_number = is_roman || word.chars().all(|c| c.is_ascii_digit());
            pattern.push_str(if is_number { "#" } else { word });
        }
        // Even and odd pages have the number on different sides.
        let pattern = pattern.trim_matches(['#', ' ', '-', '–', '|']).to_owned();
        let pattern = if pattern.is_empty() { "#".to_owned() } else { pattern };
        Self { pattern, baselines: segments.iter().map(|segment| segment.baseline).collect() }
    }
}
