#[cfg(test)]
mod tests;

use lodestone::data::{ChunkKey, DocumentId, Hit};
use lodestone::engine::{
    Facets, ModelState, SearchMode, SearchRequest, SearchResponse, WeakerHits, WrittenQualifier,
    qualifiers,
};

use crate::ui::wording::is_address;

/// Documents asked for: more than a person scrolls through, few enough to paint at once.
pub const HITS_MAX: usize = 30;

/// Cards that are put into the page at once, beside those that are in it: drawing them takes the window's thread some
/// milliseconds.
const CARDS_A_STEP: usize = 6;

/// The query, its newest answer and the selected hit.
///
/// Every question gets a number; an answer whose number is not the newest is dropped, so an answer
/// older than the query never appears.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent state of the view")]
pub struct SearchState {
    query: String,
    sequence: u64,
    waiting: bool,
    /// Whether a person has waited for the answer for more than a blink.
    late: bool,
    /// Whether what was typed first is not answered yet.
    leaving_home: bool,
    /// Whether the question was on screen before: then what a person looks at stays in its place.
    refining: bool,
    answer: Option<SearchResponse>,
    /// A newer answer whose order would move what a person looks at.
    held: Option<SearchResponse>,
    /// How the documents of the newest answer that was counted divide; those of the answer before stay
    /// until they are, so that nothing flickers.
    facets: Option<Facets>,
    problem: Option<String>,
    selected: usize,
    /// Hits that have a card in the page.
    shown: usize,
    /// Whether a person moved the selection in this answer; then refinements keep the document.
    moved: bool,
    /// Whether the pointer is over the results.
    pub pointed: bool,
    /// Whether the reasons of the selected hit are unfolded.
    pub why: bool,
    /// The hit whose other places are unfolded.
    unfolded: Option<DocumentId>,
    /// Whether documents that are too far from the query are shown behind the others.
    weaker_shown: bool,
    like: Option<Like>,
}

/// A passage whose neighbors are on screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Like {
    pub passage: ChunkKey,
    /// Of its document.
    pub title: String,
    /// What stood in the query box before.
    pub before: String,
}

/// See [`SearchState::outline`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent part of the page")]
pub struct Outline {
    is_home: bool,
    address: Option<String>,
    qualifiers: Vec<String>,
    like: Option<Like>,
    steps_back: bool,
    has_held: bool,
    has_problem: bool,
    why: bool,
    unfolded: Option<DocumentId>,
    weaker_shown: bool,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It was to an older question, and dropped.
    Stale,
    Shown,
    /// It waits until a person wants it.
    Held,
}

impl SearchState {
    /// What is asked as soon as the index is open: the query of the last time.
    pub fn restored(query: String) -> Self {
        Self { query, ..Self::default() }
    }

    /// Takes what stands in the query box. Gives the number to ask under, or `None` when there is
    /// nothing new to ask.
    pub fn ask(&mut self, query: String) -> Option<u64> {
        if query.trim() == self.query.trim() {
            self.query = query;
            return None;
        }
        self.leaving_home = self.is_home();
        self.query = query;
        // Words are another question; qualifiers narrow this one.
        self.like = self.like.take().filter(|_| has_no_words(&self.query));
        self.start_over()
    }

    /// Asks for the neighbors of a passage, in place of the query.
    pub fn ask_like(&mut self, passage: ChunkKey, title: String) -> Option<u64> {
        let before = match self.like.take() {
            Some(like) => like.before,
            None => std::mem::take(&mut self.query),
        };
        self.query.clear();
        self.like = Some(Like { passage, title, before });
        self.start_over()
    }

    /// Back from the neighbors of a passage to the query before; gives that query.
    pub fn leave_like(&mut self) -> Option<String> {
        let like = self.like.take()?;
        self.query.clone_from(&like.before);
        Some(like.before)
    }

    /// Asks the question that is there now from its beginning.
    pub fn start_over(&mut self) -> Option<u64> {
        self.moved = false;
        self.why = false;
        self.unfolded = None;
        self.weaker_shown = false;
        self.held = None;
        if self.is_blank() {
            self.sequence += 1;
            self.waiting = false;
            self.answer = None;
            self.facets = None;
            self.problem = None;
            self.selected = 0;
            return None;
        }
        let asked = self.again();
        self.refining = false;
        asked
    }

