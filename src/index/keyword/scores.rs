//! What the index says of passages that are named, whatever rank they have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tantivy::query::{EnableScoring, Query as _};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet as _, Score, Searcher, SegmentReader, TERMINATED, TantivyError};

use super::collector::KeyColumns;
use super::document_term;
use super::query::PreparedQuery;
use super::schema::Fields;
use super::sums::Lists;
use crate::data::{ChunkKey, DocumentId};

/// Those of the named passages that stand in one segment, in its order.
pub(super) struct Named<'a> {
    /// Which of the searcher's segments it is.
    pub at: usize,
    pub segment: &'a SegmentReader,
    pub docs: Vec<DocId>,
    pub keys: Vec<ChunkKey>,
}

/// Where passages stand.
pub(super) fn find<'a>(
    searcher: &'a Searcher,
    columns: &[KeyColumns],
    fields: &Fields,
    passages: &[ChunkKey],
) -> Result<Vec<Named<'a>>, TantivyError> {
    let mut wanted: BTreeMap<DocumentId, BTreeSet<u32>> = BTreeMap::new();
    for ChunkKey { document, ordinal } in passages {
        wanted.entry(*document).or_default().insert(*ordinal);
    }
    let mut found = Vec::new();
    for (at, (segment, columns)) in searcher.segment_readers().iter().zip(columns).enumerate() {
        if wanted.is_empty() {
            break;
        }
        let mut places = places(segment, columns, fields, &mut wanted)?;
        places.sort_unstable();
        if !places.is_empty() {
            let (docs, keys) = places.into_iter().unzip();
            found.push(Named { at, segment, docs, keys });
        }
    }
    Ok(found)
}

/// Where wanted passages stand in a segment; they are wanted no longer.
fn places(
    segment: &SegmentReader,
    columns: &KeyColumns,
    fields: &Fields,
    wanted: &mut BTreeMap<DocumentId, BTreeSet<u32>>,
) -> Result<Vec<(DocId, ChunkKey)>, TantivyError> {
    let (inverted, alive) = (segment.inverted_index(fields.document)?, segment.alive_bitset());
    let mut places = Vec::new();
    for (document, ordinals) in wanted.iter_mut() {
        let term = document_term(fields, *document);
        let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else {
            continue;
        };
        while postings.doc() != TERMINATED && !ordinals.is_empty() {
            let (doc, key) = (postings.doc(), columns.key(postings.doc()));
            if alive.is_none_or(|alive| alive.is_alive(doc)) && ordinals.remove(&key.ordinal) {
                places.push((doc, key));
            }
            postings.advance();
        }
    }
    wanted.retain(|_, ordinals| !ordinals.is_empty());
    Ok(places)
}

/// The scores of those of the passages that the query matches.
pub(super) fn of(
    searcher: &Searcher,
    fields: &Fields,
    query: &PreparedQuery,
    named: &[Named<'_>],
) -> Result<HashMap<ChunkKey, Score>, TantivyError> {
    let Some(lists) = Lists::find(searcher, fields, query)? else {
        return by_scorer(searcher, fields, query, named);
    };
    let mut scores = HashMap::new();
    for here in named {
        let sums = lists.sums_of(here)?;
        let found = here.keys.iter().copied().zip(sums).filter(|(_, score)| *score > 0.0);
        scores.extend(found);
    }
    Ok(scores)
}

/// The same with tantivy's scorers, which know of phrases. They compute a score for every passage up to the
/// last one that is asked for.
fn by_scorer(
    searcher: &Searcher,
    fields: &Fields,
    query: &PreparedQuery,
    named: &[Named<'_>],
) -> Result<HashMap<ChunkKey, Score>, TantivyError> {
    let Some(asked) = query.scored(fields) else { return Ok(HashMap::new()) };
    let weight = asked.weight(EnableScoring::enabled_from_searcher(searcher))?;
    let mut found = HashMap::new();
    for Named { segment, docs, keys, .. } in named {
        let mut scorer = weight.scorer(segment, 1.0)?;
        for (doc, key) in docs.iter().zip(keys) {
            // A scorer only goes forward, and may stand on the passage or behind it already.
            let reached = if scorer.doc() < *doc { scorer.seek(*doc) } else { scorer.doc() };
            if reached == *doc {
                found.insert(*key, scorer.score());
            }
        }
    }
    Ok(found)
}
