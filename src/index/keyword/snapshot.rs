use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use tantivy::{Searcher, TantivyError};

use super::collector::{Found, Keys, TopPassages};
use super::schema::Fields;
use super::{
    IndexProgress, KeywordIndex, KeywordIndexError, KeywordMatch, KeywordQuery, PreparedQuery,
    scores,
};
use crate::data::{Candidate, ChunkKey};
use crate::index::PassageFilter;

/// The keyword index at one moment, whatever is committed after it; cheap to make.
pub struct KeywordSnapshot {
    directory: PathBuf,
    searcher: Searcher,
    fields: Fields,
    progress: Option<IndexProgress>,
}

impl fmt::Debug for KeywordSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeywordSnapshot").field("progress", &self.progress).finish_non_exhaustive()
    }
}

impl KeywordSnapshot {
    pub(super) fn new(
        index: &KeywordIndex,
        searcher: Searcher,
        progress: Option<IndexProgress>,
    ) -> Self {
        let (directory, fields) = (index.directory.clone(), index.fields);
        Self { directory, searcher, fields, progress }
    }

    /// What was reached; `None` when nothing was ever committed.
    #[must_use]
    pub fn progress(&self) -> Option<&IndexProgress> {
        self.progress.as_ref()
    }

    /// Passages that can be found.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.searcher.num_docs()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Analyzes the query and looks its words up.
    ///
    /// # Errors
    /// [`KeywordIndexError`] when the directory cannot be read.
    pub fn prepare(&self, query: &KeywordQuery) -> Result<PreparedQuery, KeywordIndexError> {
        PreparedQuery::new(query, &self.fields, &self.searcher).map_err(|e| self.error(e.into()))
    }

    /// Narrows `filter` to passages that hold every phrase of the query and to documents that hold
    /// nothing it excludes, for any index that is asked the same question.
    ///
    /// # Errors
    /// [`KeywordIndexError`] when the directory cannot be read.
    pub fn narrow(
        &self,
        query: &PreparedQuery,
        filter: PassageFilter,
    ) -> Result<PassageFilter, KeywordIndexError> {
        let keys = |query: &dyn tantivy::query::Query| {
            self.searcher.search(query, &Keys).map_err(|e| self.error(e))
        };
        let mut filter = filter;
        if let Some(excluded) = query.exclusions(&self.fields) {
            filter = filter.without(keys(&excluded)?.into_iter().map(|key| key.document));
        }
        if let Some(required) = query.requirements(&self.fields) {
            filter = filter.within(keys(&required)?);
        }
        Ok(filter)
    }

    /// The `limit` passages with the highest BM25 among those that `filter` allows, best first; of
    /// equal scores the smaller key comes first.
    ///
    /// Phrases are required, words are not. Exclusions are not looked at: see
    /// [`KeywordSnapshot::narrow`].
    ///
    /// # Errors
    /// [`KeywordIndexError`] when the directory cannot be read.
    pub fn search(
        &self,
        query: &PreparedQuery,
        filter: &PassageFilter,
        limit: usize,
    ) -> Result<Vec<KeywordMatch>, KeywordIndexError> {
        let Some(scored) = query.scored(&self.fields) else { return Ok(Vec::new()) };
        if limit == 0 || filter.is_none() {
            return Ok(Vec::new());
        }
        let top = TopPassages { limit, filter: filter.clone() };
        let found = self.searcher.search(&scored, &top).map_err(|e| self.error(e))?;
        self.explain(query, found).map_err(|e| self.error(e))
    }

    /// Each of `passages` as [`KeywordSnapshot::search`] would score it, whatever its rank, in their
    /// order; the score is zero where a passage holds nothing of the query.
    ///
    /// # Errors
    /// [`KeywordIndexError`] when the directory cannot be read.
    pub fn score(
        &self,
        query: &PreparedQuery,
        passages: &[ChunkKey],
    ) -> Result<Vec<KeywordMatch>, KeywordIndexError> {
        let none = |chunk: &ChunkKey| KeywordMatch {
            candidate: Candidate { chunk: *chunk, score: 0.0 },
            terms: Vec::new(),
        };
        let Some(scored) = query.scored(&self.fields) else {
            return Ok(passages.iter().map(none).collect());
        };
        let found = scores::of(&self.searcher, &self.fields, &scored, passages);
        let found =
            found.and_then(|found| self.explain(query, found)).map_err(|e| self.error(e))?;
        let mut found: HashMap<_, _> =
            found.into_iter().map(|found| (found.candidate.chunk, found)).collect();
        Ok(passages.iter().map(|key| found.remove(key).unwrap_or_else(|| none(key))).collect())
    }

    fn explain(
        &self,
        query: &PreparedQuery,
        found: Vec<Found>,
    ) -> Result<Vec<KeywordMatch>, TantivyError> {
        let addresses: Vec<_> = found.iter().map(|found| found.extra).collect();
        let terms = query.terms_held(&self.fields, &self.searcher, &addresses)?;
        let matches = found.into_iter().zip(terms).map(|(found, terms)| KeywordMatch {
            candidate: Candidate { chunk: found.key, score: found.score },
            terms,
        });
        Ok(matches.collect())
    }

    fn error(&self, source: TantivyError) -> KeywordIndexError {
        KeywordIndexError::from_tantivy(&self.directory, source)
    }
}
