//! The text format of Prometheus, version 0.0.4: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::fmt::Write as _;
use std::time::Duration;

use super::Metrics;
use crate::engine::Inner;
use crate::gpu;
use crate::telemetry::{Histogram, Stage};

/// Bounds of the buckets that are told, as powers of two in microseconds: 64 µs to 67 s.
const BOUNDS: std::ops::RangeInclusive<u32> = 6..=26;

/// Something that tells how many took less than a bound.
trait Counted {
    fn below(&self, bound: Duration) -> u64;
    fn count(&self) -> u64;
    fn sum(&self) -> Option<Duration>;
}

impl Counted for Histogram {
    fn below(&self, bound: Duration) -> u64 {
        self.below(bound)
    }

    fn count(&self) -> u64 {
        self.count()
    }

    fn sum(&self) -> Option<Duration> {
        Some(self.sum())
    }
}

impl Counted for gpu::Histogram {
    fn below(&self, bound: Duration) -> u64 {
        self.below(bound)
    }

    fn count(&self) -> u64 {
        self.count()
    }

    fn sum(&self) -> Option<Duration> {
        None
    }
}

/// Lines of the format, a family after the other.
#[derive(Debug, Default)]
struct Lines(String);

impl Lines {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP lodestone_{name} {help}");
        let _ = writeln!(self.0, "# TYPE lodestone_{name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(self.0, "lodestone_{name}{labels} {value}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.family(name, kind, help);
        self.value(name, "", value);
    }

    fn histogram(&mut self, name: &str, labels: &str, counted: &impl Counted) {
        for bits in BOUNDS {
            let bound = Duration::from_micros(1 << bits);
            let of = format!("{labels},le=\"{}\"", bound.as_secs_f64());
            self.value(&format!("{name}_bucket"), &of, counted.below(bound));
        }
        let of = format!("{labels},le=\"+Inf\"");
        self.value(&format!("{name}_bucket"), &of, counted.count());
        if let Some(sum) = counted.sum() {
            self.value(&format!("{name}_sum"), labels, sum.as_secs_f64());
        }
        self.value(&format!("{name}_count"), labels, counted.count());
    }
}

/// Everything that there is, as text. Asks the recorder for all time, since Prometheus does its own
/// forgetting.
pub(super) fn text(inner: &Inner, metrics: &Metrics) -> String {
    let mut lines = Lines::default();
    let total = |stage| inner.recorder.total(stage);
    lines.family("search_seconds", "histogram", "Time of a search, by stage.");
    for (stage, name) in [
        (Stage::Search, "total"),
        (Stage::SearchEmbed, "embed"),
        (Stage::SearchWords, "words"),
        (Stage::SearchVectors, "vectors"),
        (Stage::SearchRest, "rest"),
        (Stage::SearchShown, "shown"),
    ] {
        lines.histogram("search_seconds", &format!("stage=\"{name}\""), &total(stage));
    }
    lines.family("ingest_seconds", "histogram", "Time of a document or transaction, by stage.");
    for (stage, name) in [
        (Stage::IngestRead, "reading"),
        (Stage::IngestEmbed, "embedding"),
        (Stage::IngestStore, "storing"),
    ] {
        lines.histogram("ingest_seconds", &format!("stage=\"{name}\""), &total(stage));
    }
    let device = inner.scheduler.stats();
    lines.family("device_wait_seconds", "histogram", "Time until the device begins, by priority.");
    for (wait, priority) in device.wait.iter().zip(["search", "interactive", "background"]) {
        lines.histogram("device_wait_seconds", &format!("priority=\"{priority}\""), wait);
    }
    lines.family("device_step_seconds", "histogram", "Time of a step on the device.");
    lines.histogram("device_step_seconds", "device=\"all\"", &device.run);
    let Metrics { embedding, ingest, crawl, queue, memory, disk, .. } = metrics;
    for (name, help, value) in [
        ("tokens_total", "Tokens that a model has read.", embedding.tokens),
        ("device_steps_total", "Steps on the device.", embedding.steps),
        ("device_failures_total", "Requests that the device failed.", embedding.failed),
        ("documents_total", "Documents that became searchable.", ingest.documents),
        ("pages_total", "Pages of crawls that came to their end.", crawl.pages),
        ("pages_failed_total", "Pages of crawls that could not be had.", crawl.failed),
        ("page_bytes_total", "Bytes of pages, as they were sent.", crawl.bytes),
    ] {
        lines.single(name, "counter", help, value);
    }
    lines.family("queue_files", "gauge", "Files to index, by state.");
    for (state, files) in
        [("queued", queue.queued), ("extracting", queue.extracting), ("embedded", queue.embedded)]
    {
        lines.value("queue_files", &format!("state=\"{state}\""), files);
    }
    lines.single("device_requests", "gauge", "Requests at the device.", embedding.requests);
    if let Some(resident) = memory.resident_bytes {
        lines.single("memory_resident_bytes", "gauge", "Memory of this process.", resident);
    }
    lines.single("models_bytes", "gauge", "Weights on the devices.", memory.models_bytes);
    lines.single("data_bytes", "gauge", "Size of the data directory.", disk.data_bytes);
    if let Some(free) = disk.free_bytes {
        lines.single("disk_free_bytes", "gauge", "Free space beside it.", free);
    }
    lines.single(
        "uptime_seconds",
        "counter",
        "Time since the process began.",
        metrics.uptime_seconds,
    );
    lines.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_up_to_all() {
        let mut histogram = Histogram::default();
        for ms in [1, 5, 90_000] {
            histogram.record(Duration::from_millis(ms));
        }
        let mut lines = Lines::default();
        lines.histogram("search_seconds", "stage=\"total\"", &histogram);
        let lines: Vec<&str> = lines.0.lines().collect();
        let find = |part: &str| *lines.iter().find(|line| line.contains(part)).unwrap();
        assert!(find("le=\"0.001024\"").ends_with(" 1"), "{lines:?}");
        assert!(find("le=\"0.008192\"").ends_with(" 2"), "{lines:?}");
        assert!(find("le=\"67.108864\"").ends_with(" 2"), "{lines:?}");
        assert!(find("le=\"+Inf\"").ends_with(" 3"), "{lines:?}");
        assert_eq!(find("_sum"), "lodestone_search_seconds_sum{stage=\"total\"} 90.006");
        assert_eq!(find("_count"), "lodestone_search_seconds_count{stage=\"total\"} 3");
    }
}
