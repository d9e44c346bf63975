//! Passages of ranked documents as they are shown.

use std::collections::HashMap;

use super::SearchError;
use super::ranking::RankedDocument;
use super::sentence;
use crate::data::{ChunkKey, Hit, Passage, TextRange};
use crate::index::PreparedQuery;
use crate::storage::{ModelKey, Store, StoredPassage};

/// Passages that are shown of a document beside the best.
const MORE_MAX: usize = 3;

/// Loads and marks the passages of `documents` as they were cut for `model`, at most `limit` of them. A document that has gone
/// since it was found is left out.
pub(super) fn hits(
    (store, model): (&Store, ModelKey),
    query: &PreparedQuery,
    documents: &[RankedDocument],
    limit: usize,
) -> Result<Vec<Hit>, SearchError> {
    let weights: Vec<f32> = query.weights().collect();
    let shown = &documents[..documents.len().min(limit)];
    let keys: Vec<ChunkKey> = shown.iter().flat_map(shown_passages).copied().collect();
    let stored = store.passages(&keys, model)?;
    let mut stored: HashMap<_, _> =
        stored.into_iter().map(|passage| (passage.chunk, passage)).collect();
    let mut hits = Vec::with_capacity(shown.len());
    for ranked in shown {
        let mut passages = shown_passages(ranked).filter_map(|key| stored.remove(key));
        let Some(best) = passages.next() else { continue };
        let document = best.document.clone();
        hits.push(Hit {
            rank: hits.len() + 1,
            score: ranked.score,
            document,
            passage: marked(best, query, &weights),
            more: passages.map(|passage| marked(passage, query, &weights)).collect(),
            why: ranked.why.clone(),
        });
    }
    Ok(hits)
}

fn shown_passages(ranked: &RankedDocument) -> impl Iterator<Item = &ChunkKey> {
    ranked.passages.iter().take(1 + MORE_MAX)
}

fn marked(stored: StoredPassage, query: &PreparedQuery, weights: &[f32]) -> Passage {
    let StoredPassage { chunk, text, range, locator, .. } = stored;
    let marks = query.marks(&text);
    let sentence = sentence::best(&text, &marks, weights);
    let matches = marks.into_iter().map(|mark| TextRange::from(mark.range)).collect();
    Passage { chunk, text, range, locator, matches, sentence }
}
