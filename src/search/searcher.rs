use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::debug_span;

use super::IndexSnapshot;
use super::answer::Shown;
use super::ranking::{Found, RankedDocument, rank};
use super::{
    Coverage, Query, QueryVector, SearchError, SearchMode, SearchRequest, SearchResponse,
    WeakerHits, answer,
};
use crate::data::{Candidate, ChunkKey, DocumentId, Embedding, Hit, Why};
use crate::index::{Judge, KeywordQuery, Moments, PassageFilter, PreparedQuery};
use crate::storage::Store;

/// Passages that each list gives at least. What is behind them by meaning and by words is no answer to be shown. It is
/// enough for thirty documents, so that the beginning of such an answer, asked for alone, is the same.
const CANDIDATES_MIN: usize = 120;

/// Passages that each list gives for a document of the answer: several may be of one document.
const CANDIDATES_PER_HIT: usize = 4;

/// Documents that are counted of a query that has no words and may leave all of them.
const LISTED_MAX: usize = 1_000;

/// Answers queries from a store and its indexes.
#[derive(Debug)]
pub struct Searcher<'a> {
    store: &'a Store,
    indexes: Arc<IndexSnapshot>,
    /// That the vector index took.
    vectors_took: Cell<Duration>,
}

/// What words alone say of a query.
#[derive(Debug)]
pub struct Words {
    prepared: PreparedQuery,
    filter: PassageFilter,
    /// Best first.
    found: Vec<Candidate>,
}

/// What is shown of what was found.
#[derive(Debug, Default)]
struct Chosen {
    hits: Vec<Hit>,
    /// Documents that are too far from the query.
    weaker: usize,
    /// Every document that the hits were chosen from, best first.
    from: Vec<DocumentId>,
    is_cut: bool,
}

impl<'a> Searcher<'a> {
    #[must_use]
    pub fn new(store: &'a Store, indexes: Arc<IndexSnapshot>) -> Self {
        Self { store, indexes, vectors_took: Cell::default() }
    }

    /// How long the vector index was asked, in the answers so far.
    #[must_use]
    pub fn vectors_took(&self) -> Duration {
        self.vectors_took.get()
    }

    /// Answers `query`, which is [`SearchRequest::query`] parsed, with its vector.
    ///
    /// Without a vector a hybrid question is answered by words alone, and one by meaning finds
    /// nothing. A query of nothing but qualifiers and exclusions lists the newest documents that
    /// meet them; an empty one finds nothing.
    ///
    /// # Errors
    /// [`SearchError`] when the store or an index cannot be read, or when the vector is not of the
    /// model that the index was made with.
    pub fn search(
        &self,
        request: &SearchRequest,
        query: &Query,
        vector: Option<&QueryVector>,
    ) -> Result<SearchResponse, SearchError> {
        self.finish(request, query, self.words(request, query)?, vector)
    }

    /// The part of an answer that needs no vector, so that it can be found while the vector is computed.
    ///
    /// # Errors
    /// [`SearchError`] when the store or an index cannot be read.
    pub fn words(&self, request: &SearchRequest, query: &Query) -> Result<Words, SearchError> {
        let _span = debug_span!("search_words").entered();
        let prepared = self.prepare(request, query)?;
        if let Some(like) = request.like {
            let filter = self.filter(query, &prepared)?.without([like.document]);
            return Ok(Words { prepared, filter, found: Vec::new() });
        }
        if query.has_no_words() {
            return Ok(Words { prepared, filter: PassageFilter::all(), found: Vec::new() });
        }
        let filter = self.filter(query, &prepared)?;
        let found = match request.mode {
            SearchMode::Semantic => Vec::new(),
            _ => self.indexes.keywords().search(&prepared, &filter, candidates(request))?,
        };
        Ok(Words { prepared, filter, found })
    }

