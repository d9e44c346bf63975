use tokio::sync::{mpsc, oneshot};

use super::super::stream::{FinishReason, Generated};
use super::super::{ModelError, Sampling};
use super::*;

type Answer = oneshot::Receiver<Result<Vec<Embedding>, GpuError>>;

pub(super) fn model(name: &str) -> ModelId {
    ModelId::Embedding(name.to_owned())
}

/// A request whose sequences are the `number` of the request, so many times as `lengths` says.
pub(super) fn submit(
    queue: &mut Queue,
    model: ModelId,
    priority: Priority,
    number: u32,
    lengths: &[usize],
) -> Answer {
    let mut batch = TokenBatch::default();
    for length in lengths {
        batch.push(&vec![number; *length]);
    }
    let (reply, answer) = oneshot::channel();
    let work = Work::Embed(EmbedWork::new(batch, reply));
    queue.push(Pending { model, priority, queued_at: Instant::now(), permit: None, work });
    answer
}

pub(super) fn generate(
    queue: &mut Queue,
    priority: Priority,
    tokens_max: usize,
    stop: Vec<Vec<u32>>,
) -> mpsc::Receiver<Generated> {
    let (output, answer) = mpsc::channel(tokens_max + 1);
    let prompt = (vec![1], Sampling::greedy());
    let work = Work::Generate(GenerateWork::new(prompt, tokens_max, stop, output));
    let pending =
        Pending { model: model("llm"), priority, queued_at: Instant::now(), permit: None, work };
    queue.push(pending);
    answer
}

/// Embeds a sequence as the direction (its first id, its length).
pub(super) fn fake(batch: &TokenBatch) -> Vec<Embedding> {
    batch
        .ranges()
        .map(|range| vec![batch.ids()[range.start] as f32, range.len() as f32])
        .map(|values| Embedding::normalized(values).unwrap())
        .collect()
}

fn next(queue: &mut Queue, budget: usize) -> Option<Step> {
    queue.next_step(QueueLane::open(0), |_| Some(budget), Instant::now())
}

fn next_embed(queue: &mut Queue, budget: usize) -> EmbedStep {
    match next(queue, budget) {
        Some(Step::Embed(step)) => step,
        other => panic!("{other:?}"),
    }
}

fn succeed(queue: &mut Queue, step: &EmbedStep) {
    queue.complete_embed(step, Ok(fake(&step.batch)), Duration::ZERO);
}

/// Runs the next step and returns the number of its first request.
fn run_embed(queue: &mut Queue, budget: usize) -> Option<u32> {
    let Step::Embed(step) = next(queue, budget)? else { panic!("a generation") };
    succeed(queue, &step);
    Some(step.batch.ids()[0])
}

fn broken(model: &ModelId) -> GpuError {
    GpuError::Panicked { id: model.clone(), message: "boom".to_owned() }
}

#[test]
fn a3_classes_run_in_order_and_each_first_in_first_out() {
    let mut queue = Queue::default();
    let order = [
        (Priority::Background, 1),
        (Priority::Immediate, 2),
        (Priority::Interactive, 3),
        (Priority::Immediate, 4),
        (Priority::Background, 5),
    ];
    let _answers = order.map(|(priority, n)| submit(&mut queue, model("m"), priority, n, &[8]));
    let ran: Vec<u32> = std::iter::from_fn(|| run_embed(&mut queue, 8)).collect();
    assert_eq!(ran, [2, 4, 3, 1, 5]);
}

#[test]
fn a6_a_file_is_cut_into_steps_and_a_search_goes_between_them() {
    let mut queue = Queue::default();
    let _file = submit(&mut queue, model("m"), Priority::Background, 1, &[10; 5]);
    let first = next_embed(&mut queue, 20);
    assert_eq!(first.batch.sequences(), 2);
    succeed(&mut queue, &first);
    let _search = submit(&mut queue, model("m"), Priority::Immediate, 9, &[4]);
    assert_eq!(run_embed(&mut queue, 20), Some(9));
    for left in [2, 1] {
        let step = next_embed(&mut queue, 20);
        assert_eq!(step.batch.sequences(), left);
        succeed(&mut queue, &step);
    }
    assert!(queue.is_empty());
}

#[test]
fn a6_small_background_requests_share_a_step() {
    let mut queue = Queue::default();
    let answers = [1, 2, 3].map(|n| submit(&mut queue, model("m"), Priority::Background, n, &[4]));
    let _other = submit(&mut queue, model("other"), Priority::Background, 4, &[4]);
    let step = next_embed(&mut queue, 16);
    assert_eq!(
        (step.requests().len(), step.batch.tokens()),
        (3, 12),
        "the other model has its own step"
    );
    succeed(&mut queue, &step);
    for mut answer in answers {
        assert_eq!(answer.try_recv().unwrap().unwrap().len(), 1);
    }
}

