use super::segment::{PageText, Segment};
use super::{columns, furniture, paragraph, spelling};

/// Lines of text at `left`, one below the other from `top`, in letters of size 10.
fn lines(left: f32, top: f32, texts: &[&str]) -> Vec<Segment> {
    let baseline = |at: usize| top + 12.0 * at as f32;
    let line = |(at, text): (usize, &&str)| Segment {
        text: (*text).to_owned(),
        left,
        right: left + 5.0 * text.chars().count() as f32,
        baseline: baseline(at),
        size: 10.0,
        is_monospaced: false,
    };
    texts.iter().enumerate().map(line).collect()
}

fn check(parts: &[Vec<Segment>], expected: &str) {
    let blocks = columns::reading_order(parts.concat());
    let text: Vec<String> = blocks.into_iter().map(paragraph::text).collect();
    let mut page = [text.join("\n\n")];
    spelling::heal(&mut page);
    assert_eq!(page[0], expected);
}

#[test]
fn the_left_column_is_read_before_the_right() {
    let left = [
        "Compost is ready when",
        "it is dark, crumbles be-",
        "tween the fingers and",
        "smells of the forest.",
    ];
    let right = [
        "Tomatoes want water at",
        "their roots and never",
        "on their leaves, as that",
        "invites blight.",
    ];
    check(
        &[
            lines(20.0, 50.0, &["A title that stands over both of the columns"]),
            lines(20.0, 90.0, &left),
            lines(160.0, 90.0, &right),
        ],
        "A title that stands over both of the columns\n\nCompost is ready when it is dark, crumbles \
         between the fingers and smells of the forest.\n\nTomatoes want water at their roots and \
         never on their leaves, as that invites blight.",
    );
}

/// Lines that were stretched until each word is a segment of its own, as narrow justified columns have.
fn words(left: f32, top: f32, texts: &[&str]) -> Vec<Segment> {
    let apart = |mut line: Segment| {
        let text = std::mem::take(&mut line.text);
        let mut right = left - 8.0;
        text.split(' ')
            .map(|word| {
                let left = right + 8.0;
                right = left + 4.0 * word.chars().count() as f32;
                Segment { text: word.to_owned(), left, right, ..line.clone() }
            })
            .collect::<Vec<_>>()
    };
    lines(left, top, texts).into_iter().flat_map(apart).collect()
}

#[test]
fn justified_columns_are_read_one_after_the_other_and_before_what_is_below() {
    let left = [
        "Compost is ready when",
        "it is dark, crumbles in",
        "the fingers and it all",
        "smells of the forest.",
    ];
    let right = [
        "Tomatoes want water at",
        "their roots and never",
        "on their leaves, as that",
        "invites mold and blight.",
    ];
    let heading = Segment { size: 14.0, ..lines(20.0, 160.0, &["Sowing"]).remove(0) };
    check(
        &[words(20.0, 90.0, &left), words(160.0, 90.0, &right), vec![heading]],
        "Compost is ready when it is dark, crumbles in the fingers and it all smells of the forest.\n\n\
         Tomatoes want water at their roots and never on their leaves, as that invites mold and \
         blight.\n\nSowing",
    );
}

#[test]
fn a_table_is_read_row_by_row() {
    check(
        &[
            lines(20.0, 50.0, &["Plant", "Radish", "Kale", "Leek"]),
            lines(160.0, 50.0, &["Sow in", "March", "June", "April"]),
        ],
        "Plant | Sow in\nRadish | March\nKale | June\nLeek | April",
    );
}

#[test]
fn lines_become_paragraphs() {
    check(
        &[
            lines(20.0, 50.0, &["One line of the first", "paragraph ends here."]),
            lines(35.0, 74.0, &["The second is indented"]),
            lines(20.0, 86.0, &["and goes on for a well-", "Known while, and then"]),
            lines(20.0, 140.0, &["after a gap comes this", "• and a list of", "• two items"]),
        ],
        "One line of the first paragraph ends here.\n\nThe second is indented and goes on for a well- \
         Known while, and then\n\nafter a gap comes this\n• and a list of\n• two items",
    );
}

/// Pages of height 200 with these lines at their foot, without what repeats.
fn without_furniture(pages: &[&[&str]]) -> Vec<String> {
    let page = |texts: &&[&str]| {
        let body = lines(20.0, 50.0, &["Water in the morning."]);
        let foot = lines(20.0, 180.0, texts);
        PageText { directions: [[body, foot].concat(), vec![], vec![], vec![]], height: 200.0 }
    };
    let mut pages: Vec<PageText> = pages.iter().map(page).collect();
    furniture::remove(&mut pages);
    let text = |page: &PageText| {
        let texts: Vec<&str> = page.directions[0].iter().map(|s| s.text.as_str()).collect();
        texts.join("/")
    };
    pages.iter().map(text).collect()
}

#[test]
fn what_repeats_on_every_page_is_furniture() {
    let body = "Water in the morning.";
    let pages = without_furniture(&[&["The Handbook", "1"], &["The Handbook", "2"]]);
    assert_eq!(pages, [format!("{body}/The Handbook"), body.to_owned()]);
    // On one page nothing repeats, however alike its lines look.
    assert_eq!(without_furniture(&[&["12", "34"]]), [format!("{body}/12/34")]);
    assert_eq!(
        without_furniture(&[&["12", "34"], &[]]),
        [format!("{body}/12/34"), body.to_owned()]
    );
}
