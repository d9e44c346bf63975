use std::time::Duration;

use dioxus::core::spawn_forever;
use dioxus::prelude::*;

use super::Session;
use crate::ui::dom;
use crate::ui::state::{Target, View};

/// Waits for the next key before asking: shorter than the pause between words, longer than between
/// the letters of a fast typist.
const DEBOUNCE: Duration = Duration::from_millis(60);

/// Whether the reader goes to the best passage of an answer or stays where it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Best,
    Kept,
}

impl Session {
    pub fn type_query(mut self, text: String) {
        let asked = self.search.write().ask(text);
        match asked {
            Some(sequence) => self.start_search(sequence, DEBOUNCE, Place::Best),
            None if self.search.peek().is_blank() => self.reader.write().close(),
            None => {}
        }
    }

    pub fn clear_query(self) {
        dom::set_text(dom::QUERY_ID, "");
        dom::focus_text(dom::QUERY_ID);
        self.type_query(String::new());
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
            if self.search.write().accept(sequence, answer) {
                match place {
                    Place::Best => self.preview(),
                    Place::Kept => self.remark(),
                }
            }
        });
        self.searching.set(Some(task));
    }

    pub fn move_selection(mut self, by: isize) {
        self.search.write().move_selection(by);
        self.follow_selection();
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
