//! The diversity heuristic, the paper's Algorithm 4: a candidate becomes a neighbor if it is nearer to the
//! node than to every neighbor chosen before it. What it leaves out can be reached through those.

use super::codes::CodeTable;
use super::kernel::Dots;
use super::near::Near;

/// Neighbors that a candidate is compared with at a time; most are refused by one of the first.
const CHUNK: usize = 8;

/// Chooses up to `m` of `candidates`, which stand nearest first, for the node that they are near to.
pub(super) fn select(
    codes: CodeTable<'_>,
    dots: Dots,
    candidates: &[Near],
    m: usize,
    chosen: &mut Vec<u32>,
) {
    chosen.clear();
    let mut to_chosen = [0; CHUNK];
    for candidate in candidates {
        if chosen.len() == m {
            return;
        }
        let code = codes.of(candidate.node());
        let is_nearer_to_one = chosen.chunks(CHUNK).any(|chunk| {
            let to_chunk = &mut to_chosen[..chunk.len()];
            dots(code, codes, chunk, to_chunk);
            to_chunk.iter().any(|dot| Near::distance_of(*dot) < candidate.distance())
        });
        if !is_nearer_to_one {
            chosen.push(candidate.node());
        }
    }
}
