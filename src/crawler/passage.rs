use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

/// Words that name each end of a passage. Fewer may stand elsewhere too, more are more to differ in.
const WORDS: usize = 6;

/// From how many words a line counts as one to begin or end at, where there are longer ones: a heading
/// of one word stands in the table of contents as well.
const LINE_WORDS_MIN: usize = 3;

/// Ends are no longer than this, for texts that set no spaces between words.
const END_CHARS_MAX: usize = 120;

/// What is written as it is: the syntax of text fragments gives `-`, `,` and `&` a meaning.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'.').remove(b'~');

/// The address at which a browser opens a page with the passage in sight and marked: a text fragment
/// (<https://wicg.github.io/scroll-to-text-fragment/>) of its first and last words. A fragment that the
/// address has already is kept, for browsers that know no text fragments.
///
/// `passage` is a piece of what `extract` made of the page; its Markdown marks, which the page does not
/// have, are left out. Without any words the address comes back as it is.
#[must_use]
pub fn passage_link(url: &Url, passage: &str) -> Url {
    let mut link = url.clone();
    let Some(directive) = directive(passage) else { return link };
    let fragment = url.fragment().unwrap_or_default();
    let fragment = fragment.split_once(":~:").map_or(fragment, |(fragment, _)| fragment);
    link.set_fragment(Some(&format!("{fragment}:~:text={directive}")));
    link
}

fn directive(passage: &str) -> Option<String> {
    let lines: Vec<Line> = lines(passage);
    let is_long = |line: &&Line| line.words.len() >= LINE_WORDS_MIN;
    let first = lines.iter().find(is_long).or(lines.first())?;
    let last = lines.iter().rev().find(is_long).or(lines.last())?;
    let is_one_line = std::ptr::eq(first, last);
    if is_one_line && first.words.len() <= 2 * WORDS && first.text.len() <= 2 * END_CHARS_MAX {
        return Some(escaped(&first.text));
    }
    Some(format!("{},{}", escaped(first.beginning()), escaped(last.ending())))
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// Text of one block of the page, in which an end of the passage has to lie whole.
struct Line {
    text: String,
    words: Vec<Range<usize>>,
}

impl Line {
    fn new(text: &str) -> Option<Self> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = words(&text);
        (!words.is_empty()).then_some(Self { text, words })
    }

    fn beginning(&self) -> &str {
        let fits = |word: &&Range<usize>| word.end <= END_CHARS_MAX;
        let end = self.words.iter().take(WORDS).take_while(fits).last();
        &self.text[..end.unwrap_or(&self.words[0]).end]
    }

    fn ending(&self) -> &str {
        let fits = |word: &&Range<usize>| self.text.len() - word.start <= END_CHARS_MAX;
        let start = self.words.iter().rev().take(WORDS).take_while(fits).last();
        let start = start.unwrap_or(&self.words[self.words.len() - 1]).start;
        &self.text[start..]
    }
}

/// Words, or clauses of a text that sets no spaces between words: a browser takes an end only where a
/// word ends.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let after = at + c.len_utf8();
        let is_clause_end = "。、,!?;:「」『』".contains(c);
        if c == ' ' || is_clause_end {
            let end = if c == ' ' { at } else { after };
            if end > start {
                words.push(start..end);
            }
            start = after;
        }
    }
    if start < text.len() {
        words.push(start..text.len());
    }
    words
}

/// The lines of a passage without what `extract` wrote between them: hashes, bullets, numbers, marks of
/// quotations, bars between cells, fences and backticks.
fn lines(passage: &str) -> Vec<Line> {
    let is_fence = |line: &str| line.starts_with("```") || line.starts_with("~~~");
    passage
        .lines()
        .map(str::trim)
        .filter(|line| !is_fence(line))
        .flat_map(|line| without_marks(line).split(" | "))
        .filter_map(|cell| Line::new(&cell.replace('`', "")))
        .collect()
}

fn without_marks(line: &str) -> &str {
    let mut rest = line;
    loop {
        let before = rest;
        for mark in ["> ", "- ", "* "] {
            rest = rest.strip_prefix(mark).unwrap_or(rest);
        }
        rest = without_lead(rest, |c| c == '#', " ");
        rest = without_lead(rest, |c| c.is_ascii_digit(), ". ");
        if rest == before {
            return rest.trim_matches(['|', ' ']);
        }
    }
}

