use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use tantivy::{Searcher, TantivyError};

use super::collector::{self, KeyColumns, Keys};
use super::language::Language;
use super::query::lookup::languages;
use super::schema::Fields;
use super::scores::{self, Named};
use super::sums::Lists;
use super::{IndexProgress, KeywordIndex, KeywordIndexError, KeywordQuery, PreparedQuery};
use crate::data::{Candidate, ChunkKey};
use crate::index::PassageFilter;

/// The keyword index at one moment, whatever is committed after it; cheap to make.
pub struct KeywordSnapshot {
    directory: PathBuf,
    searcher: Searcher,
    fields: Fields,
    progress: Option<IndexProgress>,
    /// The languages of the index with their shares of its passages, most frequent first.
    languages: Vec<(Language, f32)>,
    /// The names of the passages of each segment.
    columns: Vec<KeyColumns>,
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
    ) -> Result<Self, TantivyError> {
        let (directory, fields) = (index.directory.clone(), index.fields);
        let languages = languages(&fields, &searcher)?;
        let columns = searcher.segment_readers().iter().map(KeyColumns::open);
        let columns = columns.collect::<Result<_, _>>()?;
        Ok(Self { directory, searcher, fields, progress, languages, columns })
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
        PreparedQuery::new(query, &self.languages, &self.fields, &self.searcher)
            .map_err(|e| self.error(e.into()))
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

    /// The `limit` passages with the highest BM25 over title, headings and body among those that `filter`
    /// allows, best first; of equal scores the smaller key comes first.
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
    ) -> Result<Vec<Candidate>, KeywordIndexError> {
        if query.is_empty() || limit == 0 || filter.is_none() {
            return Ok(Vec::new());
        }
        match Lists::find(&self.searcher, &self.fields, query).map_err(|e| self.error(e))? {
            Some(lists) if !lists.are_long() => {
                lists.best(&self.searcher, &self.columns, filter, limit).map_err(|e| self.error(e))
            }
            Some(_) | None => self.search_by_blocks(query, filter, limit),
        }
    }

    /// The same, where blocks of passages that score too low are skipped.
    pub(super) fn search_by_blocks(
        &self,
        query: &PreparedQuery,
        filter: &PassageFilter,
        limit: usize,
    ) -> Result<Vec<Candidate>, KeywordIndexError> {
        let Some(scored) = query.scored(&self.fields) else { return Ok(Vec::new()) };
        collector::best(&self.searcher, &self.columns, &scored, filter, limit)
            .map_err(|e| self.error(e))
    }

    /// Those of `passages` that hold something of the query, in their order, with the scores that
    /// [`KeywordSnapshot::search`] would give them, whatever their rank.
    ///
    /// # Errors
    /// [`KeywordIndexError`] when the directory cannot be read.
    pub fn score(
        &self,
        query: &PreparedQuery,
        passages: &[ChunkKey],
    ) -> Result<Vec<Candidate>, KeywordIndexError> {
        let scores = self
            .find(passages)
            .and_then(|named| scores::of(&self.searcher, &self.fields, query, &named))
            .map_err(|e| self.error(e))?;
        let candidate =
            |chunk: &ChunkKey| Some(Candidate { chunk: *chunk, score: *scores.get(chunk)? });
        Ok(passages.iter().filter_map(candidate).collect())
    }

    /// The words and phrases of the query that each of `passages` holds, as they were typed, in their order.
    ///
    /// # Errors
    /// [`KeywordIndexError`] when the directory cannot be read.
    pub fn terms_held(
        &self,
        query: &PreparedQuery,
        passages: &[ChunkKey],
    ) -> Result<HashMap<ChunkKey, Vec<String>>, KeywordIndexError> {
        let terms = || -> Result<_, TantivyError> {
            let mut terms = HashMap::new();
            for here in self.find(passages)? {
                let held = query.terms_held(&self.fields, &here)?;
                terms.extend(here.keys.into_iter().zip(held));
            }
            Ok(terms)
        };
        terms().map_err(|e| self.error(e))
    }

    fn find(&self, passages: &[ChunkKey]) -> Result<Vec<Named<'_>>, TantivyError> {
        scores::find(&self.searcher, &self.columns, &self.fields, passages)
    }

    fn error(&self, source: TantivyError) -> KeywordIndexError {
        KeywordIndexError::from_tantivy(&self.directory, source)
    }
}
