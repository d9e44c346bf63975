use dioxus::core::spawn_forever;
use dioxus::prelude::*;
use lodestone::data::Source;

use super::Session;
use crate::ui::state::{NoticeTone, Undo};

impl Session {
    /// Loads the starred answers and what measuring by them gave.
    pub fn refresh_golden(mut self) {
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            match bridge.golden_set().await {
                Ok(set) => self.golden.write().refresh(set),
                Err(problem) => self.notify(NoticeTone::Warning, problem),
            }
        });
    }

    /// Marks a hit as a right answer to the query on screen, or takes the mark away.
    pub fn toggle_star(self, source: Source) {
        let query = self.search.peek().query().trim().to_owned();
        let starred = self.golden.peek().is_starred(&query, &source);
        self.star(query, source, !starred);
    }

    pub fn star(self, query: String, source: Source, starred: bool) {
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            match bridge.star(query.clone(), source.clone(), starred).await {
                Err(problem) => self.notify(NoticeTone::Warning, problem),
                Ok(()) if !starred => {
                    let text = "The star was taken away.".to_owned();
                    self.offer(text, Some(Undo::Star { query, source }));
                }
                Ok(()) => {}
            }
            self.refresh_golden();
        });
    }

    /// Asks every starred query.
    pub fn measure_golden(mut self) {
        let Some(bridge) = self.bridge() else { return };
        if self.golden.peek().measuring {
            return;
        }
        self.golden.write().measuring = true;
        spawn_forever(async move {
            if let Err(problem) = bridge.measure_golden().await {
                self.notify(NoticeTone::Warning, problem);
            }
            self.golden.write().measuring = false;
            self.refresh_golden();
        });
    }
}
