//! The next graph from the one before and what came and went since.
//!
//! Nodes that went leave the graph for good: their neighbors are connected with each other first
//! ([`super::repair`]). Nodes that came are inserted. When most of the graph would be new it is made from
//! scratch, which also chooses the scale of the codes anew.

use half::f16;
use rayon::prelude::*;

use super::codes;
use super::draft::Draft;
use super::insert::Inserter;
use super::kernel::Dots;
use super::shape::{LEVELS_MAX, Shape};
use super::view::{NO_NODE, View};
use super::{GraphError, GraphOptions, order, repair};
use crate::data::ChunkKey;
use crate::index::bits::Bits;

/// A passage that is to be found.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct Row<'a> {
    pub key: ChunkKey,
    pub values: &'a [f16],
}

/// The graph before, and which of its nodes are no more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before<'a> {
    pub view: View<'a>,
    pub scale: f32,
    pub dead: &'a Bits,
}

/// What was made.
#[derive(Debug)]
pub(super) struct Made {
    pub shape: Shape,
    pub scale: f32,
    pub image: memmap2::MmapMut,
}

/// Where a node of the new graph comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Before(u32),
    Row(usize),
}

/// Makes a graph of what is alive of `before` and of `rows`, whose keys are not in it, until
/// `is_cancelled`, which gives `None`.
pub(super) fn merge<'a>(
    before: Option<Before<'a>>,
    mut rows: Vec<Row<'a>>,
    options: &GraphOptions,
    dots: Dots,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Made>, GraphError> {
    let kept = before.filter(|before| {
        let alive = before.view.web.shape.nodes - before.dead.ones();
        before.view.web.shape.m == options.m && alive >= rows.len()
    });
    if let (None, Some(before)) = (kept, before) {
        let alive = (0..before.view.web.shape.nodes as u32).filter(|node| !before.dead.has(*node));
        rows.extend(alive.map(|node| before.row(node)));
    }
    rows.par_sort_unstable_by_key(|row| row.key);
    let (shape, origins) = number(kept.as_ref(), &rows, options);
    super::check_size(&shape)?;
    let scale = match kept {
        Some(before) => before.scale,
        None => codes::choose_scale(rows.iter().map(|row| row.values)),
    };
    let row_of = |node: u32| match (&origins[node as usize], &kept) {
        (Origin::Row(at), _) => rows[*at],
        (Origin::Before(old), Some(before)) => before.row(*old),
        (Origin::Before(_), None) => unreachable!("nothing is kept of no graph"),
    };
    let mut draft = Draft::new(shape).map_err(GraphError::Memory)?;
    let codes = draft.codes.par_chunks_exact_mut(draft.shape.stride());
    codes.zip(0..origins.len() as u32).for_each(|(code, node)| {
        match (&origins[node as usize], &kept) {
            (Origin::Before(old), Some(before)) => {
                code.copy_from_slice(before.view.web.codes.of(*old));
            }
            _ => codes::encode(row_of(node).values.iter().map(|v| v.to_f32()), scale, code),
        }
    });
    let is_row = |node: &u32| matches!(origins[*node as usize], Origin::Row(_));
    let mut fresh: Vec<u32> = (0..origins.len() as u32).filter(is_row).collect();
    if let Some(before) = &kept {
        let numbers = numbers_in_new(&origins, before.view.web.shape.nodes);
        fresh.extend(repair::carry_over(before, &numbers, &mut draft, dots));
        fresh.sort_unstable();
    }
    let linked = origins.len() - fresh.len();
    let mut unlinked = fresh.iter().copied().peekable();
    let entry = (0..origins.len() as u32).find(|node| unlinked.next_if_eq(node).is_none());
    let ef_construction = options.ef_construction;
    let mut inserter = Inserter { draft, dots, ef_construction, entry, linked };
    if !inserter.insert(&fresh, is_cancelled) {
        return Ok(None);
    }
    let image = order::laid_out(&inserter.draft, row_of).map_err(GraphError::Memory)?;
    Ok(Some(Made { shape: inserter.draft.shape, scale, image }))
}

impl<'a> Before<'a> {
    fn row(&self, node: u32) -> Row<'a> {
        Row { key: self.view.key(node), values: self.view.row(node) }
    }
}

/// Numbers the nodes by level, highest first; on a level those of before come first.
fn number(
    before: Option<&Before<'_>>,
    rows: &[Row<'_>],
    options: &GraphOptions,
) -> (Shape, Vec<Origin>) {
    let mut by_level: Vec<Vec<Origin>> = vec![Vec::new(); LEVELS_MAX + 1];
    if let Some(Before { view, dead, .. }) = before {
        for node in (0..view.web.shape.nodes as u32).filter(|node| !dead.has(*node)) {
            by_level[view.web.shape.level_of(node)].push(Origin::Before(node));
        }
    }
    for (at, row) in rows.iter().enumerate() {
        by_level[level_of(row.key, options)].push(Origin::Row(at));
    }
    let mut origins = Vec::new();
    let mut upper = Vec::new();
    for (level, of_level) in by_level.into_iter().enumerate().rev() {
        origins.extend(of_level);
        if level > 0 && !origins.is_empty() {
            upper.insert(0, origins.len());
        }
    }
    let shape = Shape { dim: options.dim, m: options.m, upper, nodes: origins.len() };
    (shape, origins)
}

/// The level of a passage: each level has one `m`th of the nodes below it. It depends on the passage
/// and the seed alone.
fn level_of(key: ChunkKey, options: &GraphOptions) -> usize {
    let ordinal = u64::from(key.ordinal);
    let bits = mix(key.document.get() ^ mix(ordinal ^ mix(options.seed)));
    // Evenly in (0, 1].
    let even = ((bits >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    let level = -even.ln() / (options.m as f64).ln();
    (level as usize).min(LEVELS_MAX)
}

/// The finalizer of `SplitMix64`.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn numbers_in_new(origins: &[Origin], before: usize) -> Vec<u32> {
    let mut numbers = vec![NO_NODE; before];
    for (origin, number) in origins.iter().zip(0..) {
        if let Origin::Before(node) = origin {
            numbers[*node as usize] = number;
        }
    }
    numbers
}
