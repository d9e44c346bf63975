use std::time::Duration;

use dioxus::core::spawn_forever;
use dioxus::prelude::*;
use lodestone::data::DocumentId;

use super::{Session, change_unseen};
use crate::ui::dom;
use crate::ui::state::{OpenDocument, ReaderState, Target, View};

/// A selection that is passed over in less is not loaded.
const SETTLE: Duration = Duration::from_millis(90);

/// Between two parts of a document that are put into the page.
const BETWEEN_PARTS: Duration = Duration::from_millis(50);

impl Session {
    pub fn read(self, target: Target) {
        self.load(target, Duration::ZERO);
    }

    /// Reads what the selection rests on.
    pub(super) fn read_soon(self, target: Target) {
        self.load(target, SETTLE);
    }

    pub fn read_document(mut self, id: DocumentId) {
        self.library.write().selected = Some(id);
        self.read(Target::whole(id));
    }

    /// Reads another place where a hit stands.
    pub fn read_copy(mut self, id: DocumentId) {
        self.pane.write().preview = true;
        self.read(Target::whole(id));
    }

    fn load(mut self, target: Target, delay: Duration) {
        let id = target.id;
        let asked = self.reader.write().show(target);
        let Some(sequence) = asked else { return self.fill() };
        if let Some(overtaken) = self.loading.write().take() {
            overtaken.cancel();
        }
        let task = spawn_forever(async move {
            tokio::time::sleep(delay).await;
            let Some(bridge) = self.bridge() else { return };
            let loaded = match bridge.document(id).await {
                Ok(view) => tokio::task::spawn_blocking(|| OpenDocument::new(view))
                    .await
                    .map_err(|error| format!("the document could not be laid out: {error}")),
                Err(problem) => Err(problem),
            };
            if self.reader.write().accept(sequence, loaded) {
                self.fill_step_by_step().await;
            }
        });
        self.loading.set(Some(task));
    }

    pub fn step(mut self, by: isize) {
        self.reader.write().step(by);
        self.fill();
    }

    /// Has the rest of what is read put into the page.
    fn fill(self) {
        spawn_forever(self.fill_step_by_step());
    }

    async fn fill_step_by_step(self) {
        while self.reader.peek().is_filling() {
            tokio::time::sleep(BETWEEN_PARTS).await;
            change_unseen(self.reader, ReaderState::shown, ReaderState::fill);
        }
    }

    /// Closes the reader; in a wide window it stays closed until a result is opened.
    pub fn close_reader(mut self) {
        self.reader.write().close();
        self.library.write().selected = None;
        if self.pane.peek().is_wide() && *self.view.peek() == View::Search {
            self.pane.write().preview = false;
        }
        dom::focus(self.view.peek().input_id());
    }
}
