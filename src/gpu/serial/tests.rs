use std::sync::mpsc;

use super::super::ModelError;
use super::*;

/// Embeds a sequence as the direction (its first id, its length); id 666 panics and id 13 fails.
struct Fake {
    /// Receives the first id of each step when it starts.
    started: mpsc::Sender<u32>,
    /// A step waits here, so a test decides when it ends.
    gate: mpsc::Receiver<()>,
}

impl Model for Fake {
    fn info(&self) -> ModelInfo {
        ModelInfo {
            kind: ModelKind::Encoder,
            device: "fake".to_owned(),
            dim: 2,
            tokens_max: 64,
            memory_bytes: 7,
        }
    }

    fn embed(&mut self, batch: &TokenBatch) -> Result<Vec<Embedding>, ModelError> {
        self.started.send(batch.ids()[0]).map_err(ModelError::new)?;
        self.gate.recv().map_err(ModelError::new)?;
        assert!(!batch.ids().contains(&666), "boom");
        if batch.ids().contains(&13) {
            return Err(ModelError::new("unlucky"));
        }
        let row = |range: std::ops::Range<usize>| {
            vec![batch.ids()[range.start] as f32, range.len() as f32]
        };
        batch.ranges().map(|r| Embedding::normalized(row(r)).map_err(ModelError::new)).collect()
    }
}

fn fake_id() -> ModelId {
    ModelId::Embedding("fake".to_owned())
}

struct Bench {
    scheduler: Arc<SerialScheduler>,
    started: mpsc::Receiver<u32>,
    gate: mpsc::Sender<()>,
}

/// A scheduler with the fake model loaded, whose steps hold one sequence each.
async fn bench(queue_max: usize) -> Bench {
    let options = SchedulerOptions { queue_max, step_target: Duration::ZERO };
    let scheduler = Arc::new(SerialScheduler::start(&options).unwrap());
    let (started_tx, started) = mpsc::channel();
    let (gate, gate_rx) = mpsc::channel();
    let loader =
        move || Ok(Box::new(Fake { started: started_tx, gate: gate_rx }) as Box<dyn Model>);
    scheduler.load_model(fake_id(), Box::new(loader)).await.unwrap();
    Bench { scheduler, started, gate }
}

impl Bench {
    fn embed(
        &self,
        priority: Priority,
        ids: &[u32],
    ) -> tokio::task::JoinHandle<Result<Embedding, GpuError>> {
        let scheduler = Arc::clone(&self.scheduler);
        let request = EmbedRequest { model_id: fake_id(), tokens: ids.to_vec(), priority };
        tokio::spawn(async move { scheduler.embed(request).await })
    }

    /// Waits until `depth` requests are in the queue; they arrive from other threads.
    async fn until_depth(&self, depth: usize) {
        while self.scheduler.stats().depth.iter().sum::<usize>() < depth {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a2_one_named_thread_runs_the_model() {
    let scheduler = SerialScheduler::start(&SchedulerOptions::default()).unwrap();
    let (sender, names) = mpsc::channel();
    let loader = move || -> Result<Box<dyn Model>, ModelError> {
        let name = std::thread::current().name().map(str::to_owned);
        sender.send(name).map_err(ModelError::new)?;
        Err(ModelError::new("no such file"))
    };
    let error = scheduler.load_model(fake_id(), Box::new(loader)).await.unwrap_err();
    assert_eq!(names.recv().unwrap().as_deref(), Some("gpu-scheduler"));
    assert_eq!(error.to_string(), "model fake cannot be loaded: no such file");
    assert!(!scheduler.is_ready());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a4_a_query_waits_for_the_running_step_only() {
    let bench = bench(1_000).await;
    let mut files = Vec::new();
    for _ in 0..10 {
        files.push(bench.embed(Priority::Background, &[1; 8]));
    }
    assert_eq!(bench.started.recv().unwrap(), 1);
    bench.until_depth(10).await;
    let query = bench.embed(Priority::Immediate, &[2; 4]);
    bench.until_depth(11).await;
    bench.gate.send(()).unwrap();
    assert_eq!(bench.started.recv().unwrap(), 2, "the query is the very next step");
    (0..11).for_each(|_| bench.gate.send(()).unwrap());
    query.await.unwrap().unwrap();
    for file in files {
        file.await.unwrap().unwrap();
    }
    assert_eq!(bench.scheduler.stats().completed, 11);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a5_models_load_once_and_unload() {
    let bench = bench(8).await;
    let again = || -> Result<Box<dyn Model>, ModelError> { Err(ModelError::new("unused")) };
    let twice = bench.scheduler.load_model(fake_id(), Box::new(again)).await;
    assert!(matches!(twice, Err(GpuError::AlreadyLoaded(_))));
    assert!(bench.scheduler.is_model_loaded(&fake_id()) && bench.scheduler.is_ready());
    assert_eq!(bench.scheduler.stats().memory_bytes, 7);
    bench.scheduler.unload_model(&fake_id()).await.unwrap();
    let gone = bench.embed(Priority::Immediate, &[1]).await.unwrap();
    assert!(matches!(gone, Err(GpuError::ModelNotLoaded(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a1_generate_and_bad_shapes_are_refused_with_the_reason() {
    let bench = bench(8).await;
    let request = GenerateRequest {
        model_id: fake_id(),
        prompt: vec![1],
        tokens_max: 1,
        priority: Priority::Immediate,
    };
    let error = bench.scheduler.generate(request).await.unwrap_err().to_string();
    assert_eq!(error, "model fake is an embedding model: it cannot generate");
    for length in [0, 65] {
        let error = bench.embed(Priority::Immediate, &vec![1; length]).await.unwrap().unwrap_err();
        assert!(error.to_string().contains("takes 1 to 64"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a7_a_full_queue_makes_files_wait_and_lets_queries_in() {
    let bench = bench(2).await;
    let files: Vec<_> = (0..5).map(|_| bench.embed(Priority::Background, &[1; 4])).collect();
    bench.until_depth(2).await;
    let query = bench.embed(Priority::Immediate, &[2; 4]);
    bench.until_depth(3).await;
    assert_eq!(bench.scheduler.stats().depth, [1, 0, 2]);
    (0..6).for_each(|_| bench.gate.send(()).unwrap());
    query.await.unwrap().unwrap();
    for file in files {
        file.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a7_shutdown_answers_everything() {
    let bench = bench(8).await;
    let waiting: Vec<_> = (0..3).map(|_| bench.embed(Priority::Background, &[1; 4])).collect();
    bench.started.recv().unwrap();
    bench.until_depth(3).await;
    bench.scheduler.shared.lock().stopped = true;
    bench.gate.send(()).unwrap();
    for request in waiting {
        let answer = request.await.unwrap();
        assert!(matches!(answer, Ok(_) | Err(GpuError::Stopped)), "{answer:?}");
    }
    let late = bench.embed(Priority::Immediate, &[1]).await.unwrap();
    assert!(matches!(late, Err(GpuError::Stopped)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a13_a_panic_or_failure_is_the_error_of_its_request() {
    let bench = bench(8).await;
    (0..3).for_each(|_| bench.gate.send(()).unwrap());
    let crashed = bench.embed(Priority::Immediate, &[666]).await.unwrap().unwrap_err();
    assert_eq!(crashed.to_string(), "model fake crashed: boom; other requests go on");
    let failed = bench.embed(Priority::Immediate, &[13]).await.unwrap().unwrap_err();
    assert_eq!(failed.to_string(), "model fake failed: unlucky");
    bench.embed(Priority::Immediate, &[5]).await.unwrap().unwrap();
}
