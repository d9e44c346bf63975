//! Random schedules of one to three lanes on virtual time, with requests that fail, panic, are
//! abandoned or cut off by a shutdown. A step takes as many milliseconds as it has tokens.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::super::Sampling;
use super::super::stream::{FinishReason, Generated};
use super::tests::{fake, model};
use super::*;

#[derive(Clone, Debug)]
struct Arrival {
    at_ms: u64,
    class: usize,
    what: What,
    /// When its caller goes away, counted from its arrival.
    abandoned_after_ms: Option<u64>,
}

#[derive(Clone, Debug)]
enum What {
    /// Sequences of these lengths; a step with one of a request that fails does, too.
    Embed {
        lengths: Vec<usize>,
        fails: bool,
    },
    Generate {
        prompt: usize,
        tokens: usize,
    },
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let lengths = prop::collection::vec(1..9_usize, 1..6);
    let what = prop_oneof![
        4 => (lengths, prop::bool::weighted(0.1))
            .prop_map(|(lengths, fails)| What::Embed { lengths, fails }),
        1 => (1..30_usize, 1..6_usize)
            .prop_map(|(prompt, tokens)| What::Generate { prompt, tokens }),
    ];
    let arrival = (0..300_u64, 0..3_usize, what, prop::option::weighted(0.15, 0..60_u64)).prop_map(
        |(at_ms, class, what, abandoned_after_ms)| Arrival {
            at_ms,
            class,
            what,
            abandoned_after_ms,
        },
    );
    prop::collection::vec(arrival, 1..60).prop_map(|mut arrivals| {
        arrivals.sort_by_key(|arrival| arrival.at_ms);
        arrivals
    })
}

fn batch_of(number: usize, lengths: &[usize]) -> TokenBatch {
    let mut batch = TokenBatch::default();
    for length in lengths {
        batch.push(&vec![number as u32; *length]);
    }
    batch
}

enum Answer {
    Embed(oneshot::Receiver<Result<Vec<Embedding>, GpuError>>),
    Generate(mpsc::Receiver<Generated>),
    Abandoned,
}

const QUEUE_MAX: usize = 8;
const BUDGET: usize = 12;

/// The queue with everything around it: places, lanes, clock.
struct World {
    queue: Queue,
    arrivals: Vec<Arrival>,
    answers: Vec<Answer>,
    places: Arc<Semaphore>,
    /// Arrived and not yet in the queue, by number.
    outside: VecDeque<usize>,
    /// Of each lane: the step that runs and when it ends.
    running: Vec<Option<(Step, u64)>>,
    now_ms: u64,
    epoch: Instant,
    /// Steps that started while this class waited and had none.
    passed: [u32; 3],
    /// Numbers of the embeddings of each class in the order in which they started.
    started: [Vec<u32>; 3],
    /// Tokens that the fake has given, and those it has read, by ticket.
    sessions: BTreeMap<Ticket, (usize, usize)>,
}

impl World {
    fn new(arrivals: Vec<Arrival>, lanes: usize) -> Self {
        Self {
            queue: Queue::default(),
            answers: arrivals.iter().map(|_| Answer::Abandoned).collect(),
            arrivals,
            places: Arc::new(Semaphore::new(QUEUE_MAX)),
            outside: VecDeque::new(),
            running: (0..lanes).map(|_| None).collect(),
            now_ms: 0,
            epoch: Instant::now(),
            passed: [0; 3],
            started: Default::default(),
            sessions: BTreeMap::new(),
        }
    }

    fn now(&self) -> Instant {
        self.epoch + Duration::from_millis(self.now_ms)
    }

    /// Runs until nothing is left to do, or until `stop_ms`.
    fn run(&mut self, stop_ms: Option<u64>) -> Result<(), TestCaseError> {
        let mut next_arrival = 0;
        loop {
            while self.arrivals.get(next_arrival).is_some_and(|a| a.at_ms <= self.now_ms) {
                self.outside.push_back(next_arrival);
                next_arrival += 1;
            }
            self.abandon();
            self.admit();
            self.finish_steps();
            self.admit();
            self.start_steps()?;
            prop_assert!(self.queue.stats().depth.iter().sum::<usize>() <= QUEUE_MAX);
            let ends = self.running.iter().flatten().map(|(_, end_ms)| *end_ms);
            let comes = self.arrivals.get(next_arrival).map(|arrival| arrival.at_ms);
            let Some(next) = ends.chain(comes).min() else { return Ok(()) };
            if stop_ms.is_some_and(|stop| next > stop) {
                return Ok(());
            }
            self.now_ms = next;
        }
    }

