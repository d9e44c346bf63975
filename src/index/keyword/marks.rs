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
    cutting: TextAnalyzer,
    /// For each language of the query.
    endings: Vec<TextAnalyzer>,
    /// Which of [`PreparedQuery::terms`] a word of the index meets; the first of several.
    terms: HashMap<&'a str, usize>,
    /// Words that were met before: texts repeat them, and stemming is what marking took longest for.
    seen: HashMap<String, SeenWord>,
}

struct SeenWord {
    term: Option<usize>,
    /// For each language of the query.
    stems: Vec<String>,
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
        let endings = query.languages.iter().map(|language| analysis::endings(*language));
        let (cutting, seen) = (analysis::cutting(), HashMap::new());
        Self { query, cutting, endings: endings.collect(), terms, seen }
    }

    /// Where `text` holds words and phrases of the query; ascending and disjoint.
    ///
    /// The words of a phrase are marked where they stand together and nowhere else.
    #[must_use]
    pub fn marks(&mut self, text: &str) -> Vec<Mark> {
        let words = analysis::analyze(&mut self.cutting, text);
        for word in &words {
            self.see(&word.text);
        }
        let mut marks = Vec::new();
        for AnalyzedWord { text, range, .. } in &words {
            let term = self.seen.get(text).and_then(|seen| seen.term);
            marks.extend(term.map(|term| Mark { range: range.clone(), term }));
        }
        if !self.query.phrases.is_empty() {
            self.mark_phrases(&words, &mut marks);
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

    fn see(&mut self, word: &str) {
        if self.seen.contains_key(word) {
            return;
        }
        let stem = |endings| analysis::analyze(endings, word).into_iter().map(|word| word.text);
        let stems: Vec<String> = self.endings.iter_mut().flat_map(stem).collect();
        let term = stems.iter().filter_map(|stem| self.terms.get(stem.as_str())).min().copied();
        self.seen.insert(word.to_owned(), SeenWord { term, stems });
    }

    fn mark_phrases(&self, words: &[AnalyzedWord], marks: &mut Vec<Mark>) {
        let parts: Vec<_> = words.iter().filter(|word| !word.is_whole).collect();
        let seen: Vec<_> = parts.iter().filter_map(|part| self.seen.get(&part.text)).collect();
        for (at, phrase) in self.query.phrases.iter().enumerate() {
            let term = self.query.words.len() + at;
            for (language, form) in phrase.forms.iter().enumerate() {
                let stems: Vec<_> = seen.iter().map(|seen| &seen.stems[language]).collect();
                let place = |run: Range<usize>| {
                    let range = parts[run.start].range.start..parts[run.end - 1].range.end;
                    Mark { range, term }
                };
                marks.extend(runs(&stems, form).map(place));
            }
        }
    }
}

/// Where the words of a phrase follow one another, as places in `stems`.
fn runs<'a>(
    stems: &'a [&'a String],
    phrase: &'a [String],
) -> impl Iterator<Item = Range<usize>> + 'a {
    let is_there = move |run: &[&String]| run.iter().copied().eq(phrase);
    let length = phrase.len().max(1);
    let runs = stems.windows(length).enumerate().filter(move |(_, run)| is_there(run));
    runs.map(move |(at, _)| at..at + length)
}
