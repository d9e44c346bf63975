//! Passages of ranked documents as they are shown.

use std::collections::HashMap;

use super::SearchError;
use super::ranking::RankedDocument;
use super::resemblance::Shingles;
use super::sentence;
use crate::data::{ChunkKey, Hit, Passage, TextRange};
use crate::index::{Marker, PreparedQuery};
use crate::storage::{ModelKey, Store, StoredPassage};

/// Passages that are shown of a document beside the best.
const MORE_MAX: usize = 3;

/// Documents that are looked at for copies of those that are shown, for each of these.
const LOOKED_AT_PER_HIT: usize = 2;

/// What an answer is to hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    /// Documents at most.
    pub limit: usize,
    /// Whether a document that says nearly the same as one above it is named there and not shown.
    pub folds: bool,
}

/// Loads and marks the passages of `documents` as they were cut for `model`. A document that has gone
/// since it was found is left out, and others move up in the place of those that are folded away.
pub(super) fn hits(
    (store, model): (&Store, ModelKey),
    query: &PreparedQuery,
    documents: &[RankedDocument],
    shown: Shown,
) -> Result<Vec<Hit>, SearchError> {
    let weights: Vec<f32> = query.weights().collect();
    let mut marker = Marker::new(query);
    let mut hits: Vec<Hit> = Vec::new();
    let mut seen: Vec<Shingles> = Vec::new();
    let mut rest = documents;
    let looked_at = if shown.folds { shown.limit.saturating_mul(LOOKED_AT_PER_HIT) } else { 0 };
    while !rest.is_empty() && (hits.len() < shown.limit || documents.len() - rest.len() < looked_at)
    {
        let missing = match shown.limit - hits.len() {
            0 => looked_at - (documents.len() - rest.len()),
            missing => missing,
        };
        let (next, after) = rest.split_at(rest.len().min(missing));
        rest = after;
        // Of those that are only held against what is shown, the best passage is enough.
        let passages_max = if hits.len() < shown.limit { 1 + MORE_MAX } else { 1 };
        let keys = next.iter().flat_map(|ranked| ranked.passages.iter().take(passages_max));
        let keys: Vec<ChunkKey> = keys.copied().collect();
        let stored = store.passages(&keys, model)?;
        let mut stored: HashMap<_, _> =
            stored.into_iter().map(|passage| (passage.chunk, passage)).collect();
        for ranked in next {
            let mut passages = ranked.passages.iter().filter_map(|key| stored.remove(key));
            let Some(best) = passages.next() else { continue };
            let shingles = shown.folds.then(|| Shingles::of(&best.text));
            let resembles = |other: &Shingles| shingles.as_ref().is_some_and(|s| s.resemble(other));
            if let Some(at) = seen.iter().position(resembles) {
                hits[at].also.push(best.document);
                continue;
            }
            if hits.len() == shown.limit {
                continue;
            }
            seen.extend(shingles);
            hits.push(Hit {
                rank: hits.len() + 1,
                score: ranked.score,
                document: best.document.clone(),
                passage: marked(best, &mut marker, &weights),
                more: passages.map(|passage| marked(passage, &mut marker, &weights)).collect(),
                also: Vec::new(),
                why: ranked.why.clone(),
                is_weak: ranked.is_weak,
            });
        }
    }
    Ok(hits)
}

fn marked(stored: StoredPassage, marker: &mut Marker<'_>, weights: &[f32]) -> Passage {
    let StoredPassage { chunk, text, range, locator, .. } = stored;
    let marks = marker.marks(&text);
    let sentence = sentence::best(&text, &marks, weights);
    let matches = marks.into_iter().map(|mark| TextRange::from(mark.range)).collect();
    Passage { chunk, text, range, locator, matches, sentence }
}
