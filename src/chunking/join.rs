use crate::data::{Chunk, TokenSequence};

/// Joins every chunk of at most `small_max` tokens to the one behind it, and the last to the one before
/// it, where the two together have at most `tokens_max`.
///
/// The splitter cuts at the widest gap, so a title or a heading before a long section is left alone. By
/// itself it is near to many questions and answers none, and the section lacks what it is about.
#[must_use]
pub fn join_small(
    chunks: Vec<Chunk>,
    tokens: &TokenSequence,
    (small_max, tokens_max): (usize, usize),
) -> Vec<Chunk> {
    let together = |before: &Chunk, after: &Chunk| {
        let range = before.range.start..after.range.end.max(before.range.end);
        let joined =
            Chunk { tokens: tokens.within(&range), range, locator: before.locator.clone() };
        (joined.tokens.len() <= tokens_max).then_some(joined)
    };
    let is_small = |chunk: &Chunk| chunk.tokens.len() <= small_max;
    let count = chunks.len();
    let mut joined: Vec<Chunk> = Vec::with_capacity(count);
    for (at, chunk) in chunks.into_iter().enumerate() {
        let one = match joined.last() {
            Some(before) if is_small(before) || (at + 1 == count && is_small(&chunk)) => {
                together(before, &chunk)
            }
            _ => None,
        };
        if let Some(one) = one {
            joined.pop();
            joined.push(one);
        } else {
            joined.push(chunk);
        }
    }
    joined
}
