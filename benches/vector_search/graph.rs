//! The graph: building it, opening it, where it overtakes the scan, and filters.

use std::time::Instant;

use lodestone::data::Embedding;
use lodestone::index::{HnswIndex, HnswOptions, PassageFilter, VectorIndex};

use super::data::{Bench, K, Report, disk_bytes, document, found, resident_bytes};

const EFS: [usize; 15] =
    [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048];

/// Candidates that the application asks for at least.
const CANDIDATES: usize = 100;

pub fn build(bench: &Bench) {
    let folder = bench.folder("graph");
    let _ = std::fs::remove_dir_all(&folder);
    let (index, _) = HnswIndex::open(bench.options(), bench.home_at("graph"));
    index.apply(bench.update(bench.rows())).expect("dimension");
    let started = Instant::now();
    index.upkeep(&|| false).expect("a graph");
    bench.tell(&Report {
        system: "lodestone",
        rows: bench.rows(),
        threads: bench.threads,
        build_seconds: Some(started.elapsed().as_secs_f64()),
        open_ms: None,
        disk_bytes: disk_bytes(&folder),
        memory_bytes: None,
        points: Vec::new(),
    });
}

pub fn open(bench: &Bench) {
    // The truth is of the bench, not of the index.
    bench.truth();
    let before = resident_bytes();
    let started = Instant::now();
    let (mut index, _) = HnswIndex::open(bench.options(), bench.home_at("graph"));
    let open_ms = started.elapsed().as_secs_f64() * 1e3;
    if index.is_empty() {
        println!("there is no graph; the part build leaves one in LODESTONE_VECTORS_HOME");
        return;
    }
    let points = bench.sweep(&mut index, &EFS);
    let memory = before.zip(resident_bytes()).map(|(before, after)| after - before);
    bench.tell(&Report {
        system: "lodestone",
        rows: index.len(),
        threads: 1,
        build_seconds: None,
        open_ms: Some(open_ms),
        disk_bytes: disk_bytes(&bench.folder("graph")),
        memory_bytes: memory,
        points,
    });
}

fn mean_ms(bench: &Bench, search: impl Fn(&Embedding)) -> f64 {
    bench.queries.iter().take(50).for_each(&search);
    let queries = &bench.queries[..bench.queries.len().min(300)];
    let started = Instant::now();
    queries.iter().for_each(search);
    started.elapsed().as_secs_f64() * 1e3 / queries.len() as f64
}

/// Scan and graph at growing sizes, with as many candidates as the application asks for.
pub fn crossover(bench: &Bench) {
    println!("crossover: {CANDIDATES} candidates, ms/query");
    let all = PassageFilter::all();
    for rows in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000] {
        let rows = rows.min(bench.rows());
        let scanned = HnswIndex::new(HnswOptions { graph_rows_min: usize::MAX, ..bench.options() });
        let walked = HnswIndex::new(HnswOptions { graph_rows_min: 1, ..bench.options() });
        for index in [&scanned, &walked] {
            index.apply(bench.update(rows)).expect("dimension");
            index.upkeep(&|| false).expect("a graph");
        }
        let ms = |index: &HnswIndex| {
            mean_ms(bench, |query| drop(index.search(query, &all, CANDIDATES).expect("dimension")))
        };
        println!("  {rows:6} vectors: scan {:.3}, graph {:.3}", ms(&scanned), ms(&walked));
    }
}

/// Recall and time at each selectivity, with what the application keeps while walking.
pub fn filters(bench: &Bench) {
    let (index, _) = HnswIndex::open(bench.options(), bench.home_at("graph"));
    println!("filters: recall@{K} against the filtered exact scan, ms/query");
    let rows = bench.rows();
    for per_mille in [1_000, 500, 200, 100, 50, 20, 5, 1, 0] {
        // Scattered, not every so many: rows that follow each other are alike.
        let is_allowed = |at: &usize| at.wrapping_mul(2_654_435_761) / 64 % 1_000 < per_mille;
        let only = PassageFilter::only((0..rows).filter(is_allowed).map(document));
        let (mut same, mut wanted) = (0_usize, 0_usize);
        for query in bench.queries.iter().take(300) {
            let truth = found(bench.exact(), query, &only);
            let answer = found(&index, query, &only);
            wanted += truth.len();
            same += truth.iter().filter(|document| answer.contains(document)).count();
        }
        let recall = if wanted == 0 { 1.0 } else { same as f64 / wanted as f64 };
        let graph = mean_ms(bench, |query| drop(found(&index, query, &only)));
        let scan = mean_ms(bench, |query| drop(found(bench.exact(), query, &only)));
        let percent = per_mille as f64 / 10.0;
        println!("  {percent:5.1} %: recall {recall:.4}, {graph:.3} ms (exact scan {scan:.3} ms)");
    }
}
