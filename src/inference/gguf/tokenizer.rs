use std::collections::HashMap;

use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::normalizers::{Prepend, Replace, Sequence as Normalizers};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence as PreTokenizers;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, PreTokenizerWrapper, SplitDelimiterBehavior, Tokenizer};

use super::vocabulary::{TokenBytes, TokenType, Vocabulary};
use super::{GgufError, GgufFile};
use crate::tokenization::TokenizerError;

const MODEL: &str = "tokenizer.ggml.model";
const PRE: &str = "tokenizer.ggml.pre";
const MERGES: &str = "tokenizer.ggml.merges";
const SCORES: &str = "tokenizer.ggml.scores";

/// What SentencePiece writes for a space.
const SPACE_MARK: char = '\u{2581}';

/// Names of the tokens that end an answer in files which do not say so in their metadata.
const END_NAMES: [&str; 8] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end|>",
    "<end_of_turn>",
    "</s>",
];

/// The tokenizer that a GGUF file carries.
#[derive(Debug)]
pub struct GgufTokenizer {
    inner: Tokenizer,
    bytes: TokenBytes,
    kind: TokenizerKind,
    bos: Option<Special>,
    eos: Option<Special>,
    ends: Vec<u32>,
    add_bos: bool,
    add_space: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenizerKind {
    /// Byte-level BPE with merges (GPT-2, Llama 3, SmolLM).
    ByteLevel,
    /// SentencePiece's BPE with scores and bytes as a last resort (Llama 1 and 2, Mistral).
    SentencePiece,
}

/// A token that the chat template or the end of an answer needs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Special {
    id: u32,
    text: String,
}

impl GgufTokenizer {
    /// Makes the tokenizer that `gguf` describes.
    ///
    /// # Errors
    /// When it is of a kind that is not supported, or what describes it is missing or contradicts
    /// itself.
    pub fn read(gguf: &GgufFile) -> Result<Self, GgufError> {
        let vocabulary = Vocabulary::read(gguf)?;
        let kind = match gguf.text(MODEL)? {
            "gpt2" => TokenizerKind::ByteLevel,
            "llama" => TokenizerKind::SentencePiece,
            other => return Err(gguf.unsupported(MODEL, other, "gpt2 and llama are")),
        };
        let add_space = kind == TokenizerKind::SentencePiece
            && gguf.flag("tokenizer.ggml.add_space_prefix").unwrap_or(true);
        let (mut inner, bytes) = match kind {
            TokenizerKind::ByteLevel => {
                let unmapped = byte_level_alphabet();
                let of_text = |token: &str| byte_level_bytes(token, &unmapped);
                (byte_level(gguf, &vocabulary)?, TokenBytes::new(&vocabulary, of_text))
            }
            TokenizerKind::SentencePiece => {
                let of_text = |token: &str| token.replace(SPACE_MARK, " ").into_bytes();
                (
                    sentence_piece(gguf, &vocabulary, add_space)?,
                    TokenBytes::new(&vocabulary, of_text),
                )
            }
        };
        let damaged = |error: tokenizers::Error| gguf.damaged(error.to_string());
        let added = |special| move |token: &str| AddedToken::from(token, special).normalized(false);
        let control = vocabulary.of_type(TokenType::Control).map(added(true));
        inner.add_special_tokens(control.collect::<Vec<_>>()).map_err(damaged)?;
        let defined = vocabulary.of_type(TokenType::UserDefined).map(added(false));
        inner.add_tokens(defined.collect::<Vec<_>>()).map_err(damaged)?;
        let special = |key: &str| {
            let id = gguf.optional_count(key)?;
            let text = (*vocabulary.tokens.get(id)?).to_owned();
            Some(Special { id: id as u32, text })
        };
        let bos = special("tokenizer.ggml.bos_token_id");
        let eos = special("tokenizer.ggml.eos_token_id");
        let named = ["tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"].map(special);
        let add_bos = gguf.flag("tokenizer.ggml.add_bos_token");
        Ok(Self {
            ends: ends(&vocabulary, eos.iter().chain(named.iter().flatten())),
            add_bos: add_bos.unwrap_or(kind == TokenizerKind::SentencePiece),
            add_space,
            inner,
            bytes,
            kind,
            bos,
            eos,
        })
    }

