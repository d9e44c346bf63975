//! A command buffer that was handed to the device, or is about to be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

const RECORDING: u8 = 0;
const COMMITTED: u8 = 1;
const COMPLETED: u8 = 2;

/// A cheap handle: tells how far a submission is without asking the device.
#[derive(Clone, Debug)]
pub(in crate::inference) struct Submission {
    number: u64,
    state: Arc<AtomicU8>,
}

impl Submission {
    pub(super) fn new(number: u64) -> Self {
        Self { number, state: Arc::new(AtomicU8::new(RECORDING)) }
    }

    /// Counted from 0, in the order in which they were begun.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the device has it.
    pub fn is_committed(&self) -> bool {
        self.state.load(Ordering::Acquire) >= COMMITTED
    }

    /// Whether the device has finished it.
    pub fn is_completed(&self) -> bool {
        self.state.load(Ordering::Acquire) == COMPLETED
    }

    pub(super) fn commit(&self) {
        self.state.store(COMMITTED, Ordering::Release);
    }

    pub(super) fn complete(&self) {
        self.state.store(COMPLETED, Ordering::Release);
    }
}

impl PartialEq for Submission {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

/// A submission that is over.
#[derive(Clone, Debug)]
pub(in crate::inference) struct Completion {
    pub submission: Submission,
    pub label: &'static str,
    /// Through which interface it ran.
    pub backend: &'static str,
    /// From handing it over to noticing that it was finished.
    pub elapsed: Duration,
    /// What of it the device spent on it; known while profiling.
    pub device: Option<Duration>,
}
