//! The vectors, and how a system's figures are told.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

use half::f16;
use lodestone::data::{ChangeNumber, DocumentId, Embedding};
use lodestone::index::{
    ExactIndex, HnswIndex, HnswOptions, PassageFilter, VectorHome, VectorIndex, VectorOrigin,
    VectorUpdate,
};
use lodestone::platform::Simd;
use rayon::prelude::*;

pub const DIM: usize = 384;
pub const K: usize = 10;
const QUERIES: usize = 1_000;

pub struct Bench {
    pub base: Vec<f16>,
    pub queries: Vec<Embedding>,
    pub threads: usize,
    pub json: bool,
    home: PathBuf,
    exact: OnceLock<ExactIndex>,
    truth: OnceLock<Vec<Vec<DocumentId>>>,
}

/// A recall at a time.
#[derive(serde::Serialize)]
pub struct Point {
    pub ef: usize,
    pub recall: f64,
    pub query_ms: f64,
}

/// What is told of a system.
#[derive(serde::Serialize)]
pub struct Report<'a> {
    pub system: &'a str,
    pub rows: usize,
    pub threads: usize,
    pub build_seconds: Option<f64>,
    pub open_ms: Option<f64>,
    pub disk_bytes: Option<u64>,
    pub memory_bytes: Option<u64>,
    pub points: Vec<Point>,
}

impl Bench {
    pub fn read(json: bool) -> Option<Self> {
        let set = |name: &str| std::env::var(name).ok();
        let folder = set("LODESTONE_VECTORS")
            .map_or_else(|| PathBuf::from("../shared/data/minilm-vectors"), PathBuf::from);
        let mut base = Vec::new();
        for part in (0..).map(|part| folder.join(format!("base{part}.f16"))) {
            match std::fs::read(&part) {
                Ok(bytes) => unit_rows(&bytes, &mut base),
                Err(_) => break,
            }
        }
        if base.is_empty() {
            println!("no vectors in {}; set LODESTONE_VECTORS", folder.display());
            return None;
        }
        let number = |name| set(name).and_then(|text| text.parse::<usize>().ok());
        if let Some(rows) = number("LODESTONE_VECTORS_ROWS") {
            base.truncate(rows * DIM);
        }
        let mut queries = Vec::new();
        unit_rows(&std::fs::read(folder.join("queries.f16")).ok()?, &mut queries);
        let queries = queries.chunks_exact(DIM).take(QUERIES).map(embedding).collect();
        let home = set("LODESTONE_VECTORS_HOME").map_or_else(
            || std::env::temp_dir().join(format!("lodestone-vectors-{}", std::process::id())),
            PathBuf::from,
        );
        let threads = number("LODESTONE_VECTORS_THREADS").unwrap_or(1);
        let (exact, truth) = (OnceLock::new(), OnceLock::new());
        Some(Self { base, queries, threads, json, home, exact, truth })
    }

    pub fn rows(&self) -> usize {
        self.base.len() / DIM
    }

    pub fn row(&self, at: usize) -> &[f16] {
        &self.base[at * DIM..(at + 1) * DIM]
    }

    pub fn options(&self) -> HnswOptions {
        HnswOptions { threads: self.threads, ..HnswOptions::new(DIM) }
    }

    pub fn home_at(&self, name: &str) -> VectorHome {
        let origin = VectorOrigin { store: "bench".to_owned(), model: 1 };
        VectorHome::new(self.home.join(name), origin)
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// The first `rows` rows.
    pub fn update(&self, rows: usize) -> VectorUpdate {
        let mut update = VectorUpdate::reaching(ChangeNumber(1));
        (0..rows).for_each(|at| update.upsert(document(at), self.row(at)));
        update
    }

    pub fn exact(&self) -> &ExactIndex {
        self.exact.get_or_init(|| {
            let index = ExactIndex::new(DIM, Simd::detect());
            index.apply(self.update(self.rows())).expect("dimension");
            index
        })
    }

    /// The exact ten best of each query.
    pub fn truth(&self) -> &[Vec<DocumentId>] {
        self.truth.get_or_init(|| {
            let (exact, all) = (self.exact(), PassageFilter::all());
            self.queries.par_iter().map(|query| found(exact, query, &all)).collect()
        })
    }

    /// Recall and time with each `ef`.
    pub fn sweep(&self, index: &mut HnswIndex, efs: &[usize]) -> Vec<Point> {
        let all = PassageFilter::all();
        let mut points = Vec::new();
        for ef in efs {
            index.set_ef(Some(*ef));
            points.push(self.point(*ef, |query| found(index, query, &all)));
        }
        index.set_ef(None);
        points
    }

    pub fn point(&self, ef: usize, search: impl Fn(&Embedding) -> Vec<DocumentId>) -> Point {
        let truth = self.truth();
        // Once before the clock starts: what is measured is a process that has searched before.
        self.queries.iter().take(100).for_each(|query| drop(search(query)));
        let started = Instant::now();
        let answers: Vec<_> = self.queries.iter().map(search).collect();
        let query_ms = started.elapsed().as_secs_f64() * 1e3 / self.queries.len() as f64;
        let same =
            answers.iter().zip(truth).map(|(a, t)| t.iter().filter(|d| a.contains(d)).count());
        let recall = same.sum::<usize>() as f64 / (truth.len() * K) as f64;
        Point { ef, recall, query_ms }
    }

    pub fn tell(&self, report: &Report<'_>) {
        if self.json {
            println!("{}", serde_json::to_string(report).expect("numbers"));
            return;
        }
        println!("{}, {} vectors, {} thread(s)", report.system, report.rows, report.threads);
        let facts = [
            report.build_seconds.map(|value| format!("build {value:.1} s")),
            report.open_ms.map(|value| format!("open {value:.2} ms")),
            report.disk_bytes.map(|bytes| format!("{:.1} MB on disk", bytes as f64 / 1e6)),
            report.memory_bytes.map(|bytes| format!("{:.1} MB in memory", bytes as f64 / 1e6)),
        ];
        println!("  {}", facts.into_iter().flatten().collect::<Vec<_>>().join(", "));
        for Point { ef, recall, query_ms } in &report.points {
            println!("  ef {ef:4}  recall@10 {recall:.4}  {query_ms:.4} ms/query");
        }
    }
}

pub fn found(
    index: &dyn VectorIndex,
    query: &Embedding,
    filter: &PassageFilter,
) -> Vec<DocumentId> {
    let found = index.search(query, filter, K).expect("dimension");
    found.into_iter().map(|candidate| candidate.chunk.document).collect()
}

/// Documents are numbered as hashes are: evenly, and not in the order of the rows.
pub fn document(at: usize) -> DocumentId {
    DocumentId::from_stored((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1)
}

fn embedding(row: &[f16]) -> Embedding {
    Embedding::normalized(row.iter().map(|value| value.to_f32()).collect()).expect("unit length")
}

fn unit_rows(bytes: &[u8], rows: &mut Vec<f16>) {
    let values = bytes.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]]).to_f32());
    let values: Vec<f32> = values.collect();
    for row in values.chunks_exact(DIM) {
        let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
        rows.extend(row.iter().map(|value| f16::from_f32(value / length)));
    }
}

/// Bytes of this process that are in memory, where the system tells.
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

pub fn disk_bytes(folder: &Path) -> Option<u64> {
    let entries = std::fs::read_dir(folder).ok()?;
    Some(entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum())
}
