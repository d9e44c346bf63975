use lodestone::engine::GoldenMeasurement;

use super::counted;

/// What a measurement by starred answers gave: what was found, and what it cost.
pub fn measured_lines(measured: &GoldenMeasurement) -> [String; 2] {
    let percent = |share: f64| {
        let percent = share * 100.0;
        if percent.fract().abs() < 0.05 {
            format!("{percent:.0} %")
        } else {
            format!("{percent:.1} %")
        }
    };
    let found = format!(
        "{} found among the first ten ({})",
        percent(measured.recall_at_10),
        counted(measured.stars, "answer")
    );
    let gap = measured.ann_gap_at_10.map_or_else(
        || "no vectors".to_owned(),
        |gap| format!("vector index misses {}", percent(gap)),
    );
    let cost = format!("{gap}, {:.0} ms, 95 % within {:.0} ms", measured.p50_ms, measured.p95_ms);
    [found, cost]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_times_read_well() {
        let measured = GoldenMeasurement {
            at: 0,
            model: String::new(),
            passages: 1,
            queries: 3,
            stars: 4,
            recall_at_10: 2.0 / 3.0,
            mrr_at_10: 0.5,
            ann_gap_at_10: Some(0.0),
            p50_ms: 8.4,
            p95_ms: 19.6,
        };
        let expected = [
            "66.7 % found among the first ten (4 answers)",
            "vector index misses 0 %, 8 ms, 95 % within 20 ms",
        ];
        assert_eq!(measured_lines(&measured), expected);
        let none = GoldenMeasurement { ann_gap_at_10: None, ..measured };
        assert!(measured_lines(&none)[1].starts_with("no vectors"));
    }
}
