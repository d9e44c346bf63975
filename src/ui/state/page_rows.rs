use std::ops::Range;

use lodestone::engine::{PageFilter, PageList, PageState, PageView, SiteView};

use super::ROW_PX;

/// Rows in the page above and below the view.
const ROWS_SPARE: u64 = 12;
/// Rows that are loaded beyond these, so that scrolling seldom waits for the store.
const ROWS_AHEAD: u64 = 100;

/// Pages by what became of them, as a person asks for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageGroup {
    #[default]
    All,
    Indexed,
    Waiting,
    Failed,
    LeftOut,
}

impl PageGroup {
    pub const ALL: [Self; 5] =
        [Self::All, Self::Indexed, Self::Waiting, Self::Failed, Self::LeftOut];

    fn states(self) -> &'static [PageState] {
        match self {
            Self::All => &PageState::ALL,
            Self::Indexed => &[PageState::Indexed],
            Self::Waiting => &[PageState::Queued, PageState::Fetching],
            Self::Failed => &[PageState::Failed, PageState::Gone],
            Self::LeftOut => &[
                PageState::Duplicate,
                PageState::Redirected,
                PageState::Skipped,
                PageState::Beyond,
                PageState::Removed,
            ],
        }
    }

    /// How many pages of a site are in it.
    pub fn count(self, site: &SiteView) -> u64 {
        self.states().iter().filter_map(|state| site.pages.get(state)).sum()
    }
}

/// The pages of one site, of which only those near the view are in memory.
#[derive(Clone, Debug, Default)]
pub struct PageRows {
    group: PageGroup,
    filter: String,
    /// That pass the filter.
    total: u64,
    first: u64,
    loaded: Vec<PageView>,
    /// Whether an answer to this filter has come.
    pub known: bool,
    sequence: u64,
    scroll_px: f64,
    height_px: f64,
}

/// What is to be asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PageQuery {
    pub sequence: u64,
    pub filter: PageFilter,
    pub range: Range<u64>,
}

impl PageRows {
    pub fn show(&mut self, group: PageGroup) {
        self.group = group;
        self.restart();
    }

    pub fn set_filter(&mut self, filter: &str) {
        filter.trim().clone_into(&mut self.filter);
        self.restart();
    }

    /// What was loaded stays until the answer comes, so that nothing flickers.
    fn restart(&mut self) {
        self.scroll_px = 0.0;
        self.known = false;
    }

    /// Takes a new place of the view; tells whether rows of it are missing.
    pub fn scrolled(&mut self, scroll_px: f64, height_px: f64) -> bool {
        (self.scroll_px, self.height_px) = (scroll_px.max(0.0), height_px);
        let (window, loaded) = (self.window(), self.loaded_range());
        window.start < loaded.start || window.end > loaded.end
    }

    /// Rows that should be in the page.
    fn window(&self) -> Range<u64> {
        let first = (self.scroll_px / ROW_PX) as u64;
        let visible = (self.height_px.max(900.0) / ROW_PX).ceil() as u64;
        let end = (first + visible + ROWS_SPARE).min(self.total);
        first.saturating_sub(ROWS_SPARE).min(end)..end
    }

    fn loaded_range(&self) -> Range<u64> {
        self.first..self.first + self.loaded.len() as u64
    }

    /// The rows around the view, under a number that makes older questions stale.
    pub fn ask(&mut self) -> PageQuery {
        self.sequence += 1;
        let first = (self.scroll_px / ROW_PX) as u64;
        let visible = (self.height_px.max(900.0) / ROW_PX).ceil() as u64;
        let start = first.saturating_sub(ROWS_SPARE + ROWS_AHEAD);
        let states = match self.group {
            PageGroup::All => Vec::new(),
            group => group.states().to_vec(),
        };
        PageQuery {
            sequence: self.sequence,
            filter: PageFilter { states, containing: self.filter.clone() },
            range: start..first + visible + ROWS_SPARE + ROWS_AHEAD,
        }
    }

    /// Whether nothing was asked since.
    pub fn is_newest(&self, query: &PageQuery) -> bool {
        query.sequence == self.sequence
    }

    pub fn accept(&mut self, query: &PageQuery, list: PageList) {
        if !self.is_newest(query) {
            return;
        }
        self.total = list.total;
        self.first = query.range.start;
        self.loaded = list.pages;
        self.known = true;
    }

    /// Rows to put into the page, with how many are left out above and below them.
    pub fn shown(&self) -> (u64, &[PageView], u64) {
        let (window, loaded) = (self.window(), self.loaded_range());
        let start = window.start.clamp(loaded.start, loaded.end);
        let end = window.end.clamp(start, loaded.end);
        let rows = &self.loaded[(start - self.first) as usize..(end - self.first) as usize];
        (start, rows, self.total.saturating_sub(end))
    }

    pub fn group(&self) -> PageGroup {
        self.group
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn filter(&self) -> &str {
        &self.filter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture::page;

    /// Answers a question as a store of `total` pages would.
    fn answer(rows: &mut PageRows, total: u64) {
        let query = rows.ask();
        let range = query.range.start.min(total)..query.range.end.min(total);
        let pages = range.map(|at| page(&format!("/{at}"), PageState::Indexed)).collect();
        rows.accept(&query, PageList { total, pages });
    }

    #[test]
    fn only_pages_near_the_view_are_loaded_and_shown() {
        let mut rows = PageRows::default();
        answer(&mut rows, 10_000);
        let (above, shown, below) = rows.shown();
        assert_eq!(above, 0);
        assert!(shown.len() < 60 && above + shown.len() as u64 + below == 10_000);

        assert!(!rows.scrolled(20.0 * ROW_PX, 520.0), "these are loaded ahead");
        assert!(rows.scrolled(5_000.0 * ROW_PX, 520.0));
        answer(&mut rows, 10_000);
        let (above, shown, below) = rows.shown();
        assert_eq!(above + shown.len() as u64 + below, 10_000);
        assert!(shown.iter().any(|page| page.url.path() == "/5010"));
        assert!(rows.loaded.len() < 300, "{}", rows.loaded.len());

        rows.scrolled(1e9, 520.0);
        answer(&mut rows, 10_000);
        let (above, shown, below) = rows.shown();
        assert!(above + shown.len() as u64 + below >= 10_000);
    }

    #[test]
    fn an_answer_to_another_filter_is_dropped() {
        let mut rows = PageRows::default();
        let all = rows.ask();
        rows.show(PageGroup::Failed);
        rows.set_filter(" book ");
        let failed = rows.ask();
        assert_eq!(failed.filter.states, [PageState::Failed, PageState::Gone]);
        assert_eq!(failed.filter.containing, "book");
        rows.accept(&all, PageList { total: 9, pages: Vec::new() });
        assert!(!rows.known);
        rows.accept(&failed, PageList { total: 1, pages: vec![page("/a", PageState::Gone)] });
        assert!(rows.known);
        assert_eq!(rows.total(), 1);
        rows.show(PageGroup::All);
        assert_eq!(rows.shown().1.len(), 1, "what was there stays until the answer comes");
    }

    #[test]
    fn every_state_is_in_one_group() {
        for state in PageState::ALL {
            let groups = PageGroup::ALL.iter().filter(|group| group.states().contains(&state));
            assert_eq!(groups.count(), 2, "{state:?}: all, and one more");
        }
    }
}
