//! One search: how a filter is met, the walk, and the exact comparison of what it found.
//!
//! Few allowed passages are scanned. Otherwise the walk keeps more nodes the fewer of them are allowed, and
//! goes over nodes that are not allowed like over any other. If it still meets too few, because what is
//! allowed lies far from the query, the allowed are scanned after all: a filter can cost time, never
//! recall.

use super::view::View;
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

/// What things cost, in rows that are compared one after the other; measured by
/// `benches/vector_search.rs`.
mod cost {
    /// A node that a walk keeps.
    pub const KEPT: f64 = 6.0;
    /// Finding the nodes of one document or passage.
    pub const LOOKUP: f64 = 3.0;
    /// Asking a filter about one node.
    pub const CHECK: f64 = 0.5;
}

/// Nodes by which the share of allowed ones is estimated. A list of as many is looked up at once.
const SAMPLE: usize = 256;

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

impl Wanted<'_> {
    #[inline]
    fn allows(&self, view: &View<'_>, node: u32) -> bool {
        !self.dead.has(node) && (self.filter.is_all() || self.filter.allows(view.key(node)))
    }

    /// All nodes that are allowed, found by the filter's list.
    fn listed(&self, view: &View<'_>) -> Vec<u32> {
        let mut nodes: Vec<u32> = match self.filter.listed() {
            Listed::Nothing => Vec::new(),
            Listed::Passages(keys) => keys.iter().filter_map(|key| view.node_of(*key)).collect(),
            Listed::Documents(documents) => {
                documents.iter().flat_map(|document| view.nodes_of(*document)).copied().collect()
            }
        };
        nodes.retain(|node| self.allows(view, *node));
        nodes
    }
}

/// What one search at a time uses; used again for the next.
#[derive(Debug, Default)]
pub(super) struct Finder {
    walk: Walk,
    code: Vec<i8>,
    met: Vec<u32>,
}

/// How to meet a filter.
#[derive(Debug, PartialEq)]
enum Plan {
    /// Compare all that is allowed: these, or, where it is shorter to ask about every node, those.
    Scan(Option<Vec<u32>>),
    /// Keep this many while walking.
    Walk { ef: usize },
}

impl Graph {
    /// Offers `top`, which keeps `limit`, the passages nearest to a query.
    pub fn search(&self, wanted: &Wanted<'_>, limit: usize, top: &mut Top<()>) {
        if limit == 0 || self.shape.nodes == wanted.dead.ones() {
            return;
        }
        let view = self.view();
        match self.plan(&view, wanted, limit) {
            Plan::Walk { ef } => self.walk(&view, wanted, ef, limit, top),
            Plan::Scan(Some(nodes)) => self.compare(&view, wanted, &nodes, top),
            Plan::Scan(None) => self.scan(&view, wanted, top),
        }
    }

    fn walk(
        &self,
        view: &View<'_>,
        wanted: &Wanted<'_>,
        ef: usize,
        limit: usize,
        top: &mut Top<()>,
    ) {
        let mut finder = self.finders().pop().unwrap_or_default();
        let Finder { walk, code, met } = &mut finder;
        codes::encode_query(wanted.query, code);
        let entry = walk.descend(&view.web, self.dots, code, 0, 0);
        walk.search(&view.web, self.dots, code, (0, &[entry]), ef);
        met.clear();
        let allowed = walk.pool.iter().map(|near| near.node()).filter(|n| wanted.allows(view, *n));
        met.extend(allowed);
        // What is allowed lies as near to the query as anything else if about as many were met as
        // without a filter. Fewer stand at the rim of the walk, where it misses most.
        let expected = self.kept(wanted, limit).min(self.shape.nodes - wanted.dead.ones());
        if met.len() >= limit.min(expected).max(expected / 2) {
            met.truncate(limit + RESCORED_BEYOND);
            self.compare(view, wanted, met, top);
        } else {
            self.scan(view, wanted, top);
        }
        self.finders().push(finder);
    }

    fn plan(&self, view: &View<'_>, wanted: &Wanted<'_>, limit: usize) -> Plan {
        let nodes = self.shape.nodes as f64;
        let names = wanted.filter.listed().len().unwrap_or(usize::MAX);
        let is_short = names as f64 * cost::LOOKUP < nodes * cost::CHECK;
        if names <= SAMPLE && is_short {
            let listed = wanted.listed(view);
            let few = listed.len() as f64;
            return match self.ef(wanted, limit, few / nodes) {
                ef if few < ef as f64 * cost::KEPT => Plan::Scan(Some(listed)),
                ef => Plan::Walk { ef },
            };
        }
        let share = if wanted.filter.is_all() {
            1.0 - wanted.dead.ones() as f64 / nodes
        } else {
            self.share_allowed(view, wanted)
        };
        let finding = if is_short { names as f64 * cost::LOOKUP } else { nodes * cost::CHECK };
        match self.ef(wanted, limit, share) {
            ef if finding + share * nodes > ef as f64 * cost::KEPT => Plan::Walk { ef },
            _ if is_short => Plan::Scan(Some(wanted.listed(view))),
            _ => Plan::Scan(None),
        }
    }

    /// Nodes to keep, so that as many allowed ones are met as without a filter.
    fn ef(&self, wanted: &Wanted<'_>, limit: usize, share: f64) -> usize {
        let ef = self.kept(wanted, limit);
        // As a float it cannot overflow, and the cast back saturates.
        (ef as f64 / share.max(0.5 / self.shape.nodes as f64)).ceil() as usize
    }

    /// Nodes to keep when everything is allowed.
    fn kept(&self, wanted: &Wanted<'_>, limit: usize) -> usize {
        let for_recall = EF_MIN.max(limit.saturating_mul(EF_PER_PASSAGE));
        wanted.ef.unwrap_or(for_recall).max(limit).min(self.shape.nodes)
    }

    /// The share of nodes that are alive and allowed, by a sample spread evenly.
    fn share_allowed(&self, view: &View<'_>, wanted: &Wanted<'_>) -> f64 {
        let step = (self.shape.nodes / SAMPLE).max(1);
        let sample = (0..self.shape.nodes as u32).step_by(step);
        let of = sample.len() as f64;
        sample.filter(|node| wanted.allows(view, *node)).count() as f64 / of
    }

    /// Compares all that is allowed.
    fn scan(&self, view: &View<'_>, wanted: &Wanted<'_>, top: &mut Top<()>) {
        let nodes = 0..self.shape.nodes as u32;
        let allowed: Vec<u32> = nodes.filter(|node| wanted.allows(view, *node)).collect();
        self.compare(view, wanted, &allowed, top);
    }

    /// Compares nodes with the query by their rows.
    fn compare(&self, view: &View<'_>, wanted: &Wanted<'_>, nodes: &[u32], top: &mut Top<()>) {
        const AHEAD: usize = 2;
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
