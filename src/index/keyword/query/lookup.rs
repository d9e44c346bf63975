//! What the index says of single words.

use std::io;

use tantivy::query::{BoostQuery, Query, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet as _, Searcher, SegmentReader, TantivyError, Term};

use crate::index::keyword::language::Language;
use crate::index::keyword::schema::Fields;

/// Languages that a query is looked up in: those that most of the index is in. Each adds clauses.
const LANGUAGES_MAX: usize = 4;

/// The languages of the index with their shares of its passages, most frequent first.
pub(in crate::index::keyword) fn languages(
    fields: &Fields,
    searcher: &Searcher,
) -> io::Result<Vec<(Language, f32)>> {
    let mut held = Vec::new();
    for language in Language::ALL {
        let term = Term::from_field_text(fields.language, language.code());
        let mut passages = 0;
        for segment in searcher.segment_readers() {
            let inverted = segment.inverted_index(fields.language).map_err(io::Error::other)?;
            passages += inverted.doc_freq(&term)?;
        }
        if passages > 0 {
            held.push((language, passages as f32 / searcher.num_docs().max(1) as f32));
        }
    }
    held.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    held.truncate(LANGUAGES_MAX);
    Ok(held)
}

/// Passages whose bodies hold `text`, removed ones included until their segment is merged.
pub(super) fn holding_body(text: &str, fields: &Fields, searcher: &Searcher) -> io::Result<u64> {
    let term = Term::from_field_text(fields.body, text);
    let mut holding = 0;
    for segment in searcher.segment_readers() {
        let inverted = segment.inverted_index(fields.body).map_err(io::Error::other)?;
        holding += u64::from(inverted.doc_freq(&term)?);
    }
    Ok(holding)
}

/// Whether any passage holds `text` in any field.
pub(super) fn is_word(text: &str, fields: &Fields, searcher: &Searcher) -> io::Result<bool> {
    for segment in searcher.segment_readers() {
        for (field, _) in fields.weighted() {
            let inverted = segment.inverted_index(field).map_err(io::Error::other)?;
            if inverted.terms().get(text)?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether each of `docs`, which ascend, has `text` in any field.
pub(super) fn holding(
    fields: &Fields,
    segment: &SegmentReader,
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

pub(super) fn one_word(term: Term, weight: f32) -> Box<dyn Query> {
    let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
    Box::new(BoostQuery::new(Box::new(query), weight))
}

/// Inverse document frequency, Lucene's variant: the `1 +` keeps it positive.
pub(super) fn idf(holding: u64, passages: u64) -> f32 {
    // Removed passages count in the first number until their segment is merged.
    let without = passages.saturating_sub(holding) as f32;
    (1.0 + (without + 0.5) / (holding as f32 + 0.5)).ln()
}
