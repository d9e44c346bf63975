use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{GpuError, ModelId, Priority, SchedulerStats};
use crate::data::{Embedding, TokenBatch};

pub(super) type Reply = oneshot::Sender<Result<Vec<Embedding>, GpuError>>;

/// A request that waits or has run in part.
#[derive(Debug)]
pub(super) struct Pending {
    pub model: ModelId,
    pub batch: TokenBatch,
    pub priority: Priority,
    pub reply: Reply,
    pub queued_at: Instant,
    /// Holds the place in the bounded queue until the request is answered.
    pub permit: Option<OwnedSemaphorePermit>,
}

/// Work for the device that is run without interruption.
#[derive(Debug)]
pub(super) struct Step {
    pub model: ModelId,
    pub priority: Priority,
    pub batch: TokenBatch,
    /// Which requests the sequences belong to, in their order in `batch`.
    parts: Vec<Part>,
}

impl Step {
    pub(super) fn requests(&self) -> usize {
        self.parts.len()
    }
}

#[derive(Debug)]
struct Part {
    ticket: u64,
    sequences: usize,
}

#[derive(Debug)]
struct Entry {
    ticket: u64,
    pending: Pending,
    done: Vec<Embedding>,
    started: bool,
    /// Set after a shared step failed: the request runs by itself, so that only the culprit fails.
    alone: bool,
}

impl Entry {
    fn is_finished(&self) -> bool {
        self.done.len() == self.pending.batch.sequences()
    }
}

/// The requests in the order of their priority; pure, without a thread or a clock of its own.
#[derive(Debug, Default)]
pub(super) struct Queue {
    classes: [VecDeque<Entry>; 3],
    /// Steps since a waiting class last had one.
    passed_over: [u32; 3],
    next_ticket: u64,
    stats: SchedulerStats,
}

impl Queue {
    /// A class that was passed over this many steps in a row has the next one, so a flood above it
    /// slows it down and never stops it.
    const PASSED_OVER_MAX: u32 = 16;

    pub(super) fn push(&mut self, pending: Pending) {
        let class = &mut self.classes[pending.priority.index()];
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        class.push_back(Entry { ticket, pending, done: Vec::new(), started: false, alone: false });
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.classes.iter().all(VecDeque::is_empty)
    }

    /// Takes the next step of at most `budget(model)` tokens, or of one sequence that is longer.
    ///
    /// Small requests of one class and model that wait together share it.
    pub(super) fn next_step(
        &mut self,
        budget: impl Fn(&ModelId) -> usize,
        now: Instant,
    ) -> Option<Step> {
        self.drop_abandoned();
        let class = self.choose_class()?;
        let entries = &mut self.classes[class];
        let model = entries.front()?.pending.model.clone();
        let alone = entries.front()?.alone;
        let tokens_max = budget(&model);
        let mut batch = TokenBatch::default();
        let mut parts = Vec::new();
        for entry in entries.iter_mut().filter(|entry| entry.pending.model == model) {
            if !parts.is_empty() && (alone || entry.alone) {
                break;
            }
            let before = batch.sequences();
            let ids = entry.pending.batch.ids();
            for range in entry.pending.batch.ranges().skip(entry.done.len()) {
                if !batch.is_empty() && batch.tokens() + range.len() > tokens_max {
                    break;
                }
                batch.push(&ids[range]);
            }
            let sequences = batch.sequences() - before;
            if sequences == 0 {
                break;
            }
            if !entry.started {
                entry.started = true;
                let waited = now.saturating_duration_since(entry.pending.queued_at);
                self.stats.wait[class].record(waited);
            }
            parts.push(Part { ticket: entry.ticket, sequences });
        }
        Some(Step { model, priority: Priority::ALL[class], batch, parts })
    }

    /// Hands the results of `step` to its requests and answers those that are whole.
    pub(super) fn complete(
        &mut self,
        step: &Step,
        result: Result<Vec<Embedding>, GpuError>,
        elapsed: Duration,
    ) {
        self.stats.steps += 1;
        self.stats.run.record(elapsed);
        let entries = &mut self.classes[step.priority.index()];
        match result {
            Ok(embeddings) => {
                self.stats.tokens += step.batch.tokens() as u64;
                let mut embeddings = embeddings.into_iter();
                for part in &step.parts {
                    let rows = embeddings.by_ref().take(part.sequences);
                    if let Some(entry) = entries.iter_mut().find(|e| e.ticket == part.ticket) {
                        entry.done.extend(rows);
                    } else {
                        rows.for_each(drop);
                    }
                }
            }
            Err(_) if step.parts.len() > 1 => {
                for entry in entries.iter_mut() {
                    entry.alone |= step.parts.iter().any(|part| part.ticket == entry.ticket);
                }
            }
            Err(error) => {
                let ticket = step.parts.first().map(|part| part.ticket);
                if let Some(at) = entries.iter().position(|e| Some(e.ticket) == ticket)
                    && let Some(entry) = entries.remove(at)
                {
                    self.stats.failed += 1;
                    answer(entry.pending, Err(error));
                }
            }
        }
        self.answer_finished(step.priority.index());
    }

