mod background;
mod keeper;
#[cfg(test)]
mod vector_laws;
mod vectors;
mod words;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tracing::warn;

use self::background::Background;
use self::vectors::{VectorSource, Vectors};
use super::{SearchError, Searcher};
use crate::data::ChangeNumber;
use crate::index::{
    HnswIndex, KeywordIndex, KeywordIndexError, KeywordOpening, KeywordSnapshot, VectorIndex,
};
use crate::storage::{EmbeddingModel, ModelKey, Store, StoredModel};

/// Name of the keyword index's folder in the data directory.
const KEYWORDS: &str = "keywords";

/// Name of the folder with the vector index's graph.
const VECTORS: &str = "vectors";

/// Both indexes of a store, and how they follow it.
///
/// Searches go on while [`Indexes::catch_up`] runs; they see what was there before it.
#[derive(Debug)]
pub struct Indexes {
    keywords: KeywordIndex,
    opening: KeywordOpening,
    vector_folder: PathBuf,
    /// What was wrong with the vector index's file.
    vector_trouble: Mutex<Option<String>>,
    /// Tests have graphs of few passages.
    graph_rows_min: Option<usize>,
    current: ArcSwap<IndexSnapshot>,
    /// Vectors of a model that is to be in use, until the words are there as well. Its lock is also
    /// the turn of the threads that catch up.
    next: Mutex<Option<Arc<Vectors>>>,
}

/// Both indexes as one search sees them: of one embedding model, whatever comes into use after it.
#[derive(Debug)]
pub struct IndexSnapshot {
    /// The model whose passages both indexes name.
    key: Option<ModelKey>,
    vectors: Arc<Vectors>,
    background: Background,
    keywords: KeywordSnapshot,
}

impl IndexSnapshot {
    /// The model that the vectors are of; `None` while there are none.
    #[must_use]
    pub fn model(&self) -> Option<&EmbeddingModel> {
        self.stored_model().map(|stored| &stored.model)
    }

    /// The same as the store knows it.
    #[must_use]
    pub fn stored_model(&self) -> Option<&StoredModel> {
        self.vectors.model.as_ref()
    }

    /// What the vector index consists of, and how it is.
    #[must_use]
    pub fn vector_index(&self) -> &HnswIndex {
        self.vectors.hnsw()
    }

    /// The model whose passages are found; without vectors it is that of the words.
    #[must_use]
    pub fn key(&self) -> Option<ModelKey> {
        self.key
    }

    #[must_use]
    pub fn vectors(&self) -> &Arc<dyn VectorIndex> {
        &self.vectors.index
    }

    #[must_use]
    pub fn keywords(&self) -> &KeywordSnapshot {
        &self.keywords
    }

    /// What is ordinary for a query among the vectors.
    #[must_use]
    pub fn background(&self) -> &Background {
        &self.background
    }

