use std::collections::BTreeMap;

use lodestone::engine::{EndedJob, Metrics, QueueCounts, Sample, Skipped};

use super::chart::{Line, Pooling, top_of};

/// Seconds that a chart shows.
pub const CHART_SECONDS: usize = 900;

/// What the Activity view knows beside the jobs that run: the last quarter of an hour, what became of
/// the jobs before, and what could not be indexed and why.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    samples: Vec<Sample>,
    pub metrics: Option<Metrics>,
    pub history: Vec<EndedJob>,
    reasons: Vec<Reason>,
    /// Whether somebody looks and figures are asked for every second.
    pub following: bool,
    /// Whether the history is to be forgotten as soon as that is said once more.
    pub asking: bool,
}

/// Why sources could not be indexed, and how many it kept out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub text: String,
    pub sources: Vec<String>,
    /// Whether trying again may help: some of them failed, and are not of a kind that is left out.
    pub can_retry: bool,
}

/// A chart with everything that is said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    pub title: &'static str,
    pub unit: &'static str,
    pub top: f64,
    /// With its name where there are several.
    pub lines: Vec<(&'static str, Line)>,
}

impl Monitor {
    pub fn measured(&mut self, samples: Vec<Sample>, metrics: Metrics) {
        self.samples = samples;
        self.metrics = Some(metrics);
    }

    pub fn set_skipped(&mut self, skipped: &[Skipped]) {
        let mut reasons: BTreeMap<&str, Reason> = BTreeMap::new();
        for Skipped { source, reason, attempts } in skipped {
            let entry = reasons.entry(reason).or_insert_with(|| Reason {
                text: reason.clone(),
                sources: Vec::new(),
                can_retry: false,
            });
            entry.sources.push(source.clone());
            entry.can_retry |= *attempts > 0;
        }
        self.reasons = reasons.into_values().collect();
        self.reasons.sort_by_key(|reason| std::cmp::Reverse(reason.sources.len()));
    }

    /// Most frequent first.
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// Files to index, by what is done with them now.
    pub fn queue(&self) -> Vec<(&'static str, u64)> {
        let QueueCounts { queued, extracting, embedded, .. } =
            self.metrics.as_ref().map(|metrics| metrics.queue).unwrap_or_default();
        vec![("Waiting", queued), ("Being read", extracting), ("Being stored", embedded)]
    }

    pub fn charts(&self) -> Vec<Chart> {
        let line = |value: fn(&Sample) -> Option<f64>, pooling| {
            let values: Vec<Option<f64>> = self.samples.iter().map(value).collect();
            Line::of(&values, CHART_SECONDS, pooling)
        };
        let chart = |title, unit, least, lines: Vec<(&'static str, Line)>| {
            let highest = lines.iter().map(|(_, line)| line.highest()).fold(0.0, f64::max);
            Chart { title, unit, top: top_of(highest, least), lines }
        };
        let tokens = line(|sample| Some(sample.tokens as f64), Pooling::Mean);
        let queue = line(|sample| Some(sample.queue as f64), Pooling::Last);
        let median = line(|sample| sample.search_ms_p50, Pooling::Mean);
        let slow = line(|sample| sample.search_ms_p95, Pooling::Highest);
        let pages = line(|sample| Some(sample.pages as f64), Pooling::Mean);
        let mut charts = vec![
            chart("Indexing", "tokens/s", 100.0, vec![("", tokens)]),
            chart("Queue", "files", 10.0, vec![("", queue)]),
            chart("Search", "ms", 10.0, vec![("median", median), ("95 %", slow)]),
        ];
        if pages.highest() > 0.0 {
            charts.push(chart("Crawling", "pages/s", 5.0, vec![("", pages)]));
        }
        charts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(source: &str, reason: &str, attempts: u32) -> Skipped {
        Skipped { source: source.into(), reason: reason.into(), attempts }
    }

    #[test]
    fn reasons_are_counted_most_frequent_first() {
        let mut monitor = Monitor::default();
        monitor.set_skipped(&[
            skipped("/a", "locked", 2),
            skipped("/b", "a PNG image", 0),
            skipped("/c", "a PNG image", 0),
        ]);
        let told: Vec<_> = monitor
            .reasons()
            .iter()
            .map(|reason| (reason.text.as_str(), reason.sources.len(), reason.can_retry))
            .collect();
        assert_eq!(told, [("a PNG image", 2, false), ("locked", 1, true)]);
    }

    #[test]
    fn a_chart_of_pages_comes_with_the_first_crawl() {
        let mut monitor = Monitor::default();
        let titles = |monitor: &Monitor| {
            monitor.charts().iter().map(|chart| chart.title).collect::<Vec<_>>()
        };
        assert_eq!(titles(&monitor), ["Indexing", "Queue", "Search"]);
        let sample = Sample { tokens: 3_120, pages: 2, queue: 7, ..Sample::default() };
        monitor.measured(vec![sample], Metrics::default());
        assert_eq!(titles(&monitor), ["Indexing", "Queue", "Search", "Crawling"]);
        let charts = monitor.charts();
        assert!((charts[0].top - 5_000.0).abs() < 1e-6);
        assert!(charts[2].lines[0].1.is_empty(), "nothing was searched");
    }
}
