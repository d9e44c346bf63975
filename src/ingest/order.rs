//! Which file comes first.

/// Seconds of a day.
const DAY: i64 = 86_400;

/// The place of a file on the queue, smaller is sooner: what is small is searchable at once, and what a
/// person touched lately is what they look for. Each fourfold size weighs as much as one step of age.
pub(super) fn place(bytes: u64, modified: Option<i64>, now: i64) -> i64 {
    let size = i64::from((bytes >> 12).max(1).ilog2()) / 2;
    let age = now.saturating_sub(modified.unwrap_or(0)) / DAY;
    let age = match age {
        ..1 => 0,
        1..7 => 1,
        7..30 => 2,
        30..365 => 3,
        _ => 4,
    };
    size + age
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_recent_files_come_first() {
        let now = 1_000 * DAY;
        let ordered = [
            place(100, Some(now), now),
            place(100, Some(now - 3 * DAY), now),
            place(2 << 20, Some(now), now),
            place(2 << 20, Some(now - 100 * DAY), now),
            place(1 << 30, None, now),
        ];
        assert!(ordered.is_sorted_by(|a, b| a < b), "{ordered:?}");
        // A clock that was set back makes nothing older.
        assert_eq!(place(100, Some(now + DAY), now), place(100, Some(now), now));
    }
}
