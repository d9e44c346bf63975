//! Whether two passages say nearly the same: copies of a file, versions of a page.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use unicode_segmentation::UnicodeSegmentation as _;

/// Words that stand together in a shingle.
const SHINGLE_WORDS: usize = 3;

/// The share of shingles that two passages have in common from which they are one. A word that was
/// changed takes three shingles with it: of a passage of 150 words some fifteen may differ.
const RESEMBLANCE_MIN: f32 = 0.7;

/// The runs of words of a passage, whatever its case and punctuation (Broder 1997): their hashes, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shingles(Vec<u64>);

impl Shingles {
    pub fn of(text: &str) -> Self {
        let words: Vec<u64> =
            text.unicode_words().map(|word| hashed(word.to_lowercase())).collect();
        if words.len() <= SHINGLE_WORDS {
            return Self(vec![hashed(words)]);
        }
        let mut shingles: Vec<u64> = words.windows(SHINGLE_WORDS).map(hashed).collect();
        shingles.sort_unstable();
        shingles.dedup();
        Self(shingles)
    }

    /// Jaccard's coefficient of the two sets is high enough.
    pub fn resemble(&self, other: &Self) -> bool {
        let (few, many) = if self.0.len() < other.0.len() { (self, other) } else { (other, self) };
        // Sizes alone may tell, without a look at what is in them.
        if (few.0.len() as f32) < many.0.len() as f32 * RESEMBLANCE_MIN {
            return false;
        }
        let mut rest = many.0.iter().peekable();
        let mut is_there = |shingle: &u64| {
            while rest.next_if(|other| *other < shingle).is_some() {}
            rest.next_if_eq(&shingle).is_some()
        };
        let common = few.0.iter().filter(|shingle| is_there(shingle)).count();
        let all = few.0.len() + many.0.len() - common;
        common as f32 >= all as f32 * RESEMBLANCE_MIN
    }
}

/// The hasher has no random key, so the same texts are folded on every run.
fn hashed(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(one: &str, two: &str, expected: bool) {
        let (one, two) = (Shingles::of(one), Shingles::of(two));
        assert_eq!((one.resemble(&two), two.resemble(&one)), (expected, expected));
    }

    #[test]
    fn case_punctuation_and_a_changed_word_do_not_count_and_another_text_does() {
        let words: Vec<String> = (0..100).map(|n| format!("word{n} ")).collect();
        let text = words.concat();
        check(&text, &text.to_uppercase().replace(' ', ", "), true);
        check(&text, &text.replace("word50 ", "another "), true);
        check(&text, &text.replace("word8", "eight").replace("word9", "nine"), false);
        check(&text, &text[..text.len() / 2], false);
        check("Call me", "call ME!", true);
        check("Call me", "Call him", false);
        check("The cat sat on the mat.", "On the mat sat the cat.", false);
        check("", "", true);
    }
}
