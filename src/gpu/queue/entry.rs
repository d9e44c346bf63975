//! One request in the queue and how far it has come.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::super::stop::StopWatch;
use super::super::stream::{FinishReason, Generated};
use super::super::{GpuError, ModelId, Priority, Sampling};
use crate::data::{Embedding, TokenBatch};

/// Names a request for as long as it waits or runs.
pub(in crate::gpu) type Ticket = u64;

pub(in crate::gpu) type EmbedReply = oneshot::Sender<Result<Vec<Embedding>, GpuError>>;

/// A request on its way into the queue.
#[derive(Debug)]
pub(in crate::gpu) struct Pending {
    pub model: ModelId,
    pub priority: Priority,
    pub queued_at: Instant,
    /// Holds the place in the bounded queue until the request is answered.
    pub permit: Option<OwnedSemaphorePermit>,
    pub work: Work,
}

#[derive(Debug)]
pub(in crate::gpu) enum Work {
    Embed(EmbedWork),
    Generate(GenerateWork),
}

impl Work {
    pub(super) fn is_waiting_embedding(&self, _lane: usize) -> bool {
        matches!(self, Self::Embed(work) if work.is_waiting())
    }

    pub(super) fn is_waiting_generation(&self, lane: usize) -> bool {
        matches!(self, Self::Generate(work) if work.is_waiting(lane))
    }

    fn is_abandoned(&self) -> bool {
        match self {
            Self::Embed(work) => work.reply.is_closed(),
            Self::Generate(work) => work.output.is_closed(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Entry {
    pub ticket: Ticket,
    pub model: ModelId,
    pub queued_at: Instant,
    pub started: bool,
    pub work: Work,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Entry {
    pub fn new(ticket: Ticket, pending: Pending) -> Self {
        let Pending { model, queued_at, permit, work, priority: _ } = pending;
        Self { ticket, model, queued_at, started: false, work, _permit: permit }
    }

    pub fn is_abandoned(&self) -> bool {
        self.work.is_abandoned()
    }

    pub fn embed(&mut self) -> Option<&mut EmbedWork> {
        match &mut self.work {
            Work::Embed(work) => Some(work),
            Work::Generate(_) => None,
        }
    }

    pub fn generate(&mut self) -> Option<&mut GenerateWork> {
        match &mut self.work {
            Work::Generate(work) => Some(work),
            Work::Embed(_) => None,
        }
    }

    /// Whether a step of it is on a device.
    pub fn is_running(&self) -> bool {
        match &self.work {
            Work::Embed(work) => work.missing > work.todo.iter().map(Range::len).sum(),
            Work::Generate(work) => work.running,
        }
    }

    pub fn fail(self, error: GpuError) {
        // The caller may have gone in the meantime; then nobody wants the answer.
        match self.work {
            Work::Embed(work) => drop(work.reply.send(Err(error))),
            Work::Generate(work) => work.send(Generated::Failed(error)),
        }
    }

    /// Sends the vectors of a request that is whole.
    pub fn complete(self) {
        if let Work::Embed(work) = self.work {
            let _ = work.reply.send(Ok(work.done.into_iter().flatten().collect()));
        }
    }
}

/// A batch whose sequences may run in several steps, on several lanes at once.
#[derive(Debug)]
pub(in crate::gpu) struct EmbedWork {
    pub batch: TokenBatch,
    reply: EmbedReply,
    /// Sequences that wait for a step, in order.
    pub todo: VecDeque<Range<usize>>,
    done: Vec<Option<Embedding>>,
    missing: usize,
    /// Set after a shared step failed: the request runs by itself, so that only the culprit fails.
    pub alone: bool,
}

impl EmbedWork {
    pub fn new(batch: TokenBatch, reply: EmbedReply) -> Self {
        let sequences = batch.sequences();
        Self {
            batch,
            reply,
            todo: std::iter::once(0..sequences).collect(),
            done: vec![None; sequences],
            missing: sequences,
            alone: false,
        }
    }

    pub fn is_waiting(&self) -> bool {
        !self.todo.is_empty()
    }

    pub fn is_whole(&self) -> bool {
        self.missing == 0
    }

    /// Moves the next sequences into `step` as long as it stays within `tokens_max`, or one sequence
    /// that is longer when `step` is empty. Returns which.
    pub fn take_into(&mut self, step: &mut TokenBatch, tokens_max: usize) -> Option<Range<usize>> {
        let waiting = self.todo.front_mut()?;
        let start = waiting.start;
        while let Some(ids) = waiting.clone().next().map(|at| self.batch.sequence(at)) {
            if !step.is_empty() && step.tokens() + ids.len() > tokens_max {
                break;
            }
            step.push(ids);
            waiting.start += 1;
        }
        let taken = start..waiting.start;
        if waiting.start == waiting.end {
            self.todo.pop_front();
        }
        (taken.start < taken.end).then_some(taken)
    }

    pub fn put_back(&mut self, sequences: Range<usize>) {
        self.todo.push_front(sequences);
    }

    pub fn fill(&mut self, sequences: Range<usize>, rows: impl Iterator<Item = Embedding>) {
        for (slot, row) in self.done[sequences].iter_mut().zip(rows) {
            self.missing -= usize::from(slot.replace(row).is_none());
        }
    }
}

/// An answer that is made token by token, on the lane where it began.
#[derive(Debug)]
pub(in crate::gpu) struct GenerateWork {
    /// Taken by the first step.
    pub prompt: Option<(Vec<u32>, Sampling)>,
    output: mpsc::Sender<Generated>,
    stop: StopWatch,
    /// Tokens that may still be made.
    left: usize,
    /// Where the session lives once it has begun.
    pub lane: Option<usize>,
    /// Whether a step of it is on the device.
    pub running: bool,
}

impl GenerateWork {
    /// `tokens_max` is at least 1, and `output` has room for as many and the finish.
    pub fn new(
        prompt: (Vec<u32>, Sampling),
        tokens_max: usize,
        stop: Vec<Vec<u32>>,
        output: mpsc::Sender<Generated>,
    ) -> Self {
        let prompt = Some(prompt);
        let stop = StopWatch::new(stop);
        Self { prompt, output, stop, left: tokens_max, lane: None, running: false }
    }

    pub fn is_waiting(&self, lane: usize) -> bool {
        !self.running && self.lane.is_none_or(|of| of == lane)
    }

    /// Passes a token on; returns whether it was the last.
    pub fn take(&mut self, token: u32) -> bool {
        let (mut certain, stopped) = self.stop.push(token);
        self.left = self.left.saturating_sub(1);
        let finish = if stopped {
            Some(FinishReason::Stop)
        } else if self.left == 0 {
            certain.append(&mut self.stop.flush());
            Some(FinishReason::Length)
        } else {
            None
        };
        for token in certain {
            self.send(Generated::Token(token));
        }
        if let Some(reason) = finish {
            self.send(Generated::Finished(reason));
        }
        finish.is_some()
    }

    fn send(&self, generated: Generated) {
        // There is room for the whole answer; the reader may have gone.
        let _ = self.output.try_send(generated);
    }
}
