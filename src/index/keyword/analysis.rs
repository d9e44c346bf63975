//! Text to words, in the same way for what is indexed, asked and marked.
//!
//! Words are cut by [`WordTokenizer`], then put in lower case, cut down to their stems in one language
//! (Snowball's stemmers, which for English is Porter's second) and stripped of accents: stemmers know
//! endings by their accents, and people leave them out.

use std::ops::Range;

use icu_segmenter::WordSegmenter;
use icu_segmenter::options::WordBreakInvariantOptions;
use tantivy::tokenizer::{
    AsciiFoldingFilter, LowerCaser, PreTokenizedString, RawTokenizer, RemoveLongFilter, Stemmer,
    TextAnalyzer, Token, TokenStream, Tokenizer,
};

use super::language::Language;

/// Longer words are encoded data; nobody types them.
const WORD_BYTES_MAX: usize = 96;

/// Bytes of a text whose words tell its language.
const LANGUAGE_BYTES: usize = 8 << 10;

/// The analyzer of every field of a passage in `language`.
pub(super) fn stemming(language: Language) -> TextAnalyzer {
    builder().filter(Stemmer::new(language.stemming())).filter(AsciiFoldingFilter).build()
}

/// The same without the stemmer: for the beginning of a word, which has no stem yet.
pub(super) fn unstemmed() -> TextAnalyzer {
    builder().filter(AsciiFoldingFilter).build()
}

/// Words in lower case and nothing more: what [`endings`] turns into what [`stemming`] gives.
pub(super) fn cutting() -> TextAnalyzer {
    builder().build()
}

/// Stems one word that [`cutting`] gave.
pub(super) fn endings(language: Language) -> TextAnalyzer {
    TextAnalyzer::builder(RawTokenizer::default())
        .filter(Stemmer::new(language.stemming()))
        .filter(AsciiFoldingFilter)
        .build()
}

fn builder() -> tantivy::tokenizer::TextAnalyzerBuilder<impl Tokenizer> {
    TextAnalyzer::builder(WordTokenizer)
        .filter(RemoveLongFilter::limit(WORD_BYTES_MAX))
        .filter(LowerCaser)
}

/// The language that most of the beginnings of `texts` is in.
pub(super) fn language_of<'a>(texts: impl Iterator<Item = &'a str>) -> Language {
    let (mut analyzer, mut words, mut room) = (unstemmed(), Vec::new(), LANGUAGE_BYTES);
    for text in texts {
        let text = &text[..text.floor_char_boundary(text.len().min(room))];
        room -= text.len();
        words.extend(analyze(&mut analyzer, text).into_iter().map(|word| word.text));
        if room == 0 {
            break;
        }
    }
    Language::of(words.iter().map(String::as_str))
}

/// The words of a text as tantivy takes them in.
pub(super) fn tokens(analyzer: &mut TextAnalyzer, text: &str) -> PreTokenizedString {
    let mut tokens = Vec::new();
    analyzer.token_stream(text).process(&mut |token| tokens.push(token.clone()));
    // tantivy looks at the text itself only where it is stored, and nothing is.
    PreTokenizedString { text: String::new(), tokens }
}

/// A word as it stands in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AnalyzedWord {
    pub text: String,
    /// Bytes of the analyzed text.
    pub range: Range<usize>,
    pub position: usize,
    /// Whether it spans the parts beside it: a whole identifier, or two characters of a script
    /// without spaces.
    pub is_whole: bool,
}

pub(super) fn analyze(analyzer: &mut TextAnalyzer, text: &str) -> Vec<AnalyzedWord> {
    let mut words = Vec::new();
    analyzer.token_stream(text).process(&mut |token| {
        words.push(AnalyzedWord {
            text: token.text.clone(),
            range: token.offset_from..token.offset_to,
            position: token.position,
            is_whole: token.position_length > 1,
        });
    });
    words
}

/// Cuts at everything that is no letter, digit or underscore.
///
/// An identifier of several parts (`snake_case`, `camelCase`, `HTTPServer`) comes whole and in its
/// parts. Han and kana come in characters and in pairs of them, as in Lucene's analyzer for Chinese,
/// Japanese and Korean: no dictionary, so a query is never cut differently from the text. Thai, Lao,
/// Khmer and Burmese letters are syllables' parts, whose pairs say little, and come in the words that
/// ICU's models find. A whole and its first part have one position, so that a phrase is a run of parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordTokenizer;

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        WordStream { text, at: 0, position: 0, pending: Vec::new(), token: Token::default() }
    }
}

