use std::io;

use tantivy::tokenizer::TextAnalyzer;
use tantivy::{DocId, SegmentReader, TantivyError, Term};

use super::lookup::holding;
use crate::index::keyword::analysis;
use crate::index::keyword::schema::Fields;

/// A completion or a correction is a guess at what was meant, so it counts for less than a word that
/// stands there as typed.
const GUESS_WEIGHT: f32 = 0.5;

/// One typed word.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::index::keyword) struct PreparedWord {
    pub typed: String,
    /// What it is in the index, in one language after the other; no two are alike.
    pub forms: Vec<WordForm>,
    /// What is looked for, each once, and what its score is multiplied with; guesses apart.
    pub texts: Vec<(String, f32)>,
    /// Words of the index that begin as typed or, where nothing holds the word, are spelled nearly so.
    pub guesses: Vec<String>,
    pub idf: f32,
}

/// A word as one language's analysis leaves it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::index::keyword) struct WordForm {
    /// The whole of an identifier, or pairs of characters.
    pub wholes: Vec<String>,
    pub parts: Vec<String>,
}

impl PreparedWord {
    pub fn new(typed: &str, analyzers: &mut [TextAnalyzer]) -> Self {
        let mut forms: Vec<WordForm> = Vec::new();
        for analyzer in analyzers {
            let form = WordForm::new(typed, analyzer);
            if !form.is_empty() && !forms.contains(&form) {
                forms.push(form);
            }
        }
        let mut texts: Vec<(String, f32)> = Vec::new();
        for text in forms.iter().flat_map(|form| form.wholes.iter().chain(&form.parts)) {
            if texts.iter().all(|(known, _)| known != text) {
                texts.push((text.clone(), 1.0));
            }
        }
        Self { typed: typed.to_owned(), forms, texts, guesses: Vec::new(), idf: 0.0 }
    }

    /// Makes the forms of one word as rare as the word is: what few documents in another language hold
    /// as that language leaves it is no rare word. `holding` tells in how many passages a text is.
    pub fn balance(
        &mut self,
        holding: impl Fn(&str) -> io::Result<u64>,
        idf: impl Fn(u64) -> f32,
    ) -> io::Result<()> {
        let [first, others @ ..] = self.forms.as_slice() else { return Ok(()) };
        let sizes = |form: &WordForm| (form.wholes.len(), form.parts.len());
        if others.is_empty() || others.iter().any(|other| sizes(other) != sizes(first)) {
            return Ok(());
        }
        for at in 0..first.wholes.len() + first.parts.len() {
            let mut same: Vec<&String> = Vec::new();
            for text in self.forms.iter().filter_map(|form| form.text(at)) {
                if !same.contains(&text) {
                    same.push(text);
                }
            }
            let each = same.iter().map(|text| holding(text)).collect::<Result<Vec<_>, _>>()?;
            let together = idf(each.iter().sum());
            for (text, holding) in same.iter().zip(each) {
                if let Some(known) = self.texts.iter_mut().find(|(known, _)| known == *text) {
                    known.1 = together / idf(holding);
                }
            }
        }
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.forms.is_empty() && self.guesses.is_empty()
    }

    pub fn is_same(&self, other: &Self) -> bool {
        (&self.forms, &self.guesses) == (&other.forms, &other.guesses)
    }

    /// The words of the index that are taken for it.
    pub fn met_by(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|(text, _)| text).chain(&self.guesses).map(String::as_str)
    }

    /// What is looked for in each field, and what its score is multiplied with. A passage holds a word as
    /// its own language leaves it, so forms are not counted twice.
    pub fn plain_terms<'a>(&'a self, fields: &'a Fields) -> impl Iterator<Item = (Term, f32)> + 'a {
        self.texts.iter().flat_map(|(text, rarity)| {
            let term = |(field, weight)| (Term::from_field_text(field, text), weight * rarity);
            fields.weighted().map(term)
        })
    }

    /// Guesses in each field, of which the best counts: twenty words that begin alike are one.
    pub fn guessed_terms<'a>(
        &'a self,
        fields: &'a Fields,
    ) -> impl Iterator<Item = (Term, f32)> + 'a {
        let is_new = |guess: &&String| self.texts.iter().all(|(text, _)| text != *guess);
        self.guesses.iter().filter(is_new).flat_map(|text| {
            let term =
                |(field, weight)| (Term::from_field_text(field, text), weight * GUESS_WEIGHT);
            fields.weighted().map(term)
        })
    }

    /// Whether each of `docs`, which ascend, holds the word: a whole of it, all parts of a form, or a
    /// guess.
    pub fn held_by(
        &self,
        fields: &Fields,
        segment: &SegmentReader,
        docs: &[DocId],
    ) -> Result<Vec<bool>, TantivyError> {
        let mut any = vec![false; docs.len()];
        for text in self.forms.iter().flat_map(|form| &form.wholes).chain(&self.guesses) {
            let holds = holding(fields, segment, docs, text)?;
            any.iter_mut().zip(holds).for_each(|(any, holds)| *any |= holds);
        }
        for form in self.forms.iter().filter(|form| !form.parts.is_empty()) {
            let mut all = vec![true; docs.len()];
            for text in &form.parts {
                let holds = holding(fields, segment, docs, text)?;
                all.iter_mut().zip(holds).for_each(|(all, holds)| *all &= holds);
            }
            any.iter_mut().zip(all).for_each(|(any, all)| *any |= all);
        }
        Ok(any)
    }
}

impl WordForm {
    fn new(typed: &str, analyzer: &mut TextAnalyzer) -> Self {
        let mut form = Self::default();
        for analyzed in analysis::analyze(analyzer, typed) {
            let list = if analyzed.is_whole { &mut form.wholes } else { &mut form.parts };
            if !list.contains(&analyzed.text) {
                list.push(analyzed.text);
            }
        }
        // Single characters are in nearly every text of their script; pairs say more.
        let is_character = |part: &String| part.chars().nth(1).is_none() && !part.is_ascii();
        if !form.wholes.is_empty() && form.parts.iter().all(is_character) {
            form.parts.clear();
        }
        form
    }

    fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.wholes.is_empty()
    }

    /// The wholes and then the parts.
    fn text(&self, at: usize) -> Option<&String> {
        self.wholes.iter().chain(&self.parts).nth(at)
    }
}
