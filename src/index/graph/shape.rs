//! Which parts the image of a graph has, and where they lie.
//!
//! A graph in memory is the file as it lies on disk, so opening one is a mapping and nothing is parsed.
//! Nodes are numbered by level, highest first: the nodes of a level are then the numbers below a count,
//! and no level needs a table of who is on it.

use std::ops::Range;

/// Each part begins at a page.
pub(super) const PAGE: usize = 4_096;

/// Levels above the lowest; a graph of 16^16 nodes would need more.
pub(super) const LEVELS_MAX: usize = 16;

/// Sizes of a graph; they decide where everything is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Components of a vector.
    pub dim: usize,
    /// Neighbors of a node on an upper level at most; on the lowest twice as many.
    pub m: usize,
    /// Nodes on level 1, 2 and so on.
    pub upper: Vec<usize>,
    /// Nodes on level 0, which is all.
    pub nodes: usize,
}

/// The parts of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `u32`, [`Shape::m0`] a node.
    Links,
    /// `u32`, `m` a node of level 1, then of level 2 and so on.
    UpperLinks,
    /// `i8`, one code a node.
    Codes,
    /// `u64`, the document of a node.
    Documents,
    /// `u32`, the ordinal of a node's passage in its document.
    Ordinals,
    /// `u32`, nodes in the order of their keys.
    ByKey,
    /// `u64`, the documents in that order: where a document is looked up.
    SortedDocuments,
    /// binary16, the vector of a node.
    Rows,
}

impl Part {
    pub const ALL: [Self; 8] = [
        Self::Links,
        Self::UpperLinks,
        Self::Codes,
        Self::Documents,
        Self::Ordinals,
        Self::ByKey,
        Self::SortedDocuments,
        Self::Rows,
    ];
}

impl Shape {
    /// Neighbors of a node on the lowest level at most.
    pub fn m0(&self) -> usize {
        2 * self.m
    }

    /// Bytes of a code.
    pub fn stride(&self) -> usize {
        super::codes::code_len(self.dim)
    }

    /// The highest level on which `node` is.
    pub fn level_of(&self, node: u32) -> usize {
        self.upper.iter().take_while(|count| (node as usize) < **count).count()
    }

    pub fn top_level(&self) -> usize {
        self.upper.len()
    }

    /// Where the neighbors of `node` are among those of level 0.
    #[inline]
    pub fn links_at(&self, node: u32) -> Range<usize> {
        let at = node as usize * self.m0();
        at..at + self.m0()
    }

    /// Where the neighbors of `node` on `level` are among those of the upper levels.
    pub fn upper_links_at(&self, level: usize, node: u32) -> Range<usize> {
        let before: usize = self.upper[..level - 1].iter().sum();
        let at = (before + node as usize) * self.m;
        at..at + self.m
    }

    fn part_len(&self, part: Part) -> usize {
        match part {
            Part::Links => self.nodes * self.m0() * 4,
            Part::UpperLinks => self.upper.iter().sum::<usize>() * self.m * 4,
            Part::Codes => self.nodes * self.stride(),
            Part::Documents | Part::SortedDocuments => self.nodes * 8,
            Part::Ordinals | Part::ByKey => self.nodes * 4,
            Part::Rows => self.nodes * self.dim * 2,
        }
    }

    /// Where `part` lies in the image.
    pub fn range(&self, part: Part) -> Range<usize> {
        let before = Part::ALL.into_iter().take_while(|earlier| *earlier != part);
        let start = PAGE + before.map(|p| self.part_len(p).next_multiple_of(PAGE)).sum::<usize>();
        start..start + self.part_len(part)
    }

    /// The same with what pads it to a page.
    pub fn padded(&self, part: Part) -> Range<usize> {
        let Range { start, end } = self.range(part);
        start..end.next_multiple_of(PAGE)
    }

    /// Bytes of the image, header included.
    pub fn len(&self) -> usize {
        self.padded(Part::Rows).end
    }
}
