use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use super::{SearchError, Searcher};
use crate::data::{ChangeNumber, Locator};
use crate::index::{
    ExactIndex, IndexProgress, KeywordDocument, KeywordIndex, KeywordIndexError, KeywordOpening,
    KeywordPassage, KeywordUpdate, Simd, VectorIndex, VectorUpdate,
};
use crate::storage::{Changes, EmbeddingModel, Store, StoreId, StoredDocument};

/// Name of the keyword index's folder in the data directory.
const KEYWORDS: &str = "keywords";

/// Numbers that are handed to the vector index at a time (50 MB).
const UPDATE_COMPONENTS_MAX: usize = 25_000_000;

/// Both indexes of a store, and how they follow it.
///
/// Searches go on while [`Indexes::catch_up`] runs; they see what was there before it.
#[derive(Debug)]
pub struct Indexes {
    vectors: ArcSwap<Vectors>,
    keywords: KeywordIndex,
    opening: KeywordOpening,
    /// What the keyword index had reached when it was last looked at. Its lock is also the turn of
    /// the threads that catch up.
    seen: Mutex<Option<IndexProgress>>,
}

/// Vectors of one model.
#[derive(Debug)]
struct Vectors {
    model: Option<EmbeddingModel>,
    index: Arc<dyn VectorIndex>,
}

/// What catching up has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaughtUp {
    /// Whether anything is found now that was not, or is not any more.
    pub changed: bool,
    /// Another process is writing the keyword index; it will be up to date when that has finished.
    pub keywords_busy: bool,
}

impl Indexes {
    /// Opens the indexes of a data directory. Vectors are not read before [`Indexes::catch_up`].
    ///
    /// # Errors
    /// [`SearchError`] when the directory cannot be read or written.
    pub fn open(data_dir: &Path) -> Result<Self, SearchError> {
        let (keywords, opening) = KeywordIndex::open_or_rebuild(&data_dir.join(KEYWORDS))?;
        let vectors = ArcSwap::from_pointee(Vectors::empty(None));
        Ok(Self { vectors, keywords, opening, seen: Mutex::default() })
    }

    /// What was found when the keyword index was opened.
    #[must_use]
    pub fn opening(&self) -> &KeywordOpening {
        &self.opening
    }

    #[must_use]
    pub fn vectors(&self) -> Arc<dyn VectorIndex> {
        Arc::clone(&self.vectors.load().index)
    }

    #[must_use]
    pub fn keywords(&self) -> &KeywordIndex {
        &self.keywords
    }

    /// What answers queries, on the state of this moment.
    #[must_use]
    pub fn searcher<'a>(&'a self, store: &'a Store) -> Searcher<'a> {
        Searcher::new(store, self.vectors(), &self.keywords)
    }

    /// Takes in what has changed in the store, by whichever process; costs microseconds when nothing
    /// has. One thread does it at a time.
    ///
    /// # Errors
    /// [`SearchError`]; then each index is as it was, or up to date.
    pub fn catch_up(&self, store: &Store) -> Result<CaughtUp, SearchError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let vectors_changed = self.catch_up_vectors(store)?;
        let before = seen.clone();
        let keywords_busy = !self.catch_up_keywords(store, &mut seen)?;
        Ok(CaughtUp { changed: vectors_changed || *seen != before, keywords_busy })
    }

    /// Whether anything has changed.
    fn catch_up_vectors(&self, store: &Store) -> Result<bool, SearchError> {
        let current = self.vectors.load();
        let reached = current.index.reached();
        let change = store.change_number()?;
        if change == reached {
            return Ok(false);
        }
        // A change of model is a change of the store, so it is not missed here.
        let model = store.model()?;
        let changes = store.changes_since(reached)?;
        if changes.from_scratch || reached == ChangeNumber(0) || model != current.model {
            // Read beside the old index, so that no search meets a half-filled one.
            let vectors = Vectors::empty(model);
            vectors.fill(store)?;
            self.vectors.store(Arc::new(vectors));
        } else {
            current.follow(store, changes)?;
        }
        Ok(true)
    }

    /// Whether the index is up to date now.
    fn catch_up_keywords(
        &self,
        store: &Store,
        seen: &mut Option<IndexProgress>,
    ) -> Result<bool, SearchError> {
        let change = store.change_number()?;
        if seen.as_ref().is_some_and(|seen| seen.reached == change) {
            return Ok(true);
        }
        let id = store.id()?;
        let is_current = |progress: &Option<IndexProgress>| {
            progress.as_ref().is_some_and(|p| p.store == id.0 && p.reached >= change)
        };
        // Read before the reload: what is seen is never older than what is noted.
        let progress = self.keywords.progress()?;
        if is_current(&progress) {
            self.keywords.reload()?;
            *seen = progress;
            return Ok(true);
        }
        match self.keywords.update() {
            Ok(update) => {
                let reached = take_in(update, store, &id)?;
                *seen = Some(reached);
                Ok(true)
            }
            Err(KeywordIndexError::Busy { .. }) => {
                self.keywords.reload()?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Vectors {
    fn empty(model: Option<EmbeddingModel>) -> Self {
        let dim = model.as_ref().map_or(0, |model| model.dim);
        Self { model, index: Arc::new(ExactIndex::new(dim, Simd::detect())) }
    }

    /// Reads every vector of the store.
    fn fill(&self, store: &Store) -> Result<(), SearchError> {
        let mut update = VectorUpdate::default();
        let mut refused = Ok(());
        let reached = store.for_each_vectors(|document, rows| {
            if update.components() + rows.len() > UPDATE_COMPONENTS_MAX && refused.is_ok() {
                refused = self.index.apply(std::mem::take(&mut update));
            }
            update.upsert(document, rows);
        })?;
        refused?;
        update.reached = reached;
        Ok(self.index.apply(update)?)
    }

    /// Takes in some changes.
    fn follow(&self, store: &Store, changes: Changes) -> Result<(), SearchError> {
        let before = self.index.reached();
        let mut update = VectorUpdate::reaching(before);
        update.removed = changes.removed;
        for document in changes.upserted {
            match store.vectors_of(document)? {
                Some(rows) => update.upsert(document, &rows),
                // Gone again, or of another model since.
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

/// Brings the keyword index up to date and returns what it has reached.
fn take_in(
    update: KeywordUpdate<'_>,
    store: &Store,
    id: &StoreId,
) -> Result<IndexProgress, SearchError> {
    let known = update.progress().filter(|progress| progress.store == id.0).cloned();
    let since = known.as_ref().map_or(ChangeNumber(0), |progress| progress.reached);
    let changes = store.changes_since(since)?;
    if known.is_none() || changes.from_scratch {
        update.clear()?;
    }
    for document in changes.removed {
        update.remove(document);
    }
    for document in changes.upserted {
        match store.document(document)? {
            Some(stored) => upsert(&update, &stored)?,
            None => update.remove(document),
        }
    }
    let progress = IndexProgress { store: id.0.clone(), reached: changes.reached };
    update.commit(&progress)?;
    Ok(progress)
}

fn upsert(update: &KeywordUpdate<'_>, stored: &StoredDocument) -> Result<(), KeywordIndexError> {
    let document = &stored.document;
    let passages: Vec<_> = stored
        .chunks
        .iter()
        .map(|chunk| KeywordPassage {
            headings: match &chunk.locator {
                Some(Locator::Heading { path, .. }) => path,
                _ => &[],
            },
            body: document.text.get(chunk.range.clone()).unwrap_or_default(),
        })
        .collect();
    update.upsert(&KeywordDocument { id: document.id, title: &document.title, passages: &passages })
}