    fn abandon(&mut self) {
        for (number, arrival) in self.arrivals.iter().enumerate() {
            let gone = arrival.abandoned_after_ms.map(|after| arrival.at_ms + after);
            if gone.is_some_and(|gone| gone <= self.now_ms) {
                self.answers[number] = Answer::Abandoned;
                self.outside.retain(|waiting| *waiting != number);
            }
        }
    }

    fn admit(&mut self) {
        while let Some(number) = self.outside.front().copied() {
            let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() else { return };
            self.outside.pop_front();
            self.enter(number, permit);
        }
    }

    fn enter(&mut self, number: usize, permit: OwnedSemaphorePermit) {
        let arrival = &self.arrivals[number];
        let (name, work) = match &arrival.what {
            What::Embed { lengths, .. } => {
                let batch = batch_of(number, lengths);
                let (reply, answer) = oneshot::channel();
                self.answers[number] = Answer::Embed(answer);
                ("encoder", Work::Embed(EmbedWork::new(batch, reply)))
            }
            What::Generate { prompt, tokens } => {
                let (output, answer) = mpsc::channel(tokens + 1);
                self.answers[number] = Answer::Generate(answer);
                let prompt = (vec![number as u32; *prompt], Sampling::greedy());
                let work = GenerateWork::new(prompt, *tokens, Vec::new(), output);
                ("decoder", Work::Generate(work))
            }
        };
        let (priority, queued_at) = (Priority::ALL[arrival.class], self.now());
        let permit = Some(permit);
        self.queue.push(Pending { model: model(name), priority, queued_at, permit, work });
    }

    fn start_steps(&mut self) -> Result<(), TestCaseError> {
        for lane in 0..self.running.len() {
            if self.running[lane].is_some() {
                continue;
            }
            let waiting = self.waiting(lane);
            let step = self.queue.next_step(QueueLane::open(lane), |_| Some(BUDGET), self.now());
            let Some(step) = step else {
                prop_assert!(waiting.iter().all(|waits| !waits), "a step waits and none is given");
                continue;
            };
            self.check_order(&step, waiting)?;
            let tokens = self.note_start(&step)?;
            self.running[lane] = Some((step, self.now_ms + tokens as u64));
        }
        Ok(())
    }

    fn waiting(&self, lane: usize) -> [bool; 3] {
        [0, 1, 2].map(|class: usize| {
            self.queue.classes[class].iter().any(|entry| {
                let work = &entry.work;
                !entry.is_abandoned()
                    && (work.is_waiting_embedding(lane) || work.is_waiting_generation(lane))
            })
        })
    }

    /// The first class that waits has the step, unless one below it was passed over long enough; and
    /// none is passed over longer than that, give or take the other class that starves.
    fn check_order(&mut self, step: &Step, waiting: [bool; 3]) -> Result<(), TestCaseError> {
        let class = step.priority().index();
        prop_assert!(waiting[class]);
        if waiting[..class].contains(&true) {
            prop_assert!(self.passed[class] >= Queue::PASSED_OVER_MAX, "{:?}", self.passed);
        }
        for (other, waits) in waiting.into_iter().enumerate() {
            let passed = other != class && waits;
            self.passed[other] = if passed { self.passed[other] + 1 } else { 0 };
            prop_assert!(self.passed[other] <= Queue::PASSED_OVER_MAX + 2);
        }
        Ok(())
    }

    /// Returns the tokens of the step.
    fn note_start(&mut self, step: &Step) -> Result<usize, TestCaseError> {
        match step {
            Step::Embed(step) => {
                let tokens = step.batch.tokens();
                prop_assert!(tokens <= BUDGET || step.batch.sequences() == 1);
                for range in step.batch.ranges() {
                    let number = step.batch.ids()[range.start];
                    let started = &mut self.started[step.priority.index()];
                    if !started.contains(&number) {
                        started.push(number);
                    }
                }
                Ok(tokens)
            }
            Step::Generate(step) => {
                if let Some((prompt, _)) = &step.prompt {
                    let fresh = self.sessions.insert(step.ticket, (prompt.len(), 0)).is_none();
                    prop_assert!(fresh, "a session starts once");
                }
                let (unread, _) = self.sessions[&step.ticket];
                Ok(unread.clamp(1, step.tokens_max))
            }
        }
    }

