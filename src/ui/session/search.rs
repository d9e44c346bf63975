use std::pin::pin;
use std::time::{Duration, Instant};

use dioxus::core::spawn_forever;
use dioxus::prelude::*;
use lodestone::config::Settings;
use lodestone::data::{DocumentId, Hit};
use lodestone::engine::toggled;

use super::{Session, change_unseen};
use crate::ui::dom;
use crate::ui::state::{Accepted, SearchState, Target, View};

/// Waits for the next key before asking, while the answer to the one before is not there yet.
const DEBOUNCE: Duration = Duration::from_millis(30);

/// Longer than between two letters of somebody who types and does not stop to think. What follows then keeps the
/// page busy for longer than an answer, and must not meet the next key.
const PAUSE: Duration = Duration::from_millis(350);

/// Between cards that are put into the page step by step.
const BETWEEN_CARDS: Duration = Duration::from_millis(40);

/// How long an answer may take before what it will replace steps back.
const PATIENCE: Duration = Duration::from_millis(250);

/// A query that stood so long is remembered for the next start.
const REMEMBERED_AFTER: Duration = Duration::from_secs(2);

/// Whether the reader goes to the best passage of an answer or stays where it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Best,
    Kept,
}

impl Session {
    pub fn type_query(mut self, text: String) {
        self.typed.set(Some(Instant::now()));
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
        // Keys that come faster than answers wait for each other; one alone is answered at once.
        let delay = if self.search.peek().is_overtaken() { DEBOUNCE } else { Duration::ZERO };
        let asked = change_unseen(self.search, SearchState::outline, |search| search.ask(text));
        match asked {
            Some(sequence) => self.start_search(sequence, delay, Place::Best),
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
        spawn_forever(self.fill_results());
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

    /// Keeps the time that keys wait for their answers, for as long as the window is there.
    pub fn follow_answers(self) {
        spawn_forever(dom::follow_answers(move |waited| {
            tracing::debug!(ms = waited.as_secs_f64() * 1e3, "an answer is on screen");
            if let Some(bridge) = self.bridge() {
                bridge.shown(waited);
            }
        }));
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
        let in_sight = self.pane.peek().cards();
        let Some(request) = self.search.peek().request(sequence, in_sight) else { return };
        // Before the engine is open the question waits in the state; `attach` asks it.
        let Some(bridge) = self.bridge() else { return };
        let answer = bridge.search(request, delay);
        let task = spawn_forever(async move {
            let mut answer = pin!(answer);
            let answer = if let Ok(answer) = tokio::time::timeout(PATIENCE, &mut answer).await {
                answer
            } else {
                self.search.write().grow_late(sequence);
                answer.await
            };
            let accepted = self.search.write().accept(sequence, answer);
            if accepted == Accepted::Stale {
                return;
            }
            if place == Place::Best && accepted == Accepted::Shown {
                if *self.results_scroll_px.peek() > 0.0 {
                    self.results_scroll_px.set(0.0);
                    dom::scroll_to(dom::RESULTS_ID, 0.0);
                }
                self.remember_soon(sequence);
            }
            // While somebody types, nothing but the best of the answer is looked up and painted.
            if place == Place::Best {
                self.typing_pauses().await;
            }
            match place {
                _ if accepted == Accepted::Held => {}
                Place::Best => self.preview(),
                Place::Kept => self.remark(),
            }
            let rest = self.search.peek().rest(sequence);
            if let Some(rest) = rest
                && let Ok(whole) = bridge.search(rest, Duration::ZERO).await
            {
                self.search.write().complete(sequence, whole);
            }
            self.fill_results().await;
            let considered = self.search.peek().considered().to_vec();
            if let Ok(facets) = bridge.facets(considered).await {
                self.search.write().count(sequence, facets);
            }
        });
        self.searching.set(Some(task));
    }

    async fn fill_results(mut self) {
        while self.search.peek().is_filling() {
            self.search.write().fill();
            tokio::time::sleep(BETWEEN_CARDS).await;
        }
    }

    /// Waits until nobody types. A key that asks nothing new, as a space, is one too.
    async fn typing_pauses(self) {
        let mut rest = PAUSE;
        while !rest.is_zero() {
            tokio::time::sleep(rest).await;
            let since = self.typed.peek().map_or(PAUSE, |typed| typed.elapsed());
            rest = PAUSE.saturating_sub(since);
        }
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
