//! How the vector index follows the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::SearchError;
use crate::data::ChangeNumber;
use crate::index::{ExactIndex, Simd, VectorIndex, VectorUpdate};
use crate::storage::{Changes, ModelKey, ModelLease, Store, StoredModel};

/// Numbers that are handed to the vector index at a time (50 MB).
const UPDATE_COMPONENTS_MAX: usize = 25_000_000;

/// Vectors of one model.
#[derive(Debug)]
pub(in crate::search) struct Vectors {
    pub model: Option<StoredModel>,
    pub index: Arc<dyn VectorIndex>,
    /// Taken in since anyone asked.
    moved: AtomicBool,
    /// What a search finds by these vectors can be read for as long as it holds them.
    _lease: Option<ModelLease>,
}

/// The vectors of `model`: `known` ones that follow the store, or all of them read anew, beside those
/// that searches hold.
pub(super) fn brought_to(
    known: Option<Arc<Vectors>>,
    store: &Store,
    model: Option<StoredModel>,
) -> Result<Arc<Vectors>, SearchError> {
    if let Some(known) = known
        && known.model == model
        && known.follow(store)?
    {
        return Ok(known);
    }
    let mut model = model;
    loop {
        let vectors = Vectors::read(store, model.clone())?;
        // What is swept is never in use: when the model still is, everything of it was read.
        let now = store.model()?;
        if now == model {
            return Ok(Arc::new(vectors));
        }
        model = now;
    }
}

impl Vectors {
    pub fn none() -> Self {
        Self::empty(None, None)
    }

    fn empty(model: Option<StoredModel>, lease: Option<ModelLease>) -> Self {
        let dim = model.as_ref().map_or(0, |stored| stored.model.dim);
        let index = Arc::new(ExactIndex::new(dim, Simd::detect()));
        Self { model, index, moved: AtomicBool::new(false), _lease: lease }
    }

    pub fn is_at(&self, change: ChangeNumber, model: Option<&StoredModel>) -> bool {
        self.model.as_ref() == model && self.index.reached() == change
    }

    /// Whether anything was taken in since this was last asked.
    pub fn has_moved(&self) -> bool {
        self.moved.swap(false, Ordering::Relaxed)
    }

    /// Reads every vector of a model.
    fn read(store: &Store, model: Option<StoredModel>) -> Result<Self, SearchError> {
        let key = model.as_ref().map(|stored| stored.key);
        let lease = key.map(|key| store.lease(key)).transpose()?;
        let vectors = Self::empty(model, lease);
        let mut update = VectorUpdate::default();
        let mut refused = Ok(());
        let reached = match key {
            None => store.change_number()?,
            Some(key) => store.for_each_vectors(key, |document, rows| {
                if update.components() + rows.len() > UPDATE_COMPONENTS_MAX && refused.is_ok() {
                    refused = vectors.index.apply(std::mem::take(&mut update));
                }
                update.upsert(document, rows);
            })?,
        };
        refused?;
        update.reached = reached;
        vectors.index.apply(update)?;
        vectors.moved.store(true, Ordering::Relaxed);
        Ok(vectors)
    }

    /// Takes in what has changed; false when everything has to be read anew.
    fn follow(&self, store: &Store) -> Result<bool, SearchError> {
        let reached = self.index.reached();
        let changes = store.changes_since(reached)?;
        if changes.reached == reached {
            return Ok(true);
        }
        let Some(key) = self.model.as_ref().map(|stored| stored.key) else { return Ok(false) };
        if changes.from_scratch || changes.model != self.model || reached == ChangeNumber(0) {
            return Ok(false);
        }
        self.take_in(store, key, changes)?;
        self.moved.store(true, Ordering::Relaxed);
        Ok(true)
    }

    fn take_in(&self, store: &Store, key: ModelKey, changes: Changes) -> Result<(), SearchError> {
        let before = self.index.reached();
        let mut update = VectorUpdate::reaching(before);
        update.removed = changes.removed;
        for document in changes.upserted {
            match store.vectors_of(document, key)? {
                Some(rows) => update.upsert(document, &rows),
                // Gone again, or indexed with another model since.
                None => update.removed.push(document),
            }
            if update.components() > UPDATE_COMPONENTS_MAX {
                let full = std::mem::replace(&mut update, VectorUpdate::reaching(before));
                self.index.apply(full)?;
            }
        }
        update.reached = changes.reached;
        Ok(self.index.apply(update)?)
    }
}
