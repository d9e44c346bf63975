use std::ops::Range;
use std::sync::Arc;

use half::f16;

use super::kernel::Dot;
use crate::data::{ChunkKey, DocumentId};
use crate::index::PassageFilter;
use crate::index::top::Top;

/// Rows of some documents, end to end. Only which of the documents are alive ever changes, and that
/// on a copy of the flags.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    id: u64,
    data: Arc<SegmentData>,
    live: Arc<Vec<bool>>,
    live_rows: usize,
}

#[derive(Debug)]
struct SegmentData {
    dim: usize,
    rows: Vec<f16>,
    spans: Vec<Span>,
}

/// The rows of one document.
#[derive(Clone, Copy, Debug)]
struct Span {
    document: DocumentId,
    first: usize,
    rows: usize,
}

impl Segment {
    /// `documents` says how many numbers of `rows` belong to each. Of a document that is there
    /// twice the later rows are alive.
    pub fn new(id: u64, dim: usize, documents: &[(DocumentId, usize)], rows: Vec<f16>) -> Self {
        let mut spans = Vec::with_capacity(documents.len());
        let mut first = 0;
        for &(document, numbers) in documents {
            let rows = numbers / dim.max(1);
            spans.push(Span { document, first, rows });
            first += rows;
        }
        let mut seen = std::collections::HashSet::new();
        let mut live: Vec<bool> = spans.iter().rev().map(|s| seen.insert(s.document)).collect();
        live.reverse();
        Self::with_live(id, SegmentData { dim, rows, spans }, live)
    }

    /// The living rows of `segments` in one.
    pub fn merged(id: u64, dim: usize, segments: &[Self]) -> Self {
        let live_rows: usize = segments.iter().map(Self::live_rows).sum();
        let mut rows = Vec::with_capacity(live_rows * dim);
        let mut spans = Vec::new();
        for segment in segments {
            for (place, _) in segment.live_documents() {
                let span = segment.data.spans[place];
                let first = rows.len() / dim.max(1);
                rows.extend_from_slice(segment.data.rows_of(span));
                spans.push(Span { first, ..span });
            }
        }
        let live = vec![true; spans.len()];
        Self::with_live(id, SegmentData { dim, rows, spans }, live)
    }

    fn with_live(id: u64, data: SegmentData, live: Vec<bool>) -> Self {
        let alive = data.spans.iter().zip(&live).filter(|(_, live)| **live);
        let live_rows = alive.map(|(span, _)| span.rows).sum();
        Self { id, data: Arc::new(data), live: Arc::new(live), live_rows }
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn live_rows(&self) -> usize {
        self.live_rows
    }

    /// Rows that take up memory.
    pub fn rows(&self) -> usize {
        self.data.spans.iter().map(|span| span.rows).sum()
    }

    /// Whether more than a quarter of the memory is dead.
    pub fn is_wasteful(&self) -> bool {
        let rows = self.rows();
        rows - self.live_rows > rows / 4
    }

    pub fn kill(&mut self, place: usize) {
        let live = &mut Arc::make_mut(&mut self.live)[place];
        if std::mem::take(live) {
            self.live_rows -= self.data.spans[place].rows;
        }
    }

    pub fn live_documents(&self) -> impl Iterator<Item = (usize, DocumentId)> + '_ {
        let spans = self.data.spans.iter().enumerate();
        spans.filter(|(place, _)| self.live[*place]).map(|(place, span)| (place, span.document))
    }

    /// Every living document with its rows.
    pub fn documents(&self) -> impl Iterator<Item = (DocumentId, &[f16])> + '_ {
        let live = self.live_documents();
        live.map(|(place, document)| (document, self.data.rows_of(self.data.spans[place])))
    }

    /// Cuts the segment into pieces of about `rows` rows, at documents.
    pub fn stretches(&self, rows: usize) -> impl Iterator<Item = Stretch<'_>> + '_ {
        let mut from = 0;
        std::iter::from_fn(move || {
            let spans = &self.data.spans;
            let mut until = from;
            let mut taken = 0;
            while until < spans.len() && taken < rows {
                taken += spans[until].rows;
                until += 1;
            }
            let stretch = Stretch { segment: self, spans: from..until, rows: taken };
            from = until;
            (!stretch.spans.is_empty()).then_some(stretch)
        })
    }
}

impl SegmentData {
    fn rows_of(&self, span: Span) -> &[f16] {
        &self.rows[span.first * self.dim..(span.first + span.rows) * self.dim]
    }
}

/// A piece of a segment that one thread scans.
#[derive(Debug)]
pub(super) struct Stretch<'a> {
    segment: &'a Segment,
    spans: Range<usize>,
    rows: usize,
}

impl Stretch<'_> {
    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn scan(&self, dot: Dot, query: &[f32], filter: &PassageFilter, top: &mut Top<()>) {
        let data = &self.segment.data;
        for place in self.spans.clone() {
            let span = data.spans[place];
            if !self.segment.live[place] || !filter.allows_document(span.document) {
                continue;
            }
            for (ordinal, row) in data.rows_of(span).chunks_exact(data.dim.max(1)).enumerate() {
                let score = dot(query, row);
                if !top.wants(score) {
                    continue;
                }
                let key = ChunkKey { document: span.document, ordinal: ordinal as u32 };
                if filter.allows_passage(key) {
                    top.offer(score, key, ());
                }
            }
        }
    }
}