/// Without some of `is_mark` and then `end`, where both are there.
fn without_lead<'a>(text: &'a str, is_mark: impl Fn(char) -> bool, end: &str) -> &'a str {
    let rest = text.trim_start_matches(is_mark);
    if rest.len() == text.len() { text } else { rest.strip_prefix(end).unwrap_or(text) }
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    use super::*;

    fn check(passage: &str, expected: &str) {
        let url = Url::parse("https://a.test/page").unwrap();
        let link = passage_link(&url, passage);
        assert_eq!(link.fragment().unwrap_or_default(), expected, "{passage}");
    }

    #[test]
    fn a_short_passage_is_named_whole_and_a_long_one_by_its_ends() {
        check("Straw keeps the soil damp.", ":~:text=Straw%20keeps%20the%20soil%20damp.");
        check(
            "one two three four five six seven eight nine ten eleven twelve thirteen",
            ":~:text=one%20two%20three%20four%20five%20six,eight%20nine%20ten%20eleven%20twelve%20thirteen",
        );
        check("", "");
        check(" \n```\n \n```", "");
    }

    #[test]
    fn what_the_syntax_uses_is_escaped() {
        check("a-b, c & d=e", ":~:text=a%2Db%2C%20c%20%26%20d%3De");
        check("Größe 100%", ":~:text=Gr%C3%B6%C3%9Fe%20100%25");
    }

    #[test]
    fn marks_that_the_page_does_not_have_are_left_out() {
        check("## 3. Rows of `code`", ":~:text=Rows%20of%20code");
        check(
            "# Guide\n\n- water the beds early\n- cover them with straw\n\n> ends here for now",
            ":~:text=water%20the%20beds%20early,ends%20here%20for%20now",
        );
        check(
            "```rust\nlet x = 1;\nlet y = x + 2;\n```",
            ":~:text=let%20x%20%3D%201%3B,let%20y%20%3D%20x%20%2B%202%3B",
        );
        check(
            "Name of it | Price of it\nGarden spade | 12 euros",
            ":~:text=Name%20of%20it,Price%20of%20it",
        );
        check("#hashtag 3.5 times", ":~:text=%23hashtag%203.5%20times");
    }

    #[test]
    fn texts_without_spaces_are_cut_at_their_clauses() {
        let clause = "吾輩は猫である。名前はまだ無い。";
        let decoded = {
            let link = passage_link(&Url::parse("https://a.test/").unwrap(), &clause.repeat(20));
            percent_decode_str(link.fragment().unwrap()).decode_utf8().unwrap().into_owned()
        };
        let (start, end) = decoded.strip_prefix(":~:text=").unwrap().split_once(',').unwrap();
        assert!(start.starts_with("吾輩は猫である。") && start.ends_with('。'), "{start}");
        assert!(end.ends_with("名前はまだ無い。") && end.len() <= END_CHARS_MAX, "{end}");
    }

    #[test]
    fn the_fragment_of_a_heading_is_kept() {
        let url = Url::parse("https://a.test/p#part:~:text=old").unwrap();
        let link = passage_link(&url, "new words");
        assert_eq!(link.as_str(), "https://a.test/p#part:~:text=new%20words");
        assert_eq!(passage_link(&link, "new words"), link);
    }

    proptest! {
        #[test]
        fn a_link_is_an_address_whose_ends_are_words_of_the_passage(
            passage in "[a-z äß、。#>|`*&,%-]{0,300}(\n[a-z0-9. -]{0,80}){0,3}",
        ) {
            let url = Url::parse("https://a.test/p?q=1").unwrap();
            let link = passage_link(&url, &passage);
            prop_assert_eq!(&Url::parse(link.as_str()).unwrap(), &link);
            prop_assert_eq!((link.path(), link.query()), (url.path(), url.query()));
            let Some(fragment) = link.fragment() else { return Ok(()) };
            let parts = fragment.strip_prefix(":~:text=").unwrap();
            prop_assert!(parts.matches(',').count() <= 1 && !parts.contains(['-', '&', ' ']));
            let plain = passage.replace('`', "");
            let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
            for end in parts.split(',') {
                let end = percent_decode_str(end).decode_utf8().unwrap();
                prop_assert!(plain.contains(&*end), "{} in {}", end, plain);
            }
        }
    }
}
