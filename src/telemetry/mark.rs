//! Marks that a trace shows beside its spans. Without a trace each costs a look at one number.

use tracing::trace;

/// Target of events whose other fields are values at this moment.
pub(super) const COUNTER: &str = "lodestone::counter";

/// Target of events where something goes from one thread to another.
pub(super) const FLOW: &str = "lodestone::flow";

/// Requests that wait for the device or are on it, by priority.
pub fn queue_depth([immediate, interactive, background]: [usize; 3]) {
    trace!(target: COUNTER, counter = "queue depth", immediate, interactive, background);
}

pub fn tokens_per_second(tokens: f64) {
    trace!(target: COUNTER, counter = "tokens/s", tokens);
}

#[cfg(feature = "profile")]
pub(super) fn memory(resident_mb: u64) {
    trace!(target: COUNTER, counter = "memory MB", resident_mb);
}

/// A request to the device sets out, in the span of whoever sends it.
pub fn flow_begins(request: u64) {
    trace!(target: FLOW, flow = "begin", request);
}

/// A step takes the request up, in the span of the step.
pub fn flow_ends(request: u64) {
    trace!(target: FLOW, flow = "end", request);
}
