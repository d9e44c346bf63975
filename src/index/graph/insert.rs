//! Insertion, the paper's Algorithm 1, a batch of nodes at a time.
//!
//! The nodes of a batch look for neighbors in the graph as it was before the batch, and among each other;
//! then all links are made. So they can look on any number of threads at once, without locks, and the graph
//! that comes out is the same for every number.

use rayon::prelude::*;

use super::codes::CodeTable;
use super::draft::Draft;
use super::kernel::Dots;
use super::near::Near;
use super::select::select;
use super::walk::Walk;

/// Nodes that are inserted at once at most. They compare each other pair by pair, which at this number
/// costs a twentieth of their walks.
const BATCH_MAX: usize = 256;

/// The first batch, which has no graph to walk.
const BATCH_MIN: usize = 32;

#[derive(Debug)]
pub(super) struct Inserter {
    pub draft: Draft,
    pub dots: Dots,
    pub ef_construction: usize,
    /// The lowest node that has its links: no other is on a higher level.
    pub entry: Option<u32>,
    /// Nodes that have their links.
    pub linked: usize,
}

/// The neighbors that a node found on a level.
#[derive(Debug)]
struct Found {
    level: usize,
    node: u32,
    neighbors: Vec<u32>,
}

/// A neighbor that is to be told of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Back {
    level: usize,
    to: u32,
    from: u32,
}

/// What a thread keeps from node to node.
#[derive(Debug, Default)]
struct Bench {
    walk: Walk,
    peers: Vec<Near>,
    dots: Vec<i32>,
}

impl Inserter {
    /// Inserts `nodes`, which stand in ascending order, until `is_cancelled`. Returns whether it is done.
    pub fn insert(&mut self, mut nodes: &[u32], is_cancelled: impl Fn() -> bool) -> bool {
        while !nodes.is_empty() {
            if is_cancelled() {
                return false;
            }
            let size = (self.linked / 8).clamp(BATCH_MIN, BATCH_MAX).min(nodes.len());
            let (batch, rest) = nodes.split_at(size);
            self.insert_batch(batch);
            nodes = rest;
        }
        true
    }

    fn insert_batch(&mut self, batch: &[u32]) {
        let this = &*self;
        let found: Vec<Vec<Found>> = batch
            .par_iter()
            .map_init(Bench::default, |bench, node| this.find(bench, *node, batch))
            .collect();
        let mut back = Vec::new();
        for Found { level, node, neighbors } in found.into_iter().flatten() {
            let told = neighbors.iter().map(|to| Back { level, to: *to, from: node });
            back.extend(told);
            self.draft.set_neighbors(level, node, &neighbors);
        }
        self.linked += batch.len();
        self.entry = self.entry.into_iter().chain(batch.first().copied()).min();
        back.par_sort_unstable();
        let by_neighbor: Vec<&[Back]> =
            back.chunk_by(|a, b| (a.level, a.to) == (b.level, b.to)).collect();
        let this = &*self;
        let told: Vec<Option<Vec<u32>>> = by_neighbor
            .par_iter()
            .map_init(Bench::default, |bench, from| this.with_back(bench, from))
            .collect();
        for (back, neighbors) in by_neighbor.iter().zip(told) {
            let Back { level, to, .. } = back[0];
            if let Some(neighbors) = neighbors {
                self.draft.set_neighbors(level, to, &neighbors);
            }
        }
    }

    /// The neighbors of a node on each of its levels, from the graph and from its batch.
    fn find(&self, bench: &mut Bench, node: u32, batch: &[u32]) -> Vec<Found> {
        let web = self.draft.web();
        let code = web.codes.of(node);
        let top = web.shape.level_of(node);
        bench.dots.resize(batch.len(), 0);
        (self.dots)(code, web.codes, batch, &mut bench.dots);
        let mut entries = Vec::new();
        let mut levels = Vec::with_capacity(top + 1);
        for level in (0..=top).rev() {
            bench.peers.clear();
            let peers = batch
                .iter()
                .zip(&bench.dots)
                .filter(|(peer, _)| **peer != node && web.shape.level_of(**peer) >= level);
            bench.peers.extend(peers.map(|(peer, dot)| Near::new(*dot, *peer)));
            bench.walk.pool.clear();
            if let Some(entry) = self.entry.filter(|entry| web.shape.level_of(*entry) >= level) {
                if entries.is_empty() {
                    entries.push(bench.walk.descend(&web, self.dots, code, entry, level));
                }
                let from = (level, entries.as_slice());
                bench.walk.search(&web, self.dots, code, from, self.ef_construction);
                entries.clear();
                entries.extend(bench.walk.pool.iter().map(|near| near.node()));
                bench.peers.extend(bench.walk.pool.iter().copied());
            }
            // A node that is being moved finds itself.
            bench.peers.retain(|near| near.node() != node);
            bench.peers.sort_unstable_by_key(|near| (near.distance(), near.node()));
            bench.peers.truncate(self.ef_construction);
            let mut neighbors = Vec::with_capacity(web.shape.m);
            select(web.codes, self.dots, &bench.peers, web.shape.m, &mut neighbors);
            levels.push(Found { level, node, neighbors });
        }
        levels
    }

    /// The neighbors of a node with those that chose it; `None` when they are what they were.
    fn with_back(&self, bench: &mut Bench, back: &[Back]) -> Option<Vec<u32>> {
        let web = self.draft.web();
        let Back { level, to, .. } = back[0];
        let mut neighbors = web.neighbors(level, to).to_vec();
        let before = neighbors.len();
        for Back { from, .. } in back {
            if !neighbors[..before].contains(from) {
                neighbors.push(*from);
            }
        }
        let max = if level == 0 { web.shape.m0() } else { web.shape.m };
        if neighbors.len() > max {
            bench.peers.clear();
            nearest_first(web.codes, self.dots, to, &neighbors, &mut bench.dots, &mut bench.peers);
            select(web.codes, self.dots, &bench.peers, max, &mut neighbors);
        } else if neighbors.len() == before {
            return None;
        }
        Some(neighbors)
    }
}

/// Sorts `nodes` by how near they are to `node`.
pub(super) fn nearest_first(
    codes: CodeTable<'_>,
    dots: Dots,
    node: u32,
    nodes: &[u32],
    scratch: &mut Vec<i32>,
    sorted: &mut Vec<Near>,
) {
    scratch.resize(nodes.len(), 0);
    dots(codes.of(node), codes, nodes, scratch);
    sorted.extend(nodes.iter().zip(scratch).map(|(node, dot)| Near::new(*dot, *node)));
    sorted.sort_unstable();
}
