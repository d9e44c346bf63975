//! A graph of small worlds that finds near vectors without looking at all of them: HNSW, after Malkov and
//! Yashunin (2018).
//!
//! A [`Graph`] never changes. What comes after it is scanned beside it until [`Graph::merged`] makes the
//! next one from both (`super::hnsw`). Walks compare int8 codes; what they find is compared again by the
//! stored rows with the kernel of the scan, so a passage has one score wherever it was found.

mod codes;
mod draft;
mod file;
mod find;
mod image;
mod insert;
mod kernel;
mod merge;
mod near;
mod order;
mod plain;
mod repair;
mod select;
mod shape;
mod view;
mod walk;

use std::sync::{Mutex, MutexGuard, PoisonError};

use half::f16;

pub use self::file::{VectorFileError, VectorOrigin};
use self::find::Finder;
pub(super) use self::find::Wanted;
use self::image::Image;
use self::kernel::Dots;
use self::merge::Before;
pub(super) use self::merge::Row;
use self::shape::Shape;
use self::view::View;
use super::bits::Bits;
use super::exact::{self, Dot};
use crate::data::{ChunkKey, DocumentId};
use crate::platform::Simd;

/// What decides a graph, besides the passages.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GraphOptions {
    pub dim: usize,
    /// Neighbors of a node; twice as many on the lowest level.
    pub m: usize,
    /// Candidates that a node's neighbors are chosen from.
    pub ef_construction: usize,
    pub seed: u64,
    pub simd: Simd,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum GraphError {
    #[error("no memory for the vector index: {0}")]
    Memory(#[source] std::io::Error),
    #[error("{nodes} passages are more than a vector index can hold")]
    TooLarge { nodes: usize },
}

#[derive(Debug)]
pub(super) struct Graph {
    shape: Shape,
    scale: f32,
    image: Image,
    dots: Dots,
    dot: Dot,
    /// For the searches to come.
    finders: Mutex<Vec<Finder>>,
}

fn check_size(shape: &Shape) -> Result<(), GraphError> {
    if shape.nodes > near::NODES_MAX {
        return Err(GraphError::TooLarge { nodes: shape.nodes });
    }
    Ok(())
}

impl Graph {
    /// The graph of `rows` and of what is alive of `before`; `None` when `is_cancelled`.
    ///
    /// The result depends on the rows, the options and `before` alone, not on the number of threads of
    /// the pool that this runs in.
    pub fn merged(
        before: Option<(&Self, &Bits)>,
        rows: Vec<Row<'_>>,
        options: &GraphOptions,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Self>, GraphError> {
        let before =
            before.map(|(graph, dead)| Before { view: graph.view(), scale: graph.scale, dead });
        let made = merge::merge(before, rows, options, kernel::dots(options.simd), is_cancelled)?;
        Ok(made
            .map(|made| Self::new(made.shape, made.scale, Image::Memory(made.image), options.simd)))
    }

    fn new(shape: Shape, scale: f32, image: Image, simd: Simd) -> Self {
        let (dots, dot) = (kernel::dots(simd), exact::dot(simd));
        Self { shape, scale, image, dots, dot, finders: Mutex::default() }
    }

    fn view(&self) -> View<'_> {
        View::new(&self.shape, &self.image)
    }

    /// Passages, those that have died since included.
    pub fn len(&self) -> usize {
        self.shape.nodes
    }

    /// The passage of a node.
    pub fn key(&self, node: u32) -> ChunkKey {
        self.view().key(node)
    }

    /// The nodes of a document.
    pub fn nodes_of(&self, document: DocumentId) -> &[u32] {
        self.view().nodes_of(document)
    }

    /// The nodes of one document after the other.
    pub fn documents(&self) -> impl Iterator<Item = &[u32]> {
        let view = self.view();
        view.by_key.chunk_by(move |a, b| view.key(*a).document == view.key(*b).document)
    }

    /// The vector of a node.
    pub fn row(&self, node: u32) -> &[f16] {
        self.view().row(node)
    }

    /// Bytes in memory or on disk.
    pub fn bytes(&self) -> usize {
        self.shape.len()
    }

    fn finders(&self) -> MutexGuard<'_, Vec<Finder>> {
        self.finders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
