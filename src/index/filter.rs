use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::data::{ChunkKey, DocumentId};

/// Which passages a search may find. Copies share the sets.
#[derive(Clone, Debug, Default)]
pub struct PassageFilter {
    only: Option<Arc<DocumentSet>>,
    without: Option<Arc<DocumentSet>>,
    passages: Option<Arc<HashSet<ChunkKey>>>,
}

/// Ids are hashes already, so they are not hashed again: a scan looks up every document.
pub(super) type DocumentSet = HashSet<DocumentId, BuildHasherDefault<IdHasher>>;

/// What a filter names one by one; of that, not all need be allowed.
#[derive(Debug)]
pub(super) enum Listed<'a> {
    Nothing,
    Documents(&'a DocumentSet),
    Passages(&'a HashSet<ChunkKey>),
}

impl Listed<'_> {
    /// How much is named; `None` for everything.
    pub fn len(&self) -> Option<usize> {
        match self {
            Self::Nothing => None,
            Self::Documents(documents) => Some(documents.len()),
            Self::Passages(passages) => Some(passages.len()),
        }
    }
}

impl PassageFilter {
    /// Allows everything.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Allows passages of these documents only.
    #[must_use]
    pub fn only(documents: impl IntoIterator<Item = DocumentId>) -> Self {
        Self { only: Some(Arc::new(documents.into_iter().collect())), ..Self::default() }
    }

    /// Forbids these documents as well.
    #[must_use]
    pub fn without(self, documents: impl IntoIterator<Item = DocumentId>) -> Self {
        let mut forbidden: DocumentSet = documents.into_iter().collect();
        forbidden.extend(self.without.iter().flat_map(|set| set.iter()));
        Self { without: Some(Arc::new(forbidden)), ..self }
    }

    /// Allows, of what is allowed, these passages only.
    #[must_use]
    pub fn within(self, passages: impl IntoIterator<Item = ChunkKey>) -> Self {
        let mut allowed: HashSet<ChunkKey> = passages.into_iter().collect();
        allowed.retain(|key| self.allows(*key));
        Self { passages: Some(Arc::new(allowed)), ..self }
    }

    /// The list outside of which nothing is allowed.
    pub(super) fn listed(&self) -> Listed<'_> {
        match (&self.passages, &self.only) {
            (Some(passages), _) => Listed::Passages(passages),
            (None, Some(documents)) => Listed::Documents(documents),
            (None, None) => Listed::Nothing,
        }
    }

    #[must_use]
    pub fn is_all(&self) -> bool {
        self.only.is_none() && self.without.is_none() && self.passages.is_none()
    }

    /// Whether it is certain that nothing is allowed.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.only.as_ref().is_some_and(|set| set.is_empty())
            || self.passages.as_ref().is_some_and(|set| set.is_empty())
    }

    /// Whether some passage of the document may be allowed.
    #[must_use]
    pub fn allows_document(&self, document: DocumentId) -> bool {
        self.only.as_ref().is_none_or(|set| set.contains(&document))
            && self.without.as_ref().is_none_or(|set| !set.contains(&document))
    }

    #[must_use]
    pub fn allows(&self, key: ChunkKey) -> bool {
        self.allows_document(key.document) && self.allows_passage(key)
    }

    /// As [`PassageFilter::allows`] for a document that is known to be allowed.
    #[must_use]
    pub fn allows_passage(&self, key: ChunkKey) -> bool {
        self.passages.as_ref().is_none_or(|set| set.contains(&key))
    }
}

#[derive(Debug, Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        // The table takes bucket and tag from both ends, and an id has its top bit clear.
        self.0 = number << 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(document: u64, ordinal: u32) -> ChunkKey {
        ChunkKey { document: DocumentId::from_stored(document), ordinal }
    }

    #[test]
    fn parts_of_a_filter_hold_together() {
        let ids = |numbers: &[u64]| {
            numbers.iter().map(|n| DocumentId::from_stored(*n)).collect::<Vec<_>>()
        };
        assert!(PassageFilter::all().is_all());
        assert!(PassageFilter::all().allows(key(1, 0)));
        let filter = PassageFilter::only(ids(&[1, 2, 3])).without(ids(&[2])).without(ids(&[9]));
        assert!(filter.allows(key(1, 5)) && filter.allows(key(3, 0)));
        assert!(!filter.allows(key(2, 0)) && !filter.allows(key(4, 0)));
        let filter = filter.within([key(1, 1), key(2, 1), key(4, 1)]);
        assert!(filter.allows(key(1, 1)));
        assert!(
            !filter.allows(key(1, 0)) && !filter.allows(key(2, 1)) && !filter.allows(key(4, 1))
        );
        assert!(!filter.is_none());
        assert!(filter.within([key(2, 1)]).is_none());
        assert!(PassageFilter::only([]).is_none());
    }
}
