//! The scores of passages that are named, whatever rank they have.

use std::collections::BTreeSet;

use tantivy::query::{EnableScoring, Query as _};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocId, DocSet as _, Searcher, SegmentReader, TERMINATED, TantivyError};

use super::collector::{Found, KeyColumns};
use super::document_term;
use super::schema::Fields;
use crate::data::{ChunkKey, DocumentId};

/// Those of `passages` that the query matches, with their scores; in any order.
pub(super) fn of(
    searcher: &Searcher,
    fields: &Fields,
    query: &tantivy::query::BooleanQuery,
    passages: &[ChunkKey],
) -> Result<Vec<Found>, TantivyError> {
    let weight = query.weight(EnableScoring::enabled_from_searcher(searcher))?;
    let wanted: BTreeSet<ChunkKey> = passages.iter().copied().collect();
    let mut found = Vec::new();
    for (ordinal, segment) in searcher.segment_readers().iter().enumerate() {
        let places = places(segment, fields, &wanted)?;
        if places.is_empty() {
            continue;
        }
        let mut scorer = weight.scorer(segment, 1.0)?;
        for (doc, key) in places {
            // A scorer only goes forward, and may stand on the passage or behind it already.
            let at = if scorer.doc() < doc { scorer.seek(doc) } else { scorer.doc() };
            if at == doc {
                let extra = DocAddress::new(ordinal as u32, doc);
                found.push(Found { score: scorer.score(), key, extra });
            }
        }
    }
    Ok(found)
}

/// Where the wanted passages stand in a segment; ascending.
fn places(
    segment: &SegmentReader,
    fields: &Fields,
    wanted: &BTreeSet<ChunkKey>,
) -> Result<Vec<(DocId, ChunkKey)>, TantivyError> {
    let (columns, alive) = (KeyColumns::open(segment)?, segment.alive_bitset());
    let inverted = segment.inverted_index(fields.document)?;
    let documents: BTreeSet<DocumentId> = wanted.iter().map(|key| key.document).collect();
    let mut places = Vec::new();
    for document in documents {
        let term = document_term(fields, document);
        let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else {
            continue;
        };
        while postings.doc() != TERMINATED {
            let (doc, key) = (postings.doc(), columns.key(postings.doc()));
            if wanted.contains(&key) && alive.is_none_or(|alive| alive.is_alive(doc)) {
                places.push((doc, key));
            }
            postings.advance();
        }
    }
    places.sort_unstable();
    Ok(places)
}
