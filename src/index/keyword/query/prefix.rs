//! What the word that is being typed may become.

use std::collections::BTreeMap;
use std::io;

use tantivy::Searcher;

use super::lookup::is_word;
use super::word::PreparedWord;
use crate::index::keyword::analysis;
use crate::index::keyword::schema::Fields;

/// Shorter beginnings fit too much to say anything.
const PREFIX_CHARS_MIN: usize = 2;

/// Words that are looked at, in each field of each segment.
const SCANNED_MAX: usize = 512;

/// The most frequent ones that are asked for.
const COMPLETIONS_MAX: usize = 16;

/// A stem can be shorter than what is typed by this much: "runnin" is on its way to "running",
/// whose stem is "run".
const ENDING_CHARS_MAX: usize = 4;

/// Words of the index that begin as the last part of the typed `word` does, most frequent first.
///
/// The index holds stems. So where no word begins as typed and the typed word is not there itself, the
/// longest stem that is itself a beginning of it is taken.
pub(super) fn completions(
    word: &PreparedWord,
    fields: &Fields,
    searcher: &Searcher,
) -> io::Result<Vec<String>> {
    let typed = word.typed.as_str();
    let Some(last) = analysis::analyze(&mut analysis::unstemmed(), typed).pop() else {
        return Ok(Vec::new());
    };
    let is_whole_text = last.range.end == typed.len();
    if !is_whole_text || last.text.chars().count() < PREFIX_CHARS_MIN {
        return Ok(Vec::new());
    }
    let found = beginning_with(&last.text, fields, searcher)?;
    if !found.is_empty() {
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then(a.cmp(b)));
        return Ok(found.into_iter().take(COMPLETIONS_MAX).map(|(word, _)| word).collect());
    }
    for part in word.forms.iter().filter_map(|form| form.parts.last()) {
        if is_word(part, fields, searcher)? {
            return Ok(Vec::new());
        }
    }
    let mut stem = last.text;
    for _ in 0..ENDING_CHARS_MAX {
        stem.pop();
        if stem.chars().count() <= PREFIX_CHARS_MIN {
            break;
        }
        if is_word(&stem, fields, searcher)? {
            return Ok(vec![stem]);
        }
    }
    Ok(Vec::new())
}

/// Words with this beginning, and in how many passages they are.
fn beginning_with(
    prefix: &str,
    fields: &Fields,
    searcher: &Searcher,
) -> io::Result<BTreeMap<String, u64>> {
    let mut found = BTreeMap::new();
    for segment in searcher.segment_readers() {
        for (field, _) in fields.weighted() {
            let inverted = segment.inverted_index(field).map_err(io::Error::other)?;
            let mut words = inverted.terms().range().ge(prefix).into_stream()?;
            for _ in 0..SCANNED_MAX {
                let Some((word, info)) = words.next() else { break };
                let Some(word) = std::str::from_utf8(word).ok().filter(|w| w.starts_with(prefix))
                else {
                    break;
                };
                *found.entry(word.to_owned()).or_default() += u64::from(info.doc_freq);
            }
        }
    }
    Ok(found)
}
