/// Groups digits by threes: `12,345`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with its noun in the right form: `1 file`, `2 files`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// A size with three significant digits at most: `830 B`, `4.2 MB`.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 9.95);
    format!("{value:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        let shown = |n| count(n);
        assert_eq!(shown(0), "0");
        assert_eq!(shown(999), "999");
        assert_eq!(shown(1_000), "1,000");
        assert_eq!(shown(1_234_567), "1,234,567");
    }

    #[test]
    fn nouns_agree_with_their_number() {
        assert_eq!(counted(1, "file"), "1 file");
        assert_eq!(counted(1_200, "passage"), "1,200 passages");
    }

    #[test]
    fn sizes_stay_short() {
        for (number, shown) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 KB"),
            (999_700, "1.0 MB"),
            (4_210_000, "4.2 MB"),
            (64 << 20, "67 MB"),
        ] {
            assert_eq!(bytes(number), shown);
        }
    }
}
