//! The exact scan beside the `hnsw` crate that the conception names, on 80,000 real sentence vectors:
//! recall@10 against the truth, milliseconds a query on one thread, and build time.
//!
//! Reads `base0.f16` … `base3.f16` and `queries.f16` from `LODESTONE_VECTORS`.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use half::f16;
use hnsw::{Hnsw, Params, Searcher};
use lodestone::data::{DocumentId, Embedding};
use lodestone::index::{ExactIndex, PassageFilter, Simd, VectorIndex, VectorUpdate};
use rand_pcg::Pcg64;
use space::{Metric, Neighbor};

const DIM: usize = 384;
const QUERIES: usize = 500;
const K: usize = 10;

struct Cosine;

impl Metric<Vec<f32>> for Cosine {
    type Unit = u32;

    /// One minus the cosine, as an integer, which is what the crate orders by.
    fn distance(&self, a: &Vec<f32>, b: &Vec<f32>) -> u32 {
        let cosine: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        ((1.0 - cosine).max(0.0) * 1e9) as u32
    }
}

fn main() {
    let folder = std::env::var_os("LODESTONE_VECTORS")
        .map_or_else(|| PathBuf::from("../shared/data/minilm-vectors"), PathBuf::from);
    if !folder.join("base0.f16").exists() {
        println!("no vectors in {}; set LODESTONE_VECTORS", folder.display());
        return;
    }
    let base: Vec<Vec<f32>> =
        (0..4).flat_map(|part| read(&folder.join(format!("base{part}.f16")))).collect();
    let queries = read(&folder.join("queries.f16"));
    let queries = &queries[..QUERIES];
    println!(
        "{} vectors of {DIM}, {QUERIES} queries, recall@{K} against the exact scan",
        base.len()
    );
    let truth = exact(&base, queries);
    peer(&base, queries, &truth);
}

/// Prints the time of the exact scan with each instruction set and returns the true neighbors.
fn exact(base: &[Vec<f32>], queries: &[Vec<f32>]) -> Vec<Vec<usize>> {
    let mut truth = Vec::new();
    for simd in [Simd::Avx512, Simd::Avx2, Simd::Neon, Simd::Plain] {
        if !simd.is_available() {
            continue;
        }
        let index = ExactIndex::new(DIM, simd);
        let mut update = VectorUpdate::default();
        for (at, vector) in base.iter().enumerate() {
            let row: Vec<f16> = vector.iter().copied().map(f16::from_f32).collect();
            update.upsert(DocumentId::from_stored(at as u64), &row);
        }
        let started = Instant::now();
        index.apply(update).expect("dimension");
        let build = started.elapsed();
        let embeddings: Vec<Embedding> =
            queries.iter().map(|q| Embedding::normalized(q.clone()).expect("unit")).collect();
        let started = Instant::now();
        truth = embeddings
            .iter()
            .map(|query| {
                let found = index.search(query, &PassageFilter::all(), K).expect("dimension");
                found.iter().map(|c| c.chunk.document.get() as usize).collect()
            })
            .collect();
        report(&format!("exact scan f16, {}", simd.name()), 1.0, started.elapsed(), build);
    }
    truth
}

fn peer(base: &[Vec<f32>], queries: &[Vec<f32>], truth: &[Vec<usize>]) {
    let params = Params::new().ef_construction(200);
    let mut graph: Hnsw<Cosine, Vec<f32>, Pcg64, 16, 32> = Hnsw::new_params(Cosine, params);
    let mut searcher = Searcher::default();
    let started = Instant::now();
    for vector in base {
        graph.insert(vector.clone(), &mut searcher);
    }
    let build = started.elapsed();
    for ef in [64, 256] {
        let started = Instant::now();
        let mut same = 0;
        for (query, truth) in queries.iter().zip(truth) {
            let mut found = [Neighbor { index: !0, distance: !0 }; K];
            let found = graph.nearest(query, ef, &mut searcher, &mut found);
            same += found.iter().filter(|neighbor| truth.contains(&neighbor.index)).count();
        }
        let recall = same as f64 / (queries.len() * K) as f64;
        report(&format!("peer: hnsw 0.11, ef {ef}"), recall, started.elapsed(), build);
    }
}

fn report(name: &str, recall: f64, elapsed: Duration, build: Duration) {
    let query_ms = elapsed.as_secs_f64() * 1e3 / QUERIES as f64;
    let build_seconds = build.as_secs_f64();
    println!("{name:28} recall {recall:.3}  {query_ms:7.3} ms/query  build {build_seconds:6.2} s");
}

fn read(path: &Path) -> Vec<Vec<f32>> {
    let bytes = std::fs::read(path).expect("the file was found before");
    let values = bytes.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]]).to_f32());
    let values: Vec<f32> = values.collect();
    let unit = |row: &[f32]| {
        let length = row.iter().map(|v| v * v).sum::<f32>().sqrt();
        row.iter().map(|v| v / length).collect()
    };
    values.chunks_exact(DIM).map(unit).collect()
}
