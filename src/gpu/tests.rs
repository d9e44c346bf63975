//! The rows A1 to A13 of the scheduler's contract, on real threads. What needs no thread is shown on
//! the queue alone.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::fake::{self, FAILS, Gate, KILLS, PANICS, Started, Steps, decoder_id, encoder_id};
use super::*;
use crate::data::TokenBatch;

/// A scheduler with a fake encoder and a fake decoder, whose steps hold one sequence or token each and
/// wait at the gate.
struct Bench {
    scheduler: Arc<dyn GpuScheduler>,
    started: mpsc::Receiver<Started>,
    gate: Arc<Gate>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.gate.open();
    }
}

fn options(queue_max: usize) -> SchedulerOptions {
    // Whether a hold ends by itself is not left to how fast the machine is.
    let hold_max = Duration::from_hours(1);
    SchedulerOptions { queue_max, step_target: Some(Duration::ZERO), hold_max }
}

async fn serial(queue_max: usize) -> Bench {
    bench(Arc::new(SerialScheduler::start(&options(queue_max)).unwrap())).await
}

async fn parallel(lanes: usize) -> Bench {
    let lanes = NonZeroUsize::new(lanes).unwrap();
    bench(Arc::new(ParallelScheduler::start(&options(1_000), lanes).unwrap())).await
}

async fn bench(scheduler: Arc<dyn GpuScheduler>) -> Bench {
    bench_of_depth(1, scheduler).await
}

/// On a device that has so many steps at once.
async fn bench_of_depth(depth: usize, scheduler: Arc<dyn GpuScheduler>) -> Bench {
    let (steps, started) = Steps::new();
    let encoder = fake::encoder_of_depth(NonZeroUsize::new(depth).unwrap(), &steps);
    scheduler.load_model(encoder_id(), encoder).await.unwrap();
    scheduler.load_model(decoder_id(), fake::decoder(&steps)).await.unwrap();
    Bench { scheduler, started, gate: steps.gate }
}

impl Bench {
    fn embed(&self, priority: Priority, ids: &[u32]) -> JoinHandle<Result<Embedding, GpuError>> {
        let scheduler = Arc::clone(&self.scheduler);
        let request = EmbedRequest { model_id: encoder_id(), tokens: ids.to_vec(), priority };
        tokio::spawn(async move { scheduler.embed(request).await })
    }

    /// Has `1..=count` embedded on a device of depth 3, which has begun with the first three and finished none.
    async fn embed_files(&self, count: u32) -> Vec<JoinHandle<Result<Embedding, GpuError>>> {
        // While the device waits for this one the others come together, one after the other.
        let ahead = self.embed(Priority::Background, &[100]);
        assert_eq!(self.next_started(), 100);
        let mut files = Vec::new();
        for id in 1..=count {
            files.push(self.embed(Priority::Background, &[id]));
            self.until_depth(files.len() + 1).await;
        }
        self.gate.let_through(1);
        ahead.await.unwrap().unwrap();
        assert_eq!([1, 2, 3], [(); 3].map(|()| self.next_started()));
        files
    }

    async fn generate(&self, prompt: &[u32], tokens_max: usize) -> Result<TokenStream, GpuError> {
        let request = GenerateRequest {
            model_id: decoder_id(),
            prompt: prompt.to_vec(),
            sampling: Sampling::greedy(),
            tokens_max,
            stop: vec![vec![40]],
            priority: Priority::Interactive,
        };
        self.scheduler.generate(request).await
    }

    /// The token of the next step that starts.
    fn next_started(&self) -> u32 {
        self.started.recv().unwrap().token
    }

    /// Waits until `depth` requests are in the queue; they arrive from other threads.
    async fn until_depth(&self, depth: usize) {
        while self.scheduler.stats().depth.iter().sum::<usize>() != depth {
            tokio::task::yield_now().await;
        }
    }
}

