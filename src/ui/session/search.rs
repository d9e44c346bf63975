use std::time::Duration;

use dioxus::core::spawn_forever;
use dioxus::prelude::*;
use lodestone::config::Settings;
use lodestone::data::{DocumentId, Hit};
use lodestone::engine::toggled;

use super::Session;
use crate::ui::dom;
use crate::ui::state::{Accepted, Target, View};

/// Waits for the next key before asking: shorter than the pause between words, longer than between
/// the letters of a fast typist.
const DEBOUNCE: Duration = Duration::from_millis(60);

/// A query that stood so long is remembered for the next start.
const REMEMBERED_AFTER: Duration = Duration::from_secs(2);

/// Whether the reader goes to the best passage of an answer or stays where it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Best,
    Kept,
}

impl Session {
    pub fn type_query(self, text: String) {
        self.suggest(&text);
        self.ask(text);
    }

    /// Puts a query into the box that nobody typed.
    pub(super) fn set_query(mut self, text: String) {
        dom::set_text(dom::QUERY_ID, &text);
        self.completion.write().set(&text);
        self.ask(text);
    }

    /// Puts a qualifier into the query, or takes it out.
    pub fn toggle_qualifier(self, name: &str, value: &str) {
        let text = toggled(self.search.peek().query(), name, value);
        self.set_query(text);
    }

    pub(super) fn ask(mut self, text: String) {
        let asked = self.search.write().ask(text);
        match asked {
            Some(sequence) => self.start_search(sequence, DEBOUNCE, Place::Best),
            None if self.search.peek().is_blank() => self.reader.write().close(),
            None => {}
        }
    }

    pub fn clear_query(self) {
        self.set_query(String::new());
        dom::focus_text(dom::QUERY_ID);
    }

    /// Shows what is like the passage of a hit.
    pub fn ask_like(mut self, hit: &Hit) {
        let (passage, title) = (hit.passage.chunk, hit.document.title.clone());
        let asked = self.search.write().ask_like(passage, title);
        dom::set_text(dom::QUERY_ID, "");
        self.completion.write().set("");
        dom::focus(dom::QUERY_ID);
        if let Some(sequence) = asked {
            self.start_search(sequence, Duration::ZERO, Place::Best);
        }
    }

    /// Back to the query before.
    pub fn leave_like(mut self) {
        let Some(before) = self.search.write().leave_like() else { return };
        dom::set_text(dom::QUERY_ID, &before);
        self.completion.write().set(&before);
        dom::focus(dom::QUERY_ID);
        let asked = self.search.write().start_over();
        match asked {
            Some(sequence) => self.start_search(sequence, Duration::ZERO, Place::Best),
            None => self.reader.write().close(),
        }
    }

    /// Shows documents that are too far from the query behind the others, or hides them again.
    pub fn show_weaker(mut self, shown: bool) {
        let asked = self.search.write().show_weaker(shown);
        if let Some(sequence) = asked {
            self.start_search(sequence, Duration::ZERO, Place::Kept);
        }
    }

    /// Shows a newer answer in its order.
    pub fn take_held(mut self) {
        self.search.write().take_held();
        self.follow_selection();
    }

    pub fn toggle_places(mut self, id: DocumentId) {
        self.search.write().toggle_places(id);
    }

    pub fn point_at_results(mut self, pointed: bool) {
        if self.search.peek().pointed != pointed {
            self.search.write().pointed = pointed;
        }
    }

    pub fn scrolled_results(mut self, top_px: f64) {
        self.results_scroll_px.set(top_px);
    }

    /// Scrolls the results to where they were when they were left.
    pub fn restore_results(self) {
        dom::scroll_to(dom::RESULTS_ID, self.results_scroll_px.cloned());
    }

    /// Keeps the query for the next start.
    pub(super) fn remember_query(self) {
        let Ok(data_dir) = self.data_dir() else { return };
        let query = self.search.peek().query().trim().to_owned();
        // Without it the box is empty at the next start; nothing else is lost.
        let _ = Settings::update(&data_dir, |settings| settings.last_query = query);
    }

