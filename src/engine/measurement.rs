//! How well the index works on this machine, asked by a person and answered by measuring.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::recall::{self, Recall};
use super::{Engine, EngineError};
use crate::search::SearchRequest;

/// Titles that are searched for.
const SEARCHES: usize = 60;

/// What a self-measurement gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelfMeasurement {
    pub documents: u64,
    pub passages: u64,
    /// Share of the ten true neighbors that the vector index finds, 0 ..= 1, over so many queries; `None`
    /// without vectors.
    pub recall_at_10: Option<f64>,
    pub recall_queries: usize,
    /// Searches from end to end, for titles of documents that are indexed.
    pub searches: usize,
    pub p50_ms: f64,
    pub p95_ms: f64,
}

impl Engine {
    /// Asks the vector index and an exact scan the same, and searches for titles of what is indexed.
    /// Reads every vector; `None` while nothing is indexed.
    ///
    /// # Errors
    /// When the store or a search fails.
    pub async fn measure(&self) -> Result<Option<SelfMeasurement>, EngineError> {
        let inner = Arc::clone(&self.inner);
        let prepared = self.run_blocking(move || {
            let recall = recall::measure(&inner.store, &inner.indexes.snapshot())?;
            let mut titles: Vec<String> =
                inner.store.documents()?.into_iter().map(|document| document.title).collect();
            let stride = titles.len().div_ceil(SEARCHES).max(1);
            titles = titles.into_iter().step_by(stride).collect();
            Ok((recall, titles, inner.store.counts()?))
        });
        let (recall, titles, counts) = prepared.await?;
        if titles.is_empty() {
            return Ok(None);
        }
        let mut took_ms = Vec::with_capacity(titles.len());
        for title in &titles {
            let started = Instant::now();
            self.search(SearchRequest::new(title)).await?;
            took_ms.push(started.elapsed().as_secs_f64() * 1e3);
        }
        took_ms.sort_by(f64::total_cmp);
        let quantile = |q: f64| took_ms[((took_ms.len() as f64 * q).ceil() as usize).max(1) - 1];
        Ok(Some(SelfMeasurement {
            documents: counts.documents,
            passages: counts.passages,
            recall_at_10: recall.map(|Recall { at_10, .. }| at_10),
            recall_queries: recall.map_or(0, |Recall { queries, .. }| queries),
            searches: took_ms.len(),
            p50_ms: quantile(0.5),
            p95_ms: quantile(0.95),
        }))
    }
}
