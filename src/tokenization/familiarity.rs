//! How much of a text a model knows, by how its tokenizer takes it.

use crate::data::TokenSequence;

/// Characters of a token of a script without spaces that stand for a word: models that were trained on
/// Chinese or Japanese have tokens of one and a half on average, others have the single characters.
const WORD_CHARS: f32 = 1.5;

/// The share of the words of a text that are known, 0 ..= 1; 1 where there are none.
///
/// A vocabulary is made from what a model is trained on, most frequent first: a word that it holds whole
/// was seen often, one in `n` pieces was not and counts for one `n`-th, and the unknown token for nothing.
/// English words have 1.1 tokens for an English model and Russian ones 5.5. Scripts without spaces have
/// their characters in every vocabulary; there the pieces that hold more than one tell.
pub(super) fn familiarity(text: &str, tokens: &TokenSequence, unknown: Option<u32>) -> f32 {
    let (mut known, mut pieces) = (0.0, 0.0);
    for (start, run) in runs(text) {
        let range = tokens.within(&(start..start + run.len()));
        // A token for the space before a word, which some tokenizers have, is empty.
        let of_run = range.filter(|at| tokens.offsets[*at].0 < tokens.offsets[*at].1);
        let ids: Vec<u32> = of_run.map(|at| tokens.ids[at]).collect();
        let count = ids.len().max(1) as f32;
        pieces += count;
        if ids.is_empty() || ids.iter().any(|id| Some(*id) == unknown) {
            continue;
        }
        known += if run.starts_with(is_spaceless) {
            let chars = run.chars().count() as f32 / count;
            count * ((chars - 1.0) / (WORD_CHARS - 1.0)).clamp(0.0, 1.0)
        } else {
            1.0
        };
    }
    if pieces > 0.0 { known / pieces } else { 1.0 }
}

/// Runs of letters and digits, in scripts with spaces and without apart, and where each starts.
fn runs(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text[rest..].find(char::is_alphanumeric)?;
        let spaceless = text[start..].starts_with(is_spaceless);
        let ends = |c: char| !c.is_alphanumeric() || is_spaceless(c) != spaceless;
        let end = text[start..].find(ends).map_or(text.len(), |length| start + length);
        rest = end;
        Some((start, &text[start..end]))
    })
}

/// Thai to Burmese, Khmer, kana, Han.
fn is_spaceless(c: char) -> bool {
    matches!(
        c,
        '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
            | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{3FFFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens are written with `|` between them and spaces left out; `?` is the unknown one.
    fn check(text: &str, cut: &str, expected: f32) {
        let mut tokens = TokenSequence::default();
        let mut at = 0;
        for piece in cut.split('|') {
            let length = if piece == "?" {
                text[at..].chars().next().unwrap().len_utf8()
            } else {
                piece.len()
            };
            let start = at + text[at..].find(|c: char| c != ' ').unwrap();
            tokens.ids.push(u32::from(piece != "?"));
            tokens.offsets.push((start as u32, (start + length) as u32));
            at = start + length;
        }
        let got = familiarity(text, &tokens, Some(0));
        assert!((got - expected).abs() < 1e-6, "{text}: {got} is not {expected}");
    }

    #[test]
    fn a_word_counts_by_its_pieces() {
        check("share the code", "share|the|code", 1.0);
        check("share ownership, now", "share|owner|ship|,|now", 3.0 / 4.0);
        check("ключ", "к|л|ю|ч", 0.25);
        check("a ж", "a|?", 0.5);
        check("日本語", "日|本|語", 0.0);
        check("日本語です", "日本|語|です", 1.0);
        check("!", "!", 1.0);
    }
}