fn direction(token: u32, length: usize) -> Embedding {
    Embedding::normalized(vec![token as f32, length as f32]).unwrap()
}

async fn collect(mut stream: TokenStream) -> (Vec<u32>, Option<FinishReason>) {
    let mut tokens = Vec::new();
    while let Some(token) = stream.next().await {
        tokens.push(token.unwrap());
    }
    (tokens, stream.finish())
}

async fn deep() -> Bench {
    bench_of_depth(3, Arc::new(SerialScheduler::start(&options(100)).unwrap())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_is_given_the_next_steps_while_it_computes() {
    let bench = deep().await;
    let answers = bench.embed_files(6).await;
    for (id, answer) in (1..).zip(answers) {
        bench.gate.let_through(1);
        assert_eq!(answer.await.unwrap().unwrap(), direction(id, 1));
        if id <= 3 {
            assert_eq!(bench.next_started(), id + 3);
        } else {
            assert!(bench.started.try_recv().is_err());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_waits_for_what_has_begun_and_nothing_more() {
    let bench = deep().await;
    let files = bench.embed_files(5).await;
    let query = bench.embed(Priority::Immediate, &[9]);
    bench.until_depth(6).await;
    // It begins as soon as there is room, and is finished before anything else begins.
    bench.gate.let_through(1);
    assert_eq!(bench.next_started(), 9);
    bench.gate.let_through(2);
    bench.until_depth(3).await;
    assert!(bench.started.try_recv().is_err());
    bench.gate.let_through(1);
    query.await.unwrap().unwrap();
    assert_eq!([4, 5], [(); 2].map(|()| bench.next_started()));
    bench.gate.open();
    for file in files {
        file.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_on_a_deep_device_fails_alone() {
    let bench = deep().await;
    bench.gate.open();
    let ids = [1, FAILS, 2, PANICS, 3, 4];
    let answers = ids.map(|id| bench.embed(Priority::Background, &[id]));
    for (id, answer) in ids.into_iter().zip(answers) {
        let answer = answer.await.unwrap();
        if id == FAILS || id == PANICS {
            assert!(answer.is_err());
        } else {
            assert_eq!(answer.unwrap(), direction(id, 1));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_search_holds_the_cores_no_background_step_begins() {
    let bench = serial(8).await;
    bench.gate.open();
    let hold = bench.scheduler.hold();
    let indexing = bench.embed(Priority::Background, &[1]);
    while bench.scheduler.stats().depth[Priority::Background.index()] == 0 {
        tokio::task::yield_now().await;
    }
    bench.embed(Priority::Interactive, &[2]).await.unwrap().unwrap();
    assert_eq!(bench.started.recv().unwrap().token, 2);
    drop(hold);
    indexing.await.unwrap().unwrap();
    assert_eq!(bench.started.recv().unwrap().token, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a1_the_whole_trait_answers() {
    let bench = serial(8).await;
    bench.gate.open();
    let one = bench.embed(Priority::Immediate, &[5, 5]).await.unwrap().unwrap();
    assert_eq!(one, direction(5, 2));
    let mut batch = TokenBatch::default();
    for ids in [[1, 1], [2, 2], [3, 3]] {
        batch.push(&ids);
    }
    let request =
        BatchEmbedRequest { model_id: encoder_id(), batch, priority: Priority::Background };
    let many = bench.scheduler.embed_batch(request).await.unwrap();
    assert_eq!(many, [direction(1, 2), direction(2, 2), direction(3, 2)]);
    let empty = BatchEmbedRequest {
        model_id: encoder_id(),
        batch: TokenBatch::default(),
        priority: Priority::Background,
    };
    assert_eq!(bench.scheduler.embed_batch(empty).await.unwrap(), []);
    let answer = collect(bench.generate(&[7, 20], 3).await.unwrap()).await;
    assert_eq!(answer, (vec![21, 22, 23], Some(FinishReason::Length)));
    assert!(bench.scheduler.is_ready() && bench.scheduler.is_model_loaded(&decoder_id()));
    bench.scheduler.unload_model(&decoder_id()).await.unwrap();
    assert!(!bench.scheduler.is_model_loaded(&decoder_id()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a1_what_a_model_cannot_do_is_refused_with_the_reason() {
    let bench = serial(8).await;
    let mut request =
        EmbedRequest { model_id: decoder_id(), tokens: vec![1], priority: Priority::Immediate };
    let error = bench.scheduler.embed(request.clone()).await.unwrap_err().to_string();
    assert_eq!(error, "model writer is a language model: it cannot embed");
    request.model_id = ModelId::JinaBert;
    let error = bench.scheduler.embed(request).await.unwrap_err().to_string();
    assert_eq!(error, "model jina-bert is not loaded");
    for length in [0, 65] {
        let error = bench.embed(Priority::Immediate, &vec![1; length]).await.unwrap().unwrap_err();
        assert!(error.to_string().contains("takes 1 to 64"), "{error}");
        let error = bench.generate(&vec![1; length], 1).await.unwrap_err();
        assert!(error.to_string().contains("takes 1 to 63"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a2_one_named_thread_runs_the_models_and_none_of_the_preparations() {
    let bench = serial(8).await;
    bench.gate.open();
    let (sender, names) = mpsc::channel();
    let note = move |what: &'static str| {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        sender.send((what, name)).map_err(ModelError::new)
    };
    let upload = note.clone();
    let loader = fake::loader(
        move |_| note("prepare"),
        move || upload("upload").and(Err(ModelError::new("no such file"))),
    );
    let error = bench.scheduler.load_model(ModelId::JinaBert, loader).await.unwrap_err();
    assert_eq!(error.to_string(), "model jina-bert cannot be loaded: no such file");
    assert_eq!(names.recv().unwrap(), ("prepare", "model-loader".to_owned()));
    assert_eq!(names.recv().unwrap(), ("upload", "gpu-scheduler".to_owned()));
    bench.embed(Priority::Background, &[5]).await.unwrap().unwrap();
    assert_eq!(bench.started.recv().unwrap().thread, "gpu-scheduler");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a4_a_query_waits_for_the_running_step_only() {
    let bench = serial(1_000).await;
    let files: Vec<_> = (0..10).map(|_| bench.embed(Priority::Background, &[1; 8])).collect();
    assert_eq!(bench.next_started(), 1);
    bench.until_depth(10).await;
    let query = bench.embed(Priority::Immediate, &[2; 4]);
    bench.until_depth(11).await;
    bench.gate.let_through(1);
    assert_eq!(bench.next_started(), 2, "the query is the very next step");
    bench.gate.open();
    query.await.unwrap().unwrap();
    for file in files {
        file.await.unwrap().unwrap();
    }
    assert_eq!(bench.scheduler.stats().completed, 11);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a4_a_step_that_fails_at_once_says_nothing_of_how_fast_the_next_is() {
    let target = Some(Duration::from_millis(40));
    let options = SchedulerOptions { queue_max: 8, step_target: target, ..Default::default() };
    let bench = bench(Arc::new(SerialScheduler::start(&options).unwrap())).await;
    bench.gate.let_through(1);
    bench.embed(Priority::Background, &[FAILS; 64]).await.unwrap().unwrap_err();
    let before = bench.scheduler.stats();
    let mut batch = TokenBatch::default();
    (0..6).for_each(|_| batch.push(&[1; 64]));
    let request =
        BatchEmbedRequest { model_id: encoder_id(), batch, priority: Priority::Background };
    let scheduler = Arc::clone(&bench.scheduler);
    let files = tokio::spawn(async move { scheduler.embed_batch(request).await });
    bench.gate.let_through(1);
    while bench.scheduler.stats().steps == before.steps {
        tokio::task::yield_now().await;
    }
    let tokens = bench.scheduler.stats().tokens - before.tokens;
    assert!(tokens < 6 * 64, "all files in one step");
    bench.gate.open();
    files.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a5_models_load_once_and_unload() {
    let bench = serial(8).await;
    bench.gate.open();
    let (steps, _) = Steps::new();
    let twice = bench.scheduler.load_model(encoder_id(), fake::encoder(&steps)).await;
    assert!(matches!(twice, Err(GpuError::AlreadyLoaded(_))));
    bench.scheduler.unload_model(&encoder_id()).await.unwrap();
    let again = bench.scheduler.unload_model(&encoder_id()).await;
    assert!(matches!(again, Err(GpuError::ModelNotLoaded(_))));
    let gone = bench.embed(Priority::Immediate, &[1]).await.unwrap();
    assert!(matches!(gone, Err(GpuError::ModelNotLoaded(_))));
    steps.gate.open();
    bench.scheduler.load_model(encoder_id(), fake::encoder(&steps)).await.unwrap();
    bench.embed(Priority::Immediate, &[1]).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a5_loading_a_model_never_blocks_a_search_on_another() {
    let bench = serial(8).await;
    bench.gate.open();
    let (preparing, uploading) = (Arc::<Gate>::default(), Arc::<Gate>::default());
    let (prepare_gate, upload_gate) = (Arc::clone(&preparing), Arc::clone(&uploading));
    let (upload_started, upload_starts) = mpsc::channel();
    let mut left = 3;
    let loader = fake::loader(
        move |_| {
            prepare_gate.pass();
            Ok(())
        },
        move || {
            let _ = upload_started.send(());
            upload_gate.pass();
            left -= 1;
            if left > 0 { Ok(None) } else { Err(ModelError::new("that will do")) }
        },
    );
    let scheduler = Arc::clone(&bench.scheduler);
    let loading =
        tokio::spawn(async move { scheduler.load_model(ModelId::JinaBert, loader).await });
    bench.embed(Priority::Immediate, &[5]).await.unwrap().unwrap();
    bench.embed(Priority::Background, &[5]).await.unwrap().unwrap();
    preparing.open();
    upload_starts.recv().unwrap();
    let query = bench.embed(Priority::Immediate, &[6]);
    bench.until_depth(1).await;
    uploading.let_through(1);
    query.await.unwrap().unwrap();
    let file = bench.embed(Priority::Background, &[7]);
    bench.until_depth(1).await;
    uploading.let_through(1);
    file.await.unwrap().unwrap();
    uploading.open();
    assert!(matches!(loading.await.unwrap(), Err(GpuError::Load { .. })));
    let (steps, _) = Steps::new();
    bench.scheduler.load_model(ModelId::JinaBert, fake::encoder(&steps)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a5_unloading_answers_what_waits_for_the_model() {
    let bench = serial(8).await;
    let running = bench.embed(Priority::Background, &[1]);
    bench.next_started();
    let waiting = bench.embed(Priority::Background, &[2]);
    bench.until_depth(2).await;
    let scheduler = Arc::clone(&bench.scheduler);
    let unloading = tokio::spawn(async move { scheduler.unload_model(&encoder_id()).await });
    for request in [running, waiting] {
        assert!(matches!(request.await.unwrap(), Err(GpuError::ModelNotLoaded(_))));
    }
    bench.gate.open();
    unloading.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a7_a_full_queue_makes_files_wait_and_lets_queries_in() {
    let bench = serial(2).await;
    let files: Vec<_> = (0..5).map(|_| bench.embed(Priority::Background, &[1; 4])).collect();
    bench.until_depth(2).await;
    let query = bench.embed(Priority::Immediate, &[2; 4]);
    bench.until_depth(3).await;
    assert_eq!(bench.scheduler.stats().depth, [1, 0, 2]);
    bench.gate.open();
    query.await.unwrap().unwrap();
    for file in files {
        file.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a7_a_caller_who_goes_takes_the_request_along() {
    let bench = serial(8).await;
    let running = bench.embed(Priority::Background, &[1]);
    bench.next_started();
    let abandoned = bench.embed(Priority::Background, &[2]);
    bench.until_depth(2).await;
    abandoned.abort();
    assert!(abandoned.await.unwrap_err().is_cancelled());
    let last = bench.embed(Priority::Background, &[3]);
    bench.gate.open();
    running.await.unwrap().unwrap();
    last.await.unwrap().unwrap();
    assert_eq!(bench.next_started(), 3, "the abandoned request costs no step");
    assert_eq!(bench.scheduler.stats().cancelled, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a7_shutdown_answers_everything() {
    let lanes = Arc::new(SerialScheduler::start(&options(3)).unwrap());
    let bench = bench(Arc::clone(&lanes) as Arc<dyn GpuScheduler>).await;
    // Before the queue is full: whoever comes then waits outside.
    let mut stream = bench.generate(&[1], 5).await;
    bench.next_started();
    let waiting: Vec<_> = (0..5).map(|_| bench.embed(Priority::Background, &[1; 4])).collect();
    bench.until_depth(3).await;
    lanes.0.stop();
    for request in waiting {
        assert!(matches!(request.await.unwrap(), Err(GpuError::Stopped)));
    }
    if let Ok(stream) = &mut stream {
        assert!(matches!(stream.next().await, Some(Err(GpuError::Stopped))));
    }
    let late = bench.embed(Priority::Immediate, &[1]).await.unwrap();
    assert!(matches!(late, Err(GpuError::Stopped)));
    let (steps, _) = Steps::new();
    let late = bench.scheduler.load_model(ModelId::JinaBert, fake::encoder(&steps)).await;
    assert!(matches!(late, Err(GpuError::Stopped)));
    assert!(!bench.scheduler.is_ready());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a8_stats_tell_what_was_done() {
    let bench = serial(8).await;
    bench.gate.open();
    bench.embed(Priority::Immediate, &[5; 4]).await.unwrap().unwrap();
    bench.embed(Priority::Background, &[FAILS; 3]).await.unwrap().unwrap_err();
    collect(bench.generate(&[20, 21], 2).await.unwrap()).await;
    let stats = bench.scheduler.stats();
    assert_eq!((stats.completed, stats.failed, stats.cancelled), (2, 1, 0));
    assert_eq!((stats.tokens, stats.tokens_generated), (4 + 2, 2));
    assert_eq!(stats.wait.map(|wait| wait.count()), [1, 1, 1]);
    assert_eq!(stats.run.count(), stats.steps);
    let models: Vec<_> =
        stats.models.iter().map(|(id, info)| (id.to_string(), info.device.name.as_str())).collect();
    assert_eq!(models, [("fake".to_owned(), "fake"), ("writer".to_owned(), "fake")]);
    assert_eq!(stats.memory_bytes, 14);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a10_lanes_run_side_by_side_and_queries_still_go_first() {
    let bench = parallel(2).await;
    let files: Vec<_> = (0..6).map(|_| bench.embed(Priority::Background, &[1; 8])).collect();
    let mut threads = [(); 2].map(|()| bench.started.recv().unwrap().thread);
    threads.sort();
    assert_eq!(threads, ["gpu-scheduler-0", "gpu-scheduler-1"]);
    bench.until_depth(6).await;
    let query = bench.embed(Priority::Immediate, &[2; 4]);
    bench.until_depth(7).await;
    bench.gate.let_through(1);
    assert_eq!(bench.next_started(), 2, "whichever lane is free takes the query");
    bench.gate.open();
    query.await.unwrap().unwrap();
    for file in files {
        file.await.unwrap().unwrap();
    }
    assert_eq!(bench.scheduler.stats().memory_bytes, 28, "each lane has its own models");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a10_a_model_that_fails_on_one_lane_is_loaded_on_none() {
    let bench = parallel(2).await;
    let prepared = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&prepared);
    let loader = fake::loader(
        move |lane| {
            count.fetch_add(1, Ordering::Relaxed);
            if lane.index == 1 { Err(ModelError::out_of_memory("lane 1 is full")) } else { Ok(()) }
        },
        || Err(ModelError::new("lane 0 has come as far as this")),
    );
    let error = bench.scheduler.load_model(ModelId::JinaBert, loader).await.unwrap_err();
    assert!(matches!(error, GpuError::OutOfMemory { .. } | GpuError::Load { .. }), "{error}");
    assert_eq!(prepared.load(Ordering::Relaxed), 2);
    assert!(!bench.scheduler.is_model_loaded(&ModelId::JinaBert));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_searches_run_between_the_tokens_of_an_answer() {
    let bench = serial(8).await;
    let mut stream = bench.generate(&[20], 10).await.unwrap();
    assert_eq!(bench.next_started(), 21, "the prompt");
    let query = bench.embed(Priority::Immediate, &[2]);
    bench.until_depth(2).await;
    bench.gate.let_through(1);
    assert_eq!(bench.next_started(), 2, "the search comes before the first token");
    bench.gate.let_through(2);
    query.await.unwrap().unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), 21);
    bench.gate.open();
    let (rest, finish) = collect(stream).await;
    assert_eq!((rest.len(), finish), (9, Some(FinishReason::Length)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_an_answer_ends_at_a_stop_sequence_or_at_the_context() {
    let bench = serial(8).await;
    bench.gate.open();
    let stopped = collect(bench.generate(&[37], 99).await.unwrap()).await;
    assert_eq!(stopped, (vec![38, 39], Some(FinishReason::Stop)));
    let (tokens, finish) = collect(bench.generate(&[50; 60], 99).await.unwrap()).await;
    assert_eq!((tokens.len(), finish), (4, Some(FinishReason::Length)), "64 tokens of context");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_a_reader_who_goes_ends_the_answer() {
    let bench = serial(8).await;
    let stream = bench.generate(&[1], 30).await.unwrap();
    bench.next_started();
    drop(stream);
    let next = bench.embed(Priority::Background, &[5]);
    bench.gate.let_through(1);
    assert_eq!(bench.next_started(), 5, "no other step of the answer runs");
    bench.gate.open();
    next.await.unwrap().unwrap();
    let stats = bench.scheduler.stats();
    assert_eq!((stats.completed, stats.cancelled), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a13_a_panic_or_failure_is_the_error_of_its_request() {
    let bench = serial(8).await;
    bench.gate.open();
    let crashed = bench.embed(Priority::Immediate, &[PANICS]).await.unwrap().unwrap_err();
    assert_eq!(crashed.to_string(), "model fake crashed: boom; other requests go on");
    let failed = bench.embed(Priority::Immediate, &[FAILS]).await.unwrap().unwrap_err();
    assert_eq!(failed.to_string(), "model fake failed: unlucky");
    let mut stream = bench.generate(&[PANICS - 1], 5).await.unwrap();
    assert!(matches!(stream.next().await, Some(Err(GpuError::Panicked { .. }))));
    assert!(stream.next().await.is_none() && stream.finish().is_none());
    bench.embed(Priority::Immediate, &[5]).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a13_a_dead_thread_tells_everyone_at_once() {
    let bench = serial(2).await;
    let culprit = bench.embed(Priority::Background, &[KILLS]);
    bench.next_started();
    let waiting: Vec<_> = (0..4).map(|_| bench.embed(Priority::Background, &[5])).collect();
    bench.until_depth(2).await;
    bench.gate.open();
    assert!(matches!(culprit.await.unwrap(), Err(GpuError::Died(_))));
    for request in waiting {
        assert!(matches!(request.await.unwrap(), Err(GpuError::Stopped)));
    }
    let late = bench.embed(Priority::Immediate, &[5]).await.unwrap();
    assert!(matches!(late, Err(GpuError::Stopped)));
    assert!(!bench.scheduler.is_ready());
}
