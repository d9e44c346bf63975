use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::data::TextRange;
use crate::index::Mark;

/// The sentence of `text` (Unicode Standard Annex 29) that holds the most telling words of the
/// query, each counted once with its weight; the first of equals. `None` when there is no word of
/// the query in it.
pub(super) fn best(text: &str, marks: &[Mark], weights: &[f32]) -> Option<TextRange> {
    if marks.is_empty() {
        return None;
    }
    let mut best = None;
    let mut most = 0.0;
    for (start, sentence) in text.split_sentence_bound_indices() {
        let inside = start..start + sentence.len();
        let terms: HashSet<usize> = marks
            .iter()
            .filter(|mark| inside.contains(&mark.range.start))
            .map(|mark| mark.term)
            .collect();
        // In the order of the terms: the sum is the same on every run.
        let weight: f32 = weights
            .iter()
            .enumerate()
            .filter(|(term, _)| terms.contains(term))
            .map(|(_, weight)| weight)
            .sum();
        if weight > most {
            most = weight;
            let start = start + (sentence.len() - sentence.trim_start().len());
            best = Some(TextRange { start, end: start + sentence.trim().len() });
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks are written as `[term:word]`.
    fn check(marked: &str, weights: &[f32], expected: Option<&str>) {
        let mut text = String::new();
        let mut marks = Vec::new();
        for piece in marked.split('[') {
            match piece.split_once(']') {
                Some((mark, after)) => {
                    let (term, word) = mark.split_once(':').unwrap();
                    let start = text.len();
                    text.push_str(word);
                    marks.push(Mark { range: start..text.len(), term: term.parse().unwrap() });
                    text.push_str(after);
                }
                None => text.push_str(piece),
            }
        }
        let found = best(&text, &marks, weights).map(|range| &text[range.start..range.end]);
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_sentence_with_the_most_telling_words_is_the_best() {
        let weights = [1.0, 3.0];
        check("No words. None at all.", &weights, None);
        check("A [0:cat]. A [1:dog]! Both?", &weights, Some("A dog!"));
        check("A [0:cat] and [0:cat] and [0:cat]. One [1:dog].", &weights, Some("One dog."));
        check("First [0:cat]. Second [0:cat].", &weights, Some("First cat."));
        check("  [0:cat] alone  ", &weights, Some("cat alone"));
        check("", &weights, None);
    }
}