#[test]
fn a4_background_is_slowed_by_a_flood_and_not_stopped() {
    let mut queue = Queue::default();
    let mut file = submit(&mut queue, model("m"), Priority::Background, 1, &[4]);
    let mut floods = Vec::new();
    for n in 0..=Queue::PASSED_OVER_MAX {
        floods.push(submit(&mut queue, model("m"), Priority::Immediate, n + 2, &[4]));
        run_embed(&mut queue, 4);
    }
    assert!(file.try_recv().is_ok(), "the file ran although a query was always waiting");
}

#[test]
fn a7_abandoned_work_is_skipped() {
    let mut queue = Queue::default();
    drop(submit(&mut queue, model("m"), Priority::Background, 1, &[4]));
    drop(generate(&mut queue, Priority::Background, 4, vec![]));
    let mut kept = submit(&mut queue, model("m"), Priority::Background, 2, &[4]);
    assert_eq!(run_embed(&mut queue, 8), Some(2));
    assert!(kept.try_recv().is_ok());
    assert_eq!(queue.stats().cancelled, 2);
}

#[test]
fn a13_a_failure_in_a_shared_step_fails_the_culprit_only() {
    let mut queue = Queue::default();
    let mut bad = submit(&mut queue, model("m"), Priority::Background, 1, &[4]);
    let mut good = submit(&mut queue, model("m"), Priority::Background, 2, &[4]);
    while let Some(Step::Embed(step)) = next(&mut queue, 100) {
        let result = if step.batch.ids().contains(&1) {
            Err(broken(&step.model))
        } else {
            Ok(fake(&step.batch))
        };
        queue.complete_embed(&step, result, Duration::ZERO);
    }
    assert!(matches!(bad.try_recv().unwrap(), Err(GpuError::Panicked { .. })));
    assert_eq!(good.try_recv().unwrap().unwrap().len(), 1);
}

#[test]
fn a13_a_step_without_room_runs_again_in_smaller_ones_until_one_sequence_does_not_fit() {
    let mut queue = Queue::default();
    let mut answer = submit(&mut queue, model("m"), Priority::Background, 1, &[4; 8]);
    let room = |room: usize, queue: &mut Queue| {
        let mut budget = 100;
        while let Some(Step::Embed(step)) = next(queue, budget) {
            let tokens = step.batch.tokens();
            let source = ModelError::out_of_memory("full");
            let full = GpuError::OutOfMemory { id: step.model.clone(), source };
            let result = if tokens > room { Err(full) } else { Ok(fake(&step.batch)) };
            if result.is_err() {
                budget = tokens / 2;
            }
            queue.complete_embed(&step, result, Duration::ZERO);
        }
    };
    room(8, &mut queue);
    assert_eq!(answer.try_recv().unwrap().unwrap(), fake_rows(1, 4, 8));
    let mut answer = submit(&mut queue, model("m"), Priority::Background, 1, &[4; 8]);
    room(3, &mut queue);
    let error = answer.try_recv().unwrap().unwrap_err().to_string();
    assert!(error.contains("no room for model m: full; close other programs"), "{error}");
}

fn fake_rows(number: u32, length: usize, rows: usize) -> Vec<Embedding> {
    vec![Embedding::normalized(vec![number as f32, length as f32]).unwrap(); rows]
}

#[test]
fn a10_the_steps_of_one_batch_run_on_two_lanes_and_end_in_any_order() {
    let mut queue = Queue::default();
    let mut answer = submit(&mut queue, model("m"), Priority::Background, 1, &[1, 2, 3, 4]);
    let steps: Vec<EmbedStep> = std::iter::from_fn(|| next(&mut queue, 3))
        .map(|step| if let Step::Embed(step) = step { step } else { panic!() })
        .collect();
    let tokens: Vec<usize> = steps.iter().map(|step| step.batch.tokens()).collect();
    assert_eq!(tokens, [3, 3, 4]);
    for step in steps.iter().rev() {
        succeed(&mut queue, step);
    }
    let want: Vec<_> = (1..=4).flat_map(|length| fake_rows(1, length, 1)).collect();
    assert_eq!(answer.try_recv().unwrap().unwrap(), want);
}

