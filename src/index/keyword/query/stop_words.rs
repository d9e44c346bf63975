//! Words that say nothing of what is asked.

use std::collections::HashSet;

/// Articles, pronouns, prepositions, auxiliaries and question words of English.
const STOP_WORDS: &[&str] = &[
    "a", "about", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it",
    "its", "me", "my", "no", "not", "of", "on", "or", "our", "should", "so", "such", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "was", "we",
    "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

/// The places in `terms` of words that count. Stop words count only where there is nothing else,
/// so that "to be or not to be" can still be found.
pub(super) fn without(terms: &[String], has_phrases: bool) -> HashSet<usize> {
    let is_stop_word = |term: &String| {
        let bare = term.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        STOP_WORDS.binary_search(&bare.as_str()).is_ok()
    };
    let telling: HashSet<usize> =
        (0..terms.len()).filter(|at| !is_stop_word(&terms[*at])).collect();
    if telling.is_empty() && !has_phrases { (0..terms.len()).collect() } else { telling }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expected: &str) {
        let terms: Vec<String> = query.split(' ').map(str::to_owned).collect();
        let kept = without(&terms, false);
        let kept: Vec<_> = terms
            .iter()
            .enumerate()
            .filter(|(at, _)| kept.contains(at))
            .map(|(_, t)| t.as_str())
            .collect();
        assert_eq!(kept.join(" "), expected);
    }

    #[test]
    fn stop_words_go_unless_they_are_all_there_is() {
        assert!(STOP_WORDS.is_sorted());
        check("how do I share ownership between threads?", "share ownership between threads?");
        check("The (what)", "The (what)");
        check("to be or not to be", "to be or not to be");
    }
}
