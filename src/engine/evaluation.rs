//! Retrieval quality on a judged collection in BEIR layout (Thakur et al. 2021), measured through the
//! production path.

mod collection;
mod comparison;
mod runs;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use tokio::sync::watch;

use self::collection::{Collection, JudgedQuery};
pub use self::comparison::{Comparison, EvaluationRecord, QueryScores};
use super::{Engine, EngineError, JobProgress, SearchMode, SearchRequest, WeakerHits};
use crate::config::Config;
use crate::data::DocumentId;
use crate::ingest;
use crate::search::evaluation::{mrr_at, ndcg_at, recall_at};

/// Documents of an answer that are looked at.
const DEPTH: usize = 100;

#[derive(Clone, Debug)]
pub struct EvaluationOptions {
    pub modes: Vec<SearchMode>,
    /// Cutoff of nDCG and MRR.
    pub k: usize,
    /// An earlier evaluation of the same queries, to test this one against.
    pub against: Option<EvaluationRecord>,
    /// Gets one file a mode with every ranking, in the format of `trec_eval`.
    pub runs: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    pub mode: BTreeMap<String, Quality>,
    /// Every mode beside every other, and beside itself in the earlier evaluation.
    pub comparisons: Vec<Comparison>,
    pub queries: usize,
    pub documents: usize,
    pub passages: u64,
    /// End-to-end time of a search in the first of the modes.
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub index_seconds: f64,
    /// What each query scored; for [`EvaluationOptions::against`] of a later evaluation.
    #[serde(skip)]
    pub record: EvaluationRecord,
}

/// Means over the queries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    pub k: usize,
    pub ndcg: f64,
    pub mrr: f64,
    pub recall_100: f64,
}

impl Serialize for Quality {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = |value: f64| (value * 1e4).round() / 1e4;
        BTreeMap::from([
            (format!("ndcg@{}", self.k), rounded(self.ndcg)),
            (format!("mrr@{}", self.k), rounded(self.mrr)),
            ("recall@100".to_owned(), rounded(self.recall_100)),
        ])
        .serialize(serializer)
    }
}

/// Indexes `folder/corpus.jsonl` into `config.data_dir`, which should be empty or hold this collection
/// already, asks the judged queries and scores the answers.
///
/// # Errors
/// When the collection cannot be read, a run cannot be written, or the engine fails.
pub async fn evaluate(
    config: Config,
    folder: &Path,
    options: &EvaluationOptions,
    progress: impl FnMut(JobProgress),
) -> Result<Evaluation, EngineError> {
    let Collection { documents, queries } = Collection::read(folder)?;
    let engine = Engine::open(config)?;
    let model = engine.model().await?;
    let started = Instant::now();
    let names: HashMap<DocumentId, String> =
        documents.iter().map(|(name, document)| (document.id, name.clone())).collect();
    if engine.inner.store.counts()?.documents < names.len() as u64 {
        let (_keep, cancel) = watch::channel(false);
        let documents = documents.into_iter().map(|(_, document)| document).collect();
        ingest::index_documents(&engine.pipeline(&model), documents, cancel, progress).await?;
        engine.catch_up().await?;
    }
    let index_seconds = started.elapsed().as_secs_f64();

    let mut record = EvaluationRecord { k: options.k, mode: BTreeMap::new() };
    let mut first_times_ms = None;
    for mode in &options.modes {
        let asked = ask(&engine, &queries, *mode, &names).await?;
        if let Some(runs) = &options.runs {
            runs::write(runs, *mode, &queries, &asked.rankings)?;
        }
        record.mode.insert(mode.name().to_owned(), scores(&queries, &asked.rankings, options.k));
        first_times_ms.get_or_insert(asked.times_ms);
    }
    let times_ms = first_times_ms.unwrap_or_default();
    let mut comparisons = record.among_modes();
    comparisons.extend(options.against.iter().flat_map(|earlier| record.against(earlier)));
    Ok(Evaluation {
        mode: record
            .mode
            .iter()
            .map(|(name, scores)| (name.clone(), mean(scores, options.k)))
            .collect(),
        comparisons,
        queries: queries.len(),
        documents: names.len(),
        passages: engine.inner.store.counts()?.passages,
        p50_ms: quantile(&times_ms, 0.5),
        p95_ms: quantile(&times_ms, 0.95),
        p99_ms: quantile(&times_ms, 0.99),
        index_seconds,
        record,
    })
}

/// What one mode answered to each of the queries.
struct Asked {
    /// Names of documents with their scores, best first.
    rankings: Vec<Vec<(String, f32)>>,
    /// Ascending.
    times_ms: Vec<f64>,
}

async fn ask(
    engine: &Engine,
    queries: &[JudgedQuery],
    mode: SearchMode,
    names: &HashMap<DocumentId, String>,
) -> Result<Asked, EngineError> {
    let mut asked = Asked { rankings: Vec::new(), times_ms: Vec::new() };
    for query in queries {
        let mut request = SearchRequest::new(query.text.as_str());
        (request.mode, request.limit) = (mode, DEPTH);
        // Judgments are of single documents: each has to be seen in its own place.
        (request.weaker, request.fold_duplicates) = (WeakerHits::Among, false);
        let started = Instant::now();
        let response = engine.search(request).await?;
        asked.times_ms.push(started.elapsed().as_secs_f64() * 1e3);
        let scored =
            |hit: &crate::data::Hit| Some((names.get(&hit.document.id)?.clone(), hit.score));
        asked.rankings.push(response.hits.iter().filter_map(scored).collect());
    }
    asked.times_ms.sort_by(f64::total_cmp);
    Ok(asked)
}

fn scores(
    queries: &[JudgedQuery],
    rankings: &[Vec<(String, f32)>],
    k: usize,
) -> BTreeMap<String, QueryScores> {
    let scored = |(query, ranking): (&JudgedQuery, &Vec<(String, f32)>)| {
        let ranking: Vec<&str> = ranking.iter().map(|(name, _)| name.as_str()).collect();
        let scores = QueryScores {
            ndcg: ndcg_at(k, &ranking, &query.judgments),
            mrr: mrr_at(k, &ranking, &query.judgments),
            recall_100: recall_at(DEPTH, &ranking, &query.judgments),
        };
        (query.id.clone(), scores)
    };
    queries.iter().zip(rankings).map(scored).collect()
}

fn mean(scores: &BTreeMap<String, QueryScores>, k: usize) -> Quality {
    let of = |value: fn(&QueryScores) -> f64| {
        scores.values().map(value).sum::<f64>() / scores.len().max(1) as f64
    };
    Quality { k, ndcg: of(|s| s.ndcg), mrr: of(|s| s.mrr), recall_100: of(|s| s.recall_100) }
}

/// The value that this share of them is below.
pub(super) fn quantile(ascending: &[f64], share: f64) -> f64 {
    let rank = (ascending.len() as f64 * share) as usize;
    ascending.get(rank.min(ascending.len().saturating_sub(1))).copied().unwrap_or_default()
}
