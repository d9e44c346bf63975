use std::ops::Range;

use lodestone::data::DocumentId;
use lodestone::engine::{LibraryEntry, RootStatus, Skipped};

/// Height of a row; rows outside the view are not in the page, so every row has the same.
pub const ROW_PX: f64 = 52.0;
/// Rows kept above and below the view, so that scrolling never shows a gap.
const ROWS_SPARE: usize = 12;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LibraryTab {
    #[default]
    Documents,
    Skipped,
    Folders,
    Starred,
}

/// The list of what is indexed, and of what is not and why.
#[derive(Clone, Debug, Default)]
pub struct LibraryState {
    entries: Vec<LibraryEntry>,
    skipped: Vec<Skipped>,
    pub folders: Vec<RootStatus>,
    pub exclusions: Vec<String>,
    filter: String,
    /// Positions in `entries` or `skipped` that pass the filter.
    passing: Vec<usize>,
    tab: LibraryTab,
    /// The document whose removal waits for a second word.
    pub asking: Option<DocumentId>,
    pub selected: Option<DocumentId>,
    scroll_px: f64,
    height_px: f64,
    pub loaded: bool,
}

impl LibraryState {
    pub fn refresh(&mut self, mut entries: Vec<LibraryEntry>, skipped: Vec<Skipped>) {
        entries.sort_by_cached_key(|entry| (entry.title.to_lowercase(), entry.source.clone()));
        self.entries = entries;
        self.skipped = skipped;
        self.loaded = true;
        if self.asking.is_some_and(|id| self.entry(id).is_none()) {
            self.asking = None;
        }
        self.pass();
    }

    pub fn entry(&self, id: DocumentId) -> Option<&LibraryEntry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    pub fn set_filter(&mut self, filter: &str) {
        self.filter = filter.trim().to_lowercase();
        self.scroll_px = 0.0;
        self.pass();
    }

    pub fn show(&mut self, tab: LibraryTab) {
        self.tab = tab;
        self.scroll_px = 0.0;
        self.asking = None;
        self.pass();
    }

    fn pass(&mut self) {
        let wanted: Vec<&str> = self.filter.split_whitespace().collect();
        let passes = |text: String| wanted.iter().all(|word| text.contains(word));
        self.passing = match self.tab {
            LibraryTab::Documents => {
                let text = |entry: &LibraryEntry| {
                    format!("{} {} {}", entry.title, entry.source, entry.media_type).to_lowercase()
                };
                (0..self.entries.len()).filter(|at| passes(text(&self.entries[*at]))).collect()
            }
            LibraryTab::Skipped => {
                let text = |row: &Skipped| format!("{} {}", row.source, row.reason).to_lowercase();
                (0..self.skipped.len()).filter(|at| passes(text(&self.skipped[*at]))).collect()
            }
            // They have a list of their own.
            LibraryTab::Folders | LibraryTab::Starred => Vec::new(),
        };
    }

    pub fn scrolled(&mut self, scroll_px: f64, height_px: f64) {
        self.scroll_px = scroll_px.max(0.0);
        self.height_px = height_px;
    }

    /// Rows that should be in the page, as positions in the filtered list.
    pub fn window(&self) -> Range<usize> {
        let first = (self.scroll_px / ROW_PX) as usize;
        let visible = (self.height_px.max(900.0) / ROW_PX).ceil() as usize;
        let end = (first + visible + ROWS_SPARE).min(self.passing.len());
        first.saturating_sub(ROWS_SPARE).min(end)..end
    }

    pub fn documents(&self, window: Range<usize>) -> impl Iterator<Item = &LibraryEntry> {
        self.passing[window].iter().filter_map(|at| self.entries.get(*at))
    }

    pub fn reasons(&self, window: Range<usize>) -> impl Iterator<Item = &Skipped> {
        self.passing[window].iter().filter_map(|at| self.skipped.get(*at))
    }

    pub fn tab(&self) -> LibraryTab {
        self.tab
    }

    pub fn rows(&self) -> usize {
        self.passing.len()
    }

    pub fn documents_total(&self) -> usize {
        self.entries.len()
    }

    pub fn skipped_total(&self) -> usize {
        self.skipped.len()
    }

    pub fn is_filtered(&self) -> bool {
        !self.filter.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture::entry;

    fn library(rows: usize) -> LibraryState {
        let mut library = LibraryState::default();
        let entries = (0..rows).map(|at| entry(&format!("note {at:04}.md"))).collect();
        let skipped =
            vec![Skipped { source: "/x/photo.jpg".into(), reason: "binary".into(), attempts: 0 }];
        library.refresh(entries, skipped);
        library
    }

    #[test]
    fn the_filter_wants_every_word_and_sees_paths_and_reasons() {
        let mut library = library(20);
        library.set_filter(" NOTE 0007 ");
        assert_eq!(library.rows(), 1);
        library.set_filter("/docs markdown");
        assert_eq!(library.rows(), 20);
        library.set_filter("bin photo");
        assert_eq!(library.rows(), 0);
        library.show(LibraryTab::Skipped);
        assert_eq!(library.rows(), 1);
        assert_eq!(library.reasons(library.window()).next().unwrap().reason, "binary");
    }

    #[test]
    fn only_rows_near_the_view_are_in_the_page() {
        let mut library = library(10_000);
        library.scrolled(0.0, 520.0);
        assert_eq!(library.window().start, 0);
        library.scrolled(5_000.0 * ROW_PX, 520.0);
        let window = library.window();
        assert!(window.contains(&5_000) && window.contains(&5_010));
        assert!(window.len() < 60, "{window:?}");
        library.scrolled(1e9, 520.0);
        assert_eq!(library.window().end, 10_000);
    }

    #[test]
    fn a_question_about_a_document_that_has_gone_is_dropped() {
        let mut library = library(2);
        library.asking = Some(entry("note 0001.md").id);
        library.refresh(vec![entry("note 0001.md")], Vec::new());
        assert!(library.asking.is_some());
        library.refresh(Vec::new(), Vec::new());
        assert_eq!(library.asking, None);
    }
}
