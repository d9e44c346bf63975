//! What the index says of passages that are named, whatever rank they have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tantivy::postings::Postings as _;
use tantivy::query::{Bm25StatisticsProvider as _, Bm25Weight, EnableScoring, Query as _};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet as _, Score, Searcher, SegmentReader, TERMINATED, TantivyError, Term};

use super::collector::KeyColumns;
use super::document_term;
use super::query::PreparedQuery;
use super::schema::Fields;
use crate::data::{ChunkKey, DocumentId};

/// Those of the named passages that stand in one segment, in its order.
pub(super) struct Named<'a> {
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
    for (segment, columns) in searcher.segment_readers().iter().zip(columns) {
        if wanted.is_empty() {
            break;
        }
        let mut places = places(segment, columns, fields, &mut wanted)?;
        places.sort_unstable();
        if !places.is_empty() {
            let (docs, keys) = places.into_iter().unzip();
            found.push(Named { segment, docs, keys });
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
    if query.has_phrases() {
        return by_scorer(searcher, fields, query, named);
    }
    let mut sums: Vec<Vec<Score>> = named.iter().map(|here| vec![0.0; here.docs.len()]).collect();
    for (term, weight) in query.plain_terms(fields) {
        let bm25 = bm25(searcher, term.field(), searcher.doc_freq(&term)?, weight)?;
        for (here, sums) in named.iter().zip(&mut sums) {
            each_score(here, &term, &bm25, |at, score| sums[at] += score)?;
        }
    }
    for guesses in query.guessed_terms(fields) {
        let mut best: Vec<Vec<Score>> = sums.iter().map(|sums| vec![0.0; sums.len()]).collect();
        for (term, weight) in guesses {
            let bm25 = bm25(searcher, term.field(), searcher.doc_freq(&term)?, weight)?;
            for (here, best) in named.iter().zip(&mut best) {
                each_score(here, &term, &bm25, |at, score| best[at] = best[at].max(score))?;
            }
        }
        for (sums, best) in sums.iter_mut().zip(best) {
            sums.iter_mut().zip(best).for_each(|(sum, best)| *sum += best);
        }
    }
    let keys = named.iter().flat_map(|here| &here.keys);
    let scores = keys.copied().zip(sums.into_iter().flatten());
    Ok(scores.filter(|(_, score)| *score > 0.0).collect())
}

/// The score of one word in one field that `holding` passages hold, as tantivy has it.
pub(super) fn bm25(
    searcher: &Searcher,
    field: Field,
    holding: u64,
    weight: Score,
) -> Result<Bm25Weight, TantivyError> {
    let passages = searcher.total_num_docs()?;
    let words_a_passage = searcher.total_num_tokens(field)? as Score / passages as Score;
    let bm25 = Bm25Weight::for_one_term_without_explain(holding, passages, words_a_passage);
    Ok(bm25.boost_by(weight))
}

/// Hands the score of a word to `take`, with the place of the passage among the named ones.
fn each_score(
    here: &Named<'_>,
    term: &Term,
    bm25: &Bm25Weight,
    mut take: impl FnMut(usize, Score),
) -> Result<(), TantivyError> {
    let inverted = here.segment.inverted_index(term.field())?;
    let Some(mut postings) = inverted.read_postings(term, IndexRecordOption::WithFreqs)? else {
        return Ok(());
    };
    let lengths = here.segment.get_fieldnorms_reader(term.field())?;
    for (at, doc) in here.docs.iter().enumerate() {
        let reached = if postings.doc() < *doc { postings.seek(*doc) } else { postings.doc() };
        if reached == *doc {
            take(at, bm25.score(lengths.fieldnorm_id(*doc), postings.term_freq()));
        }
    }
    Ok(())
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
    for Named { segment, docs, keys } in named {
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