    fn remember_soon(self, sequence: u64) {
        spawn_forever(async move {
            tokio::time::sleep(REMEMBERED_AFTER).await;
            let query = self.search.peek().query().trim().to_owned();
            let (true, Ok(data_dir)) = (self.search.peek().is_newest(sequence), self.data_dir())
            else {
                return;
            };
            let save = move || Settings::update(&data_dir, |settings| settings.last_query = query);
            drop(tokio::task::spawn_blocking(save).await);
        });
    }

    /// Asks the query on screen once more, because the answer may have become better.
    pub fn search_again(mut self) {
        let asked = self.search.write().again();
        if let Some(sequence) = asked {
            self.start_search(sequence, Duration::ZERO, Place::Kept);
        }
    }

    fn start_search(mut self, sequence: u64, delay: Duration, place: Place) {
        if let Some(overtaken) = self.searching.write().take() {
            overtaken.cancel();
        }
        let task = spawn_forever(async move {
            tokio::time::sleep(delay).await;
            let Some(request) = self.search.peek().request(sequence) else { return };
            // Before the engine is open the question waits in the state; `attach` asks it.
            let Some(bridge) = self.bridge() else { return };
            let answer = bridge.search(request).await;
            let considered = answer.as_ref().ok().map(|answer| answer.considered.clone());
            let accepted = self.search.write().accept(sequence, answer);
            if accepted == Accepted::Stale {
                return;
            }
            match place {
                _ if accepted == Accepted::Held => {}
                Place::Best => {
                    self.results_scroll_px.set(0.0);
                    dom::scroll_to(dom::RESULTS_ID, 0.0);
                    self.preview();
                    self.remember_soon(sequence);
                }
                Place::Kept => self.remark(),
            }
            // Counted once the answer is on screen: it does not wait for this.
            if let Some(considered) = considered
                && let Ok(facets) = bridge.facets(considered).await
            {
                self.search.write().count(sequence, facets);
            }
        });
        self.searching.set(Some(task));
    }

    pub fn move_selection(mut self, by: isize) {
        self.search.write().move_selection(by);
        self.follow_selection();
    }

    pub fn move_to_edge(mut self, first: bool) {
        self.search.write().move_to_edge(first);
        self.follow_selection();
    }

    /// Shows the selected result in the reader, or closes it, and leaves the focus in the list.
    pub fn toggle_preview(mut self) {
        if self.reader.peek().is_open() {
            self.reader.write().close();
            self.pane.write().preview = false;
            return;
        }
        let target = self.search.peek().selected_hit().map(Target::of_hit);
        if let Some(target) = target {
            self.pane.write().preview = true;
            self.read(target);
        }
    }

    fn follow_selection(self) {
        dom::bring_into_view(&format!("hit-{}", self.search.peek().selected()));
        self.preview();
    }

    /// Shows the selected result beside the list, where there is room and the reader was not
    /// closed.
    pub(super) fn preview(mut self) {
        if *self.view.peek() != View::Search {
            return;
        }
        let pane = *self.pane.peek();
        let target = self.search.peek().selected_hit().map(Target::of_hit);
        match target {
            Some(target) if pane.is_wide() && pane.preview => self.read_soon(target),
            _ if self.reader.peek().is_open() => self.reader.write().close(),
            _ => {}
        }
    }

    /// Marks a refined answer in the reader without leaving the place that is being read.
    fn remark(mut self) {
        if *self.view.peek() != View::Search {
            return;
        }
        let target = self.search.peek().selected_hit().map(Target::of_hit);
        let Some(target) = target else { return self.preview() };
        if !self.reader.write().remark(&target) {
            self.preview();
        }
    }

    /// Shows the selected result in the reader; when it is there already, the reader takes the
    /// keys.
    pub fn open_selected(mut self) {
        let Some(target) = self.search.peek().selected_hit().map(Target::of_hit) else { return };
        self.pane.write().preview = true;
        if self.reader.peek().target() == Some(&target) {
            self.open_externally();
        } else {
            self.read(target);
        }
    }

    pub fn open_hit(mut self, at: usize) {
        self.search.write().select(at);
        if !(self.pane.peek().is_wide() && self.reader.peek().is_open()) {
            self.open_selected();
        }
        self.follow_selection();
    }

    pub fn toggle_why(mut self) {
        let mut search = self.search.write();
        search.why = !search.why;
    }
}
