//! A file of each format, as a program for people wrote it, with all of its text and places.

use super::*;

fn check(name: &str) {
    let document = corpus(&format!("formats/{name}")).unwrap();
    check_laws(&document);
    insta::assert_snapshot!(name, shown(&document));
}

fn reason(name: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Unreadable {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/formats").join(name);
    let bytes = change(std::fs::read(&path).unwrap());
    read_document_here(Source::File(path), bytes, None).unwrap_err()
}

#[test]
fn texts_of_word_processors() {
    for name in ["handbook.docx", "handbook.odt", "handbook.rtf"] {
        check(name);
    }
}

#[test]
fn pages_and_chapters() {
    for name in ["handbook.pdf", "restricted.pdf", "handbook.epub", "page.mhtml"] {
        check(name);
    }
}

#[test]
fn presentations() {
    for name in ["bees.pptx", "bees.odp"] {
        check(name);
    }
}

#[test]
fn workbooks_and_tables() {
    for name in ["accounts.xlsx", "accounts.ods", "accounts.xls", "people.csv"] {
        check(name);
    }
}

#[test]
fn messages_with_what_is_attached() {
    for name in ["message.eml", "list.mbox"] {
        check(name);
    }
}

#[test]
fn notebooks_and_papers() {
    for name in ["rain.ipynb", "paper.tex"] {
        check(name);
    }
}

#[test]
fn archives_are_their_members() {
    for name in ["shed.zip", "diary.tar.gz"] {
        check(name);
    }
}

/// The texts of `scripts/make-format-corpus.py`.
const SOIL: &str = "Compost is ready when it is dark, crumbles between the fingers and smells of the \
                    forest floor. Turn the heap every second week, keep it as moist as a wrung-out \
                    sponge, and mix one part of green cuttings with two parts of dry leaves.";
const WATER: &str = "Tomatoes want water at their roots and never on their leaves, for wet foliage \
                     invites blight. A layer of straw keeps the ground from drying out and spares you \
                     half of the watering.";

/// The same document, written in each format, says the same.
#[test]
fn every_format_of_a_document_has_the_same_sentences() {
    // In a PDF they stand in two columns, and the one paragraph goes over from the left to the right.
    let columns = [SOIL, SOIL, WATER, WATER, WATER, "Here the last column ends."].join(" ");
    for name in ["handbook.docx", "handbook.odt", "handbook.rtf", "handbook.pdf", "handbook.epub"] {
        let text = corpus(&format!("formats/{name}")).unwrap().text;
        let words = one_line(&text);
        for part in [
            columns.as_str(),
            WATER,
            "Leaves of walnut rot slowly and are best left out.",
            "Kale | June | November",
            "Collect rain in a barrel.",
            "Grüße aus dem Garten, 庭より.",
        ] {
            assert!(words.contains(part), "{name}: {part}\n{text}");
        }
        let head = "The Gardener's Handbook, third edition";
        assert!(text.matches(head).count() <= 1, "{name} repeats its running head");
    }
}

#[test]
fn every_format_with_headings_has_the_same_outline() {
    for name in ["handbook.docx", "handbook.odt", "handbook.rtf"] {
        let document = corpus(&format!("formats/{name}")).unwrap();
        let path = |(_, mark): &(usize, Locator)| mark.headings().join(" › ");
        let outline: Vec<String> = document.locators.iter().map(path).collect();
        assert_eq!(outline, ["Soil", "Soil › What to sow when", "Water", "Winter"], "{name}");
    }
}

#[test]
fn what_is_protected_scanned_or_cut_says_so() {
    assert_eq!(reason("protected.pdf", |bytes| bytes), Unreadable::Encrypted);
    assert_eq!(reason("scanned.pdf", |bytes| bytes), Unreadable::Scanned);
    let half = |bytes: Vec<u8>| bytes[..bytes.len() / 2].to_vec();
    for name in ["handbook.docx", "handbook.odt", "handbook.epub", "bees.pptx", "accounts.xlsx"] {
        let reason = reason(name, half);
        assert!(matches!(reason, Unreadable::Damaged { .. }), "{name}: {reason}");
    }
}

#[test]
fn a_bomb_is_refused_before_it_goes_off() {
    let mut tar =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_size(1 << 30);
    header.set_cksum();
    tar.append(&header, std::io::Read::take(std::io::repeat(b' '), 1 << 30)).unwrap();
    let bytes = tar.into_inner().unwrap().finish().unwrap();
    let refused = read("bomb.tar.gz", bytes).unwrap_err();
    assert_eq!(refused, Unreadable::Expands { mb_max: 128 });
}
