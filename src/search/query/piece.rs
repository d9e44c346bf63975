use std::ops::Range;

use super::qualifier;

/// A word, phrase or qualifier as it stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// Bytes of the text, with the dash of an exclusion.
    pub range: Range<usize>,
    /// Whether it must not occur.
    pub negated: bool,
    pub kind: PieceKind<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PieceKind<'a> {
    Word(&'a str),
    /// Without its quotes.
    Phrase(&'a str),
    Qualifier(qualifier::Written<'a>),
}

/// Takes a text apart, whatever it is: what is no qualifier is words.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let start = text.len() - rest.len();
        let (negated, body) = match rest.strip_prefix('-') {
            Some(after) if starts_word(after) => (true, after),
            _ => (false, rest),
        };
        let (kind, after) = take(body);
        pieces.push(Piece { range: start..text.len() - after.len(), negated, kind });
        rest = after.trim_start();
    }
    pieces
}

/// Takes one piece from the front of `text`, and gives what is left.
fn take(text: &str) -> (PieceKind<'_>, &str) {
    if let Some(quoted) = text.strip_prefix('"') {
        let (phrase, rest) = quoted.split_once('"').unwrap_or((quoted, ""));
        return (PieceKind::Phrase(phrase.trim()), rest);
    }
    if let Some((written, rest)) = qualifier::take(text) {
        return (PieceKind::Qualifier(written), rest);
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (PieceKind::Word(word), rest)
}

/// Whether a `-` before `text` means "not": a dash by itself, or before another, is a dash.
fn starts_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || c == '"' || c == '_' || c == '.')
}
