//! One search: how a filter is met, the walk, and the exact comparison of what it found.
//!
//! Few allowed passages are scanned. Otherwise the walk keeps more nodes the fewer of them are allowed, and
//! goes over nodes that are not allowed like over any other. If it still meets too few, because what is
//! allowed lies far from the query, the allowed are scanned after all: a filter can cost time, never
//! recall.

use super::walk::Walk;
use super::{Graph, codes, kernel};
use crate::index::PassageFilter;
use crate::index::bits::Bits;
use crate::index::filter::Listed;
use crate::index::top::Top;

/// Nodes that a walk keeps at least, for what `docs/vector-index.md` measured as recall.
const EF_MIN: usize = 320;

/// Nodes that a walk keeps for each passage that is wanted, beyond which recall hardly grows.
const EF_PER_PASSAGE: usize = 3;

/// Passages that are compared exactly beyond those wanted: rounding to int8 moves a passage by a few
/// places in the order of a walk.
const RESCORED_BEYOND: usize = 40;

/// Distances that a walk computes for each node that it keeps.
const DISTANCES_PER_KEPT: f64 = 6.0;

/// What a distance costs while walking, in rows scanned one after another; measured by
/// `benches/vector_search.rs`.
const ROWS_PER_DISTANCE: f64 = 2.0;

/// Nodes by which the share of allowed ones is estimated.
const SAMPLE: usize = 1_024;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct Wanted<'a> {
    pub query: &'a [f32],
    pub filter: &'a PassageFilter,
    /// Nodes that are no more.
    pub dead: &'a Bits,
    /// Nodes that the walk keeps if everything is allowed; `None` for what recall needs.
    pub ef: Option<usize>,
}

/// What one search at a time uses; used again for the next.
#[derive(Debug, Default)]
pub(super) struct Finder {
    walk: Walk,
    code: Vec<i8>,
}

/// How to meet a filter.
#[derive(Debug, PartialEq)]
enum Plan {
    /// These nodes are all that may be found.
    Scan(Vec<u32>),
    /// Keep this many while walking.
    Walk { ef: usize },
    /// Too few are allowed to walk, too many to have listed them.
    ScanAll,
}

impl Graph {
    /// Offers `top`, which keeps `limit`, the passages nearest to a query.
    pub fn search(&self, wanted: &Wanted<'_>, limit: usize, top: &mut Top<()>) {
        if limit == 0 || self.shape.nodes == wanted.dead.ones() {
            return;
        }
        match self.plan(wanted, limit) {
            Plan::Scan(nodes) => self.compare(wanted, &nodes, top),
            Plan::ScanAll => self.scan_all(wanted, top),
            Plan::Walk { ef } => self.walk(wanted, ef, limit, top),
        }
    }

    fn walk(&self, wanted: &Wanted<'_>, ef: usize, limit: usize, top: &mut Top<()>) {
        let mut finder = self.finders().pop().unwrap_or_default();
        let Finder { walk, code } = &mut finder;
        let view = self.view();
        codes::encode_query(wanted.query, code);
        let entry = walk.descend(&view, self.dots, code, 0, 0);
        walk.search(&view, self.dots, code, (0, &[entry]), ef);
        let nodes = walk.pool.iter().map(|near| near.node());
        let nodes: Vec<u32> = if wanted.filter.is_all() {
            nodes.filter(|node| !wanted.dead.has(*node)).take(limit + RESCORED_BEYOND).collect()
        } else {
            nodes.filter(|n| self.is_allowed(wanted, *n)).take(limit + RESCORED_BEYOND).collect()
        };
        self.finders().push(finder);
        let alive = self.shape.nodes - wanted.dead.ones();
        if nodes.len() >= limit.min(alive) {
            self.compare(wanted, &nodes, top);
        } else {
            self.scan_all(wanted, top);
        }
    }

    fn plan(&self, wanted: &Wanted<'_>, limit: usize) -> Plan {
        let view = self.view();
        let nodes = self.shape.nodes;
        let is_alive = |node: &u32| !wanted.dead.has(*node);
        let ef = wanted.ef.unwrap_or(EF_MIN.max(limit * EF_PER_PASSAGE)).max(limit);
        // Looking a document up takes about as long as reading so many keys in a row.
        const KEYS_PER_LOOKUP: usize = 32;
        let listed: Option<Vec<u32>> = match wanted.filter.listed() {
            Listed::Passages(keys) if keys.len() * KEYS_PER_LOOKUP < nodes => {
                Some(keys.iter().filter_map(|key| view.node_of(*key)).filter(is_alive).collect())
            }
            Listed::Documents(documents) if documents.len() * KEYS_PER_LOOKUP < nodes => {
                let documents = documents.iter().filter(|d| wanted.filter.allows_document(**d));
                let nodes = documents.flat_map(|document| view.nodes_of(*document)).copied();
                Some(nodes.filter(is_alive).collect())
            }
            _ => None,
        };
        let share = match &listed {
            Some(listed) => listed.len() as f64 / nodes as f64,
            None if wanted.filter.is_all() => 1.0 - wanted.dead.ones() as f64 / nodes as f64,
            None => self.share_allowed(wanted),
        };
        let kept = (ef as f64 / share.max(1.0 / nodes as f64)).ceil();
        let walk_rows = kept * DISTANCES_PER_KEPT * ROWS_PER_DISTANCE;
        if share * nodes as f64 > walk_rows && kept < nodes as f64 {
            return Plan::Walk { ef: kept as usize };
        }
        listed.map_or(Plan::ScanAll, Plan::Scan)
    }

    /// The share of nodes that are alive and allowed, by a sample spread evenly.
    fn share_allowed(&self, wanted: &Wanted<'_>) -> f64 {
        let step = (self.shape.nodes / SAMPLE).max(1);
        let sample = (0..self.shape.nodes as u32).step_by(step);
        let of = sample.len();
        sample.filter(|node| self.is_allowed(wanted, *node)).count() as f64 / of as f64
    }

    fn is_allowed(&self, wanted: &Wanted<'_>, node: u32) -> bool {
        !wanted.dead.has(node) && wanted.filter.allows(self.view().key(node))
    }

    fn scan_all(&self, wanted: &Wanted<'_>, top: &mut Top<()>) {
        let nodes = 0..self.shape.nodes as u32;
        let allowed: Vec<u32> = nodes.filter(|node| self.is_allowed(wanted, *node)).collect();
        self.compare(wanted, &allowed, top);
    }

    /// Compares nodes with the query by their rows.
    fn compare(&self, wanted: &Wanted<'_>, nodes: &[u32], top: &mut Top<()>) {
        const AHEAD: usize = 2;
        let view = self.view();
        for (at, node) in nodes.iter().enumerate() {
            if let Some(later) = nodes.get(at + AHEAD) {
                kernel::prefetch(view.row(*later));
            }
            let score = (self.dot)(wanted.query, view.row(*node));
            if top.wants(score) {
                top.offer(score, view.key(*node), ());
            }
        }
    }
}
