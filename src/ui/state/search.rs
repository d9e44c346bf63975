use lodestone::data::Hit;
use lodestone::engine::{ModelState, SearchMode, SearchRequest, SearchResponse};

/// Documents asked for: more than a person scrolls through, few enough to paint at once.
pub const HITS_MAX: usize = 30;

/// The query, its newest answer and the selected hit.
///
/// Every question gets a number; an answer whose number is not the newest is dropped, so an answer
/// older than the query never appears.
#[derive(Clone, Debug, Default)]
pub struct SearchState {
    query: String,
    sequence: u64,
    waiting: bool,
    answer: Option<SearchResponse>,
    problem: Option<String>,
    selected: usize,
    /// Whether a person moved the selection in this answer; then refinements keep the document.
    moved: bool,
    /// Whether the reasons of the selected hit are unfolded.
    pub why: bool,
}

impl SearchState {
    /// Takes what stands in the query box. Gives the number to ask under, or `None` when there is
    /// nothing new to ask.
    pub fn ask(&mut self, query: String) -> Option<u64> {
        if query.trim() == self.query.trim() {
            self.query = query;
            return None;
        }
        self.query = query;
        self.moved = false;
        self.why = false;
        if self.query.trim().is_empty() {
            self.sequence += 1;
            self.waiting = false;
            self.answer = None;
            self.problem = None;
            self.selected = 0;
            return None;
        }
        self.again()
    }

    /// Asks the same question once more: the model became ready, or the index changed.
    pub fn again(&mut self) -> Option<u64> {
        if self.query.trim().is_empty() {
            return None;
        }
        self.sequence += 1;
        self.waiting = true;
        Some(self.sequence)
    }

    /// The request of question `sequence`, unless a newer one has been asked since.
    pub fn request(&self, sequence: u64) -> Option<SearchRequest> {
        (sequence == self.sequence && self.waiting).then(|| SearchRequest {
            limit: HITS_MAX,
            typing: true,
            fold_duplicates: true,
            ..SearchRequest::new(self.query.as_str())
        })
    }

    /// Shows an answer, unless it is stale. Tells whether it was taken.
    pub fn accept(&mut self, sequence: u64, answer: Result<SearchResponse, String>) -> bool {
        if sequence != self.sequence {
            return false;
        }
        self.waiting = false;
        match answer {
            Ok(answer) => {
                let kept = self.moved.then(|| self.selected_hit().map(|hit| hit.document.id));
                self.selected = kept
                    .flatten()
                    .and_then(|id| answer.hits.iter().position(|hit| hit.document.id == id))
                    .unwrap_or(0);
                self.answer = Some(answer);
                self.problem = None;
            }
            Err(problem) => self.problem = Some(problem),
        }
        true
    }

    pub fn query(&self) -> &str {
        &self.query
    }

    pub fn is_blank(&self) -> bool {
        self.query.trim().is_empty()
    }

    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    pub fn answer(&self) -> Option<&SearchResponse> {
        self.answer.as_ref()
    }

    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub fn hits(&self) -> &[Hit] {
        self.answer.as_ref().map_or(&[], |answer| answer.hits.as_slice())
    }

    pub fn selected(&self) -> usize {
        self.selected
    }

    pub fn selected_hit(&self) -> Option<&Hit> {
        self.hits().get(self.selected)
    }

    pub fn select(&mut self, at: usize) {
        if at < self.hits().len() {
            if at != self.selected {
                self.why = false;
            }
            self.selected = at;
            self.moved = true;
        }
    }

    /// Moves the selection down, or up when `by` is negative; it stops at both ends.
    pub fn move_selection(&mut self, by: isize) {
        let last = self.hits().len().saturating_sub(1);
        self.select(self.selected.saturating_add_signed(by).min(last));
    }

