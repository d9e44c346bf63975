use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

#[test]
fn searches_and_updates_go_on_while_a_graph_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let rows = clustered(700, 8, 8);
    let options = HnswOptions { threads: 1, ..options(8) };
    let (index, _) = HnswIndex::open(options, VectorHome::new(dir.path().to_owned(), origin()));
    index.apply(update(&rows, 0, 1)).unwrap();
    let exact = ExactIndex::new(8, Simd::detect());
    exact.apply(update(&rows, 0, 1)).unwrap();
    let asked = AtomicUsize::new(0);
    let meanwhile = || {
        let n = asked.fetch_add(1, Ordering::Relaxed) as u64;
        // Goes, changes and comes: in a graph that is made of what was there before.
        let mut change = update(&rows[5..6], 1_000 + n, 2 + n);
        change.upsert(document(300 + n), &halves(&rows[6]));
        change.removed.push(document(n));
        index.apply(change.clone()).unwrap();
        exact.apply(change).unwrap();
        for query in &rows[..3] {
            let filter = PassageFilter::all();
            assert_eq!(search(&index, query, &filter, 9), search(&exact, query, &filter, 9));
        }
        false
    };
    assert!(matches!(index.upkeep(&meanwhile).unwrap(), Upkeep::Made { passages: 700 }));
    let changes = asked.load(Ordering::Relaxed);
    assert!(changes > 2, "it was asked between batches");
    let parts = index.parts();
    assert_eq!((parts.settled, parts.dead, parts.recent), (700, 2 * changes, 2 * changes));
    assert_eq!((index.len(), index.reached()), (exact.len(), exact.reached()));
    for query in &rows[..20] {
        let filter = PassageFilter::all();
        assert_eq!(search(&index, query, &filter, 9), search(&exact, query, &filter, 9));
    }
    // What the file says is what the graph was made of, so that a start catches up with the rest.
    let (again, _) =
        HnswIndex::open(index.options.clone(), VectorHome::new(dir.path().to_owned(), origin()));
    assert_eq!((again.reached(), again.len()), (ChangeNumber(1), 700));
}

#[test]
fn a_graph_of_what_was_emptied_meanwhile_is_thrown_away() {
    let rows = clustered(300, 8, 8);
    let index = HnswIndex::new(HnswOptions { threads: 1, ..options(8) });
    index.apply(update(&rows, 0, 1)).unwrap();
    let empty = || {
        index.apply(VectorUpdate { from_scratch: true, ..VectorUpdate::default() }).unwrap();
        false
    };
    assert_eq!(index.upkeep(&empty).unwrap(), Upkeep::Cancelled);
    assert_eq!((index.len(), index.parts().settled), (0, 0));
    index.apply(update(&rows, 0, 1)).unwrap();
    assert_eq!(index.upkeep(&|| true).unwrap(), Upkeep::Cancelled);
    assert_eq!((index.len(), index.parts().settled), (300, 0));
}

#[test]
fn what_another_process_made_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let rows = clustered(300, 8, 8);
    let open = || {
        let home = VectorHome::new(dir.path().to_owned(), origin());
        HnswIndex::open(options(8), home).0
    };
    let (one, two) = (open(), open());
    for index in [&one, &two] {
        index.apply(update(&rows, 0, 1)).unwrap();
    }
    assert!(!two.is_outdated());
    let busy = one.upkeep(&|| {
        assert_eq!(two.upkeep(&never).unwrap(), Upkeep::Busy);
        false
    });
    assert!(matches!(busy.unwrap(), Upkeep::Made { .. }));
    assert!(two.is_outdated() && !one.is_outdated() && !two.needs_upkeep());
    assert_eq!(two.upkeep(&never).unwrap(), Upkeep::Nothing);
    assert_eq!(open().len(), 300);
}
