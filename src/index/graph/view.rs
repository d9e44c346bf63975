//! The parts of a graph's image as slices.

use half::f16;

use super::codes::CodeTable;
use super::plain::{cast, cast_mut};
use super::shape::{Part, Shape};
use crate::data::{ChunkKey, DocumentId};

/// Stands where a node has fewer neighbors than it could.
pub(super) const NO_NODE: u32 = u32::MAX;

/// What is walked. What it says may be damaged: whoever follows a link looks whether such a node exists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Web<'a> {
    pub shape: &'a Shape,
    pub links: &'a [u32],
    pub upper_links: &'a [u32],
    pub codes: CodeTable<'a>,
}

/// The parts of a graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub web: Web<'a>,
    pub documents: &'a [u64],
    pub ordinals: &'a [u32],
    pub by_key: &'a [u32],
    pub sorted_documents: &'a [u64],
    pub rows: &'a [f16],
}

/// The parts of a graph that is being written.
#[derive(Debug)]
pub(super) struct ViewMut<'a> {
    pub links: &'a mut [u32],
    pub upper_links: &'a mut [u32],
    pub codes: &'a mut [i8],
    pub documents: &'a mut [u64],
    pub ordinals: &'a mut [u32],
    pub by_key: &'a mut [u32],
    pub sorted_documents: &'a mut [u64],
    pub rows: &'a mut [f16],
}

impl<'a> Web<'a> {
    /// The neighbors of a node; the list ends where the first place is empty.
    #[inline]
    pub fn neighbors(&self, level: usize, node: u32) -> &'a [u32] {
        let places = self.places(level, node);
        let end = places.iter().position(|neighbor| *neighbor == NO_NODE);
        &places[..end.unwrap_or(places.len())]
    }

    /// Where the neighbors of a node stand, empty places and all.
    #[inline]
    pub fn places(&self, level: usize, node: u32) -> &'a [u32] {
        if level == 0 {
            &self.links[self.shape.links_at(node)]
        } else {
            &self.upper_links[self.shape.upper_links_at(level, node)]
        }
    }
}

impl<'a> View<'a> {
    /// `image` is page-aligned and as long as the shape says.
    pub fn new(shape: &'a Shape, image: &'a [u8]) -> Self {
        let part = |part| &image[shape.range(part)];
        let web = Web {
            shape,
            links: cast(part(Part::Links)),
            upper_links: cast(part(Part::UpperLinks)),
            codes: CodeTable::new(cast(part(Part::Codes)), shape.stride()),
        };
        Self {
            web,
            documents: cast(part(Part::Documents)),
            ordinals: cast(part(Part::Ordinals)),
            by_key: cast(part(Part::ByKey)),
            sorted_documents: cast(part(Part::SortedDocuments)),
            rows: cast(part(Part::Rows)),
        }
    }

    pub fn key(&self, node: u32) -> ChunkKey {
        let at = node as usize;
        ChunkKey {
            document: DocumentId::from_stored(self.documents[at]),
            ordinal: self.ordinals[at],
        }
    }

    pub fn row(&self, node: u32) -> &'a [f16] {
        let dim = self.web.shape.dim;
        &self.rows[node as usize * dim..(node as usize + 1) * dim]
    }

    /// The nodes of a document.
    pub fn nodes_of(&self, document: DocumentId) -> &'a [u32] {
        let number = document.get();
        let from = self.sorted_documents.partition_point(|other| *other < number);
        let rest = &self.sorted_documents[from..];
        let count = rest.iter().take_while(|other| **other == number).count();
        // Of a damaged file the nodes may not exist.
        let nodes = &self.by_key[from..from + count];
        if nodes.iter().all(|node| (*node as usize) < self.web.shape.nodes) { nodes } else { &[] }
    }

    /// The node of a passage.
    pub fn node_of(&self, key: ChunkKey) -> Option<u32> {
        let ordinal = |node: &u32| self.ordinals.get(*node as usize).copied();
        let of_document = self.nodes_of(key.document);
        of_document.iter().copied().find(|node| ordinal(node) == Some(key.ordinal))
    }
}

impl<'a> ViewMut<'a> {
    pub fn new(shape: &Shape, image: &'a mut [u8]) -> Self {
        let mut rest = image;
        let mut at = 0;
        let mut part = |part| {
            let range = shape.range(part);
            let (before, after) = std::mem::take(&mut rest).split_at_mut(range.end - at);
            rest = after;
            let start = range.start - at;
            at = range.end;
            &mut before[start..]
        };
        Self {
            links: cast_mut(part(Part::Links)),
            upper_links: cast_mut(part(Part::UpperLinks)),
            codes: cast_mut(part(Part::Codes)),
            documents: cast_mut(part(Part::Documents)),
            ordinals: cast_mut(part(Part::Ordinals)),
            by_key: cast_mut(part(Part::ByKey)),
            sorted_documents: cast_mut(part(Part::SortedDocuments)),
            rows: cast_mut(part(Part::Rows)),
        }
    }
}
