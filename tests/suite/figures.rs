//! What indexing costs, for docs/performance.md. Run by hand: it takes minutes.
//!
//! `cargo test --test suite figures -- --ignored --nocapture`; a tiny model stands in for a real one, so that
//! what is measured is everything else.

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use lodestone::config::Settings;
use lodestone::telemetry;
use serde_json::Value;

use crate::lode::Lode;
use crate::tiny_model;

const FILES: usize = 20_000;
const LONG_MB: usize = 500;
const LONG_MB_VARIABLE: &str = "LODESTONE_FIGURES_MB";

#[test]
#[ignore = "measures for minutes"]
fn twenty_thousand_small_files() {
    let (files, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for at in 0..FILES {
        let folder = files.path().join(format!("{:03}", at / 100));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{at:05}.md")), format!("# Note {at}\n\n{}", prose(at, 12)))
            .unwrap();
    }
    let lode = tiny_model::lode(data.path());
    println!("20,000 files: {}", measure(&lode, files.path()));
    println!("20,000 files, unchanged: {}", measure(&lode, files.path()));
}

#[test]
#[ignore = "measures for minutes"]
fn one_long_text() {
    let (files, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mb = std::env::var(LONG_MB_VARIABLE).map_or(LONG_MB, |mb| mb.parse().unwrap());
    let mut text = String::with_capacity(mb << 20);
    let mut at = 0;
    while text.len() < mb << 20 {
        text += &prose(at, 6);
        text += "\n\n";
        at += 1;
    }
    fs::write(files.path().join("long.txt"), &text).unwrap();
    drop(text);
    let lode = tiny_model::lode(data.path());
    Settings::update(data.path(), |settings| settings.file_mb_max = 1_000).unwrap();
    println!("one text of {mb} MB: {}", measure(&lode, files.path()));
}

/// With `LODESTONE_TRACE=off` the subscriber is that of a build without the feature `profile`.
#[test]
#[ignore = "measures for seconds"]
fn spans_that_nobody_records() {
    const SPANS: u32 = 50_000_000;
    let _guard = telemetry::init(None).unwrap();
    let began = Instant::now();
    for at in 0..SPANS {
        let _span = tracing::debug_span!("nobody", at = black_box(at)).entered();
    }
    let each = began.elapsed() / (SPANS / 1_000);
    println!("a span that nobody records: {} ps", each.as_nanos());
}

/// Sentences that no other text has.
fn prose(seed: usize, sentences: usize) -> String {
    const WORDS: [&str; 12] = [
        "harbor", "reader", "compiler", "rain", "glass", "tide", "promise", "street", "map",
        "winter", "river", "bread",
    ];
    let mut text = String::new();
    for sentence in 0..sentences {
        let pick = |by: usize| WORDS[(seed / by + sentence * by) % WORDS.len()];
        let _ = write!(
            text,
            "The {} of number {seed} remembers the {} on day {sentence}, and the {} \
            measures what the {} has left. ",
            pick(1),
            pick(3),
            pick(7),
            pick(11)
        );
    }
    text
}

fn measure(lode: &Lode, files: &Path) -> String {
    let mut command = lode.command(&["index".as_ref(), files.as_os_str(), "--json".as_ref()]);
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut peak_kb = 0;
    while child.try_wait().unwrap().is_none() {
        peak_kb = peak_kb.max(peak_memory_kb(child.id()).unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let took = started.elapsed().as_secs_f64();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bytes = lode.json(&["status"])["bytes"].as_u64().unwrap();
    let megabytes = [peak_kb >> 10, bytes >> 20];
    format!("{took:.1} s with start and indexes, MB at peak and on disk {megabytes:?}\n  {report}")
}

fn peak_memory_kb(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
