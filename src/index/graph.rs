//! A graph of small worlds that finds near vectors without looking at all of them: HNSW, after Malkov and
//! Yashunin (2018).
//!
//! A [`Graph`] never changes. What comes after it is scanned beside it until [`Graph::merged`] makes the
//! next one from both (`super::hnsw`). Walks compare int8 codes; what they find is compared again by the
//! stored rows with the kernel of the scan, so a passage has one score wherever it was found.

mod codes;
mod image;
mod insert;
mod kernel;
mod merge;
mod near;
mod order;
mod repair;
mod select;
mod shape;
mod view;
mod walk;

use std::sync::{Mutex, PoisonError};

use self::image::Image;
use self::kernel::Dots;
use self::merge::Before;
pub(super) use self::merge::Row;
use self::shape::Shape;
use self::view::View;
use self::walk::Walk;
use super::bits::Bits;
use super::exact::Dot;
use super::top::Top;
use super::{PassageFilter, Simd};

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
    walks: Mutex<Vec<Walker>>,
}

/// What one search at a time uses.
#[derive(Debug, Default)]
struct Walker {
    walk: Walk,
    query: Vec<i8>,
}

/// How a search walks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Nodes that are kept while walking.
    pub ef: usize,
    /// How many of them are compared again exactly.
    pub rescored: usize,
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
        Ok(made.map(|made| Self::new(made.shape, made.scale, Image::Memory(made.image), options.simd)))
    }

    fn new(shape: Shape, scale: f32, image: Image, simd: Simd) -> Self {
        let (dots, dot) = (kernel::dots(simd), simd.dot());
        Self { shape, scale, image, dots, dot, walks: Mutex::default() }
    }

    fn view(&self) -> View<'_> {
        View::new(&self.shape, &self.image)
    }

    /// Passages, those that have died since included.
    pub fn len(&self) -> usize {
        self.shape.nodes
    }

    /// Bytes in memory or on disk.
    pub fn bytes(&self) -> usize {
        self.shape.len()
    }

    /// Offers `top` the passages near to `query`.
    pub fn search(&self, query: &[f32], effort: Effort, top: &mut Top<()>) -> usize {
        if self.shape.nodes == 0 {
            return 0;
        }
        let view = self.view();
        let mut walker = self.walks().pop().unwrap_or_default();
        codes::encode_query(query, &mut walker.query);
        let Walker { walk, query: code } = &mut walker;
        let entry = walk.descend(&view, self.dots, code, 0, 0);
        walk.search(&view, self.dots, code, (0, &[entry]), effort.ef);
        let again = &walk.pool[..walk.pool.len().min(effort.rescored)];
        for (at, near) in again.iter().enumerate() {
            if let Some(later) = again.get(at + 2) {
                kernel::prefetch(view.row(later.node()));
            }
            top.offer((self.dot)(query, view.row(near.node())), view.key(near.node()), ());
        }
        let distances = walker.walk.distances;
        walker.walk.distances = 0;
        self.walks().push(walker);
        distances
    }

    fn walks(&self) -> std::sync::MutexGuard<'_, Vec<Walker>> {
        self.walks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
