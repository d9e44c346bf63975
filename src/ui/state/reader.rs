use std::ops::Range;
use std::rc::Rc;

use lodestone::data::Locator;

use super::{OpenDocument, Target};
use crate::ui::text::Marks;

/// The reader pane: which document, which passage is chosen, which part of the text is in the page.
#[derive(Clone, Debug, Default)]
pub struct ReaderState {
    sequence: u64,
    target: Option<Target>,
    document: Option<Rc<OpenDocument>>,
    problem: Option<String>,
    /// Passages that the arrows visit, as positions in `view.passages`, in the order of the text.
    stops: Vec<usize>,
    at: usize,
    /// Blocks of the layout that are in the page; long documents are shown in parts.
    shown: Range<usize>,
    /// Blocks that are to be in the page; those that are not yet follow step by step.
    window: Range<usize>,
    /// Counts scrolls that the page owes: it changes whenever the chosen passage should come into
    /// view.
    scrolls: u64,
}

impl ReaderState {
    /// Takes a new target. Gives the number to load it under, or `None` when the document is
    /// already here and only the marks change.
    pub fn show(&mut self, target: Target) -> Option<u64> {
        if self.target.as_ref() == Some(&target) && self.problem.is_none() {
            return None;
        }
        let loaded = self.document.as_ref().is_some_and(|open| open.view.id == target.id);
        self.sequence += 1;
        self.problem = None;
        self.target = Some(target);
        if loaded {
            self.aim();
            return None;
        }
        Some(self.sequence)
    }

    /// Takes a loaded document, unless another has been asked for since.
    pub fn accept(&mut self, sequence: u64, loaded: Result<OpenDocument, String>) -> bool {
        if sequence != self.sequence {
            return false;
        }
        match loaded {
            Ok(open) => {
                self.document = Some(Rc::new(open));
                self.shown = 0..0;
                self.aim();
            }
            Err(problem) => {
                self.document = None;
                self.problem = Some(problem);
            }
        }
        true
    }

    /// Takes a refined answer about the same document: the marks change, the place stays.
    /// Tells whether it was about the same document.
    pub fn remark(&mut self, target: &Target) -> bool {
        if self.target.as_ref().is_none_or(|current| current.id != target.id) {
            return false;
        }
        let chosen = self.stops.get(self.at).copied();
        self.target = Some(target.clone());
        if self.fresh().is_some() {
            self.set_stops();
            let kept = chosen.and_then(|chosen| self.stops.iter().position(|stop| *stop == chosen));
            match kept {
                Some(at) => self.at = at,
                None => self.aim(),
            }
        }
        true
    }

    /// Chooses the best passage of the target and the blocks around it.
    fn aim(&mut self) {
        let best = self.set_stops();
        self.at = self.stops.iter().position(|stop| *stop == best).unwrap_or(0);
        let start = self.chosen().map_or(0, |range| range.start);
        self.look_at(start);
        self.scrolls += 1;
    }

    /// Lists the passages that the arrows visit and gives the best one.
    fn set_stops(&mut self) -> usize {
        let Some((open, target)) = self.fresh() else { return 0 };
        let mut found: Vec<usize> =
            target.found.iter().filter_map(|passage| open.position(passage)).collect();
        let best = found.first().copied().unwrap_or(0);
        found.sort_unstable();
        found.dedup();
        self.stops = if found.len() > 1 { found } else { (0..open.view.passages.len()).collect() };
        best
    }

    /// The document and the target, when they belong together.
    fn fresh(&self) -> Option<(&Rc<OpenDocument>, &Target)> {
        let (open, target) = (self.document.as_ref()?, self.target.as_ref()?);
        (open.view.id == target.id).then_some((open, target))
    }

    pub fn close(&mut self) {
        let (sequence, scrolls) = (self.sequence + 1, self.scrolls);
        *self = Self { sequence, scrolls, ..Self::default() };
    }

    /// Goes to the next passage, or to an earlier one when `by` is negative; it stops at both ends.
    pub fn step(&mut self, by: isize) {
        let last = self.stops.len().saturating_sub(1);
        let at = self.at.saturating_add_signed(by).min(last);
        if at == self.at {
            return;
        }
        self.at = at;
        self.reveal();
    }

    fn reveal(&mut self) {
        let (Some(open), Some(chosen)) = (&self.document, self.chosen()) else { return };
        if !open.layout.covers(&self.shown, chosen.start) {
            self.look_at(chosen.start);
        }
        self.scrolls += 1;
    }

