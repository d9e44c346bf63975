//! Deleting a random half, then ten rounds of replacing a tenth.

use std::time::Instant;

use lodestone::data::{ChangeNumber, DocumentId};
use lodestone::index::{ExactIndex, HnswIndex, PassageFilter, Upkeep, VectorIndex, VectorUpdate};
use lodestone::platform::Simd;

use super::data::{Bench, DIM, disk_bytes, document, found};

pub fn run(bench: &Bench) {
    let folder = bench.folder("churn");
    let _ = std::fs::remove_dir_all(&folder);
    let (index, _) = HnswIndex::open(bench.options(), bench.home_at("churn"));
    let exact = ExactIndex::new(DIM, Simd::detect());
    let all = bench.update(bench.rows());
    exact.apply(all.clone()).expect("dimension");
    index.apply(all).expect("dimension");
    index.upkeep(&|| false).expect("a graph");
    let tell = |what: &str| {
        let recall = recall(bench, &index, &exact);
        let megabytes = disk_bytes(&folder).unwrap_or_default() as f64 / 1e6;
        println!("  {what}: recall@10 {recall:.4}, {megabytes:.1} MB on disk; {}", index.parts());
    };
    println!("churn:");
    tell("made of all");
    let scattered = |at: &usize| (at.wrapping_mul(2_654_435_761) / 512).is_multiple_of(2);
    let (gone, mut alive): (Vec<usize>, Vec<usize>) = (0..bench.rows()).partition(scattered);
    let mut spare = gone.clone();
    let apply = |removed: Vec<usize>, added: &[usize], reached: u64| {
        let mut update = VectorUpdate::reaching(ChangeNumber(reached));
        update.removed = removed.into_iter().map(document).collect::<Vec<DocumentId>>();
        for at in added {
            update.upsert(document(*at), bench.row(*at));
        }
        exact.apply(update.clone()).expect("dimension");
        index.apply(update).expect("dimension");
    };
    apply(gone, &[], 2);
    tell("half marked as gone");
    let upkeep = || {
        let started = Instant::now();
        match index.upkeep(&|| false).expect("a graph") {
            Upkeep::Made { .. } => format!("upkeep of {:.1} s", started.elapsed().as_secs_f64()),
            _ => "no upkeep due".to_owned(),
        }
    };
    tell(&upkeep());
    let tenth = alive.len() / 10;
    for round in 0..10 {
        let added: Vec<usize> = spare.drain(..tenth.min(spare.len())).collect();
        let removed: Vec<usize> = alive.drain(..tenth).collect();
        spare.extend(&removed);
        apply(removed, &added, 3 + round);
        alive.extend(added);
        let upkeep = upkeep();
        tell(&format!("tenth replaced {} times, {upkeep}", round + 1));
    }
    let _ = std::fs::remove_dir_all(&folder);
}

fn recall(bench: &Bench, index: &HnswIndex, exact: &ExactIndex) -> f64 {
    let all = PassageFilter::all();
    let (mut same, mut wanted) = (0_usize, 0_usize);
    for query in bench.queries.iter().take(300) {
        let (truth, answer) = (found(exact, query, &all), found(index, query, &all));
        wanted += truth.len();
        same += truth.iter().filter(|document| answer.contains(document)).count();
    }
    same as f64 / wanted as f64
}
