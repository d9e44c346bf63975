//! Which step comes next. Pure: without a thread, a device or a clock of its own.

mod entry;

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::{GenerationStep, GpuError, ModelId, Priority, Sampling, SchedulerStats};
use crate::data::{Embedding, TokenBatch};
use entry::Entry;
pub(super) use entry::{EmbedWork, GenerateWork, Pending, Ticket, Work};

/// Work for the device that is run without interruption.
#[derive(Debug)]
pub(super) enum Step {
    Embed(EmbedStep),
    Generate(GenerateStep),
}

#[cfg(test)]
impl Step {
    pub(super) fn priority(&self) -> Priority {
        match self {
            Self::Embed(step) => step.priority,
            Self::Generate(step) => step.priority,
        }
    }
}

#[derive(Debug)]
pub(super) struct EmbedStep {
    pub model: ModelId,
    pub priority: Priority,
    pub batch: TokenBatch,
    /// Which requests the sequences belong to, in their order in `batch`.
    parts: Vec<Part>,
}

impl EmbedStep {
    /// Whose sequences it has.
    pub(super) fn requests(&self) -> impl ExactSizeIterator<Item = Ticket> + '_ {
        self.parts.iter().map(|part| part.ticket)
    }
}

#[derive(Debug)]
struct Part {
    ticket: Ticket,
    /// Of the request's batch.
    sequences: Range<usize>,
}

#[derive(Debug)]
pub(super) struct GenerateStep {
    pub ticket: Ticket,
    pub model: ModelId,
    pub priority: Priority,
    /// Tokens of the prompt to read at most.
    pub tokens_max: usize,
    /// Given with the first step of a session.
    pub prompt: Option<(Vec<u32>, Sampling)>,
}

/// Who asks for a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueLane {
    pub index: usize,
    /// Whether it takes background steps now.
    pub background: bool,
}

#[cfg(test)]
impl QueueLane {
    pub(super) fn open(index: usize) -> Self {
        Self { index, background: true }
    }
}

/// The requests in the order of their priority.
#[derive(Debug, Default)]
pub(super) struct Queue {
    classes: [VecDeque<Entry>; 3],
    /// Steps since a waiting class last had one.
    passed_over: [u32; 3],
    /// Whether the last step of a class was one of a generation: they take turns with embeddings.
    generated_last: [bool; 3],
    next_ticket: Ticket,
    stats: SchedulerStats,
}

impl Queue {
    /// A class that was passed over this many steps in a row has the next one, so a flood above it
    /// slows it down and never stops it.
    pub(super) const PASSED_OVER_MAX: u32 = 16;

