//! What a stream has done so far; the laws of the engine are asserted on these.

/// Counted from the start of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::inference) struct Counters {
    /// Command buffers handed to the device.
    pub submissions: u64,
    /// Times that a thread slept until the device had finished something.
    pub waits: u64,
    /// Of these, while commands of a forward were being recorded.
    pub waits_while_recording: u64,
    /// Tensors that were brought to the host.
    pub host_reads: u64,
    pub passes: u64,
    pub dispatches: u64,
    /// Buffers that were made, of any kind.
    pub buffers: u64,
    pub bind_groups: u64,
    pub pipelines: u64,
    /// Submissions that the device had at once, at most.
    pub in_flight_max: usize,
    /// Tensors that were on their way to the host at once, at most.
    pub unread_max: usize,
}
