use super::{GgufError, GgufFile};

/// What a token stands for, as `tokenizer.ggml.token_type` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenType {
    Normal,
    Unknown,
    /// Marks turns and ends; has no text of its own.
    Control,
    /// Text that is one token wherever it occurs.
    UserDefined,
    Unused,
    /// One byte, written `<0xNN>`.
    Byte,
}

impl TokenType {
    fn from_number(number: usize) -> Option<Self> {
        Some(match number {
            1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => return None,
        })
    }
}

/// The tokens of a file, by id.
pub(super) struct Vocabulary<'a> {
    pub tokens: Vec<&'a str>,
    pub types: Vec<TokenType>,
}

impl<'a> Vocabulary<'a> {
    const TOKENS: &'static str = "tokenizer.ggml.tokens";
    const TYPES: &'static str = "tokenizer.ggml.token_type";

    pub fn read(gguf: &'a GgufFile) -> Result<Self, GgufError> {
        let tokens = gguf.texts(Self::TOKENS)?;
        let unknown = |number| gguf.damaged(format!("a token is of the unknown type {number}"));
        let types: Vec<TokenType> = gguf
            .counts(Self::TYPES)?
            .into_iter()
            .map(|number| TokenType::from_number(number).ok_or_else(|| unknown(number)))
            .collect::<Result<_, _>>()?;
        if tokens.is_empty() || tokens.len() != types.len() {
            let (tokens, types) = (tokens.len(), types.len());
            return Err(gguf.damaged(format!("it has {tokens} tokens and {types} token types")));
        }
        Ok(Self { tokens, types })
    }

    /// Tokens that are found in a text before it is cut into words.
    pub fn of_type(&self, wanted: TokenType) -> impl Iterator<Item = &'a str> {
        let of_type = move |(token, found): (&&'a str, &TokenType)| {
            (*found == wanted && !token.is_empty()).then_some(*token)
        };
        self.tokens.iter().zip(&self.types).filter_map(of_type)
    }
}

/// The bytes that each token adds to a text, one behind the other.
#[derive(Debug)]
pub(super) struct TokenBytes {
    bytes: Vec<u8>,
    /// Where each token ends in `bytes`.
    ends: Vec<usize>,
}

impl TokenBytes {
    pub fn new(vocabulary: &Vocabulary<'_>, of_text: impl Fn(&str) -> Vec<u8>) -> Self {
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(vocabulary.tokens.len()));
        for (token, kind) in vocabulary.tokens.iter().zip(&vocabulary.types) {
            match kind {
                TokenType::Normal => bytes.extend(of_text(token)),
                TokenType::UserDefined => bytes.extend_from_slice(token.as_bytes()),
                TokenType::Byte => bytes.extend(byte(token)),
                TokenType::Unknown | TokenType::Control | TokenType::Unused => {}
            }
            ends.push(bytes.len());
        }
        Self { bytes, ends }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let Some(&end) = self.ends.get(id) else { return &[] };
        let start = id.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..end]
    }
}

/// The byte of a token such as `<0x0A>`.
fn byte(token: &str) -> Option<u8> {
    u8::from_str_radix(token.strip_prefix("<0x")?.strip_suffix('>')?, 16).ok()
}