    pub(super) fn push(&mut self, pending: Pending) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.classes[pending.priority.index()].push_back(Entry::new(ticket, pending));
        ticket
    }

    /// Requests that wait or run, by priority.
    pub(super) fn depth(&self) -> [usize; 3] {
        [0, 1, 2].map(|class: usize| self.classes[class].len())
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.classes.iter().all(VecDeque::is_empty)
    }

    /// Takes the next step for `lane`: of at most `budget(model)` tokens, or of one sequence that is
    /// longer. `budget` is `None` for a model that is not on this lane.
    ///
    /// Small requests of one class and model that wait together share a step. Embeddings of a class
    /// start in the order in which they came; a generation of the class has every other step, but no
    /// query waits for one.
    pub(super) fn next_step(
        &mut self,
        QueueLane { index: lane, background }: QueueLane,
        budget: impl Fn(&ModelId) -> Option<usize>,
        now: Instant,
    ) -> Option<Step> {
        self.drop_abandoned();
        let waiting = [0, 1, 2].map(|class: usize| {
            if class == Priority::Background.index() && !background {
                return (None, None);
            }
            let first = |is_waiting: fn(&Work, usize) -> bool| {
                let runs = |e: &&Entry| is_waiting(&e.work, lane) && budget(&e.model).is_some();
                self.classes[class].iter().find(runs).map(|entry| entry.ticket)
            };
            (first(Work::is_waiting_embedding), first(Work::is_waiting_generation))
        });
        let class = self.choose_class(waiting.map(|(a, b)| a.is_some() || b.is_some()))?;
        let (embed, generate) = waiting[class];
        let query_waits = class == Priority::Immediate.index() && embed.is_some();
        let takes_turn = embed.is_none() || !(self.generated_last[class] || query_waits);
        let step = match generate.filter(|_| takes_turn) {
            Some(ticket) => Step::Generate(self.generate_step(class, ticket, lane, budget)?),
            None => Step::Embed(self.embed_step(class, embed?, budget)?),
        };
        self.generated_last[class] = matches!(step, Step::Generate(_));
        self.note_start(class, &step, now);
        Some(step)
    }

    /// Whether a query waits that `lane` could run.
    pub(super) fn has_immediate(&self, lane: usize, on_lane: impl Fn(&ModelId) -> bool) -> bool {
        self.classes[Priority::Immediate.index()].iter().any(|entry| {
            let work = &entry.work;
            (work.is_waiting_embedding(lane) || work.is_waiting_generation(lane))
                && on_lane(&entry.model)
        })
    }

    fn embed_step(
        &mut self,
        class: usize,
        first: Ticket,
        budget: impl Fn(&ModelId) -> Option<usize>,
    ) -> Option<EmbedStep> {
        let mut entries = self.classes[class].iter_mut().skip_while(|e| e.ticket != first);
        let entry = entries.next()?;
        let model = entry.model.clone();
        let tokens_max = budget(&model)?;
        let work = entry.embed()?;
        let mut batch = TokenBatch::default();
        let sequences = work.take_into(&mut batch, tokens_max)?;
        let mut full = work.alone || work.is_waiting();
        let mut parts = vec![Part { ticket: entry.ticket, sequences }];
        for entry in entries.filter(|entry| entry.model == model) {
            let ticket = entry.ticket;
            let Some(work) = entry.embed().filter(|work| work.is_waiting()) else { continue };
            if full || work.alone {
                break;
            }
            let Some(sequences) = work.take_into(&mut batch, tokens_max) else { break };
            full = work.is_waiting();
            parts.push(Part { ticket, sequences });
        }
        Some(EmbedStep { model, priority: Priority::ALL[class], batch, parts })
    }

    fn generate_step(
        &mut self,
        class: usize,
        ticket: Ticket,
        lane: usize,
        budget: impl Fn(&ModelId) -> Option<usize>,
    ) -> Option<GenerateStep> {
        let entries = &mut self.classes[class];
        // Behind the others of its class, so that several answers are made side by side.
        let at = entries.iter().position(|entry| entry.ticket == ticket)?;
        let mut entry = entries.remove(at)?;
        let model = entry.model.clone();
        let work = entry.generate()?;
        work.running = true;
        work.lane = Some(lane);
        let prompt = work.prompt.take();
        entries.push_back(entry);
        let tokens_max = budget(&model)?;
        Some(GenerateStep { ticket, model, priority: Priority::ALL[class], tokens_max, prompt })
    }

    fn note_start(&mut self, class: usize, step: &Step, now: Instant) {
        let started = |ticket: Ticket| match step {
            Step::Embed(step) => step.parts.iter().any(|part| part.ticket == ticket),
            Step::Generate(step) => step.ticket == ticket,
        };
        for entry in &mut self.classes[class] {
            if !entry.started && started(entry.ticket) {
                entry.started = true;
                let waited = now.saturating_duration_since(entry.queued_at);
                self.stats.wait[class].record(waited);
            }
        }
    }

    /// Hands the results of `step` to its requests and answers those that are whole.
    pub(super) fn complete_embed(
        &mut self,
        step: &EmbedStep,
        result: Result<Vec<Embedding>, GpuError>,
        elapsed: Duration,
    ) {
        self.note_run(elapsed);
        match result {
            Ok(embeddings) => {
                self.stats.tokens += step.batch.tokens() as u64;
                let mut rows = embeddings.into_iter();
                for part in &step.parts {
                    let rows = rows.by_ref().take(part.sequences.len());
                    self.fill(step.priority, part, rows);
                }
            }
            // A smaller step may have room, and an innocent request in a shared step no fault: they
            // run again.
            Err(GpuError::OutOfMemory { .. }) if step.batch.sequences() > 1 => {
                self.put_back(step, false);
            }
            Err(_) if step.parts.len() > 1 => self.put_back(step, true),
            Err(error) => {
                for part in &step.parts {
                    self.fail(step.priority, part.ticket, error.clone());
                }
            }
        }
    }

    fn fill(&mut self, priority: Priority, part: &Part, rows: impl Iterator<Item = Embedding>) {
        let entries = &mut self.classes[priority.index()];
        let at = entries.iter().position(|entry| entry.ticket == part.ticket);
        let Some((at, work)) = at.and_then(|at| Some((at, entries[at].embed()?))) else {
            // Cancelled, or failed in another step meanwhile.
            rows.for_each(drop);
            return;
        };
        work.fill(part.sequences.clone(), rows);
        if work.is_whole()
            && let Some(entry) = entries.remove(at)
        {
            self.stats.completed += 1;
            entry.complete();
        }
    }

    fn put_back(&mut self, step: &EmbedStep, alone: bool) {
        for part in &step.parts {
            let entry =
                self.classes[step.priority.index()].iter_mut().find(|e| e.ticket == part.ticket);
            if let Some(work) = entry.and_then(Entry::embed) {
                work.put_back(part.sequences.clone());
                work.alone |= alone;
            }
        }
    }

    /// Passes on what a step of a generation gave.
    pub(super) fn complete_generate(
        &mut self,
        step: &GenerateStep,
        result: Result<GenerationStep, GpuError>,
        elapsed: Duration,
    ) {
        self.note_run(elapsed);
        let entries = &mut self.classes[step.priority.index()];
        let at = entries.iter().position(|entry| entry.ticket == step.ticket);
        let Some((at, work)) = at.and_then(|at| Some((at, entries[at].generate()?))) else {
            return;
        };
        work.running = false;
        match result {
            Ok(GenerationStep::Read { tokens }) => self.stats.tokens += tokens as u64,
            Ok(GenerationStep::Token(token)) => {
                self.stats.tokens_generated += 1;
                if work.take(token) {
                    entries.remove(at);
                    self.stats.completed += 1;
                }
            }
            Err(error) => self.fail(step.priority, step.ticket, error),
        }
    }

    fn note_run(&mut self, elapsed: Duration) {
        self.stats.steps += 1;
        self.stats.run.record(elapsed);
    }

    fn fail(&mut self, priority: Priority, ticket: Ticket, error: GpuError) {
        let entries = &mut self.classes[priority.index()];
        let at = entries.iter().position(|entry| entry.ticket == ticket);
        if let Some(entry) = at.and_then(|at| entries.remove(at)) {
            self.stats.failed += 1;
            entry.fail(error);
        }
    }

    /// Answers everything with [`GpuError::Stopped`]; after a death, what was running then with
    /// [`GpuError::Died`], because it may be the cause.
    pub(super) fn stop(&mut self, died: bool) {
        for entry in self.classes.iter_mut().flat_map(|class| class.drain(..)) {
            self.stats.failed += 1;
            let error = if died && entry.is_running() {
                GpuError::Died(entry.model.clone())
            } else {
                GpuError::Stopped
            };
            entry.fail(error);
        }
    }

    /// Answers what waits for a model that has gone.
    pub(super) fn fail_model(&mut self, model: &ModelId) {
        for class in &mut self.classes {
            let (gone, kept): (VecDeque<Entry>, _) =
                class.drain(..).partition(|entry| entry.model == *model);
            *class = kept;
            for entry in gone {
                self.stats.failed += 1;
                entry.fail(GpuError::ModelNotLoaded(model.clone()));
            }
        }
    }

    /// Whether the request still waits or runs.
    pub(super) fn holds(&self, ticket: Ticket) -> bool {
        self.classes.iter().flatten().any(|entry| entry.ticket == ticket && !entry.is_abandoned())
    }

    pub(super) fn stats(&self) -> SchedulerStats {
        SchedulerStats { depth: self.depth(), ..self.stats.clone() }
    }

    fn drop_abandoned(&mut self) {
        for class in &mut self.classes {
            let before = class.len();
            class.retain(|entry| !entry.is_abandoned());
            self.stats.cancelled += (before - class.len()) as u64;
        }
    }

    fn choose_class(&mut self, waiting: [bool; 3]) -> Option<usize> {
        let starved = |class: &usize| self.passed_over[*class] >= Self::PASSED_OVER_MAX;
        let class = (0..3)
            .find(|class| waiting[*class] && starved(class))
            .or_else(|| (0..3).find(|class| waiting[*class]))?;
        for (other, waits) in waiting.into_iter().enumerate() {
            let passed = other != class && waits;
            self.passed_over[other] = if passed { self.passed_over[other] + 1 } else { 0 };
        }
        Some(class)
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
