//! What a search waits while ten callers flood the device with files, and what the searches cost the
//! files. Every step of the real model is noted where it runs, so waits are exact.
//!
//! Prints the tables of `docs/scheduler.md`. Takes about two minutes.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lodestone::config::{DeviceChoice, ModelFiles};
use lodestone::data::{Embedding, TokenBatch};
use lodestone::gpu::{
    BatchEmbedRequest, EmbedRequest, EncoderModel, GpuScheduler, Lane, Model, ModelError, ModelId,
    ModelInfo, ModelLoader, ModelUpload, ParallelScheduler, Priority, SchedulerOptions,
    SerialScheduler,
};
use lodestone::inference::EmbeddingModel;

/// Callers that index files at once.
const CALLERS: usize = 10;
/// Passages of a file.
const PASSAGES: usize = 20;
const SEARCH_EVERY: Duration = Duration::from_millis(50);
const MEASURED: Duration = Duration::from_secs(12);
/// The first id of a query; no passage has it.
const QUERY: u32 = 999;
const QUERY_TOKENS: usize = 12;

/// When a step ran and what it held.
#[derive(Clone, Copy)]
struct Step {
    start: Instant,
    elapsed: Duration,
    is_query: bool,
}

type Log = Arc<Mutex<Vec<Step>>>;

/// Notes every step of a model.
struct Noted {
    model: Box<dyn EncoderModel>,
    log: Log,
    /// When steps began that are not finished, and whether they are queries; oldest first.
    begun: VecDeque<(Instant, bool)>,
    finished: Instant,
}

impl EncoderModel for Noted {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    fn depth(&self) -> NonZeroUsize {
        self.model.depth()
    }

    fn batch_tokens_max(&self) -> usize {
        self.model.batch_tokens_max()
    }

    fn begin(&mut self, batch: &TokenBatch) -> Result<(), ModelError> {
        let now = Instant::now();
        self.model.begin(batch)?;
        self.begun.push_back((now, batch.ids()[0] == QUERY));
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<Embedding>, ModelError> {
        let result = self.model.finish();
        if let Some((begun, is_query)) = self.begun.pop_front() {
            // A device takes one step after another.
            let start = begun.max(self.finished);
            let step = Step { start, elapsed: start.elapsed(), is_query };
            self.log.lock().expect("the log is whole").push(step);
        }
        self.finished = Instant::now();
        result
    }
}

struct NotedLoader {
    loader: Arc<dyn ModelLoader>,
    log: Log,
}

struct NotedUpload {
    upload: Box<dyn ModelUpload>,
    log: Log,
}

impl ModelLoader for NotedLoader {
    fn prepare(&self, lane: Lane) -> Result<Box<dyn ModelUpload>, ModelError> {
        let upload = self.loader.prepare(lane)?;
        Ok(Box::new(NotedUpload { upload, log: Arc::clone(&self.log) }))
    }
}

impl ModelUpload for NotedUpload {
    fn step(&mut self) -> Result<Option<Model>, ModelError> {
        let note = |model| match model {
            Model::Encoder(model) => {
                let (log, begun) = (Arc::clone(&self.log), VecDeque::new());
                Model::Encoder(Box::new(Noted { model, log, begun, finished: Instant::now() }))
            }
            decoder @ Model::Decoder(_) => decoder,
        };
        Ok(self.upload.step()?.map(note))
    }
}

/// What runs and how.
struct Case {
    name: &'static str,
    lanes: usize,
    step_target: Option<Duration>,
    searches: bool,
}

struct Measured {
    /// Tokens of files a second.
    background_per_second: f64,
    /// From the request to the start of its step.
    waits: Vec<Duration>,
    /// From the request to its answer.
    latencies: Vec<Duration>,
    /// Steps of files.
    steps: Vec<Duration>,
    /// Share of the time that the device spent on queries.
    query_share: f64,
}

fn quantile(sorted: &[Duration], q: f64) -> f64 {
    let at = ((sorted.len() as f64 * q).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(at).map_or(f64::NAN, |duration| duration.as_secs_f64() * 1e3)
}

fn model_id() -> ModelId {
    ModelId::Embedding("bundled".to_owned())
}

fn sequence(length: usize, seed: usize) -> Vec<u32> {
    (0..length).map(|at| 1_000 + ((at * 7_919 + seed * 104_729) % 28_000) as u32).collect()
}

/// A file whose passages vary in length as those of prose do.
fn file(seed: usize) -> TokenBatch {
    let mut batch = TokenBatch::default();
    for passage in 0..PASSAGES {
        batch.push(&sequence(120 + (passage * 53 + seed * 17) % 136, passage + seed));
    }
    batch
}

async fn measure(case: &Case) -> Measured {
    let log = Log::default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let files = EmbeddingModel::open(&ModelFiles::Bundled).expect("the bundled model is whole");
    let choice = DeviceChoice::from_environment().expect("a device's name");
    let loader = files.into_loader(choice, cores).expect("the self-test is tokenized");
    let loader = NotedLoader { loader, log: Arc::clone(&log) };
    let options = SchedulerOptions { step_target: case.step_target, ..Default::default() };
    let lanes = NonZeroUsize::new(case.lanes).expect("a case has lanes");
    let scheduler: Arc<dyn GpuScheduler> = if case.lanes == 1 {
        Arc::new(SerialScheduler::start(&options).expect("a thread"))
    } else {
        Arc::new(ParallelScheduler::start(&options, lanes).expect("threads"))
    };
    scheduler.load_model(model_id(), Arc::new(loader)).await.expect("the model loads");

    let stop = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let (scheduler, stop) = (scheduler.clone(), stop.clone());
            tokio::spawn(async move {
                let mut seed = caller;
                while !stop.load(Ordering::Relaxed) {
                    let batch = file(seed);
                    let priority = Priority::Background;
                    let request = BatchEmbedRequest { model_id: model_id(), batch, priority };
                    scheduler.embed_batch(request).await.expect("embeds");
                    seed += CALLERS;
                }
            })
        })
        .collect();
    // The step budget finds its size, and the callers' files spread over their first steps.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let before = scheduler.stats().tokens;
    log.lock().expect("the log is whole").clear();
    let started = Instant::now();
    let mut searches = Vec::new();
    if case.searches {
        let mut query = sequence(QUERY_TOKENS, 1);
        query[0] = QUERY;
        let mut tick = tokio::time::interval(SEARCH_EVERY);
        while started.elapsed() < MEASURED {
            tick.tick().await;
            let (scheduler, tokens) = (scheduler.clone(), query.clone());
            searches.push(tokio::spawn(async move {
                let asked = Instant::now();
                let priority = Priority::Immediate;
                let request = EmbedRequest { model_id: model_id(), tokens, priority };
                scheduler.embed(request).await.expect("embeds");
                (asked, asked.elapsed())
            }));
        }
    } else {
        tokio::time::sleep(MEASURED).await;
    }
    let elapsed = started.elapsed().as_secs_f64();
    let asked_tokens = (searches.len() * QUERY_TOKENS) as u64;
    let background = (scheduler.stats().tokens - before).saturating_sub(asked_tokens);
    stop.store(true, Ordering::Relaxed);
    let mut asked = Vec::new();
    for search in searches {
        asked.push(search.await.expect("a search ends"));
    }
    let log = log.lock().expect("the log is whole").clone();
    for caller in callers {
        caller.abort();
    }