    /// Asks the same question once more: the model became ready, or the index changed.
    pub fn again(&mut self) -> Option<u64> {
        if self.is_blank() {
            return None;
        }
        self.sequence += 1;
        // An answer that is on its way to a new question makes that question no older.
        self.refining = self.refining || !self.waiting;
        self.waiting = true;
        self.late = false;
        Some(self.sequence)
    }

    /// The request of question `sequence`, unless a newer one has been asked since. A new question asks for as many
    /// documents as are in sight: a person who types sees no others, and to find and paint them would hold up the
    /// next answer.
    pub fn request(&self, sequence: u64, in_sight: usize) -> Option<SearchRequest> {
        let limit = if self.refining { HITS_MAX } else { in_sight.clamp(1, HITS_MAX) };
        (sequence == self.sequence && self.waiting).then(|| self.request_of(limit))
    }

    /// The request of the whole answer to question `sequence`, unless it is on screen or a newer one has been asked.
    pub fn rest(&self, sequence: u64) -> Option<SearchRequest> {
        let is_short = |answer: &SearchResponse| answer.is_cut && answer.hits.len() < HITS_MAX;
        let is_on_screen = sequence == self.sequence && !self.waiting;
        (is_on_screen && self.answer.as_ref().is_some_and(is_short))
            .then(|| self.request_of(HITS_MAX))
    }

    fn request_of(&self, limit: usize) -> SearchRequest {
        SearchRequest {
            limit,
            typing: true,
            fold_duplicates: true,
            like: self.like.as_ref().map(|like| like.passage),
            weaker: if self.weaker_shown { WeakerHits::Behind } else { WeakerHits::LeftOut },
            ..SearchRequest::new(self.query.as_str())
        }
    }

    /// Shows an answer, unless it is stale or would move what a person looks at.
    pub fn accept(&mut self, sequence: u64, answer: Result<SearchResponse, String>) -> Accepted {
        if sequence != self.sequence {
            return Accepted::Stale;
        }
        self.waiting = false;
        self.late = false;
        self.leaving_home = false;
        match answer {
            Ok(answer) => self.take_or_hold(answer),
            Err(problem) => {
                self.problem = Some(problem);
                Accepted::Shown
            }
        }
    }

    /// Shows the whole answer where its beginning is on screen; see [`Self::rest`].
    pub fn complete(&mut self, sequence: u64, whole: SearchResponse) {
        if let Some(answer) = &self.answer
            && self.rest(sequence).is_some()
        {
            // What a person waited for was the beginning.
            let took_ms = answer.took_ms;
            self.refining = true;
            self.take_or_hold(SearchResponse { took_ms, ..whole });
        }
    }

    fn take_or_hold(&mut self, answer: SearchResponse) -> Accepted {
        if self.refining && self.is_looked_at() && self.would_move(&answer) {
            self.problem = None;
            self.held = Some(answer);
            return Accepted::Held;
        }
        self.take(answer);
        Accepted::Shown
    }

    fn take(&mut self, answer: SearchResponse) {
        let kept = self.moved.then(|| self.selected_hit().map(|hit| hit.document.id));
        self.selected = kept
            .flatten()
            .and_then(|id| answer.hits.iter().position(|hit| hit.document.id == id))
            .unwrap_or(0);
        // A new question asks for no more than is in sight.
        let kept = if self.refining { self.shown.max(CARDS_A_STEP) } else { answer.hits.len() };
        self.shown = kept.min(answer.hits.len());
        self.answer = Some(answer);
        self.held = None;
        self.problem = None;
    }

    /// How many of the hits have a card.
    pub fn cards(&self) -> usize {
        self.shown.max(self.selected + 1).min(self.hits().len())
    }

    /// Whether hits wait for their cards; see [`Self::fill`].
    pub fn is_filling(&self) -> bool {
        self.shown < self.hits().len()
    }

    /// Gives some more hits their cards.
    pub fn fill(&mut self) {
        self.shown += CARDS_A_STEP;
    }

    /// Every document that the newest answer was chosen from.
    pub fn considered(&self) -> &[DocumentId] {
        let newest = self.held.as_ref().or(self.answer.as_ref());
        newest.map_or(&[], |answer| answer.considered.as_slice())
    }

