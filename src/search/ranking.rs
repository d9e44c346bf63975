//! From two lists of passages to one list of documents; pure.

use std::collections::HashMap;

use crate::data::{Candidate, ChunkKey, DocumentId, KeywordWhy, SemanticWhy, Why};
use crate::index::{KeywordMatch, RRF_K, reciprocal_rank_fusion};

/// A document with the passages that brought it here.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RankedDocument {
    /// Fused score; larger is better.
    pub score: f32,
    /// Best first; at least one.
    pub passages: Vec<ChunkKey>,
    pub why: Why,
}

/// Fuses the lists by document and orders the passages of each.
///
/// Ranks are counted in documents, by the best passage of each: otherwise a long document that
/// fills the top of one list would push all others down in it. A document that is found by different
/// passages in both lists has the support of both.
pub(super) fn rank(semantic: &[Candidate], keyword: &[KeywordMatch]) -> Vec<RankedDocument> {
    let by_meaning: Vec<ChunkKey> = semantic.iter().map(|candidate| candidate.chunk).collect();
    let by_words: Vec<ChunkKey> = keyword.iter().map(|found| found.candidate.chunk).collect();
    let mut passages: HashMap<DocumentId, Vec<ChunkKey>> = HashMap::new();
    for (passage, _) in reciprocal_rank_fusion(&[&by_meaning, &by_words], RRF_K) {
        passages.entry(passage.document).or_default().push(passage);
    }
    let mut reasons = reasons(semantic, keyword);
    let documents = |list: &[ChunkKey]| -> Vec<DocumentId> {
        list.iter().map(|passage| passage.document).collect()
    };
    reciprocal_rank_fusion(&[&documents(&by_meaning), &documents(&by_words)], RRF_K)
        .into_iter()
        .map(|(document, score)| RankedDocument {
            score,
            passages: passages.remove(&document).unwrap_or_default(),
            why: reasons.remove(&document).unwrap_or_default(),
        })
        .collect()
}

/// Where the best passage of each document stands in each list.
fn reasons(semantic: &[Candidate], keyword: &[KeywordMatch]) -> HashMap<DocumentId, Why> {
    let mut reasons: HashMap<DocumentId, Why> = HashMap::new();
    for (at, candidate) in semantic.iter().enumerate() {
        let why = reasons.entry(candidate.chunk.document).or_default();
        why.semantic.get_or_insert(SemanticWhy { rank: at + 1, score: candidate.score });
    }
    for (at, KeywordMatch { candidate, terms }) in keyword.iter().enumerate() {
        let why = reasons.entry(candidate.chunk.document).or_default();
        why.keyword.get_or_insert_with(|| KeywordWhy {
            rank: at + 1,
            score: candidate.score,
            terms: terms.clone(),
        });
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate((document, ordinal): (u64, u32)) -> Candidate {
        let document = DocumentId::from_stored(document);
        Candidate { chunk: ChunkKey { document, ordinal }, score: 0.5 }
    }

    fn check(semantic: &[(u64, u32)], keyword: &[(u64, u32)], expected: &[(u64, &[u32])]) {
        let semantic: Vec<_> = semantic.iter().copied().map(candidate).collect();
        let keyword: Vec<_> = keyword
            .iter()
            .map(|key| KeywordMatch { candidate: candidate(*key), terms: vec!["w".into()] })
            .collect();
        let ranked = rank(&semantic, &keyword);
        let found: Vec<(u64, Vec<u32>)> = ranked
            .iter()
            .map(|document| {
                let ordinals = document.passages.iter().map(|passage| passage.ordinal);
                (document.passages[0].document.get(), ordinals.collect())
            })
            .collect();
        let expected: Vec<_> = expected.iter().map(|(id, keys)| (*id, keys.to_vec())).collect();
        assert_eq!(found, expected);
        for pair in ranked.windows(2) {
            assert!(pair[0].score >= pair[1].score);
        }
    }

    #[test]
    fn documents_come_once_with_their_best_passage_first() {
        check(&[(1, 0), (1, 1), (2, 0)], &[], &[(1, &[0, 1]), (2, &[0])]);
        check(&[(1, 0), (1, 1)], &[(1, 1), (1, 2)], &[(1, &[1, 0, 2])]);
        check(&[], &[], &[]);
    }

    #[test]
    fn different_passages_of_both_lists_support_one_document() {
        check(&[(2, 0), (1, 0)], &[(3, 0), (1, 5)], &[(1, &[0, 5]), (2, &[0]), (3, &[0])]);
    }

    #[test]
    fn many_passages_of_one_document_do_not_push_others_down() {
        let long: Vec<_> = (0..50).map(|n| (1, n)).chain([(2, 0)]).collect();
        let semantic: Vec<_> = long.iter().copied().map(candidate).collect();
        let ranked = rank(&semantic, &[]);
        assert!((ranked[1].score - 1.0 / 62.0).abs() < 1e-6);
        assert_eq!(ranked[1].why.semantic, Some(SemanticWhy { rank: 51, score: 0.5 }));
    }
}
