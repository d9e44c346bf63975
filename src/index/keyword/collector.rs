//! How passages are gathered from tantivy's segments.

use std::collections::HashSet;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::ColumnValues;
use tantivy::query::{EnableScoring, Query};
use tantivy::{DocId, Score, Searcher, SegmentOrdinal, SegmentReader};

use super::schema::{DOCUMENT, ORDINAL};
use crate::data::{Candidate, ChunkKey, DocumentId};
use crate::index::PassageFilter;
use crate::index::top::Top;

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

/// The best `limit` passages that a filter allows, best first.
///
/// tantivy's own collector breaks ties by where a passage happens to be stored, which changes when
/// segments are merged; this one breaks them by the key. What a segment has to offer is held against the
/// best of those before it, which are the larger ones, so that blocks of passages below them are
/// skipped (block-max WAND).
pub(super) fn best(
    searcher: &Searcher,
    columns: &[KeyColumns],
    query: &dyn Query,
    filter: &PassageFilter,
    limit: usize,
) -> tantivy::Result<Vec<Candidate>> {
    let weight = query.weight(EnableScoring::enabled_from_searcher(searcher))?;
    let mut top = Top::new(limit);
    // An equal score may still win by its key, so the bound lies just below it.
    let floor = |top: &Top<()>| top.floor().map_or(Score::MIN, f32::next_down);
    for (segment, keys) in searcher.segment_readers().iter().zip(columns) {
        let alive = segment.alive_bitset();
        weight.for_each_pruning(floor(&top), segment, &mut |doc, score| {
            if alive.is_none_or(|alive| alive.is_alive(doc)) && top.wants(score) {
                let key = keys.key(doc);
                if filter.allows(key) {
                    top.offer(score, key, ());
                }
            }
            floor(&top)
        })?;
    }
    Ok(top.into_candidates())
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