    asked.sort();
    // Queries run in the order in which they were asked; two that wait together share a step.
    let mut waits: Vec<Duration> = asked
        .iter()
        .filter_map(|(asked, _)| {
            let later = log.iter().filter(|step| step.is_query && step.start >= *asked);
            later.map(|step| step.start - *asked).min()
        })
        .collect();
    let mut latencies: Vec<Duration> = asked.into_iter().map(|(_, latency)| latency).collect();
    let mut steps: Vec<Duration> =
        log.iter().filter(|step| !step.is_query).map(|step| step.elapsed).collect();
    let of_queries: f64 =
        log.iter().filter(|step| step.is_query).map(|step| step.elapsed.as_secs_f64()).sum();
    waits.sort();
    latencies.sort();
    steps.sort();
    Measured {
        background_per_second: background as f64 / elapsed,
        waits,
        latencies,
        steps,
        query_share: of_queries / elapsed / case.lanes as f64,
    }
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let target = |ms| Some(Duration::from_millis(ms));
    let cases = [
        Case { name: "no searches", lanes: 1, step_target: None, searches: false },
        Case { name: "40 ms steps (default)", lanes: 1, step_target: None, searches: true },
        Case { name: "10 ms steps", lanes: 1, step_target: target(10), searches: true },
        Case { name: "160 ms steps", lanes: 1, step_target: target(160), searches: true },
        Case { name: "whole files", lanes: 1, step_target: target(60_000), searches: true },
        Case { name: "2 lanes, no searches", lanes: 2, step_target: None, searches: false },
        Case { name: "2 lanes, 40 ms steps", lanes: 2, step_target: None, searches: true },
    ];
    println!(
        "| {:<22} | step p50, p99 ms | wait p50, p99, max ms | answer p50, p99 ms | files tokens/s | loss | of it queries |",
        "case"
    );
    println!("|{}|---|---|---|---|---|---|", "-".repeat(24));
    let mut idle = 0.0;
    for case in &cases {
        let Measured { background_per_second: rate, waits, latencies, steps, query_share } =
            runtime.block_on(measure(case));
        if !case.searches {
            idle = rate;
        }
        println!(
            "| {:<22} | {:.1}, {:.1} | {:.1}, {:.1}, {:.1} | {:.1}, {:.1} | {:.0} | {:.1} % | {:.1} % |",
            case.name,
            quantile(&steps, 0.5),
            quantile(&steps, 0.99),
            quantile(&waits, 0.5),
            quantile(&waits, 0.99),
            quantile(&waits, 1.0),
            quantile(&latencies, 0.5),
            quantile(&latencies, 0.99),
            rate,
            (1.0 - rate / idle) * 100.0,
            query_share * 100.0,
        );
    }
}