    /// Whether the answer on screen was made without the model and the model could now refine it.
    pub fn can_refine(&self, model: &ModelState) -> bool {
        matches!(model, ModelState::Ready { .. })
            && self.answer.as_ref().is_some_and(|answer| answer.mode == SearchMode::Keyword)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture::response;

    fn answered(names: &[&str]) -> SearchState {
        let mut search = SearchState::default();
        let sequence = search.ask("owner".to_owned()).unwrap();
        assert!(search.accept(sequence, Ok(response(names))));
        search
    }

    #[test]
    fn stale_answers_are_dropped() {
        let mut search = SearchState::default();
        let first = search.ask("own".to_owned()).unwrap();
        let second = search.ask("owner".to_owned()).unwrap();
        assert!(search.request(first).is_none(), "a question that was overtaken is not sent");
        assert_eq!(search.request(second).unwrap().query, "owner");
        assert!(!search.accept(first, Ok(response(&["old.md"]))));
        assert!(search.hits().is_empty());
        assert!(search.accept(second, Ok(response(&["new.md"]))));
        assert!(!search.accept(first, Err("late".to_owned())));
        assert_eq!(search.problem(), None);
        assert_eq!(search.hits()[0].document.title, "new.md");
    }

    #[test]
    fn clearing_the_query_drops_the_answer_and_what_is_on_its_way() {
        let mut search = answered(&["a.md"]);
        let on_its_way = search.ask("owners".to_owned()).unwrap();
        assert_eq!(search.ask("  ".to_owned()), None);
        assert!(search.hits().is_empty() && !search.is_waiting());
        assert!(!search.accept(on_its_way, Ok(response(&["a.md"]))));
    }

    #[test]
    fn white_space_at_the_ends_asks_nothing_new() {
        let mut search = answered(&["a.md"]);
        assert_eq!(search.ask("owner ".to_owned()), None);
        assert_eq!(search.query(), "owner ");
    }

    #[test]
    fn the_selection_stops_at_both_ends() {
        let mut search = answered(&["a.md", "b.md", "c.md"]);
        search.move_selection(-1);
        assert_eq!(search.selected(), 0);
        search.move_selection(2);
        search.move_selection(5);
        assert_eq!(search.selected(), 2);
        search.select(9);
        assert_eq!(search.selected(), 2);
        let mut empty = SearchState::default();
        empty.move_selection(1);
        assert_eq!(empty.selected_hit(), None);
    }

    #[test]
    fn a_refinement_keeps_the_chosen_document_and_a_new_query_starts_at_the_top() {
        let mut search = answered(&["a.md", "b.md", "c.md"]);
        search.select(1);
        let refined = search.again().unwrap();
        search.accept(refined, Ok(response(&["c.md", "a.md", "b.md"])));
        assert_eq!(search.selected_hit().unwrap().document.title, "b.md");
        let other = search.ask("threads".to_owned()).unwrap();
        search.accept(other, Ok(response(&["a.md", "b.md"])));
        assert_eq!(search.selected(), 0);
    }

    #[test]
    fn an_untouched_selection_stays_at_the_best_hit() {
        let mut search = answered(&["a.md", "b.md"]);
        let refined = search.again().unwrap();
        search.accept(refined, Ok(response(&["b.md", "a.md"])));
        assert_eq!(search.selected_hit().unwrap().document.title, "b.md");
    }

    #[test]
    fn a_keyword_answer_is_refined_once_the_model_is_ready() {
        let mut search = SearchState::default();
        let sequence = search.ask("owner".to_owned()).unwrap();
        let ready = ModelState::Ready { model: "m".into(), device: "CPU".into() };
        let mut answer = response(&["a.md"]);
        answer.mode = SearchMode::Keyword;
        search.accept(sequence, Ok(answer));
        assert!(search.can_refine(&ready));
        assert!(!search.can_refine(&ModelState::Loading { model: "m".into() }));
        assert!(!answered(&["a.md"]).can_refine(&ready));
    }
}
