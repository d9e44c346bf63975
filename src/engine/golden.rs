//! The golden set: answers that a person starred, asked again and again, so that they see for themselves
//! whether search still finds them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::evaluation::quantile;
use super::loaded::name_of;
use super::{Engine, EngineError, SearchRequest, recall};
use crate::data::{DocumentId, Hit, Source};
use crate::platform;
use crate::search::Query;
use crate::search::{IndexSnapshot, SearchMode};
use crate::storage::{self, Star};

/// Documents of an answer that are looked at: what a person looks at.
const K: usize = 10;

/// Measurements that are shown.
const HISTORY: usize = 50;

/// A starred answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StarredAnswer {
    pub query: String,
    pub source: Source,
    /// Seconds since the Unix epoch.
    pub starred_at: i64,
}

/// How well search found the starred answers at one time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GoldenMeasurement {
    /// Seconds since the Unix epoch.
    pub at: i64,
    pub model: String,
    pub passages: u64,
    pub queries: u64,
    pub stars: u64,
    /// Share of the starred answers among the first ten documents, a mean over the queries.
    #[serde(rename = "recall@10")]
    pub recall_at_10: f64,
    /// One over the rank of the first starred answer, a mean over the queries.
    #[serde(rename = "mrr@10")]
    pub mrr_at_10: f64,
    /// Share of the ten nearest passages of each query that the vector index misses; `None` without
    /// vectors.
    #[serde(rename = "ann_gap@10")]
    pub ann_gap_at_10: Option<f64>,
    /// End to end.
    pub p50_ms: f64,
    pub p95_ms: f64,
}

/// The starred answers, and what measuring by them gave, newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GoldenSet {
    pub stars: Vec<StarredAnswer>,
    pub measurements: Vec<GoldenMeasurement>,
}

impl Engine {
    /// Stars `source` as a right answer to `query`, or takes the star away. Whether that changed
    /// anything.
    ///
    /// # Errors
    /// When the source is to be starred and is not in the index, or the store fails.
    pub async fn star(
        &self,
        query: String,
        source: Source,
        starred: bool,
    ) -> Result<bool, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            if !starred {
                return Ok(inner.store.unstar(&query, &source)?);
            }
            if inner.store.fingerprint(&source)?.is_none() {
                return Err(EngineError::NotIndexed { source_name: source.to_string() });
            }
            let starred_at = platform::now_seconds();
            Ok(inner.store.star(&Star { query, source, starred_at })?)
        })
        .await
    }

    /// The same for a source as a person names it: a path or a URL.
    ///
    /// # Errors
    /// As [`Engine::star`].
    pub async fn star_named(
        &self,
        query: String,
        source: String,
        starred: bool,
    ) -> Result<bool, EngineError> {
        let source = match Source::from_key(&source) {
            Ok(source @ Source::Web(_)) => source,
            _ => Source::File(platform::resolve(source.as_ref())),
        };
        self.star(query, source, starred).await
    }

    /// The starred answers and the newest measurements.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn golden_set(&self) -> Result<GoldenSet, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            let stars = inner.store.stars()?.into_iter().map(StarredAnswer::from);
            let measurements = inner.store.measurements(HISTORY)?.into_iter();
            Ok(GoldenSet {
                stars: stars.collect(),
                measurements: measurements.map(GoldenMeasurement::from).collect(),
            })
        })
        .await
    }

    /// Asks every starred query as a person would, and keeps what came of it; `None` without stars.
    ///
    /// # Errors
    /// When the store or an index fails.
    pub async fn measure_golden(&self) -> Result<Option<GoldenMeasurement>, EngineError> {
        let mut golden: BTreeMap<String, Vec<DocumentId>> = BTreeMap::new();
        for star in self.golden_set().await?.stars {
            golden.entry(star.query).or_default().push(DocumentId::of(&star.source));
        }
        if golden.is_empty() {
            return Ok(None);
        }
        // A question that is asked while the model loads is answered by words alone.
        self.wait_for_model().await;
        let (mut recall, mut mrr, mut times_ms) = (0.0, 0.0, Vec::new());
        for (query, right) in &golden {
            let started = Instant::now();
            let response = self
                .search(SearchRequest { limit: K, ..SearchRequest::new(query.as_str()) })
                .await?;
            times_ms.push(started.elapsed().as_secs_f64() * 1e3);
            let found = |hit: &Hit| right.iter().filter(|id| shows(hit, **id)).count();
            let ranks = response.hits.iter().filter(|hit| found(hit) > 0).map(|hit| hit.rank);
            mrr += ranks.min().map_or(0.0, |rank| 1.0 / rank as f64);
            recall += response.hits.iter().map(found).sum::<usize>() as f64 / right.len() as f64;
        }
        times_ms.sort_by(f64::total_cmp);
        let queries = golden.len() as f64;
        let indexes = self.inner.indexes.snapshot();
        let ann_gap_at_10 = self.ann_gap(&indexes, golden.keys().cloned().collect()).await?;
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            let model = indexes.model().map(|model| model.name.clone());
            let measured = storage::Measurement {
                at: platform::now_seconds(),
                model: model.unwrap_or_default(),
                passages: inner.store.counts()?.passages,
                queries: golden.len() as u64,
                stars: golden.values().map(|right| right.len() as u64).sum(),
                recall_at_10: recall / queries,
                mrr_at_10: mrr / queries,
                ann_gap_at_10,
                p50_ms: quantile(&times_ms, 0.5),
                p95_ms: quantile(&times_ms, 0.95),
            };
            inner.store.add_measurement(&measured)?;
            Ok(Some(measured.into()))
        })
        .await
    }

    /// What the vector index misses of the true neighbors of these queries; `None` while the model
    /// loads or has failed, and without vectors.
    async fn ann_gap(
        &self,
        indexes: &Arc<IndexSnapshot>,
        queries: Vec<String>,
    ) -> Result<Option<f64>, EngineError> {
        let mut vectors = Vec::new();
        for text in queries {
            let query = Query::parse(&text, platform::now_seconds());
            let vector = self.query_vector(SearchMode::Hybrid, &query, indexes).await?;
            vectors.extend(vector.map(|vector| vector.embedding));
        }
        let (inner, indexes) = (Arc::clone(&self.inner), Arc::clone(indexes));
        self.run_blocking(move || {
            let found = recall::of_queries(&inner.store, &indexes, &vectors)?;
            Ok(found.map(|recall| 1.0 - recall.at_10))
        })
        .await
    }
}

/// Whether a document is shown in a hit, as itself or as one that says nearly the same.
fn shows(hit: &Hit, id: DocumentId) -> bool {
    hit.document.id == id || hit.also.iter().any(|document| document.id == id)
}

impl From<Star> for StarredAnswer {
    fn from(Star { query, source, starred_at }: Star) -> Self {
        Self { query, source, starred_at }
    }
}

impl From<storage::Measurement> for GoldenMeasurement {
    fn from(measured: storage::Measurement) -> Self {
        let storage::Measurement { at, model, passages, queries, stars, .. } = measured;
        let storage::Measurement { recall_at_10, mrr_at_10, ann_gap_at_10, p50_ms, p95_ms, .. } =
            measured;
        Self {
            at,
            // The program's name for what the vectors are of says more than a person asked.
            model: name_of(&storage::EmbeddingModel { name: model, dim: 0 }),
            passages,
            queries,
            stars,
            recall_at_10,
            mrr_at_10,
            ann_gap_at_10,
            p50_ms,
            p95_ms,
        }
    }
}
