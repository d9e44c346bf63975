use std::ops::Range;

use super::PreparedQuery;
use super::analysis::{self, AnalyzedWord};

/// A place in a text that matches the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// Which of [`PreparedQuery::terms`] it matches.
    pub term: usize,
}

impl PreparedQuery {
    /// Where `text` holds words and phrases of the query; ascending and disjoint.
    ///
    /// The words of a phrase are marked where they stand together and nowhere else.
    #[must_use]
    pub fn marks(&self, text: &str) -> Vec<Mark> {
        let mut marks = Vec::new();
        for (language, stems) in self.languages.iter().enumerate() {
            let words = analysis::analyze(&mut analysis::stemming(*stems), text);
            for word in &words {
                let term = self.words.iter().position(|term| term.is_met_by(&word.text));
                marks.extend(term.map(|term| Mark { range: word.range.clone(), term }));
            }
            let parts: Vec<_> = words.iter().filter(|word| !word.is_whole).collect();
            for (at, phrase) in self.phrases.iter().enumerate() {
                let places = phrase.forms.get(language).map(|form| runs(&parts, form));
                let term = self.words.len() + at;
                marks.extend(places.into_iter().flatten().map(|range| Mark { range, term }));
            }
        }
        // The longest of those that begin at one place covers the others.
        marks.sort_by_key(|mark| (mark.range.start, usize::MAX - mark.range.end, mark.term));
        let mut end = 0;
        marks.retain(|mark| {
            let is_free = mark.range.start >= end;
            if is_free {
                end = mark.range.end;
            }
            is_free
        });
        marks
    }
}

/// Where the words of a phrase follow one another.
fn runs<'a>(
    words: &'a [&'a AnalyzedWord],
    phrase: &'a [String],
) -> impl Iterator<Item = Range<usize>> + 'a {
    words
        .windows(phrase.len().max(1))
        .filter(move |window| !phrase.is_empty() && window.iter().map(|word| &word.text).eq(phrase))
        .map(|window| window[0].range.start..window[window.len() - 1].range.end)
}
