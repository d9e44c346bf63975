//! Figures as people read them.

/// `1234567` as `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// `1 file`, `2 files`.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Bytes in decimal units, as disks are sold and file managers show.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    let mut value = n as f64;
    let mut unit = 0;
    // 999.95 would round to 1000.0.
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} bytes") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// Seconds as `0.42 s`, `12.3 s`, `3 min 05 s`, `2 h 07 min`.
pub fn seconds(s: f64) -> String {
    let whole = s.max(0.0).round() as u64;
    match whole {
        0..1 => format!("{s:.2} s"),
        1..60 => format!("{s:.1} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 1, 2].map(|n| counted(n, "file")), ["0 files", "1 file", "2 files"]);
        assert_eq!(
            [0, 999, 1000, 999_999].map(bytes),
            ["0 bytes", "999 bytes", "1.0 kB", "1.0 MB"]
        );
        assert_eq!(
            [0.1, 12.34, 185.0, 7620.0].map(seconds),
            ["0.10 s", "12.3 s", "3 min 05 s", "2 h 07 min"]
        );
    }
}
