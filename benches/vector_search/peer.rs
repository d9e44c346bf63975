//! The `hnsw` crate, which the conception names. It keeps the nearest neighbors of a node without the
//! diversity heuristic.

use std::cell::RefCell;
use std::time::Instant;

use hnsw::{Hnsw, Params, Searcher};
use lodestone::data::{DocumentId, Embedding};
use rand_pcg::Pcg64;
use space::{Metric, Neighbor};

use super::data::{Bench, DIM, K, Report, document};

struct Cosine;

impl Metric<Vec<f32>> for Cosine {
    type Unit = u32;

    /// One minus the cosine, as an integer, which is what the crate orders by.
    fn distance(&self, a: &Vec<f32>, b: &Vec<f32>) -> u32 {
        let cosine: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        ((1.0 - cosine).max(0.0) * 1e9) as u32
    }
}

pub fn run(bench: &Bench) {
    let params = Params::new().ef_construction(200);
    let mut graph: Hnsw<Cosine, Vec<f32>, Pcg64, 16, 32> = Hnsw::new_params(Cosine, params);
    let mut searcher = Searcher::default();
    let started = Instant::now();
    for row in bench.base.chunks_exact(DIM) {
        graph.insert(row.iter().map(|value| value.to_f32()).collect(), &mut searcher);
    }
    let build_seconds = Some(started.elapsed().as_secs_f64());
    let searcher = RefCell::new(searcher);
    let points = [64, 256].map(|ef| {
        bench.point(ef, |query: &Embedding| -> Vec<DocumentId> {
            let mut found = [Neighbor { index: !0, distance: !0 }; K];
            let query = query.as_slice().to_vec();
            let found = graph.nearest(&query, ef, &mut searcher.borrow_mut(), &mut found);
            found.iter().map(|neighbor| document(neighbor.index)).collect()
        })
    });
    bench.tell(&Report {
        system: "hnsw crate",
        rows: bench.rows(),
        threads: 1,
        build_seconds,
        open_ms: None,
        disk_bytes: None,
        memory_bytes: None,
        points: points.into(),
    });
}