    #[must_use]
    pub fn kind(&self) -> TokenizerKind {
        self.kind
    }

    /// Tokens in the vocabulary; ids are smaller.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.bytes.len()
    }

    /// The ids of a text, in which the names of control tokens stand for these, with the token in
    /// front that the model begins every text with.
    ///
    /// # Errors
    /// When a part of the text has no token.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let encoding = self
            .inner
            .encode_fast(text, false)
            .map_err(|error| TokenizerError::Encode(error.to_string()))?;
        let ids = encoding.get_ids();
        // A chat template that writes the token itself has the last word.
        let bos = self.bos.iter().filter(|bos| self.add_bos && ids.first() != Some(&bos.id));
        Ok(bos.map(|bos| bos.id).chain(ids.iter().copied()).collect())
    }

    /// The bytes that a token adds to a text: none for a control token, and perhaps half a character.
    #[must_use]
    pub fn bytes(&self, id: u32) -> &[u8] {
        self.bytes.get(id)
    }

    /// Whether a text gets a space in front before it is tokenized, which its tokens then carry.
    #[must_use]
    pub fn adds_space(&self) -> bool {
        self.add_space
    }

    /// The tokens that end an answer.
    #[must_use]
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    #[must_use]
    pub fn bos_text(&self) -> &str {
        self.bos.as_ref().map_or("", |bos| &bos.text)
    }

    #[must_use]
    pub fn eos_text(&self) -> &str {
        self.eos.as_ref().map_or("", |eos| &eos.text)
    }
}

fn ends<'a>(vocabulary: &Vocabulary<'_>, told: impl Iterator<Item = &'a Special>) -> Vec<u32> {
    let named = (0..).zip(&vocabulary.tokens).zip(&vocabulary.types);
    let named = named
        .filter(|((_, token), kind)| **kind == TokenType::Control && END_NAMES.contains(token));
    let mut ends: Vec<u32> =
        told.map(|special| special.id).chain(named.map(|((id, _), _)| id)).collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}

