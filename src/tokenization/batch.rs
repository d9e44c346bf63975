//! Slices of a document's tokens, with what the model wants around each, laid end to end.

use std::ops::Range;

use super::SpecialTokens;
use crate::data::{TokenBatch, TokenSequence};

/// Packs one sequence for each range of `tokens`, behind the tokens of its context; the two together
/// are short enough for the model.
#[must_use]
pub fn pack<'a>(
    around: &SpecialTokens,
    tokens: &TokenSequence,
    passages: impl IntoIterator<Item = (&'a [u32], &'a Range<usize>)>,
) -> TokenBatch {
    let mut batch = TokenBatch::default();
    let mut sequence = Vec::new();
    for (context, range) in passages {
        sequence.clear();
        sequence.extend_from_slice(&around.prefix);
        sequence.extend_from_slice(context);
        sequence.extend_from_slice(&tokens.ids[range.clone()]);
        sequence.extend_from_slice(&around.suffix);
        batch.push(&sequence);
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sequence_stands_between_the_special_tokens() {
        let special = SpecialTokens { prefix: vec![101], suffix: vec![102] };
        let tokens = TokenSequence { ids: vec![1, 2, 3], offsets: vec![(0, 1), (1, 2), (2, 3)] };
        let passages = [(&[][..], &(0..2)), (&[9, 8][..], &(2..3)), (&[][..], &(3..3))];
        let batch = pack(&special, &tokens, passages);
        assert_eq!(batch.ids(), [101, 1, 2, 102, 101, 9, 8, 3, 102, 101, 102]);
        assert_eq!(batch.sequences(), 3);
    }
}
