//! From two lists of passages to one list of documents; pure.

use std::collections::HashMap;

use crate::data::{Candidate, ChunkKey, DocumentId, KeywordWhy, SemanticWhy, Why};
use crate::index::Judge;

/// A document with the passages that brought it here.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RankedDocument {
    /// What meaning and words together are evidence of; larger is better.
    pub score: f32,
    /// Best first; at least one.
    pub passages: Vec<ChunkKey>,
    /// The passage that words speak for most.
    pub by_words: Option<ChunkKey>,
    /// Without the words of the query, which are looked up for what is shown.
    pub why: Why,
    /// Whether it is too far from the query to be an answer.
    pub is_weak: bool,
}

/// What speaks for a document.
#[derive(Clone, Debug, Default)]
struct Reasons {
    why: Why,
    by_words: Option<ChunkKey>,
}

/// What both indexes found, and what each says of passages that only the other one found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Best first.
    pub semantic: Vec<Candidate>,
    /// Best first.
    pub keyword: Vec<Candidate>,
    /// Cosines of passages that only words have found.
    pub semantic_beyond: Vec<Candidate>,
    /// Words of passages that only meaning has found; those that hold some.
    pub keyword_beyond: Vec<Candidate>,
}

/// Adds the evidence up by document and orders the passages of each.
///
/// A document has the evidence of its best passage by meaning and of its best by words, which may be
/// two: a document that is found by different passages has the support of both. Of equal documents the
/// smaller id comes first, so the order depends on nothing but the evidence.
pub(super) fn rank(found: &Found, judge: &Judge) -> Vec<RankedDocument> {
    let mut passages: HashMap<ChunkKey, f32> = HashMap::new();
    let mut reasons: HashMap<DocumentId, Reasons> = HashMap::new();
    let listed = found.semantic.iter().enumerate().map(|(at, found)| (Some(at + 1), found));
    let beyond = found.semantic_beyond.iter().map(|found| (None, found));
    for (rank, Candidate { chunk, score }) in listed.chain(beyond) {
        let evidence = judge.meaning(*score);
        *passages.entry(*chunk).or_default() += evidence;
        let why = &mut reasons.entry(chunk.document).or_default().why.semantic;
        if why.as_ref().is_none_or(|best| *score > best.score) {
            *why = Some(SemanticWhy { rank, score: *score, evidence });
        }
    }
    let listed = found.keyword.iter().enumerate().map(|(at, found)| (Some(at + 1), found));
    let beyond = found.keyword_beyond.iter().map(|found| (None, found));
    for (rank, Candidate { chunk, score }) in listed.chain(beyond) {
        let evidence = judge.words(*score);
        *passages.entry(*chunk).or_default() += evidence;
        let Reasons { why, by_words } = reasons.entry(chunk.document).or_default();
        if why.keyword.as_ref().is_none_or(|best| *score > best.score) {
            why.keyword = Some(KeywordWhy { rank, score: *score, evidence, terms: Vec::new() });
            *by_words = Some(*chunk);
        }
    }
    let mut passages: Vec<_> = passages.into_iter().collect();
    passages.sort_by(|(a, a_score), (b, b_score)| b_score.total_cmp(a_score).then(a.cmp(b)));
    let mut of_document: HashMap<DocumentId, Vec<ChunkKey>> = HashMap::new();
    for (passage, _) in passages {
        of_document.entry(passage.document).or_default().push(passage);
    }
    let mut ranked: Vec<_> = reasons
        .into_iter()
        .map(|(document, Reasons { why, by_words })| {
            let meaning = why.semantic.as_ref().map_or(0.0, |why| why.evidence);
            let words = why.keyword.as_ref().map_or(0.0, |why| why.evidence);
            let passages = of_document.remove(&document).unwrap_or_default();
            let is_weak = !is_strong(&why, judge);
            (document, RankedDocument { score: meaning + words, passages, by_words, why, is_weak })
        })
        .collect();
    ranked.sort_by(|(a, a_ranked), (b, b_ranked)| {
        b_ranked.score.total_cmp(&a_ranked.score).then(a.cmp(b))
    });
    ranked.into_iter().map(|(_, ranked)| ranked).collect()
}

