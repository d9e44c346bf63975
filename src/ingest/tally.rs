use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::progress::Meter;
use super::{EmbeddingCost, IngestReport, JobProgress, Skipped, StageSeconds};
use crate::data::{EmbeddedDocument, Source};

/// The counts of a run, which its stages share.
#[derive(Clone, Debug)]
pub(super) struct SharedTally(Arc<Mutex<Tally>>);

impl Default for SharedTally {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Tally::new(Instant::now()))))
    }
}

impl SharedTally {
    pub(super) fn lock(&self) -> MutexGuard<'_, Tally> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The counts of one run.
#[derive(Debug)]
pub(super) struct Tally {
    report: IngestReport,
    meter: Meter,
    scanned: bool,
    files_total: u64,
    bytes_total: u64,
    bytes_done: u64,
    in_hand: Option<PathBuf>,
}

impl Tally {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            report: IngestReport::default(),
            meter: Meter::new(now),
            scanned: false,
            files_total: 0,
            bytes_total: 0,
            bytes_done: 0,
            in_hand: None,
        }
    }

    pub(super) fn found(&mut self, bytes: u64) {
        self.files_total += 1;
        self.bytes_total += bytes;
    }

    pub(super) fn scanned(&mut self) {
        self.scanned = true;
    }

    pub(super) fn in_hand(&mut self, path: &Path) {
        self.in_hand = Some(path.to_owned());
    }

    pub(super) fn read(&mut self, bytes: u64, tokens: u64) {
        self.meter.read(bytes, tokens);
    }

    /// What is unchanged or skipped costs no tokens, and says nothing about how many tokens a byte
    /// has: it leaves the total instead.
    pub(super) fn unchanged(&mut self, bytes: u64) {
        self.report.unchanged += 1;
        self.bytes_total = self.bytes_total.saturating_sub(bytes);
    }

    /// What went is no longer part of the run.
    pub(super) fn gone(&mut self, bytes: u64) {
        self.files_total = self.files_total.saturating_sub(1);
        self.bytes_total = self.bytes_total.saturating_sub(bytes);
    }

    pub(super) fn skipped(&mut self, source: &Source, reason: String, bytes: u64) {
        self.report.skipped.push(Skipped { source: source.to_string(), reason, attempts: 0 });
        self.bytes_total = self.bytes_total.saturating_sub(bytes);
    }

    pub(super) fn indexed(&mut self, embedded: &EmbeddedDocument, cost: EmbeddingCost) {
        let chunks = embedded.chunks.len() as u64;
        self.report.indexed += 1;
        self.report.chunks += chunks;
        self.report.embedded += cost.passages;
        self.report.tokens += cost.tokens;
        self.bytes_done += embedded.document.bytes;
    }

    pub(super) fn stages(&mut self) -> &mut StageSeconds {
        &mut self.report.stages
    }

    pub(super) fn removed(&mut self, documents: u64) {
        self.report.removed += documents;
    }

    /// `tokens` have gone through the device since the run began.
    pub(super) fn progress(&mut self, now: Instant, tokens: u64) -> JobProgress {
        self.meter.embedded(now, tokens);
        let report = &self.report;
        JobProgress {
            scanning: !self.scanned,
            files_done: report.indexed + report.unchanged + report.skipped.len() as u64,
            files_total: self.files_total,
            bytes_done: self.bytes_done,
            bytes_total: self.bytes_total,
            in_hand: self.in_hand.clone(),
            chunks: report.chunks,
            tokens,
            tokens_per_second: self.meter.tokens_per_second(),
            seconds_left: self.meter.seconds_left(self.bytes_total),
        }
    }

    pub(super) fn report(&mut self, elapsed: Duration) -> IngestReport {
        let mut report = std::mem::take(&mut self.report);
        report.skipped.sort_by(|a, b| a.source.cmp(&b.source));
        report.seconds = elapsed.as_secs_f64();
        report
    }
}
