pub(super) mod lookup;
mod phrase;
mod prefix;
mod spelling;
mod stop_words;
mod word;

use std::collections::BTreeMap;
use std::io;

use tantivy::query::{BooleanQuery, DisjunctionMaxQuery, Occur, Query};
use tantivy::{Searcher, TantivyError, Term};

use self::lookup::one_word;
use self::phrase::PreparedPhrase;
use self::word::PreparedWord;
use super::analysis;
use super::language::Language;
use super::schema::Fields;
use super::scores::Named;

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
    /// Those that the index holds, and so those that forms of words and phrases are in.
    pub(super) languages: Vec<Language>,
    pub(super) words: Vec<PreparedWord>,
    pub(super) phrases: Vec<PreparedPhrase>,
    excluded: Vec<PreparedPhrase>,
}

/// Words of one query. Who pastes a page to search for is served by its beginning.
const WORDS_MAX: usize = 64;

impl PreparedQuery {
    /// `held` are the languages of the index with their shares of its passages, most frequent first.
    pub(super) fn new(
        query: &KeywordQuery,
        held: &[(Language, f32)],
        fields: &Fields,
        searcher: &Searcher,
    ) -> io::Result<Self> {
        let asked_in = stop_words::language(&query.terms, held);
        let languages = match held {
            [] => vec![Language::default()],
            held => held.iter().map(|(language, _)| *language).collect(),
        };
        let mut analyzers: Vec<_> =
            languages.iter().map(|language| analysis::stemming(*language)).collect();
        let terms = stop_words::without(&query.terms, asked_in, !query.phrases.is_empty());
        let mut words: Vec<PreparedWord> = Vec::new();
        for (at, typed) in query.terms.iter().enumerate().filter(|(at, _)| terms.contains(at)) {
            let mut word = PreparedWord::new(typed, &mut analyzers);
            if query.prefix_last && at + 1 == query.terms.len() {
                word.guesses = prefix::completions(&word, fields, searcher)?;
            }
            if words.len() < WORDS_MAX
                && !word.is_empty()
                && words.iter().all(|other| !other.is_same(&word))
            {
                words.push(word);
            }
        }
        let mut phrases = |typed: &[String]| -> Vec<PreparedPhrase> {
            let phrases = typed.iter().map(|typed| PreparedPhrase::new(typed, &mut analyzers));
            phrases.filter(|phrase| !phrase.is_empty()).collect()
        };
        let (phrases, excluded) = (phrases(&query.phrases), phrases(&query.excluded));
        let mut prepared = Self { languages, words, phrases, excluded };
        prepared.look_up(fields, searcher)?;
        Ok(prepared)
    }

    /// Looks up how rare each word is in bodies, and guesses at those that are nowhere.
    fn look_up(&mut self, fields: &Fields, searcher: &Searcher) -> io::Result<()> {
        let idf = |text: &str| -> io::Result<f32> {
            Ok(lookup::idf(lookup::holding_body(text, fields, searcher)?, searcher.num_docs()))
        };
        let passages = searcher.num_docs();
        for word in &mut self.words {
            word.balance(
                |text| lookup::holding_body(text, fields, searcher),
                |holding| lookup::idf(holding, passages),
            )?;
            let mut held = Vec::new();
            for (text, _) in &word.texts {
                if lookup::is_word(text, fields, searcher)? {
                    held.push(text.clone());
                }
            }
            if held.is_empty() && word.guesses.is_empty() {
                let mut corrections = Vec::new();
                for (text, _) in &word.texts {
                    corrections.extend(spelling::corrections(text, fields, searcher)?);
                }
                corrections.sort_unstable();
                corrections.dedup();
                word.guesses = corrections;
            }
            for text in held.iter().chain(&word.guesses) {
                word.idf = word.idf.max(idf(text)?);
            }
            if held.is_empty() && word.guesses.is_empty() {
                word.idf = lookup::idf(0, passages);
            }
        }
        for phrase in &mut self.phrases {
            let mut rarest = 0.0_f32;
            for form in &phrase.forms {
                let words: Vec<f32> =
                    form.iter().map(|text| idf(text)).collect::<Result<_, _>>()?;
                rarest = rarest.max(words.iter().sum());
            }
            phrase.idf = rarest;
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
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        // Side by side: tantivy skips blocks only over plain words.
        for (term, weight) in self.plain_terms(fields) {
            clauses.push((Occur::Should, one_word(term, weight)));
        }
        for guesses in self.guessed_terms(fields) {
            let guesses = guesses.into_iter().map(|(term, weight)| one_word(term, weight));
            clauses.push((Occur::Should, Box::new(DisjunctionMaxQuery::new(guesses.collect()))));
        }
        for phrase in &self.phrases {
            clauses.push((Occur::Must, phrase.in_any_field(fields)));
        }
        Some(BooleanQuery::new(clauses))
    }

    /// What counts wherever it stands, each once; words that share a part add up.
    pub(super) fn plain_terms(&self, fields: &Fields) -> BTreeMap<Term, f32> {
        let mut terms = BTreeMap::new();
        for (term, weight) in self.words.iter().flat_map(|word| word.plain_terms(fields)) {
            *terms.entry(term).or_default() += weight;
        }
        terms
    }

    /// For each word with guesses, those, of which the best counts.
    pub(super) fn guessed_terms(&self, fields: &Fields) -> Vec<Vec<(Term, f32)>> {
        let guesses = self.words.iter().map(|word| word.guessed_terms(fields).collect::<Vec<_>>());
        guesses.filter(|guesses| !guesses.is_empty()).collect()
    }

    pub(super) fn has_phrases(&self) -> bool {
        !self.phrases.is_empty()
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

    /// For each of the named passages, the typed words that it holds in any field, and the phrases, which
    /// every passage of the answer holds.
    pub(super) fn terms_held(
        &self,
        fields: &Fields,
        Named { segment, docs, .. }: &Named<'_>,
    ) -> Result<Vec<Vec<String>>, TantivyError> {
        let mut held = vec![Vec::new(); docs.len()];
        for word in &self.words {
            for (held, holds) in held.iter_mut().zip(word.held_by(fields, segment, docs)?) {
                if holds {
                    held.push(word.typed.clone());
                }
            }
        }
        for held in &mut held {
            held.extend(self.phrases.iter().map(|phrase| phrase.typed.clone()));
        }
        Ok(held)
    }
}
