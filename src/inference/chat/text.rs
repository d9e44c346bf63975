/// The text of an answer, made of the bytes of its tokens as they come.
///
/// A character may be spread over several tokens, and a stop text as well: what is not certain yet is
/// held back. The pieces together are the answer, however the bytes were cut.
#[derive(Debug, Default)]
pub struct AnswerText {
    /// The start of a character.
    bytes: Vec<u8>,
    stop: Vec<String>,
    /// What may be the start of a stop text.
    held: String,
    ended: bool,
}

impl AnswerText {
    /// `stop` are texts that end the answer and are no part of it; empty ones end nothing.
    #[must_use]
    pub fn new(mut stop: Vec<String>) -> Self {
        stop.retain(|text| !text.is_empty());
        Self { stop, ..Self::default() }
    }

    /// Whether a stop text has come, after which nothing more is taken.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Takes the bytes of the next token; returns what is certain now, often nothing.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.bytes.extend_from_slice(bytes);
        let text = self.whole_characters();
        self.until_stop(&text)
    }

    /// What was held back, once no more tokens come. Half a character is shown as U+FFFD.
    pub fn finish(&mut self) -> String {
        let rest = String::from_utf8_lossy(&std::mem::take(&mut self.bytes)).into_owned();
        self.until_stop(&rest) + &std::mem::take(&mut self.held)
    }

    /// Decodes as [`String::from_utf8_lossy`] would decode everything at once.
    fn whole_characters(&mut self) -> String {
        let mut text = String::with_capacity(self.bytes.len());
        let mut rest = self.bytes.as_slice();
        loop {
            let error = match str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    rest = &[];
                    break;
                }
                Err(error) => error,
            };
            let (valid, after) = rest.split_at(error.valid_up_to());
            text.push_str(str::from_utf8(valid).unwrap_or_default());
            rest = after;
            // Without a length the bytes end too early, and the next token may complete them.
            let Some(wrong) = error.error_len() else { break };
            text.push(char::REPLACEMENT_CHARACTER);
            rest = &rest[wrong..];
        }
        self.bytes = rest.to_vec();
        text
    }

    fn until_stop(&mut self, text: &str) -> String {
        if self.ended {
            return String::new();
        }
        self.held.push_str(text);
        let found = self.stop.iter().filter_map(|stop| {
            let start = self.held.find(stop.as_str())?;
            Some((start + stop.len(), start))
        });
        // The one that is complete first, so that it does not matter how the text was cut.
        if let Some((_, start)) = found.min() {
            self.ended = true;
            let mut held = std::mem::take(&mut self.held);
            held.truncate(start);
            return held;
        }
        let may_start = |rest: &str| self.stop.iter().any(|stop| stop.starts_with(rest));
        let certain = self.held.char_indices().map(|(at, _)| at);
        let certain = certain.into_iter().find(|at| may_start(&self.held[*at..]));
        let held = self.held.split_off(certain.unwrap_or(self.held.len()));
        std::mem::replace(&mut self.held, held)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(stop: &[String], pieces: &[Vec<u8>]) -> (String, bool) {
        let mut text = AnswerText::new(stop.to_vec());
        let mut out = String::new();
        for piece in pieces {
            out += &text.push(piece);
        }
        out += &text.finish();
        (out, text.ended())
    }

    #[test]
    fn half_a_character_waits_for_its_other_half() {
        let mut text = AnswerText::default();
        let crab = "🦀".as_bytes();
        assert_eq!(text.push(&crab[..1]), "");
        assert_eq!(text.push(&crab[1..3]), "");
        assert_eq!(text.push(&[&crab[3..], b" ok"].concat()), "🦀 ok");
        assert_eq!(text.push(&crab[..2]), "");
        assert_eq!(text.finish(), "\u{fffd}");
    }

    #[test]
    fn a_stop_text_is_cut_off_and_the_start_of_one_is_not() {
        let stop = ["\nUser:".to_owned(), String::new()];
        let pieces =
            |parts: &[&str]| parts.iter().map(|p| p.as_bytes().to_vec()).collect::<Vec<_>>();
        assert_eq!(answer(&stop, &pieces(&["Yes.\nUs", "er: no"])), ("Yes.".to_owned(), true));
        assert_eq!(answer(&stop, &pieces(&["Yes.\n", "Us"])), ("Yes.\nUs".to_owned(), false));
        let mut text = AnswerText::new(stop.to_vec());
        assert_eq!(text.push(b"a\n\nUse"), "a\n");
        assert_eq!(text.push(b"d"), "\nUsed");
    }

    /// Bytes of text that is rich in long characters and now and then broken.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            4 => "[ab\u{e9}\u{4e16}\u{1f980}]{1,4}".prop_map(String::into_bytes),
            1 => prop::collection::vec(any::<u8>(), 1..4),
        ];
        prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
    }

    fn cut(bytes: &[u8], lengths: &[usize]) -> Vec<Vec<u8>> {
        let (mut rest, mut pieces) = (bytes, Vec::new());
        for length in lengths.iter().cycle() {
            if rest.is_empty() || lengths.iter().sum::<usize>() == 0 {
                break;
            }
            let (piece, after) = rest.split_at(rest.len().min(*length));
            pieces.push(piece.to_vec());
            rest = after;
        }
        pieces
    }

    proptest! {
        /// The pieces together are the text of all bytes, and each is whole characters.
        #[test]
        fn nothing_is_lost_and_no_character_is_halved(
            bytes in bytes(),
            lengths in prop::collection::vec(1..5_usize, 1..8),
        ) {
            let (out, _) = answer(&[], &cut(&bytes, &lengths));
            prop_assert_eq!(out, String::from_utf8_lossy(&bytes));
        }

        /// Where an answer stops does not depend on how it was cut.
        #[test]
        fn stop_texts_do_not_depend_on_the_cut(
            bytes in bytes(),
            lengths in prop::collection::vec(1..5_usize, 1..8),
            stop in prop::collection::vec("[ab\u{e9}]{1,3}", 0..3),
        ) {
            let whole = answer(&stop, std::slice::from_ref(&bytes));
            prop_assert_eq!(answer(&stop, &cut(&bytes, &lengths)), whole.clone());
            let all = String::from_utf8_lossy(&bytes).into_owned();
            prop_assert!(all.starts_with(&whole.0));
            prop_assert_eq!(whole.1, stop.iter().any(|stop| all.contains(stop.as_str())));
        }
    }
}
