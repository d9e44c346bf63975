use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use lodestone::data::DocumentId;

/// The rows that are picked, and where a range began.
#[derive(Clone, Debug, Default)]
pub(super) struct Picked {
    ids: BTreeSet<DocumentId>,
    anchor: usize,
    /// What was picked before the range that is being drawn.
    before: BTreeSet<DocumentId>,
}

impl Picked {
    /// Picks a row alone, or takes it in or out.
    pub fn toggle(&mut self, row: usize, id: DocumentId, adds: bool) {
        if !adds {
            self.ids.clear();
        }
        if !self.ids.remove(&id) {
            self.ids.insert(id);
        }
        self.anchor = row;
        self.before = self.ids.clone();
    }

    /// The rows from where the range began.
    pub fn range_to(&self, row: usize) -> RangeInclusive<usize> {
        self.anchor.min(row)..=self.anchor.max(row)
    }

    /// Picks these beside what was picked before the range; a range that turns round lets go.
    pub fn extend(&mut self, ids: Vec<DocumentId>) {
        self.ids = self.before.clone();
        self.ids.extend(ids);
    }

    pub fn retain(&mut self, known: &BTreeSet<DocumentId>) {
        self.ids.retain(|id| known.contains(id));
        self.before.retain(|id| known.contains(id));
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn has(&self, id: DocumentId) -> bool {
        self.ids.contains(&id)
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }
}
