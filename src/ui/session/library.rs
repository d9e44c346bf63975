use std::path::PathBuf;

use dioxus::core::spawn_forever;
use dioxus::prelude::*;
use lodestone::data::{DocumentId, Source};
use lodestone::engine::LibraryEntry;

use super::Session;
use crate::ui::dom;
use crate::ui::state::{LibraryTab, NoticeAction, NoticeTone, ROW_PX, Removal, View, files_of};
use crate::ui::wording::counted;

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
                    library.set_places(status.roots, status.sites);
                    library.exclusions = status.exclusions;
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

    /// Tries once more what is listed of what could not be indexed.
    pub fn retry_listed(self) {
        let library = self.library.peek();
        let all = library.is_filtered().then(|| library.failing());
        drop(library);
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            if let Err(problem) = bridge.retry(all).await {
                self.notify(NoticeTone::Warning, problem);
            }
        });
    }

    /// Moves the focus to another row, and picks all on the way from the one that it leaves.
    pub fn move_to_row(mut self, row: usize, picks_from: Option<usize>) {
        let last = self.library.peek().rows().saturating_sub(1);
        let row = row.min(last);
        if let Some(from) = picks_from {
            self.library.write().draw_to(from, row);
        }
        dom::focus_row(row, ROW_PX);
    }

    /// Takes the picked documents out of the index, or `id` where it is not among them. They can be had
    /// back for as long as the notice stands.
    pub fn remove_picked(mut self, id: Option<DocumentId>) {
        let library = self.library.peek();
        let alone = id.filter(|id| !library.is_picked(*id));
        let entries: Vec<LibraryEntry> = match alone {
            Some(id) => library.entry(id).cloned().into_iter().collect(),
            None => library.picked().into_iter().cloned().collect(),
        };
        drop(library);
        let [first, rest @ ..] = entries.as_slice() else { return };
        let text = if rest.is_empty() {
            format!("{} was removed from the index.", first.title)
        } else {
            format!("{} were removed from the index.", counted(entries.len() as u64, "document"))
        };
        let ids: Vec<DocumentId> = entries.iter().map(|entry| entry.id).collect();
        let read = self.reader.peek().target().is_some_and(|target| ids.contains(&target.id));
        if read {
            self.close_reader();
        }
        let row = self.library.peek().first_row_of(&ids);
        self.library.write().let_go(&ids);
        if let Some(row) = row {
            self.move_to_row(row, None);
        }
        let sources = entries.into_iter().map(|entry| entry.source).collect();
        self.remove_later(Removal { ids, sources }, text);
    }

    /// Takes a folder with all that is in it out of the index; it can be had back as a document can.
    pub fn remove_folder(mut self, folder: PathBuf) {
        let ids = self.library.write().let_folder_go(&folder);
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        let documents = counted(ids.len() as u64, "document");
        let text = format!("{name} was removed from the index with {documents}.");
        self.remove_later(Removal { ids, sources: vec![Source::File(folder)] }, text);
    }

    /// Removes when the notice that says so has had its time.
    fn remove_later(mut self, removal: Removal, text: String) {
        let number = self.removals.write().begin(removal);
        let action = Some(NoticeAction::UndoRemoval(number));
        let notice = self.notices.write().add(NoticeTone::Quiet, text, action);
        self.fade(&notice);
    }

    /// Nobody can have it back any more.
    pub(super) async fn finish_removal(mut self, number: u64) {
        let Some(removal) = self.removals.write().end(number) else { return };
        let Some(bridge) = self.bridge() else { return };
        if let Err(problem) = bridge.remove(&removal.sources).await {
            self.library.write().take_back(&removal);
            self.notify(NoticeTone::Warning, problem);
        }
        self.refresh_library();
        self.refresh_health().await;
    }

    pub(super) fn undo_removal(mut self, number: u64) {
        if let Some(removal) = self.removals.write().end(number) {
            self.library.write().take_back(&removal);
        }
    }

    /// What was removed and not yet forgotten.
    pub(super) fn removals_left(mut self) -> Vec<Source> {
        self.removals.write().end_all()
    }

    /// Reads the picked files again; pages are read with their site.
    pub fn reindex_picked(self) {
        let library = self.library.peek();
        let picked = library.picked();
        let files = files_of(&picked);
        let pages = picked.len() - files.len();
        drop(library);
        if pages > 0 {
            let pages = counted(pages as u64, "page");
            let text = format!("{pages} left as they are: in Web, a site is checked for changes.");
            self.notify(NoticeTone::Quiet, text);
        }
        let Some(bridge) = self.bridge() else { return };
        if files.is_empty() {
            return;
        }
        spawn_forever(async move {
            if let Err(problem) = bridge.reindex(files).await {
                self.notify(NoticeTone::Warning, problem);
            }
        });
    }
}
