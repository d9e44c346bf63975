use half::f16;

use super::PassageFilter;
use crate::data::{Candidate, ChangeNumber, ChunkKey, DocumentId, Embedding};

/// Finds passages by the nearness of their vectors to that of a query.
///
/// Searches and updates may run at once on any threads: a search works on the state that was there
/// when it began.
pub trait VectorIndex: Send + Sync + std::fmt::Debug {
    /// Components of a vector.
    fn dim(&self) -> usize;

    /// Vectors that can be found.
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last change of the store that is reflected.
    fn reached(&self) -> ChangeNumber;

    /// Takes an update in, all of it at one moment as searches see it.
    ///
    /// # Errors
    /// When a row has not [`VectorIndex::dim`] components; then nothing has changed.
    fn apply(&self, update: VectorUpdate) -> Result<(), VectorIndexError>;

    /// The `limit` passages with the largest cosine among those that `filter` allows, best first;
    /// of equal scores the smaller key comes first.
    ///
    /// # Errors
    /// When the query has not [`VectorIndex::dim`] components.
    fn search(
        &self,
        query: &Embedding,
        filter: &PassageFilter,
        limit: usize,
    ) -> Result<Vec<Candidate>, VectorIndexError>;

    /// The cosines of `passages`, best first; those that are not there are left out.
    ///
    /// # Errors
    /// As [`VectorIndex::search`].
    fn score(
        &self,
        query: &Embedding,
        passages: &[ChunkKey],
    ) -> Result<Vec<Candidate>, VectorIndexError> {
        let documents = passages.iter().map(|key| key.document);
        let filter = PassageFilter::only(documents).within(passages.iter().copied());
        self.search(query, &filter, passages.len())
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum VectorIndexError {
    #[error(
        "query vector has {found} components where the index holds {expected}; the model that \
         made the index is another one"
    )]
    QueryDimension { expected: usize, found: usize },
    #[error("vectors of document {document} are {found} numbers, no multiple of {expected}")]
    RowDimension { document: DocumentId, expected: usize, found: usize },
}

/// # Errors
/// When the query is of another dimension.
pub(super) fn check_query(query: &Embedding, expected: usize) -> Result<(), VectorIndexError> {
    match query.dim() {
        found if found == expected => Ok(()),
        found => Err(VectorIndexError::QueryDimension { expected, found }),
    }
}

/// Documents that came, changed and went. The rows lie end to end, ready to be scanned.
#[derive(Clone, Debug, Default)]
pub struct VectorUpdate {
    /// Everything that is there goes first.
    pub from_scratch: bool,
    pub removed: Vec<DocumentId>,
    /// What the index has reached when this is done.
    pub reached: ChangeNumber,
    pub(super) documents: Vec<(DocumentId, usize)>,
    pub(super) rows: Vec<f16>,
}

impl VectorUpdate {
    /// An update that changes nothing yet.
    #[must_use]
    pub fn reaching(reached: ChangeNumber) -> Self {
        Self { reached, ..Self::default() }
    }

    /// The first of those that replace everything that is there.
    #[must_use]
    pub fn from_scratch() -> Self {
        Self { from_scratch: true, ..Self::default() }
    }

    /// A document with the unit-length vectors of its passages, row after row; they replace those
    /// that it had.
    pub fn upsert(&mut self, document: DocumentId, rows: &[f16]) {
        self.documents.push((document, rows.len()));
        self.rows.extend_from_slice(rows);
    }

    /// The documents of which something that was there goes.
    pub(super) fn changed(&self) -> impl Iterator<Item = &DocumentId> {
        self.removed.iter().chain(self.documents.iter().map(|(document, _)| document))
    }

    /// # Errors
    /// When the rows of a document are no whole number of vectors.
    pub(super) fn check(&self, dim: usize) -> Result<(), VectorIndexError> {
        match self.documents.iter().find(|(_, numbers)| numbers % dim.max(1) != 0) {
            None => Ok(()),
            Some(&(document, found)) => {
                Err(VectorIndexError::RowDimension { document, expected: dim, found })
            }
        }
    }

    /// Numbers in all rows together.
    #[must_use]
    pub fn components(&self) -> usize {
        self.rows.len()
    }
}
