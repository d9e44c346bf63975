//! Samples as lines of a chart, without knowing how it is drawn.

/// Points of a line: more would be narrower than a pixel.
const POINTS: usize = 150;

/// How several seconds become one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    Mean,
    /// The worst one, so that it does not vanish.
    Highest,
    Last,
}

/// A line over the last `seconds`, oldest first, whose right end is now. Where nothing was measured it
/// is broken.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    points: Vec<Option<f64>>,
}

impl Line {
    /// `values` are of one second each and end now; before the first of them nothing is known.
    pub fn of(values: &[Option<f64>], seconds: usize, pooling: Pooling) -> Self {
        let per_point = seconds.div_ceil(POINTS).max(1);
        let kept = &values[values.len().saturating_sub(seconds)..];
        // Cut from the end, so that a point keeps its seconds while others come.
        let mut points: Vec<Option<f64>> =
            kept.rchunks(per_point).map(|seconds| pool(seconds, pooling)).collect();
        points.resize(seconds.div_ceil(per_point), None);
        points.reverse();
        Self { points }
    }

    pub fn highest(&self) -> f64 {
        self.points.iter().flatten().copied().fold(0.0, f64::max)
    }

    /// The newest value; where nothing is measured at times, that of before.
    pub fn last(&self) -> Option<f64> {
        self.points.iter().rev().copied().flatten().next()
    }

    pub fn is_empty(&self) -> bool {
        self.points.iter().all(Option::is_none)
    }

    /// The path of the line in a box of this size, with `top` at its upper edge.
    pub fn path(&self, top: f64, (width, height): (f64, f64)) -> String {
        use std::fmt::Write as _;
        let step = width / (self.points.len().max(2) - 1) as f64;
        let mut path = String::new();
        let mut is_down = false;
        for (at, point) in self.points.iter().enumerate() {
            let Some(value) = point else {
                is_down = false;
                continue;
            };
            let (x, y) = (at as f64 * step, height * (1.0 - (value / top).clamp(0.0, 1.0)));
            let next_is_none = self.points.get(at + 1).is_none_or(Option::is_none);
            let _ = match (is_down, next_is_none) {
                (true, _) => write!(path, "L{x:.1} {y:.1}"),
                // A point alone would be no line at all, and is hard to see.
                (false, true) => {
                    write!(path, "M{:.1} {y:.1}L{x:.1} {y:.1}", (x - 2.0 * step).max(0.0))
                }
                (false, false) => write!(path, "M{x:.1} {y:.1}"),
            };
            is_down = true;
        }
        path
    }
}

fn pool(seconds: &[Option<f64>], pooling: Pooling) -> Option<f64> {
    let known = || seconds.iter().flatten().copied();
    match pooling {
        Pooling::Mean => {
            let number = known().count();
            (number > 0).then(|| known().sum::<f64>() / number as f64)
        }
        Pooling::Highest => known().reduce(f64::max),
        Pooling::Last => known().next_back(),
    }
}

/// The upper end of an axis that reads well and is not below `highest`: 1, 2 or 5 of a power of ten.
pub fn top_of(highest: f64, least: f64) -> f64 {
    let wanted = highest.max(least).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(wanted.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|top| *top >= wanted * (1.0 - 1e-9))
        .unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_ends_now_and_is_broken_where_nothing_is_known() {
        let values = [Some(1.0), None, Some(3.0), Some(4.0)];
        let line = Line::of(&values, 6, Pooling::Mean);
        assert_eq!(line.points, [None, None, Some(1.0), None, Some(3.0), Some(4.0)]);
        assert_eq!(line.path(4.0, (50.0, 40.0)), "M0.0 30.0L20.0 30.0M40.0 10.0L50.0 0.0");
        assert_eq!((line.last(), line.is_empty()), (Some(4.0), false));
    }

    #[test]
    fn seconds_become_points_by_their_pooling() {
        let values: Vec<Option<f64>> = (0..900).map(|second| Some(f64::from(second))).collect();
        let last = |pooling| Line::of(&values, 900, pooling).last().unwrap();
        assert_eq!(Line::of(&values, 900, Pooling::Mean).points.len(), POINTS);
        assert!((last(Pooling::Mean) - 896.5).abs() < 1e-9);
        assert!((last(Pooling::Highest) - 899.0).abs() < 1e-9);
    }

    #[test]
    fn the_top_of_an_axis_reads_well() {
        for (highest, top) in [(0.0, 10.0), (11.0, 20.0), (20.0, 20.0), (3_120.0, 5_000.0)] {
            assert!((top_of(highest, 10.0) - top).abs() < 1e-6, "{highest}");
        }
    }

    proptest! {
        #[test]
        fn an_axis_holds_what_it_shows_and_little_more(highest in 0.001..1e9_f64) {
            let top = top_of(highest, 0.0);
            prop_assert!(top >= highest * 0.999_999 && top <= highest * 2.5 + 1e-9, "{top}");
        }
    }
}
