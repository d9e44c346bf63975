use std::ops::Range;

use lodestone::data::Passage;

/// Bytes of a passage that are shown at most: about eight lines of a terminal.
const SHOWN_BYTES_MAX: usize = 640;

/// Bytes before the place that answers, for context.
const LEAD_BYTES: usize = 160;

/// The part of a passage to show: around its best sentence or first match, cut between words.
pub fn excerpt(passage: &Passage) -> Range<usize> {
    let text = &passage.text;
    if text.len() <= SHOWN_BYTES_MAX {
        return 0..text.len();
    }
    let focus = passage.sentence.or(passage.matches.first().copied());
    let focus = focus.map_or(0, |range| range.start.min(text.len()));
    // Near the end the window moves back, so that as much is shown as anywhere.
    let start = focus.saturating_sub(LEAD_BYTES).min(text.len() - SHOWN_BYTES_MAX);
    let start = if start == 0 { 0 } else { word_start(text, start).min(focus) };
    let end = word_end(text, (start + SHOWN_BYTES_MAX).min(text.len()), start);
    start..end
}

/// The start of the first word at or after `at`, or the next character boundary.
fn word_start(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    let gap = text[at..].find(char::is_whitespace);
    let word = gap
        .and_then(|gap| text[at + gap..].find(|c: char| !c.is_whitespace()).map(|w| at + gap + w));
    // Text without spaces, as Chinese, is cut anywhere.
    word.filter(|word| word - at <= LEAD_BYTES / 2).unwrap_or(at)
}

/// The end of the last whole word between `from` and `at`.
fn word_end(text: &str, at: usize, from: usize) -> usize {
    let at = text.floor_char_boundary(at);
    if at == text.len() {
        return at;
    }
    let gap = text[from..at].rfind(char::is_whitespace).map(|gap| from + gap);
    let end = gap.filter(|gap| at - gap <= LEAD_BYTES / 2).unwrap_or(at);
    from + text[from..end].trim_end().len()
}

#[cfg(test)]
mod tests {
    use lodestone::data::{ChunkKey, DocumentId, TextRange};
    use proptest::prelude::*;

    use super::*;

    fn passage(text: &str, focus: usize) -> Passage {
        let matched = TextRange { start: focus, end: focus };
        Passage {
            chunk: ChunkKey { document: DocumentId::from_stored(1), ordinal: 0 },
            text: text.to_owned(),
            range: TextRange { start: 0, end: text.len() },
            locator: None,
            matches: vec![matched],
            sentence: None,
        }
    }

    #[test]
    fn a_short_passage_is_shown_whole() {
        assert_eq!(excerpt(&passage("a b c", 4)), 0..5);
    }

    #[test]
    fn a_long_one_is_cut_between_words_around_the_match() {
        let text = "word ".repeat(1000);
        let shown = excerpt(&passage(&text, 2500));
        assert!(shown.start > 0 && shown.contains(&2500), "{shown:?}");
        assert!(text[shown.clone()].starts_with("word ") && text[shown].ends_with(" word"));
        assert_eq!(excerpt(&passage(&text, 0)).start, 0);
    }

    proptest! {
        #[test]
        fn an_excerpt_is_a_slice_that_holds_the_match(
            text in "([a-zé🦀]{0,40}[ \n]?){0,60}", share in 0.0..1.0_f64
        ) {
            let focus = text.floor_char_boundary((text.len() as f64 * share) as usize);
            let shown = excerpt(&passage(&text, focus));
            prop_assert!(text.get(shown.clone()).is_some());
            prop_assert!(shown.len() <= SHOWN_BYTES_MAX && shown.start <= focus);
        }
    }
}
