use tracing::debug_span;

use crate::data::{TokenBatch, TokenSequence};

/// What the model wants around a sequence, as its tokenizer's own template says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecialTokens {
    pub prefix: Vec<u32>,
    pub suffix: Vec<u32>,
}

impl SpecialTokens {
    #[must_use]
    pub fn len(&self) -> usize {
        self.prefix.len() + self.suffix.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    #[error("tokenizer.json is damaged: {0}; fetch the model again")]
    Damaged(String),
    #[error("text cannot be tokenized: {0}")]
    Encode(String),
}

/// A tokenizer in the Hugging Face format (`tokenizer.json`).
#[derive(Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    special: SpecialTokens,
}

impl Tokenizer {
    /// A tokenization holds about 150 bytes a token until its ids and offsets are taken out, so long
    /// texts go through in segments of about this many bytes.
    const SEGMENT_BYTES: usize = 256 << 10;

    /// Reads the bytes of a `tokenizer.json`. Truncation and padding set in the file are switched off:
    /// the chunker decides where a text is cut.
    ///
    /// # Errors
    /// When the bytes are no tokenizer.
    pub fn from_bytes(json: &[u8]) -> Result<Self, TokenizerError> {
        let damaged = |error: tokenizers::Error| TokenizerError::Damaged(error.to_string());
        let mut inner = tokenizers::Tokenizer::from_bytes(json).map_err(damaged)?;
        inner.with_truncation(None).map_err(damaged)?;
        inner.with_padding(None);
        let sample = inner.encode("a", true).map_err(damaged)?;
        let (ids, mask) = (sample.get_ids(), sample.get_special_tokens_mask());
        let leading = mask.iter().take_while(|m| **m == 1).count();
        let trailing = mask[leading..].iter().rev().take_while(|m| **m == 1).count();
        let special = SpecialTokens {
            prefix: ids[..leading].to_vec(),
            suffix: ids[ids.len() - trailing..].to_vec(),
        };
        Ok(Self { inner, special })
    }

    #[must_use]
    pub fn special(&self) -> &SpecialTokens {
        &self.special
    }

    /// Tokenizes a whole text, without special tokens.
    ///
    /// # Errors
    /// When the tokenizer's model has no token for a part of the text, not even an unknown one.
    pub fn encode(&self, text: &str) -> Result<TokenSequence, TokenizerError> {
        let _span = debug_span!("tokenize", bytes = text.len()).entered();
        let mut tokens = TokenSequence::default();
        let mut start = 0;
        while start < text.len() {
            let end = segment_end(text, start, Self::SEGMENT_BYTES);
            let encoding = self
                .inner
                .encode(&text[start..end], false)
                .map_err(|error| TokenizerError::Encode(error.to_string()))?;
            tokens.ids.extend_from_slice(encoding.get_ids());
            let shifted =
                |(from, to): &(usize, usize)| ((start + from) as u32, (start + to) as u32);
            tokens.offsets.extend(encoding.get_offsets().iter().map(shifted));
            start = end;
        }
        Ok(tokens)
    }

    /// One sequence for the encoder: the first tokens of `text` that fit `tokens_max`, with special
    /// tokens.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_query(&self, text: &str, tokens_max: usize) -> Result<Vec<u32>, TokenizerError> {
        let tokens = self.encode(text)?;
        let kept = tokens.len().min(tokens_max.saturating_sub(self.special.len()));
        let batch: TokenBatch = super::batch::pack(&self.special, &tokens, [&(0..kept)]);
        Ok(batch.ids().to_vec())
    }
}

/// Where the segment from `start` ends: behind the last line break within `bytes_max`, else behind the
/// last white space, else at a character boundary. Tokens do not reach over white space, so cutting
/// there changes none.
fn segment_end(text: &str, start: usize, bytes_max: usize) -> usize {
    if text.len() - start <= bytes_max {
        return text.len();
    }
    let limit = text.floor_char_boundary(start + bytes_max);
    let window = &text[start..limit];
    let cut = window
        .rfind('\n')
        .map(|at| at + 1)
        .or_else(|| {
            let at = window.rfind(char::is_whitespace)?;
            window[at..].chars().next().map(|c| at + c.len_utf8())
        })
        .unwrap_or(window.len());
    start + cut
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BUNDLED: &[u8] = include_bytes!("../../assets/models/all-MiniLM-L6-v2/tokenizer.json");

    #[test]
    fn encodes_with_byte_offsets_and_knows_the_special_tokens() {
        let tokenizer = Tokenizer::from_bytes(BUNDLED).unwrap();
        assert_eq!(*tokenizer.special(), SpecialTokens { prefix: vec![101], suffix: vec![102] });
        let text = "Größe: sharing ownership";
        let tokens = tokenizer.encode(text).unwrap();
        let words: Vec<&str> =
            tokens.offsets.iter().map(|(from, to)| &text[*from as usize..*to as usize]).collect();
        assert_eq!(words, ["Gr", "ö", "ße", ":", "sharing", "ownership"]);
        assert_eq!(tokenizer.encode_query(text, 4).unwrap().len(), 4);
        assert_eq!(tokenizer.encode_query("", 4).unwrap(), [101, 102]);
    }

    #[test]
    fn a_long_text_is_not_truncated() {
        let tokenizer = Tokenizer::from_bytes(BUNDLED).unwrap();
        assert_eq!(tokenizer.encode(&"word ".repeat(1_000)).unwrap().len(), 1_000);
    }

    #[test]
    fn damage_is_named() {
        let error = Tokenizer::from_bytes(b"{}").unwrap_err().to_string();
        assert!(error.starts_with("tokenizer.json is damaged"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn segments_join_to_the_text(text in "[a-zé世 \n\t]{0,200}", bytes_max in 8..40_usize) {
            let mut start = 0;
            let mut joined = String::new();
            while start < text.len() {
                let end = segment_end(&text, start, bytes_max);
                prop_assert!(end > start && end - start <= bytes_max);
                joined.push_str(&text[start..end]);
                start = end;
            }
            prop_assert_eq!(joined, text);
        }

        /// Cutting a text at white space changes no token, so segments are exact.
        #[test]
        fn tokens_of_parts_are_the_tokens_of_the_whole(parts in prop::collection::vec("[a-zA-Zé.!_世0-9]{1,12}", 1..12)) {
            let tokenizer = Tokenizer::from_bytes(BUNDLED).unwrap();
            let whole = tokenizer.encode(&parts.join(" ")).unwrap();
            let pieces: Vec<u32> =
                parts.iter().flat_map(|part| tokenizer.encode(part).unwrap().ids).collect();
            prop_assert_eq!(&whole.ids, &pieces);
            prop_assert!(whole.offsets.is_sorted());
        }
    }
}