    fn look_at(&mut self, offset: usize) {
        let Some(open) = &self.document else { return };
        self.window = open.layout.window_around(offset);
        let is_within = self.window.start <= self.shown.start && self.shown.end <= self.window.end;
        // What is there already stays.
        if !(open.layout.covers(&self.shown, offset) && is_within) {
            self.shown = open.layout.first_part(&self.window, offset);
        }
    }

    /// Puts a few more blocks into the page.
    pub fn fill(&mut self) {
        if let Some(open) = &self.document {
            self.shown = open.layout.fill(&self.shown, &self.window);
        }
    }

    /// Whether blocks are missing that are to be in the page.
    pub fn is_filling(&self) -> bool {
        let is_whole = self.shown.start <= self.window.start && self.window.end <= self.shown.end;
        self.document.is_some() && !is_whole
    }

    /// Puts the next part of a long document into the page.
    pub fn extend_down(&mut self) {
        if let Some(open) = &self.document {
            self.shown.end = open.layout.extend_down(self.shown.end);
            self.window.end = self.window.end.max(self.shown.end);
        }
    }

    /// Puts the part before what is shown into the page.
    pub fn extend_up(&mut self) {
        if let Some(open) = &self.document {
            self.shown.start = open.layout.extend_up(self.shown.start);
            self.window.start = self.window.start.min(self.shown.start);
        }
    }

    pub fn is_open(&self) -> bool {
        self.target.is_some()
    }

    /// The document on show; while another is being loaded it is the one before.
    pub fn document(&self) -> Option<&Rc<OpenDocument>> {
        self.document.as_ref()
    }

    pub fn target(&self) -> Option<&Target> {
        self.target.as_ref()
    }

    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub fn shown(&self) -> Range<usize> {
        self.shown.clone()
    }

    pub fn scrolls(&self) -> u64 {
        self.scrolls
    }

    pub fn has_previous(&self) -> bool {
        self.at > 0
    }

    pub fn has_next(&self) -> bool {
        self.at + 1 < self.stops.len()
    }

    /// Where the chosen passage stands: `Match 2 of 3`, `Passage 14 of 87`.
    pub fn place(&self) -> String {
        let matches = self.target.as_ref().is_some_and(|target| target.found.len() > 1);
        let noun = if matches { "Match" } else { "Passage" };
        format!("{noun} {} of {}", self.at + 1, self.stops.len())
    }

    /// Bytes of the document's text that the chosen passage takes.
    pub fn chosen(&self) -> Option<Range<usize>> {
        let open = self.document.as_ref()?;
        let stop = *self.stops.get(self.at)?;
        open.view.passages.get(stop).map(|(range, _)| (*range).into())
    }

    /// The chosen passage as text.
    pub fn chosen_text(&self) -> Option<&str> {
        let open = self.document.as_ref()?;
        open.view.text.get(self.chosen()?)
    }

    /// Where the chosen passage stands in the document, in words.
    pub fn locator(&self) -> Option<String> {
        self.chosen_locator().map(ToString::to_string)
    }

    /// Where the chosen passage stands in the document.
    pub fn chosen_locator(&self) -> Option<&Locator> {
        let open = self.document.as_ref()?;
        let (_, locator) = open.view.passages.get(*self.stops.get(self.at)?)?;
        locator.as_ref()
    }

