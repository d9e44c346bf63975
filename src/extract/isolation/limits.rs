use std::time::Duration;

/// What a file may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// From handing a file over to having its text.
    pub time_max: Duration,
    /// Memory of a reader, with the file and its text in it.
    pub memory_bytes_max: u64,
    /// A reader that has nothing to do for so long ends.
    pub idle_max: Duration,
}

impl Default for ReaderLimits {
    /// A minute: a book of a thousand pages takes seconds. A gigabyte: the largest files that are read
    /// at all have 64 MB, and unpack to four times as much at most.
    fn default() -> Self {
        Self {
            time_max: Duration::from_mins(1),
            memory_bytes_max: 1 << 30,
            idle_max: Duration::from_secs(20),
        }
    }
}