pub(super) struct WordStream<'a> {
    text: &'a str,
    /// Where the next word is looked for.
    at: usize,
    position: usize,
    /// What is still to come of the word in hand, last first.
    pending: Vec<Piece>,
    token: Token,
}

#[derive(Debug)]
struct Piece {
    range: Range<usize>,
    position: usize,
    length: usize,
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        while self.pending.is_empty() {
            let Some(word) = next_run(self.text, self.at, is_word) else { return false };
            self.at = word.end;
            self.cut(&word);
        }
        if let Some(Piece { range, position, length }) = self.pending.pop() {
            self.token.text.clear();
            let chars = self.text[range.clone()].chars().filter(|c| !is_accent(*c));
            self.token.text.extend(chars);
            self.token.offset_from = range.start;
            self.token.offset_to = range.end;
            self.token.position = position;
            self.token.position_length = length;
        }
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

impl WordStream<'_> {
    /// Fills `pending` with the pieces of a run of word characters.
    fn cut(&mut self, word: &Range<usize>) {
        let mut pieces = Vec::new();
        let mut from = word.start;
        while let Some(first) = self.text[from..word.end].chars().next() {
            let script = Script::of(first);
            let run = &self.text[from..word.end];
            let length = run.find(|c| Script::of(c) != script).unwrap_or(run.len());
            let run = from..from + length;
            from = run.end;
            match script {
                Script::Spaced => self.cut_identifier(run, &mut pieces),
                Script::Characters => self.cut_characters(run, &mut pieces),
                Script::Unspaced => self.cut_words(run, &mut pieces),
            }
        }
        pieces.reverse();
        self.pending = pieces;
    }

    fn cut_identifier(&mut self, run: Range<usize>, pieces: &mut Vec<Piece>) {
        let parts = identifier_parts(self.text, run.clone());
        if parts.len() > 1 {
            pieces.push(Piece { range: run, position: self.position, length: parts.len() });
        }
        for range in parts {
            pieces.push(Piece { range, position: self.position, length: 1 });
            self.position += 1;
        }
    }

    fn cut_words(&mut self, run: Range<usize>, pieces: &mut Vec<Piece>) {
        let segmenter = WordSegmenter::new_auto(WordBreakInvariantOptions::default());
        let text = &self.text[run.clone()];
        let mut from = 0;
        for end in segmenter.segment_str(text).filter(|end| *end > 0) {
            pieces.push(Piece {
                range: run.start + from..run.start + end,
                position: self.position,
                length: 1,
            });
            self.position += 1;
            from = end;
        }
    }

    fn cut_characters(&mut self, run: Range<usize>, pieces: &mut Vec<Piece>) {
        let starts: Vec<_> = self.text[run.clone()]
            .char_indices()
            .map(|(at, _)| run.start + at)
            .chain([run.end])
            .collect();
        for (at, start) in starts[..starts.len() - 1].iter().enumerate() {
            if let Some(pair_end) = starts.get(at + 2) {
                pieces.push(Piece { range: *start..*pair_end, position: self.position, length: 2 });
            }
            pieces.push(Piece {
                range: *start..starts[at + 1],
                position: self.position,
                length: 1,
            });
            self.position += 1;
        }
    }
}

/// The next run of characters that are `wanted`, from byte `from` on.
fn next_run(text: &str, from: usize, wanted: fn(char) -> bool) -> Option<Range<usize>> {
    let start = from + text[from..].find(wanted)?;
    let length = text[start..].find(|c| !wanted(c)).unwrap_or(text.len() - start);
    Some(start..start + length)
}

/// Cuts at underscores, before a capital that follows a small letter, and before the last of
/// several capitals when a small letter follows it. Digits stay with the letters before them.
fn identifier_parts(text: &str, run: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut from = run.start;
    let mut before = '_';
    let mut chars = text[run.clone()].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let at = run.start + at;
        let next_is_small = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
        let is_hump =
            c.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && next_is_small));
        if (c == '_' || is_hump) && from < at {
            parts.push(from..at);
            from = at;
        }
        if c == '_' {
            from = at + 1;
        }
        if !is_accent(c) {
            before = c;
        }
    }
    if from < run.end {
        parts.push(from..run.end);
    }
    parts
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_mark(c)
}

/// Combining accents, which text from some systems has after the letter instead of in it.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}')
}