    pub fn marks(&self) -> Marks {
        let Some((open, target)) = self.fresh() else { return Marks::default() };
        let mut marks = Marks {
            chosen: self.chosen(),
            anchor: self.stops.get(self.at).and_then(|stop| open.anchor(*stop)),
            starts: open.anchors().collect(),
            ..Marks::default()
        };
        for passage in &target.found {
            // A file that changed since the answer was made has other words there.
            if open.view.text.get(Range::from(passage.range)) != Some(passage.text.as_str()) {
                continue;
            }
            let start = passage.range.start;
            if marks.chosen == Some(passage.range.into()) {
                let best = passage.sentence.or_else(|| passage.matches.first().copied());
                marks.best = best.and_then(|best| open.layout.anchor(start + best.start));
            }
            marks.found.push(passage.range.into());
            marks.matches.extend(passage.matches.iter().map(|m| start + m.start..start + m.end));
            marks.sentences.extend(passage.sentence.map(|s| start + s.start..start + s.end));
        }
        marks.sort();
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture;

    fn opened() -> ReaderState {
        let mut reader = ReaderState::default();
        let sequence = reader.show(Target::whole(fixture::document().id)).unwrap();
        assert!(reader.accept(sequence, Ok(fixture::open_document())));
        reader
    }

    #[test]
    fn a_document_that_was_overtaken_is_dropped() {
        let mut reader = ReaderState::default();
        let id = fixture::document().id;
        let first = reader.show(Target::whole(id)).unwrap();
        let other = fixture::hit("b.md", "text");
        let second = reader.show(Target::of_hit(&other)).unwrap();
        assert!(!reader.accept(first, Ok(fixture::open_document())));
        assert!(reader.accept(second, Err("gone".to_owned())));
        assert_eq!(reader.problem(), Some("gone"));
    }

    #[test]
    fn stepping_visits_every_passage_and_stops_at_the_ends() {
        let mut reader = opened();
        let passages = fixture::document().passages.len();
        assert_eq!(reader.place(), format!("Passage 1 of {passages}"));
        assert!(!reader.has_previous() && reader.has_next());
        let before = reader.scrolls();
        reader.step(-1);
        assert_eq!(reader.scrolls(), before, "nothing moved, so nothing scrolls");
        reader.step(1);
        assert_eq!(reader.chosen(), Some(fixture::document().passages[1].0.into()));
        reader.step(99);
        assert!(!reader.has_next());
        assert_eq!(reader.scrolls(), before + 2);
    }

    #[test]
    fn several_matches_are_the_stops_and_the_best_is_chosen_first() {
        let mut reader = ReaderState::default();
        let target = Target {
            id: fixture::document().id,
            found: vec![fixture::passage(2), fixture::passage(0)],
        };
        let sequence = reader.show(target).unwrap();
        reader.accept(sequence, Ok(fixture::open_document()));
        assert_eq!(reader.place(), "Match 2 of 2");
        assert_eq!(reader.chosen(), Some(fixture::document().passages[2].0.into()));
        reader.step(-1);
        assert_eq!(reader.place(), "Match 1 of 2");
    }

    #[test]
    fn other_marks_in_the_same_document_need_no_load() {
        let mut reader = opened();
        let target = Target { id: fixture::document().id, found: vec![fixture::passage(1)] };
        assert_eq!(reader.show(target.clone()), None);
        assert_eq!(reader.place(), format!("Passage 2 of {}", fixture::document().passages.len()));
        let before = reader.scrolls();
        assert_eq!(reader.show(target), None);
        assert_eq!(reader.scrolls(), before, "the same target leaves the place alone");
    }

    #[test]
    fn nothing_is_filled_in_where_a_document_cannot_be_shown() {
        let mut reader = opened();
        reader.window.end += 1;
        assert!(reader.is_filling());
        let other = reader.show(Target::of_hit(&fixture::hit("b.md", "text"))).unwrap();
        reader.accept(other, Err("gone".to_owned()));
        assert!(!reader.is_filling());
    }

    #[test]
    fn a_document_comes_into_the_page_step_by_step() {
        let mut reader = opened();
        let blocks = fixture::open_document().layout.blocks.len();
        for _ in 0..blocks {
            reader.fill();
        }
        assert!(!reader.is_filling());
        assert_eq!(reader.shown(), 0..blocks);
        reader.step(1);
        assert_eq!(reader.shown(), 0..blocks, "what is there stays");
        reader.close();
        assert!(!reader.is_filling());
    }

    #[test]
    fn a_refined_answer_leaves_the_place_alone() {
        let mut reader = opened();
        reader.step(1);
        let before = reader.scrolls();
        let id = fixture::document().id;
        let target = Target { id, found: vec![fixture::passage(1), fixture::passage(0)] };
        assert!(reader.remark(&target));
        assert_eq!((reader.place().as_str(), reader.scrolls()), ("Match 2 of 2", before));
        assert!(!reader.remark(&Target::of_hit(&fixture::hit("b.md", "text"))));
    }

    #[test]
    fn marks_are_in_bytes_of_the_document_and_skip_text_that_changed() {
        let mut reader = opened();
        let mut stale = fixture::passage(2);
        stale.text = "something else".to_owned();
        let target = Target { id: fixture::document().id, found: vec![fixture::passage(1), stale] };
        reader.show(target);
        let marks = reader.marks();
        assert_eq!(marks.found, [Range::from(fixture::passage(1).range)]);
        let text = fixture::document().text;
        let matched: Vec<&str> = marks.matches.iter().map(|m| &text[m.clone()]).collect();
        assert_eq!(matched, ["owners"]);
    }
}
