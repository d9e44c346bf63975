use std::borrow::Cow;
use std::ops::Range;

/// The tokens of one text, made once: ids beside the bytes each came from.
///
/// Special tokens are not in it; the encoder adds them when it packs a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenSequence {
    pub ids: Vec<u32>,
    /// Byte range of each token in the text, ascending in start and in end.
    pub offsets: Vec<(u32, u32)>,
}

impl TokenSequence {
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The tokens that touch the bytes of `range`; two binary searches, nothing is tokenized.
    #[must_use]
    pub fn within(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.offsets.partition_point(|(_, end)| *end as usize <= range.start);
        let end = self.offsets.partition_point(|(start, _)| (*start as usize) < range.end);
        start..end.max(start)
    }
}

/// Sequences laid end to end without padding.
///
/// `starts` has one entry more than there are sequences: sequence `i` is
/// `ids[starts[i]..starts[i + 1]]`. Every sequence has at least one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBatch {
    ids: Vec<u32>,
    starts: Vec<usize>,
}

impl Default for TokenBatch {
    fn default() -> Self {
        Self { ids: Vec::new(), starts: vec![0] }
    }
}

impl TokenBatch {
    /// Appends a sequence; an empty one is a caller's mistake and is refused in debug builds.
    pub fn push(&mut self, ids: &[u32]) {
        debug_assert!(!ids.is_empty(), "a sequence has at least one token");
        self.ids.extend_from_slice(ids);
        self.starts.push(self.ids.len());
    }

    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Number of tokens over all sequences.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// Number of sequences.
    #[must_use]
    pub fn sequences(&self) -> usize {
        self.starts.len() - 1
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sequences() == 0
    }

    /// The ids of one sequence.
    ///
    /// # Panics
    /// When there is no sequence `at`.
    #[must_use]
    pub fn sequence(&self, at: usize) -> &[u32] {
        &self.ids[self.starts[at]..self.starts[at + 1]]
    }

    /// The range of each sequence in [`TokenBatch::ids`].
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.starts.windows(2).map(|pair| pair[0]..pair[1])
    }

    /// The same sequences in order, as few batches as hold at most `tokens_max` tokens each; a longer sequence
    /// is one by itself.
    pub fn pieces(&self, tokens_max: usize) -> impl Iterator<Item = Cow<'_, Self>> {
        let mut first = 0;
        std::iter::from_fn(move || {
            if first == self.sequences() {
                return None;
            }
            let start = self.starts[first];
            let fit = self.starts[first..].partition_point(|end| end - start <= tokens_max) - 1;
            let piece = first..first + fit.max(1);
            first = piece.end;
            if piece == (0..self.sequences()) {
                return Some(Cow::Borrowed(self));
            }
            let starts = &self.starts[piece.start..=piece.end];
            Some(Cow::Owned(Self {
                ids: self.ids[start..self.starts[piece.end]].to_vec(),
                starts: starts.iter().map(|at| at - start).collect(),
            }))
        })
    }

    /// How many tokens of its sequence stand before token `at` of [`TokenBatch::ids`].
    #[must_use]
    pub fn position(&self, at: usize) -> usize {
        at - self.starts[self.starts.partition_point(|start| *start <= at) - 1]
    }

    /// Tokens of the longest sequence.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.ranges().map(|range| range.len()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_finds_the_tokens_that_touch_a_slice() {
        let tokens = TokenSequence { ids: vec![1, 2, 3], offsets: vec![(0, 3), (4, 7), (7, 9)] };
        assert_eq!(tokens.within(&(0..9)), 0..3);
        assert_eq!(tokens.within(&(3..4)), 1..1);
        assert_eq!(tokens.within(&(5..8)), 1..3);
        assert_eq!(tokens.within(&(9..9)), 3..3);
    }

    #[test]
    fn a_batch_is_cut_between_sequences() {
        let mut batch = TokenBatch::default();
        for ids in [&[1, 2][..], &[3, 4], &[5, 6, 7, 8, 9], &[10]] {
            batch.push(ids);
        }
        let pieces = |tokens_max| -> Vec<Vec<Vec<u32>>> {
            let piece = |piece: Cow<'_, TokenBatch>| {
                (0..piece.sequences()).map(|at| piece.sequence(at).to_vec()).collect()
            };
            batch.pieces(tokens_max).map(piece).collect()
        };
        let whole = vec![vec![1, 2], vec![3, 4], vec![5, 6, 7, 8, 9], vec![10]];
        assert_eq!(pieces(10), std::slice::from_ref(&whole));
        assert!(matches!(batch.pieces(10).next(), Some(Cow::Borrowed(_))));
        let (first, rest) = whole.split_at(2);
        assert_eq!(pieces(4), [first.to_vec(), vec![rest[0].clone()], vec![rest[1].clone()]]);
        assert_eq!(pieces(6), [first.to_vec(), rest.to_vec()]);
        assert_eq!(pieces(0), whole.iter().map(|one| vec![one.clone()]).collect::<Vec<_>>());
        assert_eq!(TokenBatch::default().pieces(1).count(), 0);
    }

    #[test]
    fn a_batch_lays_sequences_end_to_end() {
        let mut batch = TokenBatch::default();
        batch.push(&[1, 2]);
        batch.push(&[3]);
        assert_eq!(batch.ranges().collect::<Vec<_>>(), [0..2, 2..3]);
        assert_eq!((batch.tokens(), batch.sequences(), batch.longest()), (3, 2, 2));
        assert_eq!([0, 1, 2].map(|at| batch.position(at)), [0, 1, 0]);
    }
}
