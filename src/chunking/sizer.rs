use text_splitter::ChunkSizer;

use crate::data::TokenSequence;

/// Counts the tokens of a slice of a text that was tokenized before.
///
/// text-splitter passes slices of the very string it was given, so the address tells the range.
pub(super) struct OffsetSizer<'a> {
    text: &'a str,
    tokens: &'a TokenSequence,
}

impl<'a> OffsetSizer<'a> {
    /// A token counts once for every so many bytes: a megabyte without white space is one unknown
    /// token, and must not become one chunk of a megabyte.
    const TOKEN_BYTES_MAX: usize = 16;

    pub(super) fn new(text: &'a str, tokens: &'a TokenSequence) -> Self {
        Self { text, tokens }
    }
}

impl ChunkSizer for OffsetSizer<'_> {
    fn size(&self, chunk: &str) -> usize {
        let least = chunk.len().div_ceil(Self::TOKEN_BYTES_MAX);
        let start = (chunk.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        match start {
            Some(start) if start + chunk.len() <= self.text.len() => {
                self.tokens.within(&(start..start + chunk.len())).len().max(least)
            }
            // Not ours: every byte could be a token.
            _ => chunk.len(),
        }
    }
}
