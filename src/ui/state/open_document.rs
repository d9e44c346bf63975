use lodestone::data::{DocumentId, Hit, Passage, TextRange};
use lodestone::engine::DocumentView;

use crate::ui::text::Layout;

/// What the reader is asked to show: a document, and the passages of an answer in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub id: DocumentId,
    /// Passages of the answer, best first; empty when the document was opened from the library.
    pub found: Vec<Passage>,
}

impl Target {
    pub fn of_hit(hit: &Hit) -> Self {
        let found = std::iter::once(&hit.passage).chain(&hit.more).cloned().collect();
        Self { id: hit.document.id, found }
    }

    pub fn whole(id: DocumentId) -> Self {
        Self { id, found: Vec::new() }
    }
}

/// A loaded document with its text laid out.
#[derive(Debug)]
pub struct OpenDocument {
    pub view: DocumentView,
    pub layout: Layout,
    /// First shown byte of each passage.
    anchors: Vec<Option<usize>>,
}

impl OpenDocument {
    /// Lays the text out; a long document takes a while, so this is not for the window's thread.
    pub fn new(view: DocumentView) -> Self {
        let layout = Layout::of(&view);
        let anchor = |(range, _): &(TextRange, _)| layout.anchor(range.start);
        let anchors = view.passages.iter().map(anchor).collect();
        Self { view, layout, anchors }
    }

    /// Which passage of the document a found passage is: by its number when the text has not
    /// changed, otherwise by its place.
    pub fn position(&self, found: &Passage) -> Option<usize> {
        let passages = &self.view.passages;
        let ordinal = found.chunk.ordinal as usize;
        if passages.get(ordinal).is_some_and(|(range, _)| *range == found.range) {
            return Some(ordinal);
        }
        passages.iter().position(|(range, _)| range.end > found.range.start)
    }

    /// First shown byte of a passage.
    pub fn anchor(&self, passage: usize) -> Option<usize> {
        self.anchors.get(passage).copied().flatten()
    }

    /// First shown byte of every passage.
    pub fn anchors(&self) -> impl Iterator<Item = usize> {
        self.anchors.iter().copied().flatten()
    }
}
