use tantivy::Term;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, PhraseQuery, Query};
use tantivy::schema::Field;
use tantivy::tokenizer::TextAnalyzer;

use super::lookup::one_word;
use crate::index::keyword::analysis;
use crate::index::keyword::schema::Fields;

/// A typed phrase: words that stand together, in their order.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::index::keyword) struct PreparedPhrase {
    pub typed: String,
    /// Its words as each language leaves them, in the order of the languages.
    pub forms: Vec<Vec<String>>,
    pub idf: f32,
}

impl PreparedPhrase {
    pub fn new(typed: &str, analyzers: &mut [TextAnalyzer]) -> Self {
        let form = |analyzer: &mut TextAnalyzer| -> Vec<String> {
            let words = analysis::analyze(analyzer, typed).into_iter();
            words.filter(|word| !word.is_whole).map(|word| word.text).collect()
        };
        Self { typed: typed.to_owned(), forms: analyzers.iter_mut().map(form).collect(), idf: 0.0 }
    }

    pub fn is_empty(&self) -> bool {
        self.forms.iter().all(Vec::is_empty)
    }

    pub fn in_any_field(&self, fields: &Fields) -> Box<dyn Query> {
        let mut different: Vec<&Vec<String>> = Vec::new();
        for form in self.forms.iter().filter(|form| !form.is_empty()) {
            if !different.contains(&form) {
                different.push(form);
            }
        }
        let in_field = |form: &[String], (field, weight): (Field, f32)| -> Box<dyn Query> {
            match form {
                [word] => one_word(Term::from_field_text(field, word), weight),
                parts => {
                    let terms = parts.iter().map(|text| Term::from_field_text(field, text));
                    let phrase = PhraseQuery::new(terms.collect());
                    Box::new(BoostQuery::new(Box::new(phrase), weight))
                }
            }
        };
        let clauses = different
            .into_iter()
            .flat_map(|form| fields.weighted().map(|field| (Occur::Should, in_field(form, field))));
        Box::new(BooleanQuery::new(clauses.collect()))
    }
}
