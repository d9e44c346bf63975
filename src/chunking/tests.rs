use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::data::{ContentHash, DocumentId, LocatorMap, MediaType, Source};

/// One token a word, as a tokenizer that splits at white space would make them.
fn words(text: &str) -> TokenSequence {
    let mut tokens = TokenSequence::default();
    for word in text.split_whitespace() {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        tokens.ids.push(tokens.ids.len() as u32);
        tokens.offsets.push((start as u32, (start + word.len()) as u32));
    }
    tokens
}

fn document(text: &str, layout: TextLayout) -> Document {
    let source = Source::File("/t".into());
    Document {
        id: DocumentId::of(&source),
        source,
        media_type: MediaType::Text,
        title: "t".to_owned(),
        text: text.to_owned(),
        layout,
        has_lines: true,
        locators: LocatorMap::default(),
        content_hash: ContentHash::of(text.as_bytes()),
        bytes: text.len() as u64,
        modified: None,
    }
}

/// The law: chunks lie on character boundaries in order, each fits, and all but white space is
/// covered. Returns the texts of the chunks.
fn check(text: &str, layout: TextLayout, tokens_max: usize) -> Vec<String> {
    let tokens = words(text);
    let size = ChunkSize { tokens_max, overlap: 0 };
    let chunked = split(document(text, layout), tokens.clone(), size).unwrap();
    let mut covered = 0;
    let mut texts = Vec::new();
    for chunk in &chunked.chunks {
        assert!(chunk.range.start >= covered, "chunks overlap at {}", chunk.range.start);
        assert!(text[covered..chunk.range.start].trim().is_empty(), "a gap before {chunk:?}");
        assert!((1..=tokens_max).contains(&chunk.tokens.len()), "{chunk:?}");
        assert!(chunk.range.len() <= tokens_max * 16);
        covered = chunk.range.end;
        texts.push(text[chunk.range.clone()].to_owned());
    }
    assert!(text[covered..].trim().is_empty(), "the end is missing");
    texts
}

#[test]
fn prose_is_cut_at_sentences() {
    let text = "One two three. Four five six. Seven eight nine ten.";
    let got = check(text, TextLayout::Plain, 7);
    assert_eq!(got, ["One two three. Four five six.", "Seven eight nine ten."]);
}

#[test]
fn a_long_text_is_cut_in_blocks_at_blank_lines_and_covered() {
    let paragraph = "One two three. Four five six. Seven eight nine ten.\n\n";
    let text = paragraph.repeat(2 * BLOCK_BYTES / paragraph.len() + 100);
    let blocks = blocks(&text, BLOCK_BYTES);
    assert!(blocks.len() > 1);
    assert!(blocks[..blocks.len() - 1].iter().all(|block| text[..block.end].ends_with("\n\n")));
    check(&text, TextLayout::Plain, 250);
}

#[test]
fn an_edit_moves_the_end_of_its_block_alone() {
    let mut text = String::new();
    for number in 0..4_000 {
        let _ = write!(text, "{number} is the number of this paragraph.\n\n");
    }
    let ends = |text: &str| -> Vec<usize> {
        blocks(text, 8_000).iter().map(|block| text.len() - block.end).collect()
    };
    let (before, edited) = (ends(&text), format!("A sentence before all. {text}"));
    let same = ends(&edited).iter().filter(|end| before.contains(end)).count();
    assert!(same + 3 >= before.len(), "{same} of {}", before.len());
}

#[test]
fn markdown_is_cut_at_headings() {
    let text = "# A\n\nfirst part here\n\n# B\n\nsecond part here\n";
    let got = check(text, TextLayout::Markdown, 6);
    assert_eq!(got, ["# A\n\nfirst part here", "# B\n\nsecond part here"]);
}

