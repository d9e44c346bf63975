//! Passages of ranked documents as they are shown.

use std::collections::HashMap;

use super::SearchError;
use super::ranking::RankedDocument;
use super::resemblance::Shingles;
use super::sentence;
use crate::data::{ChunkKey, Hit, HitDocument, Passage, TextRange};
use crate::index::{Marker, PreparedQuery};
use crate::platform;
use crate::storage::{ModelKey, Store, StoredPassage};

/// Passages that are shown of a document beside the best.
const MORE_MAX: usize = 3;

/// Documents that are looked at for copies of those that are shown, for each of these.
const LOOKED_AT_PER_HIT: usize = 2;

/// Threads that cut the words of an answer at most: its hundred passages are some milliseconds of one, and to start a
/// thread takes a part of that.
const THREADS_MAX: usize = 4;

/// Documents for which a thread is worth its start.
const DOCUMENTS_A_THREAD: usize = 12;

/// What an answer is to hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    /// Documents at most.
    pub limit: usize,
    /// Whether a document that says nearly the same as one above it is named there and not shown.
    pub folds: bool,
}

/// A document to show, with its passages, best first.
struct Chosen<'a> {
    ranked: &'a RankedDocument,
    best: StoredPassage,
    more: Vec<StoredPassage>,
    also: Vec<HitDocument>,
}

/// Loads and marks the passages of `documents` as they were cut for `model`. A document that has gone
/// since it was found is left out, and others move up in the place of those that are folded away.
pub(super) fn hits(
    (store, model): (&Store, ModelKey),
    query: &PreparedQuery,
    documents: &[RankedDocument],
    shown: Shown,
) -> Result<Vec<Hit>, SearchError> {
    let chosen = choose((store, model), documents, shown)?;
    let threads = threads_for(chosen.len());
    let weights: Vec<f32> = query.weights().collect();
    // A marker remembers the words that it has met, so one does several documents.
    let shares: Vec<&[Chosen<'_>]> = chosen.chunks(chosen.len().div_ceil(threads).max(1)).collect();
    let hits = platform::map_on(threads, &shares, |share| {
        let mut marker = Marker::new(query);
        let mut passage = |stored: &StoredPassage| marked(stored, &mut marker, &weights);
        let hit = |Chosen { ranked, best, more, also }: &Chosen<'_>| Hit {
            rank: 0,
            score: ranked.score,
            document: best.document.clone(),
            passage: passage(best),
            more: more.iter().map(&mut passage).collect(),
            also: also.clone(),
            why: ranked.why.clone(),
            is_weak: ranked.is_weak,
        };
        share.iter().map(hit).collect::<Vec<_>>()
    });
    let ranked = |(at, hit)| Hit { rank: at + 1, ..hit };
    Ok(hits.into_iter().flatten().enumerate().map(ranked).collect())
}

fn threads_for(documents: usize) -> usize {
    documents.div_ceil(DOCUMENTS_A_THREAD).clamp(1, platform::cores().min(THREADS_MAX))
}

fn choose<'a>(
    (store, model): (&Store, ModelKey),
    documents: &'a [RankedDocument],
    shown: Shown,
) -> Result<Vec<Chosen<'a>>, SearchError> {
    let mut chosen: Vec<Chosen<'_>> = Vec::new();
    let mut seen: Vec<Shingles> = Vec::new();
    let mut rest = documents;
    let looked_at = if shown.folds { shown.limit.saturating_mul(LOOKED_AT_PER_HIT) } else { 0 };
    while !rest.is_empty()
        && (chosen.len() < shown.limit || documents.len() - rest.len() < looked_at)
    {
        let missing = match shown.limit - chosen.len() {
            0 => looked_at - (documents.len() - rest.len()),
            missing => missing,
        };
        let (next, after) = rest.split_at(rest.len().min(missing));
        rest = after;
        // Of those that are only held against what is shown, the best passage is enough.
        let passages_max = if chosen.len() < shown.limit { 1 + MORE_MAX } else { 1 };
        let keys = next.iter().flat_map(|ranked| ranked.passages.iter().take(passages_max));
        let keys: Vec<ChunkKey> = keys.copied().collect();
        let stored = store.passages(&keys, model)?;
        let mut stored: HashMap<_, _> =
            stored.into_iter().map(|passage| (passage.chunk, passage)).collect();
        let loaded = next.iter().filter_map(|ranked| {
            let mut passages = ranked.passages.iter().filter_map(|key| stored.remove(key));
            let best = passages.next()?;
            Some(Chosen { ranked, best, more: passages.collect(), also: Vec::new() })
        });
        let loaded: Vec<Chosen<'_>> = loaded.collect();
        let shingles = platform::map_on(threads_for(loaded.len()), &loaded, |one| {
            shown.folds.then(|| Shingles::of(&one.best.text))
        });
        for (one, shingles) in loaded.into_iter().zip(shingles) {
            let resembles = |other: &Shingles| shingles.as_ref().is_some_and(|s| s.resemble(other));
            if let Some(at) = seen.iter().position(resembles) {
                chosen[at].also.push(one.best.document);
            } else if chosen.len() < shown.limit {
                seen.extend(shingles);
                chosen.push(one);
            }
        }
    }
    Ok(chosen)
}

fn marked(stored: &StoredPassage, marker: &mut Marker<'_>, weights: &[f32]) -> Passage {
    let StoredPassage { chunk, text, range, locator, .. } = stored;
    let marks = marker.marks(text);
    let sentence = sentence::best(text, &marks, weights);
    let matches = marks.into_iter().map(|mark| TextRange::from(mark.range)).collect();
    let (text, locator) = (text.clone(), locator.clone());
    Passage { chunk: *chunk, text, range: *range, locator, matches, sentence }
}
