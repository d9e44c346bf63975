//! How the vector index follows the store.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::warn;

use super::SearchError;
use super::keeper::Keeper;
use crate::data::ChangeNumber;
use crate::index::{
    HnswIndex, HnswOptions, VectorHome, VectorIndex, VectorOpening, VectorOrigin, VectorUpdate,
};
use crate::storage::{Changes, ModelKey, ModelLease, Store, StoredModel};

/// Numbers that are handed to the vector index at a time (50 MB).
const UPDATE_COMPONENTS_MAX: usize = 25_000_000;

/// Vectors of one model.
#[derive(Debug)]
pub(in crate::search) struct Vectors {
    pub model: Option<StoredModel>,
    pub index: Arc<dyn VectorIndex>,
    /// The same.
    hnsw: Arc<HnswIndex>,
    keeper: Keeper,
    /// Taken in since anyone asked.
    moved: AtomicBool,
    /// What a search finds by these vectors can be read for as long as it holds them.
    _lease: Option<ModelLease>,
}

/// Where vectors come from and where their graph is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct VectorSource<'a> {
    pub store: &'a Store,
    pub folder: &'a Path,
    /// Below how many passages there is no graph; `None` for what was measured.
    pub graph_rows_min: Option<usize>,
}

/// The vectors of `model`: `known` ones that follow the store, or those of the graph's file brought up to
/// date, or all of them read anew, beside those that searches hold. Then what could not be used of the
/// file, if anything.
pub(super) fn brought_to(
    known: Option<Arc<Vectors>>,
    source: VectorSource<'_>,
    model: Option<StoredModel>,
) -> Result<(Arc<Vectors>, Option<String>), SearchError> {
    let damage = "its file was damaged".to_owned();
    let damaged = known.as_ref().filter(|known| known.hnsw.is_damaged()).map(|_| damage);
    if let Some(known) = known
        && known.model == model
        && known.follow(source.store)?
    {
        return Ok((known, damaged));
    }
    let mut model = model;
    loop {
        let (vectors, trouble) = Vectors::opened_or_read(source, model.clone())?;
        // What is swept is never in use: when the model still is, everything of it was read.
        let now = source.store.model()?;
        if now == model {
            return Ok((Arc::new(vectors), damaged.or(trouble)));
        }
        model = now;
    }
}

impl Vectors {
    pub fn none() -> Self {
        Self::of(None, HnswIndex::new(HnswOptions::new(0)), None)
    }

    fn of(model: Option<StoredModel>, index: HnswIndex, lease: Option<ModelLease>) -> Self {
        let hnsw = Arc::new(index);
        let index = Arc::clone(&hnsw) as Arc<dyn VectorIndex>;
        let (keeper, moved) = (Keeper::new(), AtomicBool::new(false));
        Self { model, index, hnsw, keeper, moved, _lease: lease }
    }

    /// The index that `index` is, for what only it can tell.
    pub fn hnsw(&self) -> &HnswIndex {
        &self.hnsw
    }

    /// Begins in the background what the index needs.
    pub fn keep_up(&self) {
        self.keeper.nudge(&self.hnsw);
    }

    /// Waits until the index needs nothing, or until `is_cancelled`.
    pub fn settle(&self, is_cancelled: &dyn Fn() -> bool) {
        self.keeper.settle(&self.hnsw, is_cancelled);
    }

    pub fn is_at(&self, change: ChangeNumber, model: Option<&StoredModel>) -> bool {
        self.model.as_ref() == model
            && self.index.reached() == change
            && !self.hnsw.is_damaged()
            && !self.hnsw.is_outdated()
    }

    /// Whether anything was taken in since this was last asked.
    pub fn has_moved(&self) -> bool {
        self.moved.swap(false, Ordering::Relaxed)
    }

    /// Maps the graph's file and takes in what has changed since, or reads every vector. The second is
    /// what was wrong with the file.
    fn opened_or_read(
        source: VectorSource<'_>,
        model: Option<StoredModel>,
    ) -> Result<(Self, Option<String>), SearchError> {
        let VectorSource { store, folder, graph_rows_min } = source;
        let dim = model.as_ref().map_or(0, |stored| stored.model.dim);
        let mut options = HnswOptions::new(dim);
        options.graph_rows_min = graph_rows_min.unwrap_or(options.graph_rows_min);
        let Some(key) = model.as_ref().map(|stored| stored.key) else {
            let vectors = Self::of(None, HnswIndex::new(options), None);
            vectors.read(store, None)?;
            return Ok((vectors, None));
        };
        let origin = VectorOrigin { store: store.id()?.0, model: key.get() };
        let home = VectorHome::new(folder.to_owned(), origin);
        let (index, opening) = HnswIndex::open(options, home);
        let vectors = Self::of(model, index, Some(store.lease(key)?));
        let trouble = match opening {
            VectorOpening::Unusable { path, reason } => {
                Some(format!("{} {reason}", path.display()))
            }
            VectorOpening::Opened if vectors.follow(store)? => {
                vectors.moved.store(true, Ordering::Relaxed);
                return Ok((vectors, None));
            }
            VectorOpening::Opened | VectorOpening::Missing => None,
        };
        if let Some(trouble) = &trouble {
            warn!("the vector index is made anew, and scanned meanwhile: {trouble}");
        }
        vectors.read(store, Some(key))?;
        Ok((vectors, trouble))
    }

    /// Reads every vector of a model.
    fn read(&self, store: &Store, key: Option<ModelKey>) -> Result<(), SearchError> {
        let mut update = VectorUpdate::from_scratch();
        let mut refused = Ok(());
        let reached = match key {
            None => store.change_number()?,
            Some(key) => store.for_each_vectors(key, |document, rows| {
                if update.components() + rows.len() > UPDATE_COMPONENTS_MAX && refused.is_ok() {
                    refused = self.index.apply(std::mem::take(&mut update));
                }
                update.upsert(document, rows);
            })?,
        };
        refused?;
        update.reached = reached;
        self.index.apply(update)?;
        self.moved.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Takes in what has changed; false when everything has to be read anew.
    fn follow(&self, store: &Store) -> Result<bool, SearchError> {
        if self.hnsw.is_damaged() || self.hnsw.is_outdated() {
            return Ok(false);
        }
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