#[test]
fn a_lane_that_is_held_leaves_the_background_alone() {
    let mut queue = Queue::default();
    let _background = submit(&mut queue, model("m"), Priority::Background, 1, &[4]);
    let held = QueueLane { index: 0, background: false };
    assert!(queue.next_step(held, |_| Some(8), Instant::now()).is_none());
    let _asked = submit(&mut queue, model("m"), Priority::Interactive, 2, &[4]);
    let step = queue.next_step(held, |_| Some(8), Instant::now()).unwrap();
    assert_eq!(step.priority(), Priority::Interactive);
    assert_eq!(next(&mut queue, 8).unwrap().priority(), Priority::Background);
}

#[test]
fn a10_a_model_that_is_on_one_lane_runs_there() {
    let mut queue = Queue::default();
    let _answer = submit(&mut queue, model("m"), Priority::Background, 1, &[4]);
    assert!(queue.next_step(QueueLane::open(0), |_| None, Instant::now()).is_none());
    assert!(queue.next_step(QueueLane::open(1), |_| Some(8), Instant::now()).is_some());
}

/// Runs the next step of a generation on `lane`, which gives `token`.
fn run_generate(queue: &mut Queue, lane: usize, token: u32) -> Option<Ticket> {
    let step = queue.next_step(QueueLane::open(lane), |_| Some(8), Instant::now())?;
    let Step::Generate(step) = step else { panic!("{step:?}") };
    queue.complete_generate(&step, Ok(GenerationStep::Token(token)), Duration::ZERO);
    Some(step.ticket)
}

fn received(answer: &mut mpsc::Receiver<Generated>) -> (Vec<u32>, Option<FinishReason>) {
    let (mut tokens, mut finish) = (Vec::new(), None);
    while let Ok(generated) = answer.try_recv() {
        match generated {
            Generated::Token(token) => tokens.push(token),
            Generated::Finished(reason) => finish = Some(reason),
            Generated::Failed(error) => panic!("{error}"),
        }
    }
    (tokens, finish)
}

#[test]
fn a12_an_answer_ends_with_a_stop_sequence_or_its_length() {
    for (given, tokens, finish) in [
        (vec![5, 7, 8], vec![5], FinishReason::Stop),
        (vec![5, 7, 9, 7], vec![5, 7, 9, 7], FinishReason::Length),
    ] {
        let mut queue = Queue::default();
        let mut answer = generate(&mut queue, Priority::Interactive, 4, vec![vec![7, 8]]);
        for token in given {
            run_generate(&mut queue, 0, token).unwrap();
        }
        assert_eq!(received(&mut answer), (tokens, Some(finish)));
        assert!(queue.is_empty());
    }
}

#[test]
fn a12_answers_are_made_side_by_side_and_stay_on_their_lane() {
    let mut queue = Queue::default();
    let _answers = [0, 1].map(|_| generate(&mut queue, Priority::Interactive, 9, vec![]));
    let order: Vec<_> = (0..4).map(|_| run_generate(&mut queue, 0, 3)).collect();
    assert_eq!(order, [Some(0), Some(1), Some(0), Some(1)]);
    assert_eq!(run_generate(&mut queue, 1, 3), None, "both sessions live on lane 0");
}

#[test]
fn a12_embeddings_of_the_class_take_turns_with_an_answer_and_queries_go_first() {
    let mut queue = Queue::default();
    let _answer = generate(&mut queue, Priority::Interactive, 99, vec![]);
    let _answers = [1, 2].map(|n| submit(&mut queue, model("m"), Priority::Interactive, n, &[8]));
    let kinds = |queue: &mut Queue| {
        let step = next(queue, 8).unwrap();
        match &step {
            Step::Embed(step) => succeed(queue, step),
            Step::Generate(step) => {
                queue.complete_generate(step, Ok(GenerationStep::Token(3)), Duration::ZERO);
            }
        }
        (matches!(step, Step::Generate(_)), step.priority())
    };
    let order: Vec<bool> = (0..5).map(|_| kinds(&mut queue).0).collect();
    assert_eq!(order, [true, false, true, false, true]);
    let _query = submit(&mut queue, model("m"), Priority::Immediate, 3, &[8]);
    assert_eq!(kinds(&mut queue), (false, Priority::Immediate));
}

#[test]
fn a5_what_waits_for_a_model_that_goes_is_told_so() {
    let mut queue = Queue::default();
    let mut gone = submit(&mut queue, model("gone"), Priority::Background, 1, &[4]);
    let mut kept = submit(&mut queue, model("kept"), Priority::Background, 2, &[4]);
    queue.fail_model(&model("gone"));
    assert!(matches!(gone.try_recv().unwrap(), Err(GpuError::ModelNotLoaded(_))));
    assert_eq!(run_embed(&mut queue, 8), Some(2));
    assert!(kept.try_recv().unwrap().is_ok());
}