    fn is_at(&self, change: ChangeNumber, model: Option<&StoredModel>) -> bool {
        let words = self.keywords.progress().map(|progress| (progress.reached, progress.model));
        self.vectors.is_at(change, model)
            && words == Some((change, model.map(|stored| stored.key.get())))
    }
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
        let words = keywords.snapshot()?;
        let snapshot = IndexSnapshot {
            key: words.progress().and_then(|p| p.model).map(ModelKey::from_noted),
            vectors: Arc::new(Vectors::none()),
            background: Background::default(),
            keywords: words,
        };
        let current = ArcSwap::from_pointee(snapshot);
        Ok(Self {
            keywords,
            opening,
            vector_folder: data_dir.join(VECTORS),
            vector_trouble: Mutex::default(),
            graph_rows_min: None,
            current,
            next: Mutex::default(),
        })
    }

    /// What was found when the keyword index was opened.
    #[must_use]
    pub fn opening(&self) -> &KeywordOpening {
        &self.opening
    }

    /// Makes a graph of so many passages already.
    #[cfg(test)]
    #[must_use]
    pub fn with_graph_from(self, passages: usize) -> Self {
        Self { graph_rows_min: Some(passages), ..self }
    }

    /// Why the vector index is made anew, or was since it was opened.
    #[must_use]
    pub fn vector_trouble(&self) -> Option<String> {
        self.vector_trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until both indexes have the shape in which they are searched quickest, or until
    /// `is_cancelled`. Searches do not wait.
    pub fn settle(&self, is_cancelled: &dyn Fn() -> bool) {
        match self.keywords.settle() {
            Ok(false) | Err(KeywordIndexError::Busy { .. }) => {}
            Ok(true) => self.show_settled_words(),
            Err(error) => warn!("{error}"),
        }
        self.snapshot().vectors.settle(is_cancelled);
    }

    /// The words are the same, in other segments.
    fn show_settled_words(&self) {
        let _turn = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.snapshot();
        match self.keywords.snapshot() {
            Ok(keywords) if keywords.progress() == current.keywords.progress() => {
                let (key, vectors) = (current.key, Arc::clone(&current.vectors));
                let background = current.background.clone();
                let settled = IndexSnapshot { key, vectors, background, keywords };
                self.current.store(Arc::new(settled));
            }
            // Whoever catches up with what came since shows both.
            Ok(_) => {}
            Err(error) => warn!("{error}"),
        }
    }

    #[must_use]
    pub fn keywords(&self) -> &KeywordIndex {
        &self.keywords
    }

    /// The state of this moment.
    #[must_use]
    pub fn snapshot(&self) -> Arc<IndexSnapshot> {
        self.current.load_full()
    }

    /// What answers queries, on the state of this moment.
    #[must_use]
    pub fn searcher<'a>(&'a self, store: &'a Store) -> Searcher<'a> {
        Searcher::new(store, self.snapshot())
    }

    /// Takes in what has changed in the store, by whichever process; costs microseconds when nothing
    /// has. One thread does it at a time.
    ///
    /// # Errors
    /// [`SearchError`]; then each index is as it was, or up to date.
    pub fn catch_up(&self, store: &Store) -> Result<CaughtUp, SearchError> {
        self.catch_up_if(store, |_| true)
    }

    /// The same, but stays with everything as it is while the model in use is one that `may_use`
    /// refuses: a query cannot be asked of vectors whose model is not loaded yet.
    ///
    /// # Errors
    /// As [`Indexes::catch_up`].
    pub fn catch_up_if(
        &self,
        store: &Store,
        may_use: impl Fn(&EmbeddingModel) -> bool,
    ) -> Result<CaughtUp, SearchError> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.snapshot();
        current.vectors.keep_up();
        let mut caught_up = CaughtUp { changed: false, keywords_busy: false };
        let (change, model) = (store.change_number()?, store.model()?);
        let is_new = model.as_ref().map(|stored| &stored.model) != current.model();
        let is_refused = model.as_ref().is_some_and(|stored| !may_use(&stored.model));
        if current.is_at(change, model.as_ref()) || (is_new && is_refused) {
            return Ok(caught_up);
        }
        let known = if is_new { next.take() } else { Some(Arc::clone(&current.vectors)) };
        let source = VectorSource {
            store,
            folder: &self.vector_folder,
            graph_rows_min: self.graph_rows_min,
        };
        let (vectors, trouble) = vectors::brought_to(known, source, model)?;
        if trouble.is_some() {
            *self.vector_trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        }
        vectors.keep_up();
        let (words, busy) = words::brought_to(&self.keywords, store, change)?;
        caught_up.keywords_busy = busy;
        let background = Background::read(store, vectors.model.as_ref())?;
        caught_up.changed = self.show(&current, (vectors, background), words, &mut next);
        Ok(caught_up)
    }

    /// Lets searches see both indexes if they are of one model; returns whether anything is found
    /// now that was not. Until they are, searches go on with what they have.
    fn show(
        &self,
        current: &IndexSnapshot,
        (vectors, background): (Arc<Vectors>, Background),
        words: KeywordSnapshot,
        next: &mut Option<Arc<Vectors>>,
    ) -> bool {
        let key = vectors.model.as_ref().map(|stored| stored.key);
        let words_of = words.progress().and_then(|progress| progress.model);
        if words_of != key.map(ModelKey::get) && !words.is_empty() {
            let is_next = !Arc::ptr_eq(&vectors, &current.vectors);
            *next = is_next.then_some(vectors);
            return false;
        }
        let moved = vectors.has_moved();
        let changed = moved
            || !Arc::ptr_eq(&vectors, &current.vectors)
            || words.progress() != current.keywords.progress();
        self.current.store(Arc::new(IndexSnapshot { key, vectors, background, keywords: words }));
        changed
    }
}
