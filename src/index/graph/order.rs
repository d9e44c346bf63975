//! Numbers nodes so that neighbors lie near each other in memory.

use std::io;

use memmap2::MmapMut;
use rayon::prelude::*;

use super::draft::Draft;
use super::image;
use super::merge::Row;
use super::view::{NO_NODE, ViewMut, Web};
use crate::data::ChunkKey;

/// The image of a graph, its nodes numbered anew in the order in which a search from node to node in
/// breadth meets them; a level keeps its numbers. `row_of` gives the passage of a node of the draft.
pub(super) fn laid_out<'a>(
    draft: &Draft,
    row_of: impl Fn(u32) -> Row<'a> + Sync,
) -> io::Result<MmapMut> {
    let (from, shape) = (draft.web(), &draft.shape);
    let old = in_breadth(&from);
    let mut new = vec![0; old.len()];
    for (number, node) in old.iter().enumerate() {
        new[*node as usize] = number as u32;
    }
    let mut image = image::memory(shape.len())?;
    let to = ViewMut::new(shape, &mut image);
    let renumbered = |places: &mut [u32], old: &[u32]| {
        for (place, neighbor) in places.iter_mut().zip(old) {
            *place = new.get(*neighbor as usize).copied().unwrap_or(NO_NODE);
        }
    };
    let places = to.links.par_chunks_exact_mut(shape.m0());
    places.zip(&old).for_each(|(places, node)| renumbered(places, from.places(0, *node)));
    for level in 1..=shape.top_level() {
        for (number, node) in old[..shape.upper[level - 1]].iter().enumerate() {
            let places = &mut to.upper_links[shape.upper_links_at(level, number as u32)];
            renumbered(places, from.places(level, *node));
        }
    }
    let codes = to.codes.par_chunks_exact_mut(shape.stride());
    codes.zip(&old).for_each(|(code, node)| code.copy_from_slice(from.codes.of(*node)));
    let rows = to.rows.par_chunks_exact_mut(shape.dim);
    rows.zip(&old).for_each(|(row, node)| row.copy_from_slice(row_of(*node).values));
    for (at, node) in old.iter().enumerate() {
        let ChunkKey { document, ordinal } = row_of(*node).key;
        (to.documents[at], to.ordinals[at]) = (document.get(), ordinal);
    }
    let (documents, ordinals) = (&to.documents, &to.ordinals);
    to.by_key.iter_mut().zip(0..).for_each(|(place, node)| *place = node);
    to.by_key.par_sort_unstable_by_key(|n| (documents[*n as usize], ordinals[*n as usize]));
    for (place, node) in to.sorted_documents.iter_mut().zip(&*to.by_key) {
        *place = documents[*node as usize];
    }
    Ok(image)
}

/// The nodes of level 0 in breadth, those of higher levels first.
fn in_breadth(graph: &Web<'_>) -> Vec<u32> {
    let nodes = graph.shape.nodes;
    let mut met = vec![false; nodes];
    let mut order = Vec::with_capacity(nodes);
    for start in 0..nodes as u32 {
        let mut next = order.len();
        if !std::mem::replace(&mut met[start as usize], true) {
            order.push(start);
        }
        while let Some(node) = order.get(next).copied() {
            next += 1;
            for neighbor in graph.neighbors(0, node) {
                if !std::mem::replace(&mut met[*neighbor as usize], true) {
                    order.push(*neighbor);
                }
            }
        }
    }
    // Sorting by level keeps the order within each.
    order.sort_by_key(|node| std::cmp::Reverse(graph.shape.level_of(*node)));
    order
}