    fn finish_steps(&mut self) {
        for lane in 0..self.running.len() {
            let ended = self.running[lane].take_if(|(_, end_ms)| *end_ms <= self.now_ms);
            match ended {
                None => {}
                Some((Step::Embed(step), _)) => {
                    let fails = |id: &u32| {
                        matches!(self.arrivals[*id as usize].what, What::Embed { fails: true, .. })
                    };
                    let result = if step.batch.ids().iter().any(fails) {
                        let message = "boom".to_owned();
                        Err(GpuError::Panicked { id: step.model.clone(), message })
                    } else {
                        Ok(fake(&step.batch))
                    };
                    self.queue.complete_embed(&step, result, Duration::ZERO);
                }
                Some((Step::Generate(step), _)) => {
                    let Some((unread, given)) = self.sessions.get_mut(&step.ticket) else {
                        continue;
                    };
                    let result = if *unread > 0 {
                        let tokens = step.tokens_max.min(*unread);
                        *unread -= tokens;
                        GenerationStep::Read { tokens }
                    } else {
                        *given += 1;
                        GenerationStep::Token(*given as u32)
                    };
                    self.queue.complete_generate(&step, Ok(result), Duration::ZERO);
                }
            }
        }
    }

    /// What a caller who still waits has got must be the answer to its own request.
    fn check_answers(&mut self, stopped: bool) -> Result<(), TestCaseError> {
        for (number, answer) in self.answers.iter_mut().enumerate() {
            match (answer, &self.arrivals[number].what) {
                (Answer::Embed(answer), What::Embed { lengths, fails }) => {
                    let got = answer.try_recv();
                    prop_assert!(got.is_ok(), "request {number} has no answer");
                    match got.unwrap() {
                        Err(GpuError::Stopped) => prop_assert!(stopped),
                        Err(error) => prop_assert!(*fails, "{error}"),
                        Ok(rows) => {
                            prop_assert!(!fails);
                            prop_assert_eq!(rows, fake(&batch_of(number, lengths)));
                        }
                    }
                }
                (Answer::Generate(answer), What::Generate { tokens, .. }) => {
                    let mut got = Vec::new();
                    let end = loop {
                        match answer.try_recv() {
                            Ok(Generated::Token(token)) => got.push(token as usize),
                            Ok(end) => break end,
                            Err(error) => prop_assert!(false, "request {number}: {error}"),
                        }
                    };
                    prop_assert!(got.iter().copied().eq(1..=got.len()));
                    match end {
                        Generated::Failed(GpuError::Stopped) => prop_assert!(stopped),
                        Generated::Finished(reason) => {
                            prop_assert_eq!((reason, got.len()), (FinishReason::Length, *tokens));
                        }
                        other => prop_assert!(false, "{other:?}"),
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Nothing is lost, nothing is answered twice or with another's answer; classes keep their order
    /// and none starves; a class starts first in, first out; a step keeps its budget; the queue keeps
    /// its bound and gets every place back.
    #[test]
    fn every_schedule_answers_every_request_once(arrivals in arrivals(), lanes in 1..4_usize) {
        let mut world = World::new(arrivals, lanes);
        world.run(None)?;
        prop_assert!(world.queue.is_empty());
        prop_assert_eq!(world.places.available_permits(), QUEUE_MAX);
        for started in &world.started {
            prop_assert!(started.is_sorted(), "{started:?}");
        }
        world.check_answers(false)?;
        let stats = world.queue.stats();
        let ended = stats.completed + stats.failed + stats.cancelled;
        prop_assert!(ended <= world.arrivals.len() as u64);
    }

    /// Whenever the shutdown comes, everybody who waits inside gets an answer.
    #[test]
    fn a_shutdown_answers_everything(arrivals in arrivals(), lanes in 1..4_usize, stop_ms in 0..400_u64) {
        let mut world = World::new(arrivals, lanes);
        world.run(Some(stop_ms))?;
        world.queue.stop(false);
        prop_assert!(world.queue.is_empty());
        prop_assert_eq!(world.places.available_permits(), QUEUE_MAX);
        // A step that is on a device ends after the shutdown; nobody is there to hear of it.
        world.now_ms = u64::MAX;
        world.finish_steps();
        world.check_answers(true)?;
    }
}
