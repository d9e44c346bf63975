//! Files to index, made on the spot: the same every time and as many as a test needs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The first and the last word of every document, so that a document which is only partly there
/// can be told from a whole one.
pub const FIRST_WORD: &str = "quokka";
pub const LAST_WORD: &str = "zeppelin";

const SUBJECTS: [&str; 5] = ["The harbor", "A careful reader", "The old compiler", "Rain", "Glass"];
const VERBS: [&str; 5] = ["remembers", "avoids", "measures", "repairs", "outlives"];
const OBJECTS: [&str; 5] =
    ["the tide", "every promise", "a quiet street", "its maps", "the winter"];

/// Writes `count` text files of about `words` words each; no two sentences of a file are the same.
pub fn write_documents(folder: &Path, count: usize, words: usize) {
    for number in 0..count {
        let mut text = format!("Document {number} begins with {FIRST_WORD}.\n\n");
        for sentence in 0..words.div_ceil(8) {
            let pick = number * 31 + sentence;
            let (subject, verb) = (SUBJECTS[pick % 5], VERBS[pick / 5 % 5]);
            let object = OBJECTS[pick / 25 % 5];
            let end = if sentence % 6 == 5 { "\n\n" } else { " " };
            write!(text, "{subject} {verb} {object} on day {sentence}.{end}")
                .expect("a string takes what is written");
        }
        write!(text, "\n\nDocument {number} ends with {LAST_WORD}.\n")
            .expect("a string takes what is written");
        let path = folder.join(format!("document-{number:03}.txt"));
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}
