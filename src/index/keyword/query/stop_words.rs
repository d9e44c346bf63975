//! Words that say nothing of what is asked.

use std::collections::HashSet;

use crate::index::keyword::analysis;
use crate::index::keyword::language::Language;

/// The language of a query, of those that the index holds.
pub(super) fn language(terms: &[String], held: &[(Language, f32)]) -> Language {
    let bare: Vec<String> = terms.iter().filter_map(|term| bare(term)).collect();
    Language::of_query(&bare.iter().map(String::as_str), held).unwrap_or_default()
}

/// The places in `terms` of words that count. Stop words count only where there is nothing else,
/// so that "to be or not to be" can still be found.
pub(super) fn without(terms: &[String], language: Language, has_phrases: bool) -> HashSet<usize> {
    let is_stop_word =
        |term: &String| bare(term).is_some_and(|word| language.has_function_word(&word));
    let telling: HashSet<usize> =
        (0..terms.len()).filter(|at| !is_stop_word(&terms[*at])).collect();
    if telling.is_empty() && !has_phrases { (0..terms.len()).collect() } else { telling }
}

/// The only word of a term, in lower case and without accents.
fn bare(term: &str) -> Option<String> {
    let [word] = analysis::analyze(&mut analysis::unstemmed(), term).try_into().ok()?;
    Some(word.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: Language, query: &str, expected: &str) {
        let terms: Vec<String> = query.split(' ').map(str::to_owned).collect();
        let kept = without(&terms, language, false);
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
        let english = "how do I share ownership between threads?";
        check(Language::English, english, "share ownership between threads?");
        check(Language::English, "The (what)", "The (what)");
        check(Language::English, "to be or not to be", "to be or not to be");
        check(Language::German, "Wie kopiere ich die Dateien für", "kopiere Dateien");
        check(Language::English, "die casting", "die casting");
    }
}
