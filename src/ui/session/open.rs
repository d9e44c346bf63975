use std::path::PathBuf;

use dioxus::core::spawn_forever;
use dioxus::prelude::*;
use lodestone::data::{Locator, Source};
use lodestone::engine::{at_passage, open_command};

use super::Session;
use crate::ui::state::{NoticeTone, View};

impl Session {
    /// The source that is in the reader, or else selected, at the passage that is chosen.
    fn source_in_hand(self) -> Option<(Source, Option<Locator>)> {
        let reader = self.reader.peek();
        if let Some(open) = reader.document() {
            let source = at_passage(&open.view.source, reader.chosen_text().unwrap_or_default());
            return Some((source, reader.chosen_locator().cloned()));
        }
        match *self.view.peek() {
            View::Search => {
                let search = self.search.peek();
                let hit = search.selected_hit()?;
                let source = at_passage(&hit.document.source, &hit.passage.text);
                Some((source, hit.passage.locator.clone()))
            }
            View::Library | View::Web | View::Activity | View::Settings => None,
        }
    }

    /// Opens what is in hand in the system's application.
    pub fn open_externally(self) {
        if let Some((source, locator)) = self.source_in_hand() {
            self.open_at(source, locator);
        }
    }

    /// Opens a source at a place in it, where the application that opens it can be told.
    pub fn open_at(self, source: Source, locator: Option<Locator>) {
        let (Source::File(path), Some(locator)) = (&source, locator) else {
            return self.open_source(source);
        };
        let path = path.clone();
        self.hand_over(source.to_string(), move || {
            let path = present(path)?;
            let started = open_command(&path, &locator).map(|mut command| command.spawn());
            // One that does not start leaves the file to the system.
            if matches!(started, Some(Ok(_))) { Ok(()) } else { opener::open(path) }
        });
    }

    pub fn open_source(self, source: Source) {
        self.hand_over(source.to_string(), move || match source {
            Source::File(path) => opener::open(present(path)?),
            Source::Web(url) => opener::open_browser(url.as_str()),
        });
    }

    /// Shows a file in the file manager.
    pub fn reveal(self, path: PathBuf) {
        self.hand_over(path.display().to_string(), move || opener::reveal(present(path)?));
    }

    /// Asks another program off the window's thread and tells when that fails.
    fn hand_over(
        self,
        name: String,
        ask: impl FnOnce() -> Result<(), opener::OpenError> + Send + 'static,
    ) {
        spawn_forever(async move {
            let problem = match tokio::task::spawn_blocking(ask).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error.to_string(),
                Err(error) => error.to_string(),
            };
            self.notify(NoticeTone::Warning, format!("{name} could not be opened: {problem}"));
        });
    }
}

/// Launchers fail in their own ways on a file that has gone, so it is looked for first.
fn present(path: PathBuf) -> Result<PathBuf, opener::OpenError> {
    match path.symlink_metadata() {
        Ok(_) => Ok(path),
        Err(error) => Err(opener::OpenError::Io(error)),
    }
}