    /// Answers everything that waits with `error`.
    pub(super) fn fail_all(&mut self, error: &GpuError) {
        for entry in self.classes.iter_mut().flat_map(|class| class.drain(..)) {
            self.stats.failed += 1;
            answer(entry.pending, Err(error.clone()));
        }
    }

    /// Answers what waits for a model that has gone.
    pub(super) fn fail_model(&mut self, model: &ModelId) {
        for class in &mut self.classes {
            let (gone, kept) = class.drain(..).partition(|e| e.pending.model == *model);
            *class = kept;
            let gone: VecDeque<Entry> = gone;
            for entry in gone {
                self.stats.failed += 1;
                answer(entry.pending, Err(GpuError::ModelNotLoaded(model.clone())));
            }
        }
    }

    pub(super) fn stats(&self) -> SchedulerStats {
        SchedulerStats {
            depth: [0, 1, 2].map(|class: usize| self.classes[class].len()),
            ..self.stats.clone()
        }
    }

    fn drop_abandoned(&mut self) {
        for class in &mut self.classes {
            let before = class.len();
            class.retain(|entry| !entry.pending.reply.is_closed());
            self.stats.cancelled += (before - class.len()) as u64;
        }
    }

    fn choose_class(&mut self) -> Option<usize> {
        let waiting = |class: &usize| !self.classes[*class].is_empty();
        let starved = |class: &usize| self.passed_over[*class] >= Self::PASSED_OVER_MAX;
        let class = (0..3)
            .find(|class| waiting(class) && starved(class))
            .or_else(|| (0..3).find(waiting))?;
        for other in 0..3 {
            let passed = other != class && !self.classes[other].is_empty();
            self.passed_over[other] = if passed { self.passed_over[other] + 1 } else { 0 };
        }
        Some(class)
    }

    fn answer_finished(&mut self, class: usize) {
        let entries = &mut self.classes[class];
        while let Some(at) = entries.iter().position(Entry::is_finished) {
            let Some(entry) = entries.remove(at) else { break };
            self.stats.completed += 1;
            answer(entry.pending, Ok(entry.done));
        }
    }
}

