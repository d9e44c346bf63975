//! The vector index on real sentence vectors: recall@10 against the exact scan, milliseconds a query on one
//! thread, build time, and what filters and deletions cost.
//!
//! ```text
//! cargo bench --bench vector_search -- [PART…] [--json]
//! ```
//!
//! Parts are `scan`, `crossover`, `build`, `open` (which wants a graph that `build` has left), `filters`,
//! `churn` and `crate` (the `hnsw` crate); without any, all of them. `--json` prints one JSON value a line
//! for `build`, `open` and `crate`, which `scripts/bench-vectors` sets beside hnswlib and usearch.
//!
//! | variable | what | else |
//! |---|---|---|
//! | `LODESTONE_VECTORS` | folder with `base*.f16` and `queries.f16` | `../shared/data/minilm-vectors` |
//! | `LODESTONE_VECTORS_ROWS` | vectors that are used | all |
//! | `LODESTONE_VECTORS_HOME` | where the graph is kept | a temporary folder |
//! | `LODESTONE_VECTORS_THREADS` | threads that build | 1 |

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod churn;
mod data;
mod graph;
mod peer;
mod scan;

use self::data::Bench;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` passes `--bench`.
    let mut parts: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|word| !word.starts_with("--")).collect();
    if parts.is_empty() {
        parts = vec!["scan", "crossover", "build", "open", "filters", "churn", "crate"];
    }
    let Some(bench) = Bench::read(arguments.iter().any(|word| word == "--json")) else { return };
    for part in parts {
        match part {
            "scan" => scan::run(&bench),
            "crossover" => graph::crossover(&bench),
            "build" => graph::build(&bench),
            "open" => graph::open(&bench),
            "filters" => graph::filters(&bench),
            "churn" => churn::run(&bench),
            "crate" => peer::run(&bench),
            other => println!("no part is named {other}"),
        }
    }
}