#[test]
fn code_is_cut_between_items_in_every_language() {
    let cases = [
        (TextLayout::Rust, "fn a() { one(); }\n\nfn b() { two(); }\n"),
        (TextLayout::Python, "def a():\n    one()\n\ndef b():\n    two()\n"),
        (TextLayout::JavaScript, "function a() { one() }\n\nfunction b() { two() }\n"),
        (TextLayout::TypeScript, "function a(): T { one() }\n\nfunction b(): T { two() }\n"),
        (TextLayout::Tsx, "const a = () => <A />;\n\nconst b = () => <B />;\n"),
        (TextLayout::Go, "func a() { one() }\n\nfunc b() { two() }\n"),
        (TextLayout::Java, "class A { int one; }\n\nclass B { int two; }\n"),
        (TextLayout::C, "int a() { one(); }\n\nint b() { two(); }\n"),
        (TextLayout::Cpp, "class A { int one; };\n\nclass B { int two; };\n"),
    ];
    for (layout, text) in cases {
        let (first, second) = text.split_once("\n\n").unwrap();
        let tokens_max = second.split_whitespace().count() + 1;
        assert_eq!(check(text, layout, tokens_max), [first, second.trim_end()], "{layout:?}");
    }
}

#[test]
fn a_word_without_end_is_cut_by_bytes() {
    let text = "x".repeat(1_000);
    let got = check(&text, TextLayout::Plain, 4);
    assert!(got.len() >= 1_000 / 64, "{}", got.len());
}

#[test]
fn white_space_alone_gives_no_chunk() {
    assert_eq!(check(" \n\t ", TextLayout::Plain, 4), [""; 0]);
}

#[test]
fn chunks_know_their_line() {
    let text = "one two.\n\nthree four.\n";
    let size = ChunkSize { tokens_max: 2, overlap: 0 };
    let chunked = split(document(text, TextLayout::Plain), words(text), size).unwrap();
    let lines: Vec<_> = chunked.chunks.iter().map(|c| c.locator.as_ref().unwrap().line()).collect();
    assert_eq!(lines, [Some(1), Some(3)]);
}

#[test]
fn an_overlap_as_large_as_the_chunk_is_refused() {
    let size = ChunkSize { tokens_max: 2, overlap: 2 };
    let error = split(document("a b", TextLayout::Plain), words("a b"), size).unwrap_err();
    assert_eq!(error.to_string(), "chunks of 2 tokens at most cannot overlap by 2");
}

proptest! {
    #[test]
    fn blocks_join_to_the_text(text in "([a-zé世]{0,9}[ \n]{0,3}){0,60}", bytes_max in 8..60_usize) {
        let mut joined = String::new();
        for block in blocks(&text, bytes_max) {
            prop_assert!(block.len() <= bytes_max && (!block.is_empty() || text.is_empty()));
            joined += &text[block];
        }
        prop_assert_eq!(joined, text);
    }

    #[test]
    fn any_text_in_any_layout_is_covered(
        text in "([a-z#{}();.é世]{1,9}[ \n]{0,3}){0,60}",
        layout in prop::sample::select(vec![TextLayout::Plain, TextLayout::Markdown, TextLayout::Rust]),
        tokens_max in 1..20_usize,
    ) {
        check(&text, layout, tokens_max);
    }
}

fn joined(text: &str, tokens_max: usize, room: usize) -> Vec<String> {
    let tokens = words(text);
    let size = ChunkSize { tokens_max: tokens_max - room, overlap: 0 };
    let chunked = split(document(text, TextLayout::Plain), tokens.clone(), size).unwrap();
    let chunks = join_small(chunked.chunks, &tokens, (room, tokens_max));
    let texts = chunks.iter().map(|chunk| {
        assert!(chunk.tokens.len() <= tokens_max, "{chunk:?}");
        assert_eq!(chunk.tokens, tokens.within(&chunk.range));
        text[chunk.range.clone()].to_owned()
    });
    texts.collect()
}

#[test]
fn a_title_and_a_short_end_join_their_neighbors() {
    let text = "Title\n\nOne two three four. Five six seven eight. Nine.";
    assert_eq!(joined(text, 6, 2), ["Title\n\nOne two three four.", "Five six seven eight. Nine."]);
    // Where the two do not fit together they stay apart.
    assert_eq!(joined("A b\n\nOne two three four.", 5, 1).len(), 2);
    assert_eq!(joined("Alone", 6, 2), ["Alone"]);
}

proptest! {
    #[test]
    fn joining_loses_nothing_and_leaves_no_small_neighbors_that_fit(
        text in "([a-z]{1,3}[ .\n]{1,2}){0,40}",
        room in 1_usize..4,
    ) {
        let whole: String = joined(&text, 8, room).concat().split_whitespace().collect();
        let expected: String = text.split_whitespace().collect();
        prop_assert_eq!(whole, expected);
    }
}
