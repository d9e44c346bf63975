mod prefix;
mod stop_words;

use std::io;

use tantivy::query::{
    BooleanQuery, BoostQuery, DisjunctionMaxQuery, Occur, PhraseQuery, Query, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{DocAddress, DocId, DocSet as _, Searcher, TantivyError, Term};

use super::analysis;
use super::schema::Fields;

/// What is asked of the keyword index, as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeywordQuery {
    /// Words, of which a passage is to hold as many as possible, rare ones first.
    pub terms: Vec<String>,
    /// Runs of words that a passage has to hold.
    pub phrases: Vec<String>,
    /// Words and phrases that the whole document may not hold.
    pub excluded: Vec<String>,
    /// Whether the last of `terms` may be the beginning of a word.
    pub prefix_last: bool,
}

/// A query in the words of the index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PreparedQuery {
    pub(super) words: Vec<PreparedWord>,
    pub(super) phrases: Vec<PreparedPhrase>,
    excluded: Vec<PreparedPhrase>,
}

/// One typed word.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PreparedWord {
    typed: String,
    /// The whole of an identifier, or pairs of characters.
    wholes: Vec<String>,
    parts: Vec<String>,
    /// Words of the index that begin as typed.
    completions: Vec<String>,
    idf: f32,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PreparedPhrase {
    typed: String,
    pub(super) parts: Vec<String>,
    idf: f32,
}

/// Words of one query. Who pastes a page to search for is served by its beginning.
const WORDS_MAX: usize = 64;

/// A completion is a guess at what will be typed, so it counts for less than a word that stands
/// there in full.
const COMPLETION_WEIGHT: f32 = 0.5;

impl PreparedQuery {
    pub(super) fn new(
        query: &KeywordQuery,
        fields: &Fields,
        searcher: &Searcher,
    ) -> io::Result<Self> {
        let mut stemming = analysis::stemming();
        let terms = stop_words::without(&query.terms, !query.phrases.is_empty());
        let mut words: Vec<PreparedWord> = Vec::new();
        for (at, typed) in query.terms.iter().enumerate().filter(|(at, _)| terms.contains(at)) {
            let is_beginning = query.prefix_last && at + 1 == query.terms.len();
            let mut word = PreparedWord::new(typed, &mut stemming);
            if is_beginning {
                word.completions = prefix::completions(typed, &word.parts, fields, searcher)?;
            }
            if words.len() < WORDS_MAX
                && !word.is_empty()
                && words.iter().all(|other| !other.is_same(&word))
            {
                words.push(word);
            }
        }
        let mut phrases = |typed: &[String]| -> Vec<PreparedPhrase> {
            let phrases = typed.iter().map(|typed| PreparedPhrase::new(typed, &mut stemming));
            phrases.filter(|phrase| !phrase.parts.is_empty()).collect()
        };
        let mut prepared =
            Self { words, phrases: phrases(&query.phrases), excluded: phrases(&query.excluded) };
        prepared.weigh(fields, searcher)?;
        Ok(prepared)
    }

    /// Looks up how rare each word is in bodies.
    fn weigh(&mut self, fields: &Fields, searcher: &Searcher) -> io::Result<()> {
        let idf = |text: &String| -> io::Result<f32> {
            let term = Term::from_field_text(fields.body, text);
            let mut holding = 0;
            for segment in searcher.segment_readers() {
                let inverted = segment.inverted_index(fields.body).map_err(io::Error::other)?;
                holding += u64::from(inverted.doc_freq(&term)?);
            }
            Ok(idf(holding, searcher.num_docs()))
        };
        for word in &mut self.words {
            for text in word.parts.iter().chain(&word.wholes).chain(&word.completions) {
                word.idf = word.idf.max(idf(text)?);
            }
        }
        for phrase in &mut self.phrases {
            for text in &phrase.parts {
                phrase.idf += idf(text)?;
            }
        }
        Ok(())
    }

