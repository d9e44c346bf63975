mod piece;
mod qualifier;
mod written;

pub use written::{QUALIFIER_NAMES, WrittenQualifier, qualifiers, toggled, with_qualifier};

use self::piece::{Piece, PieceKind};
use crate::storage::Condition;

/// What a person typed, taken apart.
///
/// Words and `"exact phrases"` are looked for, `-word` and `-"phrase"` must not occur, and qualifiers
/// (`type: ext: in: site: before: after:`, each also with `-`) narrow the documents. Nothing is an
/// error: what is no qualifier, such as `std::sync`, is words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pub terms: Vec<String>,
    pub phrases: Vec<String>,
    /// Words and phrases that must not occur.
    pub excluded: Vec<String>,
    pub conditions: Vec<Condition>,
    /// Words and phrases in the order typed.
    wanted: Vec<String>,
    /// Whether a word that is looked for ends the text: it may still be being typed.
    pub ends_in_term: bool,
}

impl Query {
    /// Parses `text`; `now` (seconds since the Unix epoch) is what `after:7d` counts from.
    #[must_use]
    pub fn parse(text: &str, now: i64) -> Self {
        let mut query = Self::default();
        for Piece { range, negated, kind } in piece::pieces(text) {
            match kind {
                PieceKind::Word(word) if negated => query.excluded.push(word.to_owned()),
                PieceKind::Word(word) => {
                    query.terms.push(word.to_owned());
                    query.wanted.push(word.to_owned());
                    query.ends_in_term = range.end == text.len();
                }
                PieceKind::Phrase(phrase) => query.push_phrase(phrase, negated),
                PieceKind::Qualifier(written) => {
                    query.conditions.extend(written.conditions(negated, now).unwrap_or_default());
                }
            }
        }
        query
    }

    /// The words for the encoder: everything that is looked for, without what is excluded and without
    /// qualifiers.
    #[must_use]
    pub fn semantic_text(&self) -> String {
        self.wanted.join(" ")
    }

    /// Whether there is nothing to look for but qualifiers.
    #[must_use]
    pub fn has_no_words(&self) -> bool {
        self.wanted.is_empty()
    }

    fn push_phrase(&mut self, phrase: &str, negated: bool) {
        match (phrase.is_empty(), negated) {
            (true, _) => {}
            (false, true) => self.excluded.push(phrase.to_owned()),
            (false, false) => {
                self.phrases.push(phrase.to_owned());
                self.wanted.push(phrase.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::storage::{Place, Requirement};

    const NOW: i64 = 1_750_000_000;

    fn parse(text: &str) -> Query {
        Query::parse(text, NOW)
    }

    fn condition(text: &str) -> Condition {
        let query = parse(text);
        assert!(query.has_no_words(), "{text} is no qualifier");
        let [condition] = query.conditions.as_slice() else { panic!("{text}: {query:?}") };
        condition.clone()
    }

    #[test]
    fn words_phrases_and_exclusions() {
        let query = parse(r#"shared "mutex guard" state -poison -"dead lock" - a--b"#);
        assert_eq!(query.terms, ["shared", "state", "-", "a--b"]);
        assert_eq!(query.phrases, ["mutex guard"]);
        assert_eq!(query.excluded, ["poison", "dead lock"]);
        assert_eq!(query.semantic_text(), "shared mutex guard state - a--b");
    }

    #[test]
    fn a_quote_that_is_still_open_holds_the_rest() {
        assert_eq!(parse(r#"a "b c"#).phrases, ["b c"]);
        assert_eq!(parse(r#"a ""#), parse("a "));
    }

    #[test]
    fn qualifiers_narrow_the_documents() {
        let is = |requirement| Condition { requirement, negated: false };
        assert_eq!(condition("type:Markdown"), is(Requirement::Type("markdown".into())));
        assert_eq!(condition("ext:.RS"), is(Requirement::Extension("rs".into())));
        assert_eq!(condition("site:Docs.RS"), is(Requirement::Site("docs.rs".into())));
        assert_eq!(condition("in:Notes"), is(Requirement::In(Place::Containing("notes".into()))));
        let under = is(Requirement::In(Place::Under("/home/a b".into())));
        assert_eq!(condition(r#"in:"/home/a b""#), under);
        assert!(condition("-ext:pdf").negated);
        assert_eq!(parse("ext:md,txt").conditions.len(), 2);
    }

    #[test]
    fn dates_are_days_in_utc() {
        let seconds = |text: &str| match condition(text).requirement {
            Requirement::Before(at) | Requirement::Since(at) => at,
            other => panic!("{other:?}"),
        };
        assert_eq!(seconds("before:1970-01-02"), 86_400);
        assert_eq!(seconds("after:1970-02"), 31 * 86_400);
        assert_eq!(seconds("after:1971"), 365 * 86_400);
        assert_eq!(seconds("after:7d"), NOW - 7 * 86_400);
        assert_eq!(seconds("after:2w"), NOW - 14 * 86_400);
    }

    #[test]
    fn what_is_no_qualifier_is_words() {
        for text in ["std::sync", "foo:bar", "https://a.b/c", "before:soon", "after:2024-13", "a:b"]
        {
            assert_eq!(parse(text).terms, [text]);
        }
    }

    #[test]
    fn a_qualifier_whose_value_is_not_typed_yet_does_nothing() {
        assert_eq!(parse("lock type:"), parse("lock "));
    }

    #[test]
    fn a_word_that_is_still_being_typed_ends_the_text() {
        let is_typed = |text| parse(text).ends_in_term;
        assert!(is_typed("cat") && is_typed("type:pdf cat") && is_typed("\"big cat\" do"));
        for text in ["", "cat ", "cat \"big cat", "cat -cat", "cat type:", "cat type:pdf"] {
            assert!(!is_typed(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_parses_and_no_word_is_lost(text in "\\PC{0,60}") {
            let query = parse(&text);
            for word in query.terms.iter().chain(&query.phrases).chain(&query.excluded) {
                prop_assert!(text.contains(word.as_str()) && !word.is_empty());
            }
        }

        #[test]
        fn quoted_text_survives(phrase in "[a-z:é-]{1,8}( [a-z:-]{1,8}){0,3}") {
            let quoted = format!("a \"{phrase}\" b");
            prop_assert_eq!(parse(&quoted).phrases, [phrase.trim().to_owned()]);
        }
    }
}
