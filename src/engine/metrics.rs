//! What the engine says of its own work: how long things take, how much is done, and what it costs.
//!
//! Figures alone: no document, no path and no query is in any of it.

mod endpoint;
mod exposition;

pub(super) use endpoint::EndpointSlot;
pub use endpoint::{Endpoint, EndpointError};

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde::Serialize;

use super::{Engine, EngineError, Inner};
use crate::gpu;
use crate::platform;
use crate::storage::QueueCounts;
use crate::telemetry::{Counter, Histogram, Sample, Stage};

const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// Times and counts of this process since it began; times are of the last quarter of an hour, those of
/// the device of all time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    pub uptime_seconds: f64,
    pub search: SearchMetrics,
    pub embedding: EmbeddingMetrics,
    pub ingest: IngestMetrics,
    pub crawl: CrawlMetrics,
    pub queue: QueueCounts,
    pub memory: MemoryMetrics,
    pub disk: DiskMetrics,
}

/// How long something took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    pub count: u64,
    pub mean_ms: Option<f64>,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
}

/// Embedding and words run side by side, then the vectors are asked, then the rest is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SearchMetrics {
    pub total: Latency,
    pub embed: Latency,
    pub words: Latency,
    pub vectors: Latency,
    pub rest: Latency,
    /// From a key to the answer on screen; only the window knows.
    pub shown: Latency,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EmbeddingMetrics {
    /// Requests that wait or run on the device.
    pub requests: u64,
    pub tokens: u64,
    pub steps: u64,
    pub failed: u64,
    /// From asking the device to its first step, for searches.
    pub wait_search: Latency,
    /// The same for a file that somebody waits for, and for everything else.
    pub wait_interactive: Latency,
    pub wait_background: Latency,
    /// One step on the device.
    pub run: Latency,
}

/// For each document or transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct IngestMetrics {
    pub documents: u64,
    pub reading: Latency,
    pub embedding: Latency,
    pub storing: Latency,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CrawlMetrics {
    pub pages: u64,
    pub failed: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MemoryMetrics {
    /// Of this process, where the system tells.
    pub resident_bytes: Option<u64>,
    /// Weights of the models on all devices.
    pub models_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DiskMetrics {
    /// Of the data directory.
    pub data_bytes: u64,
    /// Of the disk that it lies on, where the system tells.
    pub free_bytes: Option<u64>,
}

impl Latency {
    fn of(histogram: &Histogram) -> Self {
        let count = histogram.count();
        let mean = (count > 0).then(|| ms(histogram.sum()) / count as f64);
        let quantile = |q| histogram.quantile(q).map(ms);
        Self {
            count,
            mean_ms: mean,
            p50_ms: quantile(0.5),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
        }
    }

    fn of_device(histogram: &gpu::Histogram) -> Self {
        let quantile = |q| histogram.quantile(q).map(ms);
        Self {
            count: histogram.count(),
            mean_ms: None,
            p50_ms: quantile(0.5),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
        }
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

impl Metrics {
    /// Reads the store and the size of the data directory: for a blocking pool.
    pub(super) fn read(inner: &Inner) -> Result<Self, EngineError> {
        let recorder = &inner.recorder;
        let recent = |stage| Latency::of(&recorder.recent(stage));
        let device = inner.scheduler.stats();
        let [search, interactive, background] = &device.wait;
        let data_dir = &inner.config.data_dir;
        Ok(Self {
            uptime_seconds: recorder.uptime().as_secs_f64(),
            search: SearchMetrics {
                total: recent(Stage::Search),
                embed: recent(Stage::SearchEmbed),
                words: recent(Stage::SearchWords),
                vectors: recent(Stage::SearchVectors),
                rest: recent(Stage::SearchRest),
                shown: recent(Stage::SearchShown),
            },
            embedding: EmbeddingMetrics {
                requests: device.depth.iter().sum::<usize>() as u64,
                tokens: device.tokens,
                steps: device.steps,
                failed: device.failed,
                wait_search: Latency::of_device(search),
                wait_interactive: Latency::of_device(interactive),
                wait_background: Latency::of_device(background),
                run: Latency::of_device(&device.run),
            },
            ingest: IngestMetrics {
                documents: recorder.count(Counter::Documents),
                reading: recent(Stage::IngestRead),
                embedding: recent(Stage::IngestEmbed),
                storing: recent(Stage::IngestStore),
            },
            crawl: CrawlMetrics {
                pages: recorder.count(Counter::Pages),
                failed: recorder.count(Counter::PagesFailed),
                bytes: recorder.count(Counter::PageBytes),
            },
            queue: inner.store.queue_counts()?,
            memory: MemoryMetrics {
                resident_bytes: platform::resident_bytes(),
                models_bytes: device.memory_bytes,
            },
            disk: DiskMetrics {
                data_bytes: platform::directory_bytes(data_dir),
                free_bytes: platform::free_bytes(data_dir).ok(),
            },
        })
    }
}

impl Engine {
    /// How long things take, how much is done, and what it costs.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn metrics(&self) -> Result<Metrics, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || Metrics::read(&inner)).await
    }

    /// Records how long a person waited from a key to the answer on screen, which only a window knows.
    pub fn record_shown(&self, waited: Duration) {
        self.inner.recorder.record(Stage::SearchShown, waited);
    }

    /// The last quarter of an hour, a row a second, oldest first; empty in a process that does not stay.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        self.inner.recorder.samples()
    }
}

/// Closes a second after the other for as long as the engine lives.
pub(super) async fn sample(inner: Weak<Inner>) {
    let mut tick = tokio::time::interval(SAMPLE_INTERVAL);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(engine) = inner.upgrade().map(|inner| Engine { inner }) else { return };
        let inner = Arc::clone(&engine.inner);
        let sampled = engine.run_blocking(move || {
            let QueueCounts { queued, extracting, embedded, .. } = inner.store.queue_counts()?;
            let queue = queued + extracting + embedded;
            let tokens = inner.scheduler.stats().tokens;
            inner.recorder.sample(platform::now_seconds(), queue, tokens);
            Ok(())
        });
        if let Err(error) = sampled.await {
            tracing::debug!(%error, "a second is missing in the figures");
        }
    }
}
