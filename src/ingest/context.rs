//! Where a passage stands, in words, for the model that embeds it.

use crate::data::{Chunk, Document, Locator};

/// Bytes from the beginning of a passage in which what it stands under may be said already.
const SAID_BYTES: usize = 512;

/// The title of the document and the headings that a passage stands under, outermost first, less what
/// the passage says itself at its beginning; empty when nothing is left.
///
/// A passage from the middle of a document does not say what it is about: "it was found to agree well
/// with theory" is near to no question about wings.
pub(super) fn of(document: &Document, chunk: &Chunk) -> String {
    let text = document.text.get(chunk.range.clone()).unwrap_or_default();
    let beginning = &text[..text.floor_char_boundary(text.len().min(SAID_BYTES))];
    let headings = chunk.locator.as_ref().map_or(&[][..], Locator::headings);
    let mut lines: Vec<&str> = Vec::new();
    for line in [&document.title].into_iter().chain(headings).map(|line| line.trim()) {
        if !line.is_empty() && !beginning.contains(line) && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ContentHash, DocumentId, LocatorMap, MediaType, Source, TextLayout};

    fn check(title: &str, headings: &[&str], passage: &str, expected: &str) {
        let source = Source::File("/a".into());
        let document = Document {
            id: DocumentId::of(&source),
            source,
            media_type: MediaType::Text,
            title: title.to_owned(),
            text: passage.to_owned(),
            layout: TextLayout::Plain,
            has_lines: true,
            locators: LocatorMap::default(),
            content_hash: ContentHash::of(b""),
            bytes: 1,
            modified: None,
        };
        let path = headings.iter().map(|heading| (*heading).to_owned()).collect();
        let locator = Some(Locator::Heading { path, anchor: None, line: None });
        let chunk = Chunk { range: 0..passage.len(), tokens: 0..1, locator };
        assert_eq!(of(&document, &chunk), expected);
    }

    #[test]
    fn a_passage_stands_under_what_it_does_not_say_itself() {
        check("Wings", &[], "It was found to agree.", "Wings");
        check("Wings", &["Results"], "It was found to agree.", "Wings\nResults");
        check("Wings", &["Wings", "Results"], "Results\n\nIt was found.", "Wings");
        check("Wings", &[], "Wings\n\nAn experiment.", "");
        check(" ", &[], "An experiment.", "");
    }
}
