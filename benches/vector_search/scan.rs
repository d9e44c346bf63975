//! The exact scan with each instruction set.

use std::time::Instant;

use lodestone::index::{ExactIndex, PassageFilter, VectorIndex};
use lodestone::platform::Simd;

use super::data::{Bench, DIM, found};

pub fn run(bench: &Bench) {
    println!("exact scan of {} vectors, all cores", bench.rows());
    for simd in [Simd::Avx512, Simd::Avx2, Simd::Neon, Simd::Plain] {
        if !simd.is_available() {
            continue;
        }
        let index = ExactIndex::new(DIM, simd);
        index.apply(bench.update(bench.rows())).expect("dimension");
        let queries = &bench.queries[..100];
        let started = Instant::now();
        for query in queries {
            found(&index, query, &PassageFilter::all());
        }
        let query_ms = started.elapsed().as_secs_f64() * 1e3 / queries.len() as f64;
        println!("  {}: {query_ms:.2} ms/query", simd.name());
    }
}
