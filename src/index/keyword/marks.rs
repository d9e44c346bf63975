use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use tantivy::tokenizer::TextAnalyzer;

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

/// Marks texts with the words and phrases of one query.
pub struct Marker<'a> {
    query: &'a PreparedQuery,
    /// For each language of the query.
    analyzers: Vec<TextAnalyzer>,
    /// Which of [`PreparedQuery::terms`] a word of the index meets; the first of several.
    terms: HashMap<&'a str, usize>,
}

impl fmt::Debug for Marker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Marker").field("query", self.query).finish_non_exhaustive()
    }
}

impl<'a> Marker<'a> {
    #[must_use]
    pub fn new(query: &'a PreparedQuery) -> Self {
        let mut terms = HashMap::new();
        for (at, word) in query.words.iter().enumerate() {
            for text in word.met_by() {
                terms.entry(text).or_insert(at);
            }
        }
        let analyzers = query.languages.iter().map(|language| analysis::stemming(*language));
        Self { query, analyzers: analyzers.collect(), terms }
    }

    /// Where `text` holds words and phrases of the query; ascending and disjoint.
    ///
    /// The words of a phrase are marked where they stand together and nowhere else.
    #[must_use]
    pub fn marks(&mut self, text: &str) -> Vec<Mark> {
        let mut marks = Vec::new();
        for (language, analyzer) in self.analyzers.iter_mut().enumerate() {
            let words = analysis::analyze(analyzer, text);
            for word in &words {
                let term = self.terms.get(word.text.as_str());
                marks.extend(term.map(|term| Mark { range: word.range.clone(), term: *term }));
            }
            let parts: Vec<_> = words.iter().filter(|word| !word.is_whole).collect();
            for (at, phrase) in self.query.phrases.iter().enumerate() {
                let places = phrase.forms.get(language).map(|form| runs(&parts, form));
                let term = self.query.words.len() + at;
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
