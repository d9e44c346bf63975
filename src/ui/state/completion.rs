use std::ops::Range;
use std::path::Path;

use lodestone::engine::{KnownValue, QUALIFIER_NAMES, Vocabulary, WrittenQualifier, qualifiers};

use crate::ui::wording::{age_name, folder_name, qualifier_note, type_label};

/// Choices that are offered at once.
const CHOICES_MAX: usize = 8;

/// Ages that `after:` and `before:` are offered with.
const AGES: [&str; 4] = ["1d", "7d", "30d", "365d"];

/// What the word at the caret of the query box may become.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    /// What there is here; `None` until it was asked for, or since it changed.
    vocabulary: Option<Vocabulary>,
    text: String,
    caret: usize,
    /// Bytes of the text that a choice replaces.
    range: Range<usize>,
    choices: Vec<Choice>,
    chosen: Option<usize>,
}

/// One thing to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What stands in the query then.
    pub text: String,
    pub label: String,
    /// What it means, or where it lies.
    pub note: String,
    pub documents: Option<u64>,
}

impl Completion {
    /// Takes the text that the box has now, of which one place has changed.
    pub fn typed(&mut self, text: &str) {
        self.caret = changed_end(&self.text, text);
        text.clone_into(&mut self.text);
        self.offer();
    }

    /// Takes a text that nobody typed.
    pub fn set(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.caret = text.len();
        self.close();
    }

    /// What the page shows of it.
    pub fn outline(&self) -> (Vec<Choice>, Option<usize>) {
        (self.choices.clone(), self.chosen)
    }

    pub fn learn(&mut self, vocabulary: Vocabulary) {
        self.vocabulary = Some(vocabulary);
        self.offer();
    }

    /// The index has changed: what there is has to be asked for anew.
    pub fn forget(&mut self) {
        self.vocabulary = None;
    }

    /// Whether values are to be offered that have not been asked for.
    pub fn wants_vocabulary(&self) -> bool {
        self.vocabulary.is_none() && self.word().is_some_and(|(_, word)| word.contains(':'))
    }

    pub fn close(&mut self) {
        self.choices.clear();
        self.chosen = None;
    }

    pub fn is_open(&self) -> bool {
        !self.choices.is_empty()
    }

    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    pub fn chosen(&self) -> Option<usize> {
        self.chosen
    }

    /// Moves down or up, from end to end with nothing chosen between.
    pub fn step(&mut self, by: isize) {
        let places = self.choices.len().cast_signed() + 1;
        let at = self.chosen.map_or(0, |chosen| chosen.cast_signed() + 1);
        let at = (at + by).rem_euclid(places);
        self.chosen = (at > 0).then(|| (at - 1).unsigned_abs());
    }

    /// The text with a choice in it, and where the caret stands then.
    pub fn taken(&self, choice: usize) -> Option<(String, usize)> {
        let choice = self.choices.get(choice)?;
        let before = &self.text[..self.range.start];
        let after = self.text[self.range.end..].trim_start();
        let gap = if choice.text.ends_with(':') { "" } else { " " };
        let caret = before.len() + choice.text.len() + gap.len();
        Some((format!("{before}{}{gap}{after}", choice.text), caret))
    }

    /// The word, or the qualifier with its quotes, in which the caret stands.
    fn word(&self) -> Option<(Range<usize>, &str)> {
        let holds = |range: &Range<usize>| range.start < self.caret && self.caret <= range.end;
        let written = qualifiers(&self.text).into_iter().map(|written| written.range);
        let range = written.into_iter().find(holds).or_else(|| {
            let start = self.text[..self.caret].rfind(char::is_whitespace);
            let start = start.map_or(0, |at| self.text.ceil_char_boundary(at + 1));
            let length = self.text[self.caret..].find(char::is_whitespace);
            let end = length.map_or(self.text.len(), |length| self.caret + length);
            (start < end).then_some(start..end)
        })?;
        let word = self.text.get(range.clone())?;
        Some((range, word))
    }

    fn offer(&mut self) {
        self.close();
        let Some((range, word)) = self.word() else { return };
        let (dash, body) = match word.strip_prefix('-') {
            Some(body) => ("-", body),
            None => ("", word),
        };
        let choices = match body.split_once(':') {
            None => names(dash, body),
            Some((name, value)) => self.values(dash, name, value),
        };
        // What is there already needs no offer.
        self.choices = choices.into_iter().filter(|choice| choice.text != word).collect();
        self.range = range;
    }

    fn values(&self, dash: &str, name: &str, typed: &str) -> Vec<Choice> {
        let typed = typed.trim_start_matches('"').trim_end_matches('"').to_lowercase();
        let choice = |value: &str, label: String, note: String, documents| {
            let written = WrittenQualifier {
                range: 0..0,
                name: name.to_owned(),
                values: vec![value.to_owned()],
                negated: !dash.is_empty(),
            };
            Choice { text: written.to_text(), label, note, documents }
        };
        if matches!(name, "after" | "before") {
            let ages = AGES.into_iter().filter(|age| age.starts_with(&typed));
            return ages
                .map(|age| choice(age, age.to_owned(), age_name(name, age), None))
                .collect();
        }
        let known = self.vocabulary.as_ref().map(|vocabulary| match name {
            "type" => vocabulary.types.as_slice(),
            "ext" => &vocabulary.extensions,
            "site" => &vocabulary.sites,
            "in" => &vocabulary.folders,
            _ => &[],
        });
        let home = std::env::home_dir();
        let told = |known: &KnownValue| {
            let value = known.value.as_str();
            let (label, note) = match name {
                "type" => (value.to_owned(), type_label(value)),
                "in" => folder_name(Path::new(value), home.as_deref()),
                _ => (value.to_owned(), String::new()),
            };
            choice(value, label, note, Some(known.documents))
        };
        let passes = |known: &&KnownValue| known.value.to_lowercase().contains(&typed);
        // What begins so comes before what only holds it.
        let (begins, holds): (Vec<_>, Vec<_>) =
            known.unwrap_or_default().iter().filter(passes).partition(|known| {
                let value = known.value.to_lowercase();
                let last = value.rsplit('/').next().unwrap_or(&value);
                value.starts_with(&typed) || last.starts_with(&typed)
            });
        begins.into_iter().chain(holds).take(CHOICES_MAX).map(told).collect()
    }
}