    /// Completes an answer whose words were looked up by [`Searcher::words`] of the same indexes.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn finish(
        &self,
        request: &SearchRequest,
        query: &Query,
        words: Words,
        vector: Option<&QueryVector>,
    ) -> Result<SearchResponse, SearchError> {
        let _span = debug_span!("search_rest").entered();
        let started = Instant::now();
        let mode = match (request.mode, vector) {
            _ if request.like.is_some() => SearchMode::Semantic,
            (SearchMode::Hybrid, None) => SearchMode::Keyword,
            (mode, _) => mode,
        };
        let Chosen { hits, weaker, from, is_cut } =
            if request.like.is_none() && query.has_no_words() {
                self.newest(request, query, &words.prepared)?
            } else {
                self.best(request, mode, words, vector)?
            };
        let counts = self.store.counts()?;
        Ok(SearchResponse {
            query: request.query.clone(),
            mode,
            took_ms: started.elapsed().as_secs_f64() * 1e3,
            hits,
            weaker,
            considered: from,
            is_cut,
            coverage: Coverage {
                indexed: counts.documents,
                known: counts.documents + counts.skipped + self.store.queued_new()?,
            },
        })
    }

    /// The vector of a passage, for asking what is like it; `None` when it has gone.
    ///
    /// # Errors
    /// [`SearchError`] when the store cannot be read.
    pub fn vector_of(&self, passage: ChunkKey) -> Result<Option<QueryVector>, SearchError> {
        let Some(model) = self.indexes.stored_model() else { return Ok(None) };
        let rows = self.store.vectors_of(passage.document, model.key)?.unwrap_or_default();
        let row = rows.chunks_exact(model.model.dim.max(1)).nth(passage.ordinal as usize);
        let values = row.map(|row| row.iter().map(|value| value.to_f32()).collect());
        let embedding = values.and_then(|values| Embedding::normalized(values).ok());
        // It is a text of the index: what it is about is not in question.
        Ok(embedding.map(|embedding| QueryVector { embedding, familiarity: 1.0 }))
    }

    fn best(
        &self,
        request: &SearchRequest,
        mode: SearchMode,
        Words { prepared, filter, found: by_words }: Words,
        vector: Option<&QueryVector>,
    ) -> Result<Chosen, SearchError> {
        // An index that has not been filled yet knows no dimension either.
        let has_vectors = mode != SearchMode::Keyword && !self.indexes.vectors().is_empty();
        let vector = vector.filter(|_| has_vectors);
        let mut found = Found { keyword: by_words, ..Found::default() };
        if let Some(QueryVector { embedding, .. }) = vector {
            let _span = debug_span!("search_vectors").entered();
            let started = Instant::now();
            let nearest = self.indexes.vectors().search(embedding, &filter, candidates(request));
            self.vectors_took.set(self.vectors_took.get() + started.elapsed());
            found.semantic = nearest?;
        }
        if let (SearchMode::Hybrid, Some(QueryVector { embedding, .. })) = (mode, vector) {
            self.complete(&mut found, &prepared, embedding)?;
        }
        let judge = self.judge(mode, vector);
        let mut documents = rank(&found, &judge);
        let mut weak = Vec::new();
        if request.weaker != WeakerHits::Among {
            weak = documents.extract_if(.., |document| document.is_weak).collect();
        }
        let mut hits = self.hits(&prepared, &documents, request)?;
        let (weaker, is_cut) = (weak.len(), is_cut(&hits, &documents));
        if request.weaker == WeakerHits::Behind {
            let mut behind = self.hits(&prepared, &weak, request)?;
            for hit in &mut behind {
                hit.rank += hits.len();
            }
            hits.append(&mut behind);
            documents.append(&mut weak);
        }
        Ok(Chosen { hits, weaker, from: ids(&documents), is_cut })
    }

    /// Asks each index about the passages that only the other one found. A list that ends at its
    /// hundredth passage says nothing of those behind it; taking that for nothing would let the
    /// length of the lists decide.
    fn complete(
        &self,
        found: &mut Found,
        prepared: &PreparedQuery,
        embedding: &Embedding,
    ) -> Result<(), SearchError> {
        let near: HashSet<ChunkKey> = found.semantic.iter().map(|near| near.chunk).collect();
        let held: HashSet<ChunkKey> = found.keyword.iter().map(|held| held.chunk).collect();
        let by_words: Vec<_> = held.difference(&near).copied().collect();
        let by_meaning: Vec<_> = near.difference(&held).copied().collect();
        found.semantic_beyond = self.indexes.vectors().score(embedding, &by_words)?;
        found.keyword_beyond = self.indexes.keywords().score(prepared, &by_meaning)?;
        Ok(())
    }

    fn judge(&self, mode: SearchMode, vector: Option<&QueryVector>) -> Judge {
        let passages = self.indexes.vectors().len();
        let Some(QueryVector { embedding, familiarity }) = vector else {
            return Judge::new(Moments::default(), 1.0, passages);
        };
        let ordinary = self.indexes.background().moments(embedding);
        // Where only meaning was asked for, there is nothing to hold it against.
        let familiarity = if mode == SearchMode::Hybrid { *familiarity } else { 1.0 };
        Judge::new(ordinary, familiarity, passages)
    }

    fn newest(
        &self,
        request: &SearchRequest,
        query: &Query,
        prepared: &PreparedQuery,
    ) -> Result<Chosen, SearchError> {
        if query.conditions.is_empty() && query.excluded.is_empty() {
            return Ok(Chosen::default());
        }
        let allowed = self.indexes.keywords().narrow(prepared, PassageFilter::all())?;
        let wanted = request.limit.max(LISTED_MAX);
        let limit = if allowed.is_all() { wanted } else { i64::MAX as usize };
        let documents: Vec<_> = self
            .store
            .newest_matching(&query.conditions, limit)?
            .into_iter()
            .filter(|document| allowed.allows_document(*document))
            .take(wanted)
            .map(|document| RankedDocument {
                score: 0.0,
                passages: vec![ChunkKey { document, ordinal: 0 }],
                by_words: None,
                why: Why::default(),
                is_weak: false,
            })
            .collect();
        let hits = self.hits(prepared, &documents, request)?;
        let is_cut = is_cut(&hits, &documents);
        Ok(Chosen { hits, weaker: 0, from: ids(&documents), is_cut })
    }

    fn hits(
        &self,
        query: &PreparedQuery,
        documents: &[RankedDocument],
        request: &SearchRequest,
    ) -> Result<Vec<Hit>, SearchError> {
        let shown = Shown { limit: request.limit, folds: request.fold_duplicates };
        // Without a model nothing was ever indexed.
        let Some(model) = self.indexes.key() else { return Ok(Vec::new()) };
        let mut hits = answer::hits((self.store, model), query, documents, shown)?;
        self.explain(query, documents, &mut hits)?;
        Ok(hits)
    }

    /// Says which words of the query speak for each hit.
    fn explain(
        &self,
        query: &PreparedQuery,
        documents: &[RankedDocument],
        hits: &mut [Hit],
    ) -> Result<(), SearchError> {
        let shown: HashSet<DocumentId> = hits.iter().map(|hit| hit.document.id).collect();
        let by_words: Vec<ChunkKey> = documents
            .iter()
            .filter_map(|document| document.by_words)
            .filter(|passage| shown.contains(&passage.document))
            .collect();
        let held = self.indexes.keywords().terms_held(query, &by_words)?;
        let mut held: HashMap<DocumentId, Vec<String>> =
            held.into_iter().map(|(passage, terms)| (passage.document, terms)).collect();
        for hit in hits {
            if let Some(why) = &mut hit.why.keyword {
                why.terms = held.remove(&hit.document.id).unwrap_or_default();
            }
        }
        Ok(())
    }

    fn prepare(
        &self,
        request: &SearchRequest,
        query: &Query,
    ) -> Result<PreparedQuery, SearchError> {
        Ok(self.indexes.keywords().prepare(&KeywordQuery {
            terms: query.terms.clone(),
            phrases: query.phrases.clone(),
            excluded: query.excluded.clone(),
            prefix_last: request.typing && query.ends_in_term,
        })?)
    }

    fn filter(
        &self,
        query: &Query,
        prepared: &PreparedQuery,
    ) -> Result<PassageFilter, SearchError> {
        let filter = if query.conditions.is_empty() {
            PassageFilter::all()
        } else {
            PassageFilter::only(self.store.documents_matching(&query.conditions)?)
        };
        Ok(self.indexes.keywords().narrow(prepared, filter)?)
    }
}

fn ids(documents: &[RankedDocument]) -> Vec<DocumentId> {
    let first = |document: &RankedDocument| document.passages.first().map(|key| key.document);
    documents.iter().filter_map(first).collect()
}

/// Whether there are documents that `hits` neither show nor name.
fn is_cut(hits: &[Hit], documents: &[RankedDocument]) -> bool {
    hits.iter().map(|hit| 1 + hit.also.len()).sum::<usize>() < documents.len()
}

/// Passages of each list.
fn candidates(request: &SearchRequest) -> usize {
    CANDIDATES_MIN.max(request.limit.saturating_mul(CANDIDATES_PER_HIT))
}
