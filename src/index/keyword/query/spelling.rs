//! What a word that nothing holds may have been meant to be.

use std::collections::BTreeMap;
use std::io;

use tantivy::query::FuzzyTermQuery;
use tantivy::{Searcher, Term};

use crate::index::keyword::schema::Fields;

/// Shorter stems are too near to too many others: "rose" and "rise" are both right.
const CHARS_MIN: usize = 5;

/// From this length on two slips are forgiven, below it one.
const TWO_SLIPS_CHARS_MIN: usize = 8;

/// Corrections that are asked for.
const CORRECTIONS_MAX: usize = 3;

/// Words of the index that a slip or two away are `word`, which is none: the nearest, and of equally
/// near ones those that the most passages hold. Two letters that changed places are one slip
/// (Damerau's distance). The first letter is where people slip least, and has to be right.
///
/// Words with digits are names and numbers, where another digit is another thing.
pub(super) fn corrections(
    word: &str,
    fields: &Fields,
    searcher: &Searcher,
) -> io::Result<Vec<String>> {
    let chars = word.chars().count();
    if chars < CHARS_MIN || !word.chars().all(char::is_alphabetic) {
        return Ok(Vec::new());
    }
    let slips_max = if chars < TWO_SLIPS_CHARS_MIN { 1 } else { 2 };
    for slips in 1..=slips_max {
        let found = within(word, slips, fields, searcher)?;
        if !found.is_empty() {
            let mut found: Vec<_> = found.into_iter().collect();
            found.sort_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then(a.cmp(b)));
            return Ok(found.into_iter().take(CORRECTIONS_MAX).map(|(word, _)| word).collect());
        }
    }
    Ok(Vec::new())
}

/// Words of the index within this distance, and in how many passages they are.
fn within(
    word: &str,
    slips: u8,
    fields: &Fields,
    searcher: &Searcher,
) -> io::Result<BTreeMap<String, u64>> {
    let mut found = BTreeMap::new();
    let first = &word[..word.chars().next().map_or(0, char::len_utf8)];
    for (field, _) in fields.weighted() {
        let query = FuzzyTermQuery::new(Term::from_field_text(field, word), slips, true);
        let automaton = query.automaton().map_err(io::Error::other)?;
        for segment in searcher.segment_readers() {
            let inverted = segment.inverted_index(field).map_err(io::Error::other)?;
            let mut words = inverted.terms().search(&automaton).into_stream()?;
            while let Some((word, info)) = words.next() {
                let found_word = std::str::from_utf8(word).unwrap_or_default();
                if found_word.starts_with(first) {
                    *found.entry(found_word.to_owned()).or_default() += u64::from(info.doc_freq);
                }
            }
        }
    }
    Ok(found)
}
