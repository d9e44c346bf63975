mod order;
mod picked;
mod reasons;
#[cfg(test)]
mod tests;

pub use order::{Column, Sort};
pub use reasons::ReasonGroup;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use lodestone::data::{DocumentId, MediaType, Source};
use lodestone::engine::{LibraryEntry, RootStatus, SiteView, Skipped};

use super::Removal;
use picked::Picked;

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
    /// Why the version of a source that is there now could not be read, by the source.
    outdated: HashMap<String, String>,
    folders: Vec<RootStatus>,
    /// Documents in each of `folders`.
    in_folders: Vec<u64>,
    pub sites: Vec<SiteView>,
    pub exclusions: Vec<String>,
    filter: String,
    kind: Option<MediaType>,
    reason: Option<String>,
    sort: Sort,
    /// Positions in `entries` or `skipped` that pass the filter, in their order.
    passing: Vec<usize>,
    tab: LibraryTab,
    picked: Picked,
    /// Documents that are about to be removed and are not listed any more.
    leaving: BTreeSet<DocumentId>,
    leaving_folders: BTreeSet<PathBuf>,
    pub selected: Option<DocumentId>,
    scroll_px: f64,
    height_px: f64,
    pub loaded: bool,
}

impl LibraryState {
    pub fn refresh(&mut self, entries: Vec<LibraryEntry>, skipped: Vec<Skipped>) {
        let known: BTreeSet<DocumentId> = entries.iter().map(|entry| entry.id).collect();
        self.leaving.retain(|id| known.contains(id));
        self.picked.retain(&known);
        self.outdated = skipped
            .iter()
            .map(|skipped| (skipped.source.clone(), skipped.reason.clone()))
            .collect();
        self.entries = entries;
        self.skipped = skipped;
        self.loaded = true;
        self.count_folders();
        self.pass();
    }

    /// Takes what was added: folders and sites.
    pub fn set_places(&mut self, folders: Vec<RootStatus>, sites: Vec<SiteView>) {
        self.leaving_folders.retain(|path| folders.iter().any(|folder| folder.path == *path));
        self.folders = folders;
        self.sites = sites;
        self.count_folders();
    }

    fn count_folders(&mut self) {
        let inside = |folder: &RootStatus| {
            let paths = self.entries.iter().filter_map(|entry| entry.source.path());
            paths.filter(|path| path.starts_with(&folder.path)).count() as u64
        };
        self.in_folders = self.folders.iter().map(inside).collect();
    }

    /// The folders that were added, with how many documents lie in each.
    pub fn folders(&self) -> impl Iterator<Item = (&RootStatus, u64)> {
        let all = self.folders.iter().zip(self.in_folders.iter().copied());
        all.filter(|(folder, _)| !self.leaving_folders.contains(&folder.path))
    }

    pub fn set_filter(&mut self, filter: &str) {
        self.filter = filter.trim().to_lowercase();
        self.restart();
    }

    pub fn show(&mut self, tab: LibraryTab) {
        self.tab = tab;
        self.restart();
    }

    /// Shows documents of one kind, or of all.
    pub fn set_kind(&mut self, kind: Option<MediaType>) {
        self.kind = kind;
        self.restart();
    }

    pub fn kind(&self) -> Option<MediaType> {
        self.kind
    }

    /// Shows what failed for one reason, or for any.
    pub fn set_reason(&mut self, reason: Option<String>) {
        self.reason = reason;
        self.restart();
    }

    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Sorts by a column, or the other way round when it is sorted by it.
    pub fn sort_by(&mut self, column: Column) {
        self.sort = self.sort.pressed(column);
        self.restart();
    }

    pub fn sort(&self) -> Sort {
        self.sort
    }

