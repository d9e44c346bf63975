use std::ops::Range;

use tracing::debug_span;

use super::familiarity::familiarity;
use crate::data::{TokenBatch, TokenSequence};
use crate::platform;

/// Words that a model was trained to see before a text, such as "query: "; empty for most models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    pub query: String,
    pub passage: String,
}

/// What the model wants around a text: the special tokens of its tokenizer's own template, and behind
/// the leading ones the tokens of a prompt.
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
    query: SpecialTokens,
    passage: SpecialTokens,
}

impl Tokenizer {
    /// A tokenization holds about 150 bytes a token until its ids and offsets are taken out, so long
    /// texts go through in segments of about this many bytes.
    const SEGMENT_BYTES: usize = 256 << 10;

    /// A text of this length keeps one core busy for seconds while nothing else may be left to read, so
    /// all of them share it.
    const LONG_BYTES: usize = 4 << 20;

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
        Ok(Self { inner, query: special.clone(), passage: special })
    }

    /// Tokenizes the prompts, once, so that packing a batch only lays tokens end to end.
    ///
    /// White space at the end of a prompt parts it from the text and makes no token: pieces of
    /// sentences carry the space before them, and words end at it.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn with_prompts(mut self, prompts: &Prompts) -> Result<Self, TokenizerError> {
        let behind = |special: &SpecialTokens, prompt: &str| {
            let words = self.encode(prompt.trim_end())?.ids;
            let prefix = [special.prefix.as_slice(), &words].concat();
            Ok::<_, TokenizerError>(SpecialTokens { prefix, suffix: special.suffix.clone() })
        };
        let query = behind(&self.query, &prompts.query)?;
        let passage = behind(&self.passage, &prompts.passage)?;
        (self.query, self.passage) = (query, passage);
        Ok(self)
    }

    /// What stands around a query.
    #[must_use]
    pub fn around_query(&self) -> &SpecialTokens {
        &self.query
    }

    /// What stands around a passage.
    #[must_use]
    pub fn around_passage(&self) -> &SpecialTokens {
        &self.passage
    }

    /// Tokenizes a whole text, without special tokens.
    ///
    /// # Errors
    /// When the tokenizer's model has no token for a part of the text, not even an unknown one.
    pub fn encode(&self, text: &str) -> Result<TokenSequence, TokenizerError> {
        let _span = debug_span!("tokenize", bytes = text.len()).entered();
        let threads = if text.len() < Self::LONG_BYTES { 1 } else { platform::cores() };
        self.encode_on(threads, text, Self::SEGMENT_BYTES)
    }

    /// Goes through the text in segments, so that only one a thread is held in the long form.
    fn encode_on(
        &self,
        threads: usize,
        text: &str,
        segment_bytes: usize,
    ) -> Result<TokenSequence, TokenizerError> {
        let mut tokens = TokenSequence::default();
        let encode = |segment: &Range<usize>| self.encode_segment(text, segment.clone());
        for part in platform::map_on(threads, &segments(text, segment_bytes), encode) {
            let part = part?;
            tokens.ids.extend(part.ids);
            tokens.offsets.extend(part.offsets);
        }
        Ok(tokens)
    }

    fn encode_segment(
        &self,
        text: &str,
        segment: Range<usize>,
    ) -> Result<TokenSequence, TokenizerError> {
        let start = segment.start;
        let encoding = self
            .inner
            .encode(&text[segment], false)
            .map_err(|error| TokenizerError::Encode(error.to_string()))?;
        let shifted = |(from, to): &(usize, usize)| ((start + from) as u32, (start + to) as u32);
        Ok(TokenSequence {
            ids: encoding.get_ids().to_vec(),
            offsets: encoding.get_offsets().iter().map(shifted).collect(),
        })
    }

    /// How much of a text the model that this tokenizer was made for knows, 0 ..= 1.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn familiarity(&self, text: &str) -> Result<f32, TokenizerError> {
        let encoded = self.inner.encode(text, false);
        let encoded = encoded.map_err(|error| TokenizerError::Encode(error.to_string()))?;
        let offsets = encoded.get_offsets().iter().map(|(from, to)| (*from as u32, *to as u32));
        let ids = encoded.get_ids().to_vec();
        let tokens = TokenSequence { ids, offsets: offsets.collect() };
        let unknown = ["[UNK]", "<unk>"].iter().find_map(|name| self.inner.token_to_id(name));
        Ok(familiarity(text, &tokens, unknown))
    }

    /// The tokens of a few words that are put before a passage, without special tokens.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_context(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let encoded = self.inner.encode_fast(text, false);
        Ok(encoded.map_err(|error| TokenizerError::Encode(error.to_string()))?.get_ids().to_vec())
    }

    /// One sequence for the encoder: the first tokens of a query that fit `tokens_max`, with what stands
    /// around it.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_query(&self, text: &str, tokens_max: usize) -> Result<Vec<u32>, TokenizerError> {
        self.encode_within(text, &self.query, tokens_max)
    }

    /// As [`Tokenizer::encode_query`], for a text that is one passage by itself.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_passage(
        &self,
        text: &str,
        tokens_max: usize,
    ) -> Result<Vec<u32>, TokenizerError> {
        self.encode_within(text, &self.passage, tokens_max)
    }

    fn encode_within(
        &self,
        text: &str,
        around: &SpecialTokens,
        tokens_max: usize,
    ) -> Result<Vec<u32>, TokenizerError> {
        let tokens = self.encode(text)?;
        let kept = tokens.len().min(tokens_max.saturating_sub(around.len()));
        let batch: TokenBatch = super::batch::pack(around, &tokens, [(&[][..], &(0..kept))]);
        Ok(batch.ids().to_vec())
    }
}

