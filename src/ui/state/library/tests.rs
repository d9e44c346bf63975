use super::*;
use crate::ui::fixture::entry;

fn skipped(source: &str, reason: &str) -> Skipped {
    Skipped { source: source.into(), reason: reason.into(), attempts: 0 }
}

fn library(rows: usize) -> LibraryState {
    let mut library = LibraryState::default();
    let entries = (0..rows).map(|at| entry(&format!("note {at:04}.md"))).collect();
    library.refresh(entries, vec![skipped("/x/photo.jpg", "binary")]);
    library
}

fn titles(library: &LibraryState) -> Vec<&str> {
    library.documents(library.window()).map(|entry| entry.title.as_str()).collect()
}

#[test]
fn the_filter_wants_every_word_and_sees_paths_and_reasons() {
    let mut library = library(20);
    library.set_filter(" NOTE 0007 ");
    assert_eq!(library.rows(), 1);
    library.set_filter("/docs markdown");
    assert_eq!(library.rows(), 20);
    library.set_filter("bin photo");
    assert_eq!(library.rows(), 0);
    library.show(LibraryTab::Skipped);
    assert_eq!(library.rows(), 1);
    assert_eq!(library.reasons(library.window()).next().unwrap().reason, "binary");
}

#[test]
fn only_rows_near_the_view_are_in_the_page() {
    let mut library = library(10_000);
    library.scrolled(0.0, 520.0);
    assert_eq!(library.window().start, 0);
    library.scrolled(5_000.0 * ROW_PX, 520.0);
    let window = library.window();
    assert!(window.contains(&5_000) && window.contains(&5_010));
    assert!(window.len() < 60, "{window:?}");
    library.scrolled(1e9, 520.0);
    assert_eq!(library.window().end, 10_000);
}

#[test]
fn every_column_sorts_both_ways_and_a_kind_narrows() {
    let mut library = LibraryState::default();
    let row = |title: &str, passages, bytes, indexed_at, media_type| LibraryEntry {
        passages,
        bytes,
        indexed_at,
        media_type,
        ..entry(title)
    };
    library.refresh(
        vec![
            row("b", 1, 30, 9, MediaType::Pdf),
            row("C", 3, 10, 8, MediaType::Code),
            row("a", 2, 20, 7, MediaType::Pdf),
        ],
        vec![skipped("/docs/C", "locked")],
    );
    assert_eq!(titles(&library), ["a", "b", "C"]);
    for (column, first, reversed) in [
        (Column::Passages, "C", "b"),
        (Column::Size, "b", "C"),
        (Column::Indexed, "b", "a"),
        (Column::Kind, "C", "a"),
        (Column::Status, "C", "a"),
    ] {
        library.sort_by(column);
        assert_eq!(titles(&library)[0], first, "{column:?}");
        library.sort_by(column);
        assert_eq!(titles(&library)[0], reversed, "{column:?}");
    }
    library.sort_by(Column::Title);
    assert_eq!(library.kinds(), [(MediaType::Pdf, 2), (MediaType::Code, 1)]);
    library.set_kind(Some(MediaType::Pdf));
    assert_eq!(titles(&library), ["a", "b"]);
}

#[test]
fn rows_are_picked_as_in_every_list() {
    let mut library = library(10);
    library.pick(2, false);
    library.pick_to(5);
    assert_eq!(library.picked_count(), 4);
    library.pick_to(1);
    assert_eq!(library.picked_count(), 2, "the range turns round where it began");
    library.unpick();
    library.draw_to(6, 7);
    library.draw_to(7, 8);
    assert_eq!(library.picked_count(), 3, "from where the focus was");
    library.unpick();
    library.pick(2, false);
    library.pick_to(1);
    library.pick(7, true);
    library.pick(1, true);
    let picked: Vec<_> = library.picked().iter().map(|entry| entry.title.clone()).collect();
    assert_eq!(picked, ["note 0002.md", "note 0007.md"]);
    library.set_filter("note");
    assert_eq!(library.picked_count(), 0, "what is out of sight is not picked");
    library.pick_all();
    assert_eq!(library.picked_count(), 10);
}

#[test]
fn what_is_let_go_is_out_of_the_list_until_it_is_taken_back() {
    let mut library = library(3);
    library.pick(1, false);
    let ids: Vec<DocumentId> = library.picked().iter().map(|entry| entry.id).collect();
    library.let_go(&ids);
    assert_eq!((library.rows(), library.picked_count(), library.documents_total()), (2, 0, 2));
    let entries = (0..3).map(|at| entry(&format!("note {at:04}.md"))).collect();
    library.refresh(entries, Vec::new());
    assert_eq!(library.rows(), 2, "the store has it still");
    library.take_back(&Removal { ids, sources: Vec::new() });
    assert_eq!(library.rows(), 3);
}

#[test]
fn the_ledger_counts_by_reason_and_narrows_to_one() {
    let mut library = LibraryState::default();
    let rows = vec![
        skipped("/a.jpg", "no text in it"),
        skipped("/b.pdf", "cannot be read: bad header at 12"),
        skipped("/c.pdf", "cannot be read: bad header at 99"),
    ];
    library.refresh(Vec::new(), rows);
    let ledger = library.ledger();
    let told: Vec<_> = ledger.iter().map(|group| (group.reason.as_str(), group.sources)).collect();
    assert_eq!(told, [("cannot be read", 2), ("no text in it", 1)]);
    library.show(LibraryTab::Skipped);
    library.set_reason(Some("cannot be read".to_owned()));
    assert_eq!(library.failing(), ["/b.pdf", "/c.pdf"]);
}
