use std::collections::BTreeMap;

use super::*;

#[test]
fn near_neighbors_are_found_whatever_the_filter() {
    const DIM: usize = 24;
    let rows = clustered(6_000, DIM, 3);
    // So many that one half and one fifth are walked, and less is scanned.
    let options = HnswOptions { ef: Some(128), m: 16, ef_construction: 100, ..options(DIM) };
    let index = made(options, &rows);
    let exact = ExactIndex::new(DIM, Simd::detect());
    exact.apply(update(&rows, 0, 1)).unwrap();
    let queries = clustered(60, DIM, 11);
    assert!(recall(&index, &exact, &queries, &PassageFilter::all()) >= 0.98);
    let share = |percent: f64| {
        let step = (100.0 / percent) as u64;
        PassageFilter::only((0..6_000).filter(|n| n % step == 0).map(document))
    };
    for percent in [50.0, 20.0, 5.0, 0.5] {
        let found = recall(&index, &exact, &queries, &share(percent));
        assert!(found >= 0.99, "{percent} %: {found}");
    }
    // What is allowed is far from where a walk would go: the subject of the query is left out.
    let far = |subject: usize| {
        let others = (0..6_000_usize).filter(|n| (n * 7 + 40 - subject) % 40 > 30);
        PassageFilter::only(others.map(|n| document(n as u64)))
    };
    for (at, query) in queries.iter().enumerate() {
        let found = recall(&index, &exact, std::slice::from_ref(query), &far(at * 7 % 40));
        assert!(found >= 0.9, "far from query {at}: {found}");
    }
    let nothing = PassageFilter::only([document(99_999)]);
    assert_eq!(search(&index, &queries[0], &nothing, 10), []);
    let none_of_them = PassageFilter::all().without((0..6_000).map(document));
    assert_eq!(search(&index, &queries[0], &none_of_them, 10), []);
}

#[test]
fn deleting_and_replacing_keeps_recall_and_size() {
    const DIM: usize = 16;
    let rows = clustered(4_000, DIM, 5);
    let queries = clustered(60, DIM, 12);
    let exact = ExactIndex::new(DIM, Simd::detect());
    let index = made(walking(DIM), &rows);
    exact.apply(update(&rows, 0, 1)).unwrap();
    let mut half = VectorUpdate::reaching(ChangeNumber(2));
    half.removed =
        (0..4_000).filter(|n| ((n * 2_654_435_761) >> 7) & 1 == 0).map(document).collect();
    exact.apply(half.clone()).unwrap();
    index.apply(half).unwrap();
    assert!(recall(&index, &exact, &queries, &PassageFilter::all()) >= 0.98, "marked");
    let left = index.len();
    assert_eq!(index.upkeep(&never).unwrap(), Upkeep::Made { passages: left });
    assert_eq!(index.parts().dead, 0);
    let found = recall(&index, &exact, &queries, &PassageFilter::all());
    assert!(found >= 0.97, "repaired: {found}");
    let bytes = index.parts().graph_bytes;
    let is_left = |n: &u64| ((n * 2_654_435_761) >> 7) & 1 == 1;
    let mut live: BTreeMap<u64, Vec<f32>> =
        (0..4_000).filter(is_left).map(|n| (n, rows[n as usize].clone())).collect();
    for round in 0..10 {
        let fresh = clustered(left / 10, DIM, 100 + round);
        let mut change = update(&fresh, 10_000 * (round + 1), 3 + round);
        let old: Vec<u64> = (0..4_000).filter(|n| is_left(n) && n % 10 == round).collect();
        for n in &old {
            assert!(live.remove(n).is_some());
        }
        live.extend((10_000 * (round + 1)..).zip(fresh));
        change.removed = old.into_iter().map(document).collect();
        exact.apply(change.clone()).unwrap();
        index.apply(change).unwrap();
        index.upkeep(&never).unwrap();
    }
    let found = recall(&index, &exact, &queries, &PassageFilter::all());
    assert!(found >= 0.97, "replaced: {found}");
    assert!(index.parts().graph_bytes <= bytes * 13 / 10);
    let finds_itself = |(n, row): &(&u64, &Vec<f32>)| {
        let nearest = search(&index, row, &PassageFilter::all(), 3);
        nearest.iter().any(|hit| hit.chunk.document == document(**n))
    };
    let reached = live.iter().filter(finds_itself).count();
    assert!(reached * 1_000 >= live.len() * 998, "{reached} of {} are reached", live.len());
}