fn byte_level(gguf: &GgufFile, vocabulary: &Vocabulary<'_>) -> Result<Tokenizer, GgufError> {
    let pre = pre_tokenizer(gguf)?;
    // Llama 3 takes a word that is a token as it is, even where merges lead elsewhere.
    let ignore_merges = pre == PreTokenizer::Llama3;
    let ids = ids(vocabulary);
    let merges = gguf
        .texts(MERGES)?
        .into_iter()
        .map(|merge| match merge.split_once(' ') {
            Some((left, right)) if is_merge(&ids, left, right) => {
                Ok((left.to_owned(), right.to_owned()))
            }
            _ => Err(gguf.damaged(format!("its merge {merge:?} makes no token"))),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let damaged = |error: tokenizers::Error| gguf.damaged(error.to_string());
    let bpe = BPE::builder().vocab_and_merges(ids, merges).ignore_merges(ignore_merges);
    let mut tokenizer = Tokenizer::new(bpe.build().map_err(damaged)?);
    tokenizer.with_pre_tokenizer(Some(pre.build().map_err(damaged)?));
    Ok(tokenizer)
}

/// Candidates for a merge are looked up by the builder without looking at their length.
fn is_merge(ids: &Vocab, left: &str, right: &str) -> bool {
    [left, right, &[left, right].concat()].iter().all(|token| ids.contains_key(*token))
}

fn ids(vocabulary: &Vocabulary<'_>) -> Vocab {
    (0..).zip(&vocabulary.tokens).map(|(id, token)| ((*token).to_owned(), id)).collect()
}

/// How a text is cut into words before these are cut into tokens; llama.cpp names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PreTokenizer {
    Gpt2,
    /// Digits apart, then as GPT-2.
    Smollm,
    Llama3,
}

fn pre_tokenizer(gguf: &GgufFile) -> Result<PreTokenizer, GgufError> {
    match gguf.text(PRE)? {
        "gpt-2" | "gpt2" => Ok(PreTokenizer::Gpt2),
        "smollm" | "starcoder" => Ok(PreTokenizer::Smollm),
        "llama-bpe" | "llama3" | "llama-v3" => Ok(PreTokenizer::Llama3),
        other => Err(gguf.unsupported(PRE, other, "gpt-2, smollm, starcoder and llama-bpe are")),
    }
}

impl PreTokenizer {
    const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

    fn build(self) -> tokenizers::Result<PreTokenizerWrapper> {
        let split = |pattern: &str| {
            let pattern = SplitPattern::Regex(pattern.to_owned());
            Split::new(pattern, SplitDelimiterBehavior::Isolated, false)
        };
        // The last step writes bytes as characters; with `true` it cuts words as GPT-2 did.
        let byte_level = |cut| ByteLevel::new(false, true, cut).into();
        let first = match self {
            Self::Gpt2 => return Ok(byte_level(true)),
            Self::Smollm => split(r"\p{N}")?,
            Self::Llama3 => split(Self::LLAMA3)?,
        };
        let last = byte_level(self == Self::Smollm);
        Ok(PreTokenizers::new(vec![first.into(), last]).into())
    }
}

fn sentence_piece(
    gguf: &GgufFile,
    vocabulary: &Vocabulary<'_>,
    add_space: bool,
) -> Result<Tokenizer, GgufError> {
    let damaged = |error: tokenizers::Error| gguf.damaged(error.to_string());
    let scores = gguf.numbers(SCORES)?;
    if scores.len() != vocabulary.tokens.len() {
        let (tokens, scores) = (vocabulary.tokens.len(), scores.len());
        return Err(gguf.damaged(format!("it has {tokens} tokens and {scores} scores")));
    }
    let ids = ids(vocabulary);
    let merges = merges_by_score(vocabulary, &scores, &ids);
    let unknown = vocabulary.of_type(TokenType::Unknown).next().unwrap_or("<unk>").to_owned();
    let bpe = BPE::builder().vocab_and_merges(ids, merges).byte_fallback(true).fuse_unk(true);
    let bpe = bpe.unk_token(unknown).build().map_err(damaged)?;
    let mut tokenizer = Tokenizer::new(bpe);
    let marks = Replace::new(" ".to_owned(), SPACE_MARK.to_string()).map_err(damaged)?;
    let prefix = add_space.then(|| Prepend::new(SPACE_MARK.to_string()).into());
    let normalizers = prefix.into_iter().chain([marks.into()]).collect();
    tokenizer.with_normalizer(Some(Normalizers::new(normalizers))).map_err(damaged)?;
    Ok(tokenizer)
}

/// SentencePiece joins the two neighbors whose union has the best score; the same order as a list of
/// merges, as the converters of Hugging Face make it.
fn merges_by_score(
    vocabulary: &Vocabulary<'_>,
    scores: &[f32],
    ids: &Vocab,
) -> Vec<(String, String)> {
    let mut merges = Vec::new();
    let normal = vocabulary.tokens.iter().zip(&vocabulary.types).zip(scores);
    for ((token, kind), score) in normal {
        if *kind != TokenType::Normal {
            continue;
        }
        for (at, _) in token.char_indices().skip(1) {
            let (left, right) = token.split_at(at);
            if let (Some(l), Some(r)) = (ids.get(left), ids.get(right)) {
                merges.push((*score, *l, *r, left, right));
            }
        }
    }
    merges.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    merges.into_iter().map(|(.., left, right)| (left.to_owned(), right.to_owned())).collect()
}

/// GPT-2 writes bytes as characters that can be seen; this maps them back.
pub(super) fn byte_level_alphabet() -> HashMap<char, u8> {
    let seen = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let unseen = (0..=u8::MAX).filter(|byte| !seen(*byte));
    let shown = (0..=u8::MAX).filter(|byte| seen(*byte)).map(|byte| (char::from(byte), byte));
    let moved = (0x100_u32..).zip(unseen);
    shown.chain(moved.filter_map(|(code, byte)| Some((char::from_u32(code)?, byte)))).collect()
}

fn byte_level_bytes(token: &str, alphabet: &HashMap<char, u8>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(token.len());
    for character in token.chars() {
        match alphabet.get(&character) {
            Some(byte) => bytes.push(*byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}