    /// The words and then the phrases that marks point at, as they were typed.
    pub fn terms(&self) -> impl Iterator<Item = &str> + '_ {
        let words = self.words.iter().map(|word| word.typed.as_str());
        words.chain(self.phrases.iter().map(|phrase| phrase.typed.as_str()))
    }

    /// How rare each of [`PreparedQuery::terms`] is: the logarithm that BM25 uses (Lucene's variant,
    /// which is positive), summed over a phrase.
    pub fn weights(&self) -> impl Iterator<Item = f32> + '_ {
        let words = self.words.iter().map(|word| word.idf);
        words.chain(self.phrases.iter().map(|phrase| phrase.idf))
    }

    /// Whether nothing is left to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.phrases.is_empty()
    }

    /// The query whose score ranks passages; `None` when there is nothing to look for.
    pub(super) fn scored(&self, fields: &Fields) -> Option<BooleanQuery> {
        if self.is_empty() {
            return None;
        }
        let mut clauses = Vec::new();
        for word in &self.words {
            word.clauses(fields, &mut clauses);
        }
        for phrase in &self.phrases {
            clauses.push((Occur::Must, phrase.in_any_field(fields)));
        }
        Some(BooleanQuery::new(clauses))
    }

    /// What a passage has to hold; `None` when nothing.
    pub(super) fn requirements(&self, fields: &Fields) -> Option<BooleanQuery> {
        let phrases = self.phrases.iter().map(|phrase| (Occur::Must, phrase.in_any_field(fields)));
        let clauses: Vec<_> = phrases.collect();
        (!clauses.is_empty()).then(|| BooleanQuery::new(clauses))
    }

    /// What no passage of a document may hold; `None` when nothing.
    pub(super) fn exclusions(&self, fields: &Fields) -> Option<BooleanQuery> {
        let phrases =
            self.excluded.iter().map(|phrase| (Occur::Should, phrase.in_any_field(fields)));
        let clauses: Vec<_> = phrases.collect();
        (!clauses.is_empty()).then(|| BooleanQuery::new(clauses))
    }

    /// For each passage, the typed words that it holds in any field, and the phrases, which every
    /// passage of the answer holds.
    pub(super) fn terms_held(
        &self,
        fields: &Fields,
        searcher: &Searcher,
        passages: &[DocAddress],
    ) -> Result<Vec<Vec<String>>, TantivyError> {
        let mut order: Vec<usize> = (0..passages.len()).collect();
        order.sort_by_key(|at| passages[*at]);
        let mut held = vec![Vec::new(); passages.len()];
        for word in &self.words {
            for group in order.chunk_by(|a, b| passages[*a].segment_ord == passages[*b].segment_ord)
            {
                let segment = searcher.segment_reader(passages[group[0]].segment_ord);
                let docs: Vec<DocId> = group.iter().map(|at| passages[*at].doc_id).collect();
                for (at, holds) in group.iter().zip(word.held_by(fields, segment, &docs)?) {
                    if holds {
                        held[*at].push(word.typed.clone());
                    }
                }
            }
        }
        for held in &mut held {
            held.extend(self.phrases.iter().map(|phrase| phrase.typed.clone()));
        }
        Ok(held)
    }
}

impl PreparedWord {
    fn new(typed: &str, analyzer: &mut TextAnalyzer) -> Self {
        let mut word = Self {
            typed: typed.to_owned(),
            wholes: Vec::new(),
            parts: Vec::new(),
            completions: Vec::new(),
            idf: 0.0,
        };
        for analyzed in analysis::analyze(analyzer, typed) {
            let list = if analyzed.is_whole { &mut word.wholes } else { &mut word.parts };
            if !list.contains(&analyzed.text) {
                list.push(analyzed.text);
            }
        }
        // Single characters are in nearly every text of their script; pairs say more.
        let is_character = |part: &String| part.chars().nth(1).is_none() && !part.is_ascii();
        if !word.wholes.is_empty() && word.parts.iter().all(is_character) {
            word.parts.clear();
        }
        word
    }

    fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.wholes.is_empty() && self.completions.is_empty()
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.wholes, &self.parts, &self.completions)
            == (&other.wholes, &other.parts, &other.completions)
    }

    pub(super) fn is_met_by(&self, text: &String) -> bool {
        [&self.parts, &self.wholes, &self.completions].iter().any(|list| list.contains(text))
    }

    /// Optional clauses, side by side: tantivy skips blocks only over plain words.
    fn clauses(&self, fields: &Fields, clauses: &mut Vec<(Occur, Box<dyn Query>)>) {
        for text in self.wholes.iter().chain(&self.parts) {
            for (field, weight) in fields.weighted() {
                clauses.push((Occur::Should, one_word(field, text, weight)));
            }
        }
        let completions = self.completions.iter().filter(|text| !self.parts.contains(text));
        let completions: Vec<_> = completions
            .flat_map(|text| {
                fields
                    .weighted()
                    .map(|(field, weight)| one_word(field, text, weight * COMPLETION_WEIGHT))
            })
            .collect();
        if !completions.is_empty() {
            // The best completion counts: twenty words that begin alike are one guess.
            clauses.push((Occur::Should, Box::new(DisjunctionMaxQuery::new(completions))));
        }
    }

    /// Whether each of `docs`, which ascend, holds the word: a whole of it, all its parts, or a
    /// completion.
    fn held_by(
        &self,
        fields: &Fields,
        segment: &tantivy::SegmentReader,
        docs: &[DocId],
    ) -> Result<Vec<bool>, TantivyError> {
        let mut any = vec![false; docs.len()];
        let mut parts_held = vec![0; docs.len()];
        for text in self.wholes.iter().chain(&self.completions) {
            let holds = holding(fields, segment, docs, text)?;
            any.iter_mut().zip(holds).for_each(|(any, holds)| *any |= holds);
        }
        for text in &self.parts {
            let holds = holding(fields, segment, docs, text)?;
            parts_held.iter_mut().zip(holds).for_each(|(n, holds)| *n += usize::from(holds));
        }
        let all_parts = |held: usize| held > 0 && held == self.parts.len();
        Ok(any.into_iter().zip(parts_held).map(|(any, held)| any || all_parts(held)).collect())
    }
}

impl PreparedPhrase {
    fn new(typed: &str, analyzer: &mut TextAnalyzer) -> Self {
        let parts = analysis::analyze(analyzer, typed).into_iter().filter(|word| !word.is_whole);
        Self { typed: typed.to_owned(), parts: parts.map(|word| word.text).collect(), idf: 0.0 }
    }

    fn in_any_field(&self, fields: &Fields) -> Box<dyn Query> {
        let in_field = |(field, weight): (Field, f32)| -> Box<dyn Query> {
            match self.parts.as_slice() {
                [word] => one_word(field, word, weight),
                parts => {
                    let terms = parts.iter().map(|text| Term::from_field_text(field, text));
                    let phrase = PhraseQuery::new(terms.collect());
                    Box::new(BoostQuery::new(Box::new(phrase), weight))
                }
            }
        };
        let fields = fields.weighted().map(|field| (Occur::Should, in_field(field)));
        Box::new(BooleanQuery::new(fields.into()))
    }
}

fn one_word(field: Field, text: &str, weight: f32) -> Box<dyn Query> {
    let term = Term::from_field_text(field, text);
    let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
    Box::new(BoostQuery::new(Box::new(query), weight))
}

/// Whether each of `docs`, which ascend, has `text` in any field.
fn holding(
    fields: &Fields,
    segment: &tantivy::SegmentReader,
    docs: &[DocId],
    text: &str,
) -> Result<Vec<bool>, TantivyError> {
    let mut holds = vec![false; docs.len()];
    for (field, _) in fields.weighted() {
        let term = Term::from_field_text(field, text);
        let inverted = segment.inverted_index(field)?;
        let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else {
            continue;
        };
        for (holds, doc) in holds.iter_mut().zip(docs) {
            let at = if postings.doc() < *doc { postings.seek(*doc) } else { postings.doc() };
            *holds |= at == *doc;
        }
    }
    Ok(holds)
}

/// Inverse document frequency, Lucene's variant: the `1 +` keeps it positive.
fn idf(holding: u64, passages: u64) -> f32 {
    // Removed passages count in the first number until their segment is merged.
    let without = passages.saturating_sub(holding) as f32;
    (1.0 + (without + 0.5) / (holding as f32 + 0.5)).ln()
}
