use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since the Unix epoch; zero on a clock that stands before it.
#[must_use]
pub fn now_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
