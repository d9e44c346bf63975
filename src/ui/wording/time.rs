use std::time::{SystemTime, UNIX_EPOCH};

const DAY_SECONDS: i64 = 86_400;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds since the Unix epoch.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed())
}

/// A day as short as the distance to today allows: `Today`, `Mar 12`, `Mar 12, 2023`.
///
/// Days are those of UTC, since the standard library knows no time zone.
pub fn date(unix_seconds: i64, now: i64) -> String {
    let day = unix_seconds.div_euclid(DAY_SECONDS);
    match now.div_euclid(DAY_SECONDS) - day {
        0 => "Today".to_owned(),
        1 => "Yesterday".to_owned(),
        _ => {
            let (year, month, day_of_month) = civil(day);
            let (this_year, ..) = civil(now.div_euclid(DAY_SECONDS));
            let month = MONTHS[month - 1];
            if year == this_year {
                format!("{month} {day_of_month}")
            } else {
                format!("{month} {day_of_month}, {year}")
            }
        }
    }
}

/// How long ago something happened while that is still felt as minutes or hours, then the day.
pub fn ago(unix_seconds: i64, now: i64) -> String {
    match now - unix_seconds {
        ..60 => "Just now".to_owned(),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..21_600 => format!("{} h ago", seconds / 3_600),
        _ => date(unix_seconds, now),
    }
}

/// That a page is shown as it was when it was read.
pub fn saved_copy(read_at: i64, now: i64) -> String {
    match date(read_at, now) {
        day if day == "Today" || day == "Yesterday" => {
            format!("Saved copy, read {}", day.to_lowercase())
        }
        day => format!("Saved copy, read on {day}"),
    }
}

/// When something will happen: `in 5 min`, `in 22 h`, `in 3 days`, `on Mar 12`.
pub fn until(unix_seconds: i64, now: i64) -> String {
    match unix_seconds - now {
        ..60 => "in a moment".to_owned(),
        seconds @ 60..3_600 => format!("in {} min", seconds / 60),
        seconds @ 3_600..DAY_SECONDS => format!("in {} h", seconds / 3_600),
        seconds @ DAY_SECONDS..1_209_600 => {
            let days = (seconds as f64 / DAY_SECONDS as f64).round() as i64;
            if days == 1 { "in 1 day".to_owned() } else { format!("in {days} days") }
        }
        _ => format!("on {}", date(unix_seconds, now)),
    }
}

/// Time left, rounded to what an estimate can promise.
pub fn time_left(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    if !seconds.is_finite() {
        return "time left unknown".to_owned();
    }
    if seconds < 10.0 {
        return "a few seconds left".to_owned();
    }
    if seconds < 57.5 {
        return format!("about {} s left", (seconds / 5.0).round() as u64 * 5);
    }
    let minutes = (seconds / 60.0).round() as u64;
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("about {minutes} min left"),
        (hours @ 1..10, minutes @ 1..) => format!("about {hours} h {minutes} min left"),
        (hours, _) => format!("about {hours} h left"),
    }
}

/// Year, month and day of a day number counted from the Unix epoch, in the proleptic Gregorian
/// calendar (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
fn civil(days: i64) -> (i64, usize, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as usize, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_454), (2026, 1, 1));
    }

    #[test]
    fn a_date_is_as_short_as_today_allows() {
        let now = 20_500 * DAY_SECONDS + 50_000;
        assert_eq!(date(now - 10, now), "Today");
        assert_eq!(date(now - DAY_SECONDS, now), "Yesterday");
        assert_eq!(date(20_454 * DAY_SECONDS, now), "Jan 1");
        assert_eq!(date(0, now), "Jan 1, 1970");
    }

    #[test]
    fn a_saved_copy_says_when_it_was_read() {
        let now = 20_500 * DAY_SECONDS + 50_000;
        assert_eq!(saved_copy(now - 90, now), "Saved copy, read today");
        assert_eq!(saved_copy(20_454 * DAY_SECONDS, now), "Saved copy, read on Jan 1");
    }

    #[test]
    fn what_just_happened_is_told_in_minutes() {
        let now = 20_500 * DAY_SECONDS + 50_000;
        assert_eq!(ago(now - 5, now), "Just now");
        assert_eq!(ago(now + 5, now), "Just now");
        assert_eq!(ago(now - 61, now), "1 min ago");
        assert_eq!(ago(now - 7_300, now), "2 h ago");
        assert_eq!(ago(now - 30_000, now), "Today");
    }

    #[test]
    fn what_is_to_come_is_told_by_its_distance() {
        let now = 20_500 * DAY_SECONDS;
        for (after, shown) in [
            (-5, "in a moment"),
            (300, "in 5 min"),
            (79_200, "in 22 h"),
            (DAY_SECONDS - 1, "in 23 h"),
            (DAY_SECONDS, "in 1 day"),
            (3 * DAY_SECONDS - 60, "in 3 days"),
            (30 * DAY_SECONDS, "on Mar 18"),
        ] {
            assert_eq!(until(now + after, now), shown);
        }
    }

    #[test]
    fn time_left_promises_no_more_than_it_knows() {
        for (seconds, shown) in [
            (0.2, "a few seconds left"),
            (-3.0, "a few seconds left"),
            (12.0, "about 10 s left"),
            (57.0, "about 55 s left"),
            (58.0, "about 1 min left"),
            (125.0, "about 2 min left"),
            (3_600.0, "about 1 h left"),
            (4_800.0, "about 1 h 20 min left"),
            (40_000.0, "about 11 h left"),
            (f64::INFINITY, "time left unknown"),
        ] {
            assert_eq!(time_left(seconds), shown, "{seconds}");
        }
    }
}