    /// What the page shows of a question that has no answer yet.
    pub fn outline(&self) -> Outline {
        let written = |at: &WrittenQualifier| self.query[at.range.clone()].to_owned();
        Outline {
            is_home: self.is_home(),
            address: Some(self.query.trim()).filter(|text| is_address(text)).map(str::to_owned),
            qualifiers: qualifiers(&self.query).iter().map(written).collect(),
            like: self.like.clone(),
            steps_back: self.steps_back(),
            has_held: self.has_held(),
            has_problem: self.problem.is_some(),
            why: self.why,
            unfolded: self.unfolded,
            weaker_shown: self.weaker_shown,
        }
    }

    /// Shows how the documents of an answer divide, unless another question was asked since.
    pub fn count(&mut self, sequence: u64, facets: Facets) {
        if sequence == self.sequence {
            self.facets = Some(facets);
        }
    }

    pub fn facets(&self) -> Option<&Facets> {
        self.facets.as_ref()
    }

    /// Shows the answer that waits, in its order.
    pub fn take_held(&mut self) {
        if let Some(answer) = self.held.take() {
            self.take(answer);
        }
    }

    /// Whether a newer answer waits.
    pub fn has_held(&self) -> bool {
        self.held.is_some()
    }

    fn is_looked_at(&self) -> bool {
        self.moved || self.pointed
    }

    /// Whether a document on screen would get another place.
    fn would_move(&self, answer: &SearchResponse) -> bool {
        let pairs = self.hits().iter().zip(&answer.hits);
        pairs.into_iter().any(|(shown, new)| shown.document.id != new.document.id)
    }

    /// Whether nothing was asked since.
    pub fn is_newest(&self, sequence: u64) -> bool {
        sequence == self.sequence
    }

    pub fn query(&self) -> &str {
        &self.query
    }

    pub fn is_blank(&self) -> bool {
        self.query.trim().is_empty() && self.like.is_none()
    }

    /// Whether the start page is on screen: it stays until what was typed there is answered, or the answer takes its
    /// time. To take it away first would hold up the answer.
    pub fn is_home(&self) -> bool {
        self.is_blank() || self.leaving_home && self.is_overtaken() && !self.late
    }

    pub fn like(&self) -> Option<&Like> {
        self.like.as_ref()
    }

    /// Shows documents that are too far from the query behind the others, or hides them again. Gives the
    /// number to ask under.
    pub fn show_weaker(&mut self, shown: bool) -> Option<u64> {
        self.weaker_shown = shown;
        self.again()
    }

    /// Unfolds the other places of a hit, or folds them.
    pub fn toggle_places(&mut self, id: DocumentId) {
        self.unfolded = if self.unfolded == Some(id) { None } else { Some(id) };
    }

    pub fn is_unfolded(&self, id: DocumentId) -> bool {
        self.unfolded == Some(id)
    }

    /// Whether the answer on screen is to an older question, and another is on its way.
    pub fn is_overtaken(&self) -> bool {
        self.waiting && !self.refining
    }

    /// Says that the answer to a question takes its time.
    pub fn grow_late(&mut self, sequence: u64) {
        self.late |= sequence == self.sequence;
    }

    /// Whether what is on screen is to step back, since it is to an older question and the answer takes its time.
    pub fn steps_back(&self) -> bool {
        self.late && self.is_overtaken()
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

    /// Moves the selection to the first hit, or to the last.
    pub fn move_to_edge(&mut self, first: bool) {
        self.select(if first { 0 } else { self.hits().len().saturating_sub(1) });
    }

    /// Whether the answer on screen was made without the model and the model could now refine it.
    pub fn can_refine(&self, model: &ModelState) -> bool {
        matches!(model, ModelState::Ready { .. })
            && self.answer.as_ref().is_some_and(|answer| answer.mode == SearchMode::Keyword)
    }
}

/// Whether a query holds qualifiers alone.
fn has_no_words(query: &str) -> bool {
    let mut left = query;
    // From the end, so that what is left keeps its places.
    for written in qualifiers(query).iter().rev() {
        if !left[written.range.end..].trim().is_empty() {
            return false;
        }
        left = &left[..written.range.start];
    }
    left.trim().is_empty()
}
