use dioxus::core::spawn_forever;
use dioxus::prelude::*;

use super::{Session, change_unseen};
use crate::ui::dom;
use crate::ui::state::{Completion, NoticeTone};

impl Session {
    /// Offers what the word at the caret may become.
    pub(super) fn suggest(mut self, text: &str) {
        change_unseen(self.completion, Completion::outline, |completion| completion.typed(text));
        if !self.completion.peek().wants_vocabulary() {
            return;
        }
        let Some(bridge) = self.bridge() else { return };
        spawn_forever(async move {
            match bridge.vocabulary().await {
                Ok(vocabulary) => self.completion.write().learn(vocabulary),
                Err(problem) => self.notify(NoticeTone::Warning, problem),
            }
        });
    }

    pub fn close_completion(mut self) {
        if self.completion.peek().is_open() {
            self.completion.write().close();
        }
    }

    pub fn step_completion(mut self, by: isize) {
        self.completion.write().step(by);
        if let Some(chosen) = self.completion.peek().chosen() {
            dom::bring_into_view(&format!("choice-{chosen}"));
        }
    }

    /// Puts a choice into the query and asks it; behind a name its values are offered.
    pub fn take_choice(mut self, choice: usize) {
        let Some((text, caret)) = self.completion.peek().taken(choice) else { return };
        dom::set_text_at(dom::QUERY_ID, &text, caret);
        if text[..caret].ends_with(':') {
            self.suggest(&text);
        } else {
            self.completion.write().set(&text);
        }
        self.ask(text);
    }
}