/// Whether a document holds words of the query, or is nearer to it than chance would have it.
fn is_strong(why: &Why, judge: &Judge) -> bool {
    why.keyword.is_some() || why.semantic.as_ref().is_some_and(|why| judge.is_near(why.score))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Moments;

    fn judge() -> Judge {
        Judge::new(Moments { mean: 0.0, deviation: 0.2 }, 0.5, 100)
    }

    fn candidate((document, ordinal, score): (u64, u32, f32)) -> Candidate {
        let document = DocumentId::from_stored(document);
        Candidate { chunk: ChunkKey { document, ordinal }, score }
    }

    fn found(semantic: &[(u64, u32, f32)], keyword: &[(u64, u32, f32)]) -> Found {
        Found {
            semantic: semantic.iter().copied().map(candidate).collect(),
            keyword: keyword.iter().copied().map(candidate).collect(),
            ..Found::default()
        }
    }

    fn shown(found: &Found) -> Vec<(u64, Vec<u32>)> {
        let ranked = rank(found, &judge());
        for pair in ranked.windows(2) {
            assert!(pair[0].score >= pair[1].score);
        }
        let ordinals = |document: &RankedDocument| {
            document.passages.iter().map(|passage| passage.ordinal).collect()
        };
        ranked.iter().map(|d| (d.passages[0].document.get(), ordinals(d))).collect()
    }

    #[test]
    fn documents_come_once_with_their_best_passage_first() {
        let semantic = [(1, 0, 0.9), (1, 1, 0.8), (2, 0, 0.7)];
        assert_eq!(shown(&found(&semantic, &[])), [(1, vec![0, 1]), (2, vec![0])]);
        let both = found(&[(1, 0, 0.8), (1, 1, 0.79)], &[(1, 1, 5.0), (1, 2, 4.0)]);
        assert_eq!(shown(&both), [(1, vec![1, 0, 2])]);
        assert_eq!(shown(&Found::default()), []);
    }

    #[test]
    fn different_passages_of_both_lists_support_one_document() {
        let both = found(&[(2, 0, 0.8), (1, 0, 0.79)], &[(3, 0, 5.0), (1, 5, 4.9)]);
        assert_eq!(shown(&both)[0].0, 1);
    }

    #[test]
    fn equals_go_by_id_and_lists_may_come_in_any_order() {
        let keyword = [(9, 0, 3.0), (4, 0, 3.0), (6, 0, 3.0)];
        assert_eq!(shown(&found(&[], &keyword)), [(4, vec![0]), (6, vec![0]), (9, vec![0])]);
    }

    #[test]
    fn evidence_beyond_the_end_of_a_list_counts_and_has_no_rank() {
        let mut both = found(&[(1, 0, 0.8)], &[(2, 0, 3.0)]);
        both.semantic_beyond = vec![candidate((2, 0, 0.7))];
        both.keyword_beyond = vec![candidate((1, 0, 1.0))];
        let ranked = rank(&both, &judge());
        let of = |id| {
            let mut all = ranked.iter();
            all.find(|document| document.passages[0].document.get() == id).unwrap()
        };
        let semantic = of(2).why.semantic.clone().unwrap();
        assert_eq!((semantic.rank, semantic.score), (None, 0.7));
        assert_eq!(of(1).why.keyword.clone().unwrap().rank, None);
        for document in &ranked {
            let Why { semantic, keyword } = &document.why;
            let sum = semantic.as_ref().unwrap().evidence + keyword.as_ref().unwrap().evidence;
            assert!((document.score - sum).abs() < 1e-5);
        }
    }
}
