use std::collections::HashMap;

use lodestone::engine::Skipped;

/// Sources that could not be indexed for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasonGroup {
    pub reason: String,
    pub sources: usize,
}

/// The reason without what is of one file: what stands before the first colon, dash or parenthesis, and no
/// numbers.
pub(super) fn group(skipped: &Skipped) -> &str {
    let reason = skipped.reason.as_str();
    let ends = [": ", "; ", " (", ", "];
    let end = ends.iter().filter_map(|end| reason.find(end)).min();
    let head = &reason[..end.unwrap_or(reason.len())];
    let number = head.find(|c: char| c.is_ascii_digit());
    let head = number.map_or(head, |at| &head[..at]).trim_end();
    if head.is_empty() { reason } else { head }
}

/// By reason, most frequent first.
pub(super) fn groups(skipped: &[Skipped]) -> Vec<ReasonGroup> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for row in skipped {
        *counts.entry(group(row)).or_default() += 1;
    }
    let mut groups: Vec<ReasonGroup> = counts
        .into_iter()
        .map(|(reason, sources)| ReasonGroup { reason: reason.to_owned(), sources })
        .collect();
    groups.sort_by(|a, b| b.sources.cmp(&a.sources).then_with(|| a.reason.cmp(&b.reason)));
    groups
}
