mod formats;
mod mutations;
mod real_files;

use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;

use super::*;

fn corpus(name: &str) -> Result<Document, Unreadable> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let bytes = std::fs::read(&path).unwrap();
    read_document_here(Source::File(path), bytes, Some(7))
}

fn read(name: &str, bytes: impl Into<Vec<u8>>) -> Result<Document, Unreadable> {
    read_document_here(Source::File(format!("/corpus/{name}").into()), bytes.into(), None)
}

/// Everything that a reader finds, in a form to look at.
fn shown(document: &Document) -> String {
    let Document { media_type, title, text, layout, has_lines, locators, .. } = document;
    let mut shown = format!("{media_type} {layout:?} lines={has_lines}\ntitle: {title}\n");
    for (offset, locator) in locators.iter() {
        let _ = match locator {
            Locator::Heading { path, anchor, .. } => {
                let anchor = anchor.as_deref().unwrap_or("");
                writeln!(shown, "{offset}: {} #{anchor}", path.join(" › "))
            }
            other => writeln!(shown, "{offset}: {other}"),
        };
    }
    shown + "---\n" + text
}

use crate::data::Locator;

fn check_laws(document: &Document) {
    let text = &document.text;
    assert!(!text.trim().is_empty());
    assert!(!text.contains('\0'));
    assert!(!document.title.trim().is_empty());
    let offsets: Vec<usize> = document.locators.iter().map(|(offset, _)| *offset).collect();
    assert!(offsets.is_sorted_by(|a, b| a < b), "{offsets:?}");
    assert!(offsets.iter().all(|offset| *offset < text.len() && text.is_char_boundary(*offset)));
}

#[test]
fn markdown_keeps_its_source_and_gives_an_outline() {
    let document = corpus("garden.md").unwrap();
    check_laws(&document);
    insta::assert_snapshot!(shown(&document));
}

#[test]
fn a_page_gives_its_content_alone() {
    let document = corpus("manual.html").unwrap();
    check_laws(&document);
    insta::assert_snapshot!(shown(&document));
}

#[test]
fn texts_of_other_encodings() {
    for (name, title, part) in [
        ("letter-latin1.txt", "Gruß aus Köln", "süße Äpfel"),
        ("notes-utf16.txt", "Einkauf", "Brötchen für morgen 🥐"),
        ("neko-shift-jis.txt", "吾輩は猫である", "ニャーニャー泣いていた"),
    ] {
        let document = corpus(name).unwrap();
        check_laws(&document);
        assert_eq!(document.title, title, "{name}");
        assert!(document.text.contains(part), "{name}");
        assert!(document.has_lines && document.layout == TextLayout::Plain, "{name}");
    }
}

#[test]
fn source_code_is_known_by_its_name() {
    let document = corpus("counter.rs").unwrap();
    assert_eq!((document.title.as_str(), document.layout), ("counter.rs", TextLayout::Rust));
    assert_eq!(document.media_type, MediaType::Code);
    let bytes = std::fs::read(document.source.path().unwrap()).unwrap();
    assert_eq!(document.text.as_bytes(), bytes);
    assert_eq!((document.bytes, document.modified), (bytes.len() as u64, Some(7)));
    assert_eq!(document.content_hash, ContentHash::of(&bytes));
    assert_eq!(document.id, DocumentId::of(&document.source));
}

#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    let reason = |document: Result<Document, Unreadable>| document.unwrap_err().to_string();
    assert_eq!(reason(corpus("pixel.png")), "a PNG image, which holds no text to search");
    assert_eq!(reason(read("a.txt", "")), "the file is empty");
    assert_eq!(reason(read("a.txt", " \r\n\t\u{feff}")), "the file holds only white space");
    assert!(reason(read("a.ps", "%!PS-Adobe-3.0\n")).contains("a PostScript document, which this"));
    assert!(reason(read("a.dat", vec![7; 64])).contains("binary data"));
    assert_eq!(read("a.html", "<html><script>x()</script>").unwrap_err(), Unreadable::NoTextInPage);
}

#[test]
fn a_page_takes_its_encoding_from_its_declaration() {
    let mut bytes = b"<meta charset=windows-1251><title>T</title><p>".to_vec();
    bytes.extend_from_slice(b"\xcf\xf0\xe8\xe2\xe5\xf2");
    assert_eq!(read("a.html", bytes).unwrap().text, "Привет\n");
}

/// Pieces that steer the readers into their branches more often than noise does.
fn markup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zé#*>`|\\[\\]<&; \\-\n]{0,12}",
        prop::sample::select(vec![
            "<h1 id=a>",
            "</h1>",
            "<h2>",
            "</h2>",
            "<pre>",
            "</pre>",
            "<code>",
            "</code>",
            "<ul>",
            "</ul>",
            "<ol>",
            "<li>",
            "</li>",
            "<table>",
            "<tr>",
            "<td>",
            "</td>",
            "</table>",
            "<p>",
            "<blockquote>",
            "</blockquote>",
            "<br>",
            "<main>",
            "</main>",
            "<article>",
            "<nav>",
            "<div class=sidebar>",
            "</div>",
            "<a href='#'>",
            "</a>",
            "<svg>",
            "<template>",
            "<b>",
            "<form>",
            "<select>",
            "<!--",
            "-->",
            "<frameset>",
            "<math><mtext>",
            "\n# A\n",
            "```\n",
            "\n---\n",
            "\n===\n",
            "> ",
            "- ",
            "\r\n",
            "é",
            "🦀",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const NAMES: [&str; 6] = ["a", "a.txt", "a.md", "a.html", "a.rs", ".x"];

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, name in prop::sample::select(&NAMES)) {
        if let Ok(document) = read(name, bytes) {
            check_laws(&document);
        }
    }

    #[test]
    fn any_markup_is_read_or_refused(text in markup(), name in prop::sample::select(&NAMES)) {
        if let Ok(document) = read(name, text) {
            check_laws(&document);
        }
    }

    #[test]
    fn plain_text_is_not_changed(text in "[^\\x00-\\x08\\x0b-\\x1f\\x7f\u{feff}]{1,200}") {
        for name in ["a.txt", "a.md", "a.py"] {
            if let Ok(document) = read(name, text.clone()) {
                prop_assert_eq!(&document.text, &text);
            }
        }
    }
}
