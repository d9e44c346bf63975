use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::watch;
use tracing::{debug_span, warn};

use super::diagnosis::{Check, index_check};
use super::{Engine, EngineError, Inner};
use crate::data::{ChangeNumber, DocumentId, Locator};
use crate::index::{
    ExactIndex, IndexProgress, KeywordDocument, KeywordIndex, KeywordIndexError, KeywordOpening,
    KeywordPassage, KeywordUpdate, Simd, VectorIndex as _, VectorUpdate,
};
use crate::search::Searcher;
use crate::storage::{Changes, Store, StoredDocument};

/// The indexes that are derived from the store, and what keeps them up to date.
#[derive(Debug)]
pub(super) struct Indexes {
    /// `None` until a model was chosen, which gives the dimension.
    vectors: ArcSwapOption<ExactIndex>,
    keywords: KeywordIndex,
    /// One thread catches up at a time; the next then has less to do.
    turn: Mutex<()>,
    ready: watch::Sender<bool>,
    notices: Mutex<Vec<String>>,
}

impl Indexes {
    /// Opens the indexes without reading the store; [`Indexes::catch_up`] does that.
    pub(super) fn open(data_dir: &Path) -> Result<Self, EngineError> {
        let (keywords, opening) = KeywordIndex::open_or_rebuild(&data_dir.join("keywords"))?;
        let notices = match opening {
            KeywordOpening::Existing | KeywordOpening::Created => Vec::new(),
            KeywordOpening::Rebuilt { reason } => {
                warn!(%reason, "the keyword index is being rebuilt");
                vec![format!("the keyword index was rebuilt: {reason}")]
            }
        };
        Ok(Self {
            vectors: ArcSwapOption::empty(),
            keywords,
            turn: Mutex::default(),
            ready: watch::Sender::new(false),
            notices: Mutex::new(notices),
        })
    }

    pub(super) fn notices(&self) -> Vec<String> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the indexes have been read for the first time.
    pub(super) async fn ready(&self) {
        let mut ready = self.ready.subscribe();
        // The sender lives as long as `self`.
        let _ = ready.wait_for(|ready| *ready).await;
    }

    pub(super) fn set_ready(&self) {
        self.ready.send_replace(true);
    }

    pub(super) fn searcher<'a>(&'a self, store: &'a Store) -> Searcher<'a> {
        Searcher::new(store, &self.keywords, self.vectors.load_full())
    }

    /// Takes in what has changed in the store; returns whether anything had.
    pub(super) fn catch_up(&self, store: &Store) -> Result<bool, EngineError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _span = debug_span!("catch_up").entered();
        let vectors = self.catch_up_vectors(store)?;
        let keywords = self.catch_up_keywords(store)?;
        Ok(vectors || keywords)
    }

    fn catch_up_vectors(&self, store: &Store) -> Result<bool, EngineError> {
        let Some(model) = store.model()? else { return Ok(false) };
        let index = match self.vectors.load_full() {
            Some(index) if index.dim() == model.dim => index,
            _ => Arc::new(ExactIndex::new(model.dim, Simd::detect())),
        };
        if index.reached() == store.change_number()? && !index.is_empty() {
            return Ok(false);
        }
        index.apply(vector_update(store, index.reached())?)?;
        self.vectors.store(Some(index));
        Ok(true)
    }

    fn catch_up_keywords(&self, store: &Store) -> Result<bool, EngineError> {
        let store_id = store.id()?.0;
        let current = IndexProgress { store: store_id, reached: store.change_number()? };
        if self.keywords.progress()?.as_ref() == Some(&current) {
            self.keywords.reload()?;
            return Ok(false);
        }
        match self.keywords.update() {
            Ok(update) => keyword_update(store, update, current.store)?,
            // Whoever writes takes our changes in too, or we do next time.
            Err(KeywordIndexError::Busy { .. }) => self.keywords.reload()?,
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    pub(super) fn check(&self, store: &Store) -> Result<Vec<Check>, EngineError> {
        let passages = store.counts()?.passages;
        let vectors = self.vectors.load().as_ref().map_or(0, |index| index.len() as u64);
        let mut checks = vec![
            index_check("vector index", vectors, passages),
            index_check("keyword index", self.keywords.len(), passages),
        ];
        let damaged = self.keywords.check()?;
        if !damaged.is_empty() {
            let names: Vec<_> = damaged.iter().map(|path| path.display().to_string()).collect();
            let finding =
                format!("damaged files: {}; delete the folder to rebuild it", names.join(", "));
            checks.push(Check::ill("keyword index files", finding));
        }
        Ok(checks)
    }
}

fn vector_update(store: &Store, since: ChangeNumber) -> Result<VectorUpdate, EngineError> {
    let mut update = VectorUpdate::default();
    if since != ChangeNumber::default() {
        let Changes { reached, from_scratch, upserted, removed } = store.changes_since(since)?;
        if !from_scratch {
            (update.reached, update.removed) = (reached, removed);
            for id in upserted {
                match store.vectors_of(id)? {
                    Some(rows) => update.upsert(id, &rows),
                    None => update.removed.push(id),
                }
            }
            return Ok(update);
        }
    }
    update.from_scratch = true;
    update.reached = store.for_each_vectors(|id, rows| update.upsert(id, rows))?;
    Ok(update)
}

fn keyword_update(
    store: &Store,
    update: KeywordUpdate<'_>,
    store_id: String,
) -> Result<(), EngineError> {
    let since = match update.progress() {
        Some(progress) if progress.store == store_id => Some(progress.reached),
        _ => None,
    };
    let changes = store.changes_since(since.unwrap_or_default())?;
    if since.is_none() || changes.from_scratch {
        update.clear()?;
    }
    for id in changes.removed {
        update.remove(id);
    }
    for id in changes.upserted {
        upsert_keywords(store, &update, id)?;
    }
    let progress = IndexProgress { store: store_id, reached: changes.reached };
    Ok(update.commit(&progress)?)
}

fn upsert_keywords(
    store: &Store,
    update: &KeywordUpdate<'_>,
    id: DocumentId,
) -> Result<(), EngineError> {
    // It may have been removed since; then that is a change to come.
    let Some(StoredDocument { document, chunks, .. }) = store.document(id)? else {
        return Ok(());
    };
    let passages: Vec<_> = chunks
        .iter()
        .map(|chunk| KeywordPassage {
            headings: match &chunk.locator {
                Some(Locator::Heading { path, .. }) => path,
                _ => &[],
            },
            body: &document.text[chunk.range.clone()],
        })
        .collect();
    let document = KeywordDocument { id, title: &document.title, passages: &passages };
    Ok(update.upsert(&document)?)
}

/// Follows the store for as long as the engine lives: makes what a job commits searchable while it
/// goes on, and notices what other processes write.
pub(super) async fn watch(inner: Weak<Inner>, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        let Some(inner) = inner.upgrade() else { return };
        if !*inner.indexes.ready.borrow() {
            continue;
        }
        let engine = Engine { inner };
        match engine.catch_up().await {
            Ok(true) => engine.announce_change(),
            Ok(false) => {}
            Err(error) => warn!(%error, "the indexes cannot follow the store"),
        }
    }
}