fn segments(text: &str, bytes_max: usize) -> Vec<Range<usize>> {
    let mut segments = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = segment_end(text, start, bytes_max);
        segments.push(start..end);
        start = end;
    }
    segments
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
        let special = SpecialTokens { prefix: vec![101], suffix: vec![102] };
        assert_eq!((tokenizer.around_query(), tokenizer.around_passage()), (&special, &special));
        let text = "Größe: sharing ownership";
        let tokens = tokenizer.encode(text).unwrap();
        let words: Vec<&str> =
            tokens.offsets.iter().map(|(from, to)| &text[*from as usize..*to as usize]).collect();
        assert_eq!(words, ["Gr", "ö", "ße", ":", "sharing", "ownership"]);
        assert_eq!(tokenizer.encode_query(text, 4).unwrap().len(), 4);
        assert_eq!(tokenizer.encode_query("", 4).unwrap(), [101, 102]);
    }

    #[test]
    fn prompts_stand_between_the_special_tokens_and_the_text() {
        let prompts = Prompts { query: "query: ".to_owned(), passage: String::new() };
        let tokenizer = Tokenizer::from_bytes(BUNDLED).unwrap().with_prompts(&prompts).unwrap();
        let query = tokenizer.encode("query:").unwrap().ids;
        assert_eq!(tokenizer.around_query().prefix, [&[101], query.as_slice()].concat());
        assert_eq!(tokenizer.around_passage().prefix, [101]);
        let whole = tokenizer.encode_query("ownership of threads", 6).unwrap();
        let ownership = tokenizer.encode("ownership of").unwrap().ids;
        assert_eq!(whole, [&[101], query.as_slice(), &ownership, &[102]].concat());
        assert_eq!(tokenizer.encode_passage("ownership of", 9).unwrap()[1..3], ownership);
    }

    /// A tokenizer of the kind that XLM-RoBERTa and multilingual e5 have: pieces carry the space
    /// before them.
    fn sentence_pieces() -> Tokenizer {
        let pieces: Vec<(String, f64)> = std::iter::once(("<unk>".to_owned(), 0.0))
            .chain("▁:abcdeqruy".chars().map(|c| (c.to_string(), -5.0)))
            .chain(["▁query", "▁passage", "▁a", "▁b", "ab"].map(|p| (p.to_owned(), -2.0)))
            .collect();
        let metaspace = serde_json::json!(
            { "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true });
        let json = serde_json::json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
            "normalizer": null, "pre_tokenizer": metaspace, "post_processor": null,
            "decoder": metaspace, "model": { "type": "Unigram", "unk_id": 0, "vocab": pieces },
        });
        Tokenizer::from_bytes(json.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn an_english_model_knows_english() {
        let tokenizer = Tokenizer::from_bytes(BUNDLED).unwrap();
        let familiarity = |text: &str| tokenizer.familiarity(text).unwrap();
        assert!(familiarity("how do I share ownership between threads?") > 0.9);
        assert!(familiarity("выдаёт список зависимостей от общих объектов") < 0.3);
        assert!(familiarity("共享库的依赖关系列表") < 0.2);
        assert!((familiarity("") - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_long_text_is_not_truncated() {
        let tokenizer = Tokenizer::from_bytes(BUNDLED).unwrap();
        assert_eq!(tokenizer.encode(&"word ".repeat(1_000)).unwrap().len(), 1_000);
    }

    /// Compiles only as long as a tokenizer, which holds megabytes, cannot be cloned: with `Clone` the
    /// call below would be ambiguous.
    #[test]
    fn a11_a_tokenizer_cannot_be_cloned() {
        trait Ambiguous<A> {
            fn check() {}
        }
        impl<T> Ambiguous<()> for T {}
        impl<T: Clone> Ambiguous<u8> for T {}
        <Tokenizer as Ambiguous<_>>::check();
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
            let mut joined = String::new();
            for segment in segments(&text, bytes_max) {
                prop_assert!(!segment.is_empty() && segment.len() <= bytes_max);
                joined.push_str(&text[segment]);
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

        #[test]
        fn several_threads_give_the_tokens_that_one_gives(
            text in "([a-zA-Zé.!_世0-9]{1,12}[ \n]){0,40}", threads in 2..5_usize,
        ) {
            let tokenizer = Tokenizer::from_bytes(BUNDLED).unwrap();
            let alone = tokenizer.encode_on(1, &text, 1 << 10).unwrap();
            prop_assert_eq!(tokenizer.encode_on(threads, &text, 50).unwrap(), alone);
        }

        /// A prompt that was tokenized once and laid before a text gives the tokens of the two together.
        #[test]
        fn a_prompt_laid_before_a_text_is_the_prompt_and_the_text(
            prompt in "(query|passage|[a-e]{1,4}( [a-e]{1,4}){0,3}): ",
            text in "[a-e]{1,6}( [a-e]{1,6}){0,6}",
        ) {
            for tokenizer in [Tokenizer::from_bytes(BUNDLED).unwrap(), sentence_pieces()] {
                let together = tokenizer.encode_query(&format!("{prompt}{text}"), 1_000).unwrap();
                let prompts = Prompts { query: prompt.clone(), passage: prompt.clone() };
                let tokenizer = tokenizer.with_prompts(&prompts).unwrap();
                prop_assert_eq!(&tokenizer.encode_query(&text, 1_000).unwrap(), &together);
                prop_assert_eq!(&tokenizer.encode_passage(&text, 1_000).unwrap(), &together);
            }
        }
    }
}