fn answer(pending: Pending, result: Result<Vec<Embedding>, GpuError>) {
    drop(pending.permit);
    // The caller may have gone in the meantime; then nobody wants the answer.
    let _ = pending.reply.send(result);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Answer = oneshot::Receiver<Result<Vec<Embedding>, GpuError>>;

    fn model() -> ModelId {
        ModelId::Embedding("fake".to_owned())
    }

    /// A request whose sequences are `len` times the number of the request.
    fn submit(queue: &mut Queue, priority: Priority, number: u32, lengths: &[usize]) -> Answer {
        let mut batch = TokenBatch::default();
        for length in lengths {
            batch.push(&vec![number; *length]);
        }
        let (reply, answer) = oneshot::channel();
        let queued_at = Instant::now();
        queue.push(Pending { model: model(), batch, priority, reply, queued_at, permit: None });
        answer
    }

    /// Embeds a sequence as the direction (its first id, its length).
    fn fake(batch: &TokenBatch) -> Vec<Embedding> {
        batch
            .ranges()
            .map(|range| vec![batch.ids()[range.start] as f32, range.len() as f32])
            .map(|values| Embedding::normalized(values).unwrap())
            .collect()
    }

    fn run_step(queue: &mut Queue, budget: usize) -> Option<Step> {
        let step = queue.next_step(|_| budget, Instant::now())?;
        let embeddings = fake(&step.batch);
        queue.complete(&step, Ok(embeddings), Duration::ZERO);
        Some(step)
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
        let _answers = order.map(|(priority, n)| submit(&mut queue, priority, n, &[8]));
        let ran: Vec<u32> =
            std::iter::from_fn(|| run_step(&mut queue, 8)).map(|s| s.batch.ids()[0]).collect();
        assert_eq!(ran, [2, 4, 3, 1, 5]);
    }

    #[test]
    fn a6_a_file_is_cut_into_steps_and_a_search_goes_between_them() {
        let mut queue = Queue::default();
        let _file = submit(&mut queue, Priority::Background, 1, &[10; 5]);
        assert_eq!(run_step(&mut queue, 20).unwrap().batch.sequences(), 2);
        let _search = submit(&mut queue, Priority::Immediate, 9, &[4]);
        assert_eq!(run_step(&mut queue, 20).unwrap().priority, Priority::Immediate);
        assert_eq!(run_step(&mut queue, 20).unwrap().batch.sequences(), 2);
        assert_eq!(run_step(&mut queue, 20).unwrap().batch.sequences(), 1);
        assert!(queue.is_empty());
    }

    #[test]
    fn a4_background_is_slowed_by_a_flood_and_not_stopped() {
        let mut queue = Queue::default();
        let mut file = submit(&mut queue, Priority::Background, 1, &[4]);
        let mut floods = Vec::new();
        for n in 0..=Queue::PASSED_OVER_MAX {
            floods.push(submit(&mut queue, Priority::Immediate, n + 2, &[4]));
            run_step(&mut queue, 4);
        }
        assert!(file.try_recv().is_ok(), "the file ran although a query was always waiting");
    }

    #[test]
    fn a7_abandoned_work_is_skipped() {
        let mut queue = Queue::default();
        drop(submit(&mut queue, Priority::Background, 1, &[4]));
        let mut kept = submit(&mut queue, Priority::Background, 2, &[4]);
        assert_eq!(run_step(&mut queue, 8).unwrap().batch.ids(), [2; 4]);
        assert!(kept.try_recv().is_ok());
        assert_eq!(queue.stats().cancelled, 1);
    }

    #[test]
    fn a13_a_failure_in_a_shared_step_fails_the_culprit_only() {
        let mut queue = Queue::default();
        let mut bad = submit(&mut queue, Priority::Background, 1, &[4]);
        let mut good = submit(&mut queue, Priority::Background, 2, &[4]);
        while let Some(step) = queue.next_step(|_| 100, Instant::now()) {
            let result = if step.batch.ids().contains(&1) {
                Err(GpuError::Panicked { id: model(), message: "boom".to_owned() })
            } else {
                Ok(fake(&step.batch))
            };
            queue.complete(&step, result, Duration::ZERO);
        }
        assert!(matches!(bad.try_recv().unwrap(), Err(GpuError::Panicked { .. })));
        assert_eq!(good.try_recv().unwrap().unwrap().len(), 1);
    }

    #[derive(Clone, Debug)]
    enum Event {
        Submit(usize, Vec<usize>),
        Abandon(usize),
        Step(usize),
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let event = prop_oneof![
            (0..3_usize, prop::collection::vec(1..9_usize, 1..6))
                .prop_map(|(class, lengths)| Event::Submit(class, lengths)),
            (0..50_usize).prop_map(Event::Abandon),
            (1..30_usize).prop_map(Event::Step),
        ];
        prop::collection::vec(event, 1..60)
    }

    proptest! {
        /// Nothing is lost, nothing is answered twice, every answer is that of its own request, and no
        /// step exceeds its budget unless it is one sequence.
        #[test]
        fn random_schedules_answer_every_request_once(events in events()) {
            let mut queue = Queue::default();
            let mut waiting: Vec<(u32, Vec<usize>, Option<Answer>)> = Vec::new();
            for event in events {
                match event {
                    Event::Submit(class, lengths) => {
                        let number = waiting.len() as u32 + 1;
                        let answer = submit(&mut queue, Priority::ALL[class], number, &lengths);
                        waiting.push((number, lengths, Some(answer)));
                    }
                    Event::Abandon(at) => {
                        let len = waiting.len().max(1);
                        if let Some(entry) = waiting.get_mut(at % len) {
                            entry.2 = None;
                        }
                    }
                    Event::Step(budget) => {
                        if let Some(step) = run_step(&mut queue, budget) {
                            let fits = step.batch.tokens() <= budget;
                            prop_assert!(fits || step.batch.sequences() == 1);
                        }
                    }
                }
            }
            while run_step(&mut queue, 16).is_some() {}
            prop_assert!(queue.is_empty());
            for (number, lengths, answer) in waiting {
                let Some(mut answer) = answer else { continue };
                let got = answer.try_recv().unwrap().unwrap();
                let want: Vec<_> = lengths
                    .iter()
                    .map(|len| vec![number as f32, *len as f32])
                    .map(|values| Embedding::normalized(values).unwrap())
                    .collect();
                prop_assert_eq!(got, want);
            }
        }
    }
}