/// Marks inside words that Unicode does not count as letters: accents, Hebrew and Arabic vowels,
/// signs of the Indic scripts and of Thai.
fn is_mark(c: char) -> bool {
    is_accent(c)
        || matches!(
            c,
            '\u{591}'..='\u{5BD}' | '\u{64B}'..='\u{65F}' | '\u{900}'..='\u{963}'
                | '\u{966}'..='\u{DFF}' | '\u{E31}'..='\u{E3A}' | '\u{E47}'..='\u{E4E}'
        )
}

/// How a script sets its words apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Spaced,
    /// Han and kana: a character is a word or close to one.
    Characters,
    /// Thai, Lao, Burmese and Khmer: letters without spaces.
    Unspaced,
}

impl Script {
    fn of(c: char) -> Self {
        match c {
            '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' => {
                Self::Unspaced
            }
            '\u{3040}'..='\u{30FF}'
            | '\u{3400}'..='\u{9FFF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{3FFFF}' => Self::Characters,
            _ => Self::Spaced,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_in(language: Language, text: &str, expected: &[(usize, &str)]) {
        let words = analyze(&mut stemming(language), text);
        let found: Vec<_> = words.iter().map(|w| (w.position, w.text.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    fn check(text: &str, expected: &[(usize, &str)]) {
        check_in(Language::English, text, expected);
    }

    #[test]
    fn every_language_has_its_own_endings() {
        check_in(Language::German, "Häuser, Häusern", &[(0, "haus"), (1, "haus")]);
        check_in(Language::French, "étudiées étudier", &[(0, "etudi"), (1, "etudi")]);
        check_in(Language::Russian, "книгами книга", &[(0, "книг"), (1, "книг")]);
    }

    #[test]
    fn thai_comes_in_words() {
        check("ภาษาไทยง่าย", &[(0, "ภาษา"), (1, "ไทย"), (2, "ง่าย")]);
    }

    #[test]
    fn words_are_lowered_folded_and_stemmed() {
        check("Running, the Cafés!", &[(0, "run"), (1, "the"), (2, "cafe")]);
        check("Cafe\u{301}s", &[(0, "cafe")]);
        check("don't", &[(0, "don"), (1, "t")]);
        check("std::sync", &[(0, "std"), (1, "sync")]);
        check("ПРИВЕТ Straße", &[(0, "привет"), (1, "strasse")]);
        check("  __ -- ", &[]);
    }

    #[test]
    fn identifiers_come_whole_and_in_parts() {
        check("read_to_string", &[(0, "read_to_str"), (0, "read"), (1, "to"), (2, "string")]);
        check("HTTPServer2", &[(0, "httpserver2"), (0, "http"), (1, "server2")]);
        check("parseJson x", &[(0, "parsejson"), (0, "pars"), (1, "json"), (2, "x")]);
        check("__init__ SHOUT utf8", &[(0, "init"), (1, "shout"), (2, "utf8")]);
    }

    #[test]
    fn scripts_without_spaces_come_in_characters_and_pairs() {
        check("日本語", &[(0, "日本"), (0, "日"), (1, "本語"), (1, "本"), (2, "語")]);
        check("猫cat", &[(0, "猫"), (1, "cat")]);
    }

    fn check_halves(language: Language, text: &str) {
        let (mut cutting, mut endings) = (cutting(), endings(language));
        let mut words = analyze(&mut cutting, text);
        for word in &mut words {
            let [stem] = analyze(&mut endings, &word.text).try_into().unwrap();
            let AnalyzedWord { text, .. } = stem;
            word.text = text;
        }
        assert_eq!(words, analyze(&mut stemming(language), text), "{language:?}");
    }

    proptest! {
        #[test]
        fn cutting_and_then_stemming_is_the_same_as_both_at_once(
            text in "([a-zA-Z_ éßİ\u{301}日本ภาษาไทย1.]|ung|ies|ing|ées){0,30}"
        ) {
            for language in Language::ALL {
                check_halves(language, &text);
            }
        }

        #[test]
        fn ranges_are_inside_ascend_and_positions_have_no_gap(text in "[a-zA-Z_ é\u{301}日本ภาษาไทย1.]{0,40}") {
            let words = analyze(&mut stemming(Language::English), &text);
            let mut next = 0;
            let mut start = 0;
            for word in words {
                prop_assert!(!text[word.range.clone()].is_empty());
                prop_assert!(word.range.start >= start);
                start = word.range.start;
                prop_assert_eq!(word.position, next);
                next += usize::from(!word.is_whole);
            }
        }
    }
}
