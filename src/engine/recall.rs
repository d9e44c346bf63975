//! How many of the true neighbors the vector index finds, measured against a scan of the store's own
//! vectors that shares no code with the index.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use half::f16;

use super::EngineError;
use crate::data::{Embedding, EmbeddingError};
use crate::index::PassageFilter;
use crate::search::{IndexSnapshot, SearchError};
use crate::storage::{Store, StoredModel};

const QUERIES: u64 = 100;
const K: usize = 10;

/// Two vectors whose cosines differ by less are equally near: the index may name either.
const TIE: f32 = 1e-4;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Recall {
    pub queries: usize,
    /// Share of the ten nearest that are found, 0 ..= 1.
    pub at_10: f64,
}

/// Asks the index for the neighbors of passages spread evenly over the store; `None` without any.
pub(super) fn measure(
    store: &Store,
    indexes: &IndexSnapshot,
) -> Result<Option<Recall>, EngineError> {
    let Some(model) = indexes.stored_model() else { return Ok(None) };
    of_queries(store, indexes, &sample(store, model)?)
}

/// The same for queries of the model of the index, which may not be the one that comes into use just now.
pub(super) fn of_queries(
    store: &Store,
    indexes: &IndexSnapshot,
    queries: &[Embedding],
) -> Result<Option<Recall>, EngineError> {
    let Some(model) = indexes.stored_model() else { return Ok(None) };
    let thresholds = tenth_best(store, queries, model)?;
    let (mut found, mut wanted) = (0, 0);
    for (query, (threshold, neighbors)) in queries.iter().zip(&thresholds) {
        let answer = indexes.vectors().search(query, &PassageFilter::all(), K);
        let answer = answer.map_err(SearchError::from)?;
        wanted += neighbors;
        found += answer.iter().filter(|near| near.score >= threshold - TIE).count();
    }
    let share = found as f64 / f64::from(wanted.max(1));
    Ok((wanted > 0).then_some(Recall { queries: queries.len(), at_10: share }))
}

fn sample(store: &Store, model: &StoredModel) -> Result<Vec<Embedding>, EngineError> {
    let stride = (store.counts()?.passages / QUERIES).max(1);
    let (mut at, mut queries) = (0, Vec::new());
    store.for_each_vectors(model.key, |_, rows| {
        for row in rows.chunks_exact(model.model.dim) {
            if at % stride == 0 {
                queries.push(Embedding::normalized(widen(row)));
            }
            at += 1;
        }
    })?;
    // A stored vector has unit length, so none is without direction unless the store is damaged.
    Ok(queries.into_iter().collect::<Result<_, EmbeddingError>>()?)
}

/// For each query the cosine of its tenth neighbor, or of the last there is, and how many there are.
fn tenth_best(
    store: &Store,
    queries: &[Embedding],
    model: &StoredModel,
) -> Result<Vec<(f32, u32)>, EngineError> {
    let mut best: Vec<BinaryHeap<Reverse<Cosine>>> = vec![BinaryHeap::new(); queries.len()];
    store.for_each_vectors(model.key, |_, rows| {
        for row in rows.chunks_exact(model.model.dim).map(widen) {
            for (query, best) in queries.iter().zip(&mut best) {
                let cosine = query.as_slice().iter().zip(&row).map(|(a, b)| a * b).sum();
                best.push(Reverse(Cosine(cosine)));
                if best.len() > K {
                    best.pop();
                }
            }
        }
    })?;
    let threshold = |best: BinaryHeap<Reverse<Cosine>>| {
        (best.peek().map_or(f32::INFINITY, |Reverse(Cosine(cosine))| *cosine), best.len() as u32)
    };
    Ok(best.into_iter().map(threshold).collect())
}

fn widen(row: &[f16]) -> Vec<f32> {
    row.iter().map(|value| value.to_f32()).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Cosine(f32);

impl Eq for Cosine {}

impl PartialOrd for Cosine {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cosine {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Chunk, ContentHash, Document, EmbeddedDocument, Source};
    use crate::search::Indexes;
    use crate::storage::EmbeddingModel;

    fn document(number: u8) -> EmbeddedDocument {
        let source = Source::File(format!("/{number}").into());
        let document = Document::plain(source, String::new(), "a".to_owned());
        let document = Document { content_hash: ContentHash::of(&[number]), ..document };
        let embedding = Embedding::normalized(vec![f32::from(number), 1.0]).unwrap();
        let chunks = vec![Chunk { range: 0..1, tokens: 0..1, locator: None }];
        EmbeddedDocument { document, chunks, embeddings: vec![embedding], inputs: Vec::new() }
    }

    #[test]
    fn an_index_that_has_not_caught_up_has_no_recall() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let indexes = Indexes::open(dir.path()).unwrap();
        let measured = || measure(&store, &indexes.snapshot()).unwrap();
        assert_eq!(measured(), None);
        let model = EmbeddingModel { name: "fake".to_owned(), dim: 2 };
        store.choose_model(&model).unwrap();
        indexes.catch_up(&store).unwrap();
        let documents: Vec<_> = (0..40).map(document).collect();
        store.commit_documents(&model, &documents, 0).unwrap();
        assert_eq!(measured(), Some(Recall { queries: 40, at_10: 0.0 }));
        indexes.catch_up(&store).unwrap();
        assert_eq!(measured(), Some(Recall { queries: 40, at_10: 1.0 }));
    }
}
