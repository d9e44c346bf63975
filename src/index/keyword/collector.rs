//! How passages are gathered from tantivy's segments.

use std::collections::HashSet;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::ColumnValues;
use tantivy::query::Weight;
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

use super::schema::{DOCUMENT, ORDINAL};
use crate::data::{ChunkKey, DocumentId};
use crate::index::PassageFilter;
use crate::index::top::{Ranked, Top};

pub(super) type Found = Ranked<DocAddress>;

/// The names of the passages of one segment.
pub(super) struct KeyColumns {
    documents: Arc<dyn ColumnValues<u64>>,
    ordinals: Arc<dyn ColumnValues<u64>>,
}

impl KeyColumns {
    pub fn open(segment: &SegmentReader) -> tantivy::Result<Self> {
        let column = |name| -> tantivy::Result<_> {
            Ok(segment.fast_fields().u64(name)?.first_or_default_col(0))
        };
        Ok(Self { documents: column(DOCUMENT)?, ordinals: column(ORDINAL)? })
    }

    pub fn key(&self, doc: DocId) -> ChunkKey {
        ChunkKey {
            document: DocumentId::from_stored(self.documents.get_val(doc)),
            ordinal: self.ordinals.get_val(doc) as u32,
        }
    }
}

/// The best passages that a filter allows.
///
/// tantivy's own collector breaks ties by where a passage happens to be stored, which changes when
/// segments are merged; this one breaks them by the key.
pub(super) struct TopPassages {
    pub limit: usize,
    pub filter: PassageFilter,
}

pub(super) struct SegmentTop {
    segment: SegmentOrdinal,
    keys: KeyColumns,
    filter: PassageFilter,
    top: Top<DocAddress>,
}

impl SegmentTop {
    /// Takes a passage in and returns the score that the next one has to be above.
    fn offer(&mut self, doc: DocId, score: Score) -> Score {
        if self.top.wants(score) {
            let key = self.keys.key(doc);
            if self.filter.allows(key) {
                self.top.offer(score, key, DocAddress::new(self.segment, doc));
            }
        }
        // An equal score may still win by its key, so the bound lies just below it.
        self.top.floor().map_or(Score::MIN, f32::next_down)
    }
}

impl Collector for TopPassages {
    type Fruit = Vec<Found>;
    type Child = SegmentTop;

    fn for_segment(
        &self,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<SegmentTop> {
        let (keys, top) = (KeyColumns::open(reader)?, Top::new(self.limit));
        Ok(SegmentTop { segment, keys, filter: self.filter.clone(), top })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    /// Lets tantivy skip blocks of passages that cannot reach the floor (block-max WAND).
    fn collect_segment(
        &self,
        weight: &dyn Weight,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<Top<DocAddress>> {
        let mut child = self.for_segment(segment, reader)?;
        let alive = reader.alive_bitset();
        let mut floor = Score::MIN;
        weight.for_each_pruning(floor, reader, &mut |doc, score| {
            if alive.is_none_or(|alive| alive.is_alive(doc)) {
                floor = child.offer(doc, score);
            }
            floor
        })?;
        Ok(child.harvest())
    }

    fn merge_fruits(&self, segments: Vec<Top<DocAddress>>) -> tantivy::Result<Vec<Found>> {
        let mut top = Top::new(self.limit);
        for segment in segments {
            top.merge(segment);
        }
        Ok(top.into_sorted())
    }
}

impl SegmentCollector for SegmentTop {
    type Fruit = Top<DocAddress>;

    fn collect(&mut self, doc: DocId, score: Score) {
        self.offer(doc, score);
    }

    fn harvest(self) -> Top<DocAddress> {
        self.top
    }
}

/// The names of all passages that match.
pub(super) struct Keys;

pub(super) struct SegmentKeys {
    keys: KeyColumns,
    found: HashSet<ChunkKey>,
}

impl Collector for Keys {
    type Fruit = HashSet<ChunkKey>;
    type Child = SegmentKeys;

    fn for_segment(
        &self,
        _segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<SegmentKeys> {
        Ok(SegmentKeys { keys: KeyColumns::open(reader)?, found: HashSet::new() })
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn merge_fruits(&self, segments: Vec<HashSet<ChunkKey>>) -> tantivy::Result<HashSet<ChunkKey>> {
        Ok(segments.into_iter().flatten().collect())
    }
}

impl SegmentCollector for SegmentKeys {
    type Fruit = HashSet<ChunkKey>;

    fn collect(&mut self, doc: DocId, _score: Score) {
        self.found.insert(self.keys.key(doc));
    }

    fn harvest(self) -> HashSet<ChunkKey> {
        self.found
    }
}