    fn restart(&mut self) {
        self.scroll_px = 0.0;
        self.picked.clear();
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
                let is_shown = |entry: &LibraryEntry| {
                    !self.leaving.contains(&entry.id)
                        && self.kind.is_none_or(|kind| entry.media_type == kind)
                        && (wanted.is_empty() || passes(text(entry)))
                };
                let mut passing: Vec<usize> =
                    (0..self.entries.len()).filter(|at| is_shown(&self.entries[*at])).collect();
                let is_outdated = |entry: &LibraryEntry| self.outdated(entry).is_some();
                self.sort.apply(&self.entries, &mut passing, &is_outdated);
                passing
            }
            LibraryTab::Skipped => {
                let text = |row: &Skipped| format!("{} {}", row.source, row.reason).to_lowercase();
                let reason = self.reason.as_deref();
                let is_shown = |row: &Skipped| {
                    reason.is_none_or(|reason| reasons::group(row) == reason) && passes(text(row))
                };
                (0..self.skipped.len()).filter(|at| is_shown(&self.skipped[*at])).collect()
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

    /// Rows that a key moves over to reach the next screen.
    pub fn page(&self) -> usize {
        ((self.height_px / ROW_PX) as usize).max(2) - 1
    }

    pub fn documents(&self, window: Range<usize>) -> impl Iterator<Item = &LibraryEntry> {
        self.passing[window].iter().filter_map(|at| self.entries.get(*at))
    }

    pub fn reasons(&self, window: Range<usize>) -> impl Iterator<Item = &Skipped> {
        self.passing[window].iter().filter_map(|at| self.skipped.get(*at))
    }

    fn at(&self, row: usize) -> Option<&LibraryEntry> {
        let row = self.passing.get(row).filter(|_| self.tab == LibraryTab::Documents)?;
        self.entries.get(*row)
    }

    /// The sources of the rows that pass, where they could not be indexed.
    pub fn failing(&self) -> Vec<String> {
        self.reasons(0..self.passing.len()).map(|row| row.source.clone()).collect()
    }

    /// What could not be indexed, by reason, most frequent first.
    pub fn ledger(&self) -> Vec<ReasonGroup> {
        reasons::groups(&self.skipped)
    }

    /// Kinds of the documents, most frequent first.
    pub fn kinds(&self) -> Vec<(MediaType, usize)> {
        let is_listed = |entry: &&LibraryEntry| !self.leaving.contains(&entry.id);
        let listed = || self.entries.iter().filter(is_listed);
        let count = |kind| listed().filter(|entry| entry.media_type == kind).count();
        let mut kinds: Vec<_> = MediaType::ALL
            .into_iter()
            .map(|kind| (kind, count(kind)))
            .filter(|k| k.1 > 0)
            .collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        kinds
    }

    pub fn entry(&self, id: DocumentId) -> Option<&LibraryEntry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// Why what is searchable of a document is an older version.
    pub fn outdated(&self, entry: &LibraryEntry) -> Option<&str> {
        if self.outdated.is_empty() {
            return None;
        }
        self.outdated.get(&entry.source.to_string()).map(String::as_str)
    }

    /// Picks one row and no other, or takes it in or out of what is picked.
    pub fn pick(&mut self, row: usize, adds: bool) {
        let Some(id) = self.at(row).map(|entry| entry.id) else { return };
        self.picked.toggle(row, id, adds);
    }

    /// Picks every row from the last one that was picked to this one.
    pub fn pick_to(&mut self, row: usize) {
        let range = self.picked.range_to(row);
        let ids: Vec<DocumentId> =
            range.filter_map(|row| self.at(row)).map(|entry| entry.id).collect();
        self.picked.extend(ids);
    }

    /// Picks the rows from the one that has the focus to another, or draws the range that was begun
    /// further.
    pub fn draw_to(&mut self, from: usize, to: usize) {
        if self.picked.len() == 0 {
            self.pick(from, false);
        }
        self.pick_to(to);
    }

    /// Picks every row that passes.
    pub fn pick_all(&mut self) {
        let ids: Vec<DocumentId> =
            self.documents(0..self.passing.len()).map(|entry| entry.id).collect();
        self.picked.extend(ids);
    }

    pub fn unpick(&mut self) {
        self.picked.clear();
    }

    pub fn is_picked(&self, id: DocumentId) -> bool {
        self.picked.has(id)
    }

    pub fn picked(&self) -> Vec<&LibraryEntry> {
        self.entries.iter().filter(|entry| self.picked.has(entry.id)).collect()
    }

    pub fn picked_count(&self) -> usize {
        self.picked.len()
    }

    /// The first row that shows one of these documents.
    pub fn first_row_of(&self, ids: &[DocumentId]) -> Option<usize> {
        let mut rows = self.documents(0..self.passing.len());
        rows.position(|entry| ids.contains(&entry.id))
    }

    /// Takes a folder out of the list with its documents, which it gives.
    pub fn let_folder_go(&mut self, folder: &Path) -> Vec<DocumentId> {
        let is_inside = |entry: &&LibraryEntry| {
            entry.source.path().is_some_and(|path| path.starts_with(folder))
        };
        let ids: Vec<DocumentId> =
            self.entries.iter().filter(is_inside).map(|entry| entry.id).collect();
        self.leaving_folders.insert(folder.to_owned());
        self.let_go(&ids);
        ids
    }

    /// Takes documents out of the list, until they are removed or come back.
    pub fn let_go(&mut self, ids: &[DocumentId]) {
        self.leaving.extend(ids);
        self.picked.clear();
        self.pass();
    }

    pub fn take_back(&mut self, removal: &Removal) {
        let ids: BTreeSet<DocumentId> = removal.ids.iter().copied().collect();
        self.leaving.retain(|id| !ids.contains(id));
        for source in &removal.sources {
            source.path().map(|path| self.leaving_folders.remove(path));
        }
        self.pass();
    }

    pub fn tab(&self) -> LibraryTab {
        self.tab
    }

    pub fn rows(&self) -> usize {
        self.passing.len()
    }

    pub fn documents_total(&self) -> usize {
        self.entries.len() - self.leaving.len().min(self.entries.len())
    }

    pub fn skipped_total(&self) -> usize {
        self.skipped.len()
    }

    pub fn places_total(&self) -> usize {
        self.folders().count() + self.sites.len()
    }

    pub fn is_filtered(&self) -> bool {
        !self.filter.is_empty() || self.kind.is_some() || self.reason.is_some()
    }

    pub fn filter(&self) -> &str {
        &self.filter
    }
}

/// Files that can be read again; pages are read with their site.
pub fn files_of(entries: &[&LibraryEntry]) -> Vec<PathBuf> {
    let file = |entry: &&LibraryEntry| match &entry.source {
        Source::File(path) => Some(path.clone()),
        Source::Web(_) => None,
    };
    entries.iter().filter_map(file).collect()
}
