use std::path::PathBuf;

use dioxus::core::spawn_forever;
use dioxus::prelude::*;
use lodestone::data::DocumentId;

use super::Session;
use crate::ui::dom;
use crate::ui::state::{LibraryTab, NoticeTone, Undo, View};

impl Session {
    /// Loads the list of documents and of what could not be indexed.
    pub fn refresh_library(mut self) {
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            let entries = bridge.library().await;
            match (entries, bridge.status().await) {
                (Ok(entries), Ok(status)) => {
                    let mut library = self.library.write();
                    library.refresh(entries, status.skipped);
                    (library.folders, library.exclusions) = (status.roots, status.exclusions);
                }
                (Err(problem), _) | (_, Err(problem)) => self.notify(NoticeTone::Warning, problem),
            }
        });
    }

    pub(super) fn clear_filter(mut self) {
        self.library.write().set_filter("");
        dom::set_text(View::Library.input_id(), "");
        dom::focus_text(View::Library.input_id());
    }

    pub fn show_skipped(mut self) {
        self.library.write().show(LibraryTab::Skipped);
        if *self.view.peek() != View::Library {
            self.show(View::Library);
        }
    }

    /// Keeps a folder up to date from now on, or no longer.
    pub fn watch(self, folder: PathBuf, watched: bool) {
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            if let Err(problem) = bridge.watch(folder, watched).await {
                self.notify(NoticeTone::Warning, problem);
            }
            self.refresh_soon();
        });
    }

    /// Tries once more what could not be indexed: one source, or all of them.
    pub fn retry(self, source: Option<String>) {
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            if let Err(problem) = bridge.retry(source.map(|source| vec![source])).await {
                self.notify(NoticeTone::Warning, problem);
            }
        });
    }

    /// Asks whether a document is to be removed from the index.
    pub fn ask_removal(mut self, id: DocumentId) {
        self.library.write().asking = Some(id);
    }

    pub fn keep(mut self) {
        self.library.write().asking = None;
    }

    /// Removes the document that was asked about.
    pub fn remove_asked(mut self) {
        let asked = self.library.write().asking.take();
        let entry = asked.and_then(|id| self.library.peek().entry(id).cloned());
        let (Some(entry), Some(bridge)) = (entry, self.bridge()) else { return };
        if self.reader.peek().target().is_some_and(|target| target.id == entry.id) {
            self.close_reader();
        }
        spawn_forever(async move {
            match bridge.remove(&entry.source).await {
                Ok(()) => {
                    let text = format!("{} is no longer in the index.", entry.title);
                    let undo = entry.source.path().map(|path| Undo::Index(path.to_owned()));
                    self.offer(text, undo);
                }
                Err(problem) => self.notify(NoticeTone::Warning, problem),
            }
            self.refresh_library();
            self.refresh_health().await;
        });
    }
}
