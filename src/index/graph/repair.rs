//! Carries the links of a graph over to the next one without the nodes that are gone.
//!
//! A node that loses neighbors may take theirs: the candidates are the neighbors it keeps and those that
//! the lost ones had, and the diversity heuristic chooses among them. What led through a lost node leads
//! past it then.

use std::collections::HashSet;

use rayon::prelude::*;

use super::draft::Draft;
use super::insert::nearest_first;
use super::kernel::Dots;
use super::merge::Before;
use super::select::select;
use super::view::NO_NODE;

/// Nodes whose links are computed before they are written.
const STRETCH: usize = 16_384;

/// Writes the links of all nodes that stay; `numbers` says which number each has in the new graph.
/// Returns those that on the lowest level have lost everyone, or everyone who led to them, and are to be
/// inserted again; ascending.
pub(super) fn carry_over(
    before: &Before<'_>,
    numbers: &[u32],
    draft: &mut Draft,
    dots: Dots,
) -> Vec<u32> {
    let old = before.view.web.shape;
    let mut orphans = Vec::new();
    for level in 0..=old.top_level() {
        let on_level = if level == 0 { old.nodes } else { old.upper[level - 1] };
        let max = if level == 0 { draft.shape.m0() } else { draft.shape.m };
        for first in (0..on_level).step_by(STRETCH) {
            let nodes = first as u32..on_level.min(first + STRETCH) as u32;
            let nodes: Vec<u32> = nodes.filter(|n| numbers[*n as usize] != NO_NODE).collect();
            let repair = |node: &u32| neighbors(before, numbers, dots, (level, *node), max);
            let repaired: Vec<Vec<u32>> = nodes.par_iter().map(repair).collect();
            for (node, neighbors) in nodes.iter().zip(repaired) {
                let number = numbers[*node as usize];
                if neighbors.is_empty() && level == 0 {
                    orphans.push(number);
                }
                draft.set_neighbors(level, number, &neighbors);
            }
        }
    }
    orphans.extend(unreached(numbers, draft));
    orphans.sort_unstable();
    orphans.dedup();
    orphans
}

/// Those that no other node leads to any more on the lowest level: whoever led to them is gone.
fn unreached(numbers: &[u32], draft: &Draft) -> Vec<u32> {
    let staying = || numbers.iter().copied().filter(|number| *number != NO_NODE);
    let mut reached: HashSet<u32> = HashSet::new();
    for number in staying() {
        reached.extend(draft.web().neighbors(0, number));
    }
    staying().filter(|number| !reached.contains(number)).collect()
}

/// The neighbors of a node on a level by their new numbers.
fn neighbors(
    before: &Before<'_>,
    numbers: &[u32],
    dots: Dots,
    (level, node): (usize, u32),
    max: usize,
) -> Vec<u32> {
    let web = &before.view.web;
    let number = |node: &u32| numbers.get(*node as usize).copied().unwrap_or(NO_NODE);
    let is_alive = |node: &u32| number(node) != NO_NODE;
    let exists = |node: &u32| (*node as usize) < web.shape.nodes;
    let linked = web.neighbors(level, node);
    let mut kept: Vec<u32> = linked.iter().copied().filter(is_alive).collect();
    if kept.len() < linked.len() {
        let lost = linked.iter().copied().filter(|n| exists(n) && !is_alive(n));
        let theirs: Vec<u32> = lost.flat_map(|lost| web.neighbors(level, lost)).copied().collect();
        kept.extend(theirs.into_iter().filter(|other| is_alive(other) && *other != node));
        kept.sort_unstable();
        kept.dedup();
        let (mut scratch, mut sorted) = (Vec::new(), Vec::new());
        nearest_first(web.codes, dots, node, &kept, &mut scratch, &mut sorted);
        select(web.codes, dots, &sorted, max, &mut kept);
    }
    kept.iter().map(number).collect()
}
