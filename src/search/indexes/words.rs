//! How the keyword index follows the store.

use super::SearchError;
use crate::data::{ChangeNumber, Locator};
use crate::index::{
    IndexProgress, KeywordDocument, KeywordIndex, KeywordIndexError, KeywordPassage,
    KeywordSnapshot, KeywordUpdate,
};
use crate::storage::{Changes, ModelKey, Store, StoredDocument};

/// The index at `change` or later, and whether another process is writing it, so that it is older.
pub(super) fn brought_to(
    keywords: &KeywordIndex,
    store: &Store,
    change: ChangeNumber,
) -> Result<(KeywordSnapshot, bool), SearchError> {
    let id = store.id()?.0;
    let words = keywords.snapshot()?;
    let known = words.progress().filter(|progress| progress.store == id);
    let model = store.model()?.map(|stored| stored.key.get());
    let is_current = known.is_some_and(|p| p.reached >= change && p.model == model);
    // Whoever went further than this process has seen has seen another model, too.
    if is_current || known.is_some_and(|p| p.reached > change) {
        return Ok((words, false));
    }
    match keywords.update() {
        Ok(update) => {
            take_in(update, store, &id)?;
            Ok((keywords.snapshot()?, false))
        }
        Err(KeywordIndexError::Busy { .. }) => Ok((keywords.snapshot()?, true)),
        Err(error) => Err(error.into()),
    }
}

/// Brings the index up to date.
fn take_in(update: KeywordUpdate<'_>, store: &Store, id: &str) -> Result<(), SearchError> {
    let known = update.progress().filter(|progress| progress.store == id).cloned();
    let since = known.as_ref().map_or(ChangeNumber(0), |progress| progress.reached);
    let number = |changes: &Changes| changes.model.as_ref().map(|stored| stored.key.get());
    let mut changes = store.changes_since(since)?;
    let is_of_model = known.is_some_and(|progress| progress.model == number(&changes));
    if changes.from_scratch || !is_of_model {
        update.clear()?;
        changes = store.changes_since(ChangeNumber(0))?;
    }
    let key = changes.model.as_ref().map(|stored| stored.key);
    for document in &changes.removed {
        update.remove(*document);
    }
    for document in changes.upserted {
        match key.map(|key| store.document(document, key)).transpose()?.flatten() {
            Some(stored) => upsert(&update, &stored)?,
            None => update.remove(document),
        }
    }
    let model = key.map(ModelKey::get);
    let progress = IndexProgress { store: id.to_owned(), reached: changes.reached, model };
    Ok(update.commit(&progress)?)
}

fn upsert(update: &KeywordUpdate<'_>, stored: &StoredDocument) -> Result<(), KeywordIndexError> {
    let document = &stored.document;
    let passages: Vec<_> = stored
        .chunks
        .iter()
        .map(|chunk| KeywordPassage {
            headings: chunk.locator.as_ref().map_or(&[], Locator::headings),
            body: document.text.get(chunk.range.clone()).unwrap_or_default(),
        })
        .collect();
    update.upsert(&KeywordDocument { id: document.id, title: &document.title, passages: &passages })
}