/// Names of qualifiers that begin so. A whole word may be meant as one: `in`, `before`.
fn names(dash: &str, typed: &str) -> Vec<Choice> {
    let begins = |name: &&str| typed.len() >= 2 && name.starts_with(typed) && *name != typed;
    let choice = |name: &str| Choice {
        text: format!("{dash}{name}:"),
        label: format!("{dash}{name}:"),
        note: qualifier_note(name).to_owned(),
        documents: None,
    };
    QUALIFIER_NAMES.iter().copied().filter(|name| begins(name)).map(choice).collect()
}

/// Where the changed part of `new` ends: there the caret stands.
fn changed_end(old: &str, new: &str) -> usize {
    let longest = old.len().min(new.len());
    let head = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let tails = old.bytes().rev().zip(new.bytes().rev());
    let tail = tails.take(longest - head).take_while(|(a, b)| a == b).count();
    new.ceil_char_boundary(new.len() - tail)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(values: &[(&str, u64)]) -> Vec<KnownValue> {
        let known = |(value, documents): &(&str, u64)| KnownValue {
            value: (*value).to_owned(),
            documents: *documents,
        };
        values.iter().map(known).collect()
    }

    fn typed(text: &str) -> Completion {
        let mut completion = Completion::default();
        completion.learn(Vocabulary {
            types: known(&[("markdown", 40), ("pdf", 7), ("text", 2)]),
            extensions: known(&[("md", 40)]),
            sites: known(&[("docs.rs", 12)]),
            folders: known(&[
                ("/srv/notes", 30),
                ("/srv/notes/my garden", 3),
                ("/srv/old notes", 1),
            ]),
        });
        completion.typed(text);
        completion
    }

    fn labels(text: &str) -> Vec<String> {
        typed(text).choices().iter().map(|choice| choice.label.clone()).collect()
    }

    #[test]
    fn names_are_offered_while_they_are_typed_and_words_are_left_alone() {
        assert_eq!(labels("lock ty"), ["type:"]);
        assert_eq!(labels("-si"), ["-site:"]);
        for text in ["", "t", "in", "before", "what is in", "type", "why "] {
            assert_eq!(labels(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn values_come_with_their_counts_and_a_whole_one_needs_no_offer() {
        assert_eq!(labels("type:"), ["markdown", "pdf", "text"]);
        assert_eq!(typed("type:").choices()[1].documents, Some(7));
        assert_eq!(labels("x type:T"), ["text"]);
        assert_eq!(labels("type:pdf"), [] as [&str; 0]);
        assert_eq!(labels("site:do"), ["docs.rs"]);
        assert_eq!(labels("in:gard"), ["my garden"]);
        assert_eq!(labels("in:\"my g"), ["my garden"]);
        assert_eq!(labels("after:3"), ["30d", "365d"]);
        assert!(labels("std:").is_empty());
    }

    #[test]
    fn a_choice_takes_the_place_of_the_word_at_the_caret() {
        let taken = |text: &str| typed(text).taken(0).unwrap();
        assert_eq!(taken("lock ty"), ("lock type:".to_owned(), 10));
        assert_eq!(taken("in:my"), ("in:\"/srv/notes/my garden\" ".to_owned(), 26));
        let mut completion = typed("lock  state");
        completion.typed("lock ty state");
        assert_eq!(completion.taken(0).unwrap(), ("lock type:state".to_owned(), 10));
        completion.set("lock type:pdf state");
        assert!(!completion.is_open());
    }

    #[test]
    fn the_choice_goes_round_with_nothing_chosen_between() {
        let mut completion = typed("type:");
        let mut seen = Vec::new();
        for _ in 0..4 {
            completion.step(1);
            seen.push(completion.chosen());
        }
        assert_eq!(seen, [Some(0), Some(1), Some(2), None]);
        completion.step(-1);
        assert_eq!(completion.chosen(), Some(2));
    }

    proptest! {
        /// Wherever something is typed, no text breaks it, and taking what is offered keeps the rest.
        #[test]
        fn the_caret_is_found(head in "[a-zé: ]{0,8}", new in "[a-zé:\" ]{1,4}", tail in "[a-zé ]{0,8}") {
            let mut completion = typed(&format!("{head}{tail}"));
            let text = format!("{head}{new}{tail}");
            completion.typed(&text);
            prop_assert!(text.is_char_boundary(completion.caret));
            prop_assert!(completion.caret >= head.len());
            for at in 0..completion.choices().len() {
                let (taken, caret) = completion.taken(at).unwrap();
                prop_assert!(taken.is_char_boundary(caret));
                prop_assert!(taken.starts_with(&text[..completion.range.start]));
            }
        }
    }
}
