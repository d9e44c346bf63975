//! Qualifiers as text: what stands in a query, and the query with another one.

use std::ops::Range;

use super::piece::{PieceKind, pieces};

/// Every qualifier, in the order in which they are offered.
pub const QUALIFIER_NAMES: [&str; 6] = ["type", "in", "site", "after", "before", "ext"];

/// A qualifier that stands in a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenQualifier {
    /// Bytes of the query, with the dash of an exclusion.
    pub range: Range<usize>,
    pub name: String,
    /// Without quotes; of several, one is enough.
    pub values: Vec<String>,
    /// Whether it must not hold.
    pub negated: bool,
}

/// The qualifiers of a query, in their order; those without a value as well.
#[must_use]
pub fn qualifiers(text: &str) -> Vec<WrittenQualifier> {
    pieces(text)
        .into_iter()
        .filter_map(|piece| match piece.kind {
            PieceKind::Qualifier(written) => Some(WrittenQualifier {
                range: piece.range,
                name: written.name.to_owned(),
                values: written.values.into_iter().map(str::to_owned).collect(),
                negated: piece.negated,
            }),
            PieceKind::Word(_) | PieceKind::Phrase(_) => None,
        })
        .collect()
}

/// The query without `name:value` where it demands that, and else with it, in the place of another value
/// of that name. A negated qualifier is taken out with `-name`.
#[must_use]
pub fn toggled(text: &str, name: &str, value: &str) -> String {
    let (negated, name) = match name.strip_prefix('-') {
        Some(name) => (true, name),
        None => (false, name),
    };
    let written = qualifiers(text);
    let of_name = |other: &&WrittenQualifier| other.name == name && other.negated == negated;
    let holding = written.iter().filter(of_name).find(|other| holds(other, value));
    match holding {
        Some(holding) => {
            let mut left = holding.clone();
            left.values.retain(|other| !is_same(name, other, value));
            replaced(text, &[(holding.range.clone(), left.to_text())])
        }
        None if negated => text.to_owned(),
        None => with_qualifier(text, name, value),
    }
}

/// The query with `name:value` in the place of other values of that name, or in front: what is being typed
/// at the end stays at the end.
#[must_use]
pub fn with_qualifier(text: &str, name: &str, value: &str) -> String {
    let new = WrittenQualifier {
        range: 0..0,
        name: name.to_owned(),
        values: vec![value.to_owned()],
        negated: false,
    };
    let new = new.to_text();
    let written = qualifiers(text);
    let mut others = written.iter().filter(|other| other.name == name && !other.negated);
    let Some(first) = others.next() else {
        return format!("{new} {}", text.trim_start());
    };
    let mut changes = vec![(first.range.clone(), new)];
    changes.extend(others.map(|other| (other.range.clone(), String::new())));
    replaced(text, &changes)
}

/// The text with these ranges, in ascending order, replaced; what is replaced by nothing takes the space
/// behind it along.
fn replaced(text: &str, changes: &[(Range<usize>, String)]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for (range, new) in changes {
        out.push_str(&text[at..range.start]);
        out.push_str(new);
        at = range.end;
        if new.is_empty() {
            let rest = &text[at..];
            at = text.len() - rest.trim_start().len();
        }
    }
    out.push_str(&text[at..]);
    out
}

fn holds(written: &WrittenQualifier, value: &str) -> bool {
    written.values.iter().any(|other| is_same(&written.name, other, value))
}

/// Whether two values demand the same.
fn is_same(name: &str, one: &str, other: &str) -> bool {
    match name {
        "in" => one.trim_end_matches('/') == other.trim_end_matches('/'),
        "ext" => one.trim_start_matches('.').eq_ignore_ascii_case(other.trim_start_matches('.')),
        _ => one.to_lowercase() == other.to_lowercase(),
    }
}

impl WrittenQualifier {
    /// As it is typed; nothing without values.
    #[must_use]
    pub fn to_text(&self) -> String {
        if self.values.is_empty() {
            return String::new();
        }
        let dash = if self.negated { "-" } else { "" };
        let values = self.values.join(",");
        let needs_quotes = |value: &String| value.contains([' ', ',', '\t']);
        if self.values.iter().any(needs_quotes) {
            format!("{dash}{}:\"{values}\"", self.name)
        } else {
            format!("{dash}{}:{values}", self.name)
        }
    }

    /// Whether this value is one of those that are enough.
    #[must_use]
    pub fn has(&self, value: &str) -> bool {
        holds(self, value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::search::Query;

    #[test]
    fn a_qualifier_comes_goes_and_takes_the_place_of_another() {
        assert_eq!(toggled("why rust", "type", "pdf"), "type:pdf why rust");
        assert_eq!(toggled("type:pdf why rust", "type", "PDF"), "why rust");
        assert_eq!(toggled("why type:pdf rust", "type", "pdf"), "why rust");
        assert_eq!(toggled("why type:pdf rust", "type", "code"), "why type:code rust");
        assert_eq!(toggled("type:pdf,code why", "type", "pdf"), "type:code why");
        assert_eq!(toggled("in:/a in:/b x", "in", "/c"), "in:/c x");
        assert_eq!(toggled("x", "in", "/a b"), "in:\"/a b\" x");
        assert_eq!(toggled("in:\"/a b\" x", "in", "/a b/"), "x");
        assert_eq!(toggled("-ext:md x", "-ext", ".md"), "x");
        assert_eq!(toggled("-ext:md x", "ext", "md"), "ext:md -ext:md x");
        assert_eq!(toggled("x \"open", "type", "pdf"), "type:pdf x \"open");
    }

    #[test]
    fn qualifiers_are_told_from_words_as_the_search_does() {
        let written = qualifiers("std::sync type: -in:\"/a b\" after:soon site:docs.rs,go.dev");
        let told: Vec<_> =
            written.iter().map(|q| (q.name.as_str(), q.values.len(), q.negated)).collect();
        assert_eq!(told, [("type", 0, false), ("in", 1, true), ("site", 2, false)]);
        assert_eq!(written[1].range, 16..26);
    }

    proptest! {
        /// Pressing a chip makes the search demand it and leaves the words; pressing again undoes it.
        #[test]
        fn a_chip_and_the_text_are_one_state(
            words in "[a-z\"é -]{0,24}",
            value in prop_oneof!["[a-z]{1,6}", "/[a-z]{1,4}( [a-z]{1,4})?", "7d"],
            name in prop_oneof![Just("type"), Just("in"), Just("site")],
        ) {
            let before = Query::parse(&words, 0);
            let on = toggled(&words, name, &value);
            let asked = Query::parse(&on, 0);
            prop_assert_eq!(asked.conditions.len(), before.conditions.len() + 1);
            prop_assert_eq!(&asked.terms, &before.terms);
            prop_assert_eq!(&asked.phrases, &before.phrases);
            prop_assert_eq!(&asked.ends_in_term, &before.ends_in_term);
            prop_assert!(qualifiers(&on).iter().any(|written| written.has(&value)));
            prop_assert_eq!(toggled(&on, name, &value), words.trim_start());
        }
    }
}
