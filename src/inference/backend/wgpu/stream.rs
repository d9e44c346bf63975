//! The pipeline of submissions: what is recorded, what the device is at, and what it has finished.
//!
//! Up to [`Stream::depth`] submissions are in flight, so that the device has its next one when it
//! finishes one. Beginning one more waits for the oldest alone. One recording is open at a time, made when the first
//! command needs it.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{debug, trace};

use super::counters::Counters;
use super::device::{Block, Gpu};
use super::recording::{Recording, STAMP_BYTES, Stamps};
use super::staging::{Download, Downloads, Uploads};
use super::submission::{Completion, Submission};
use crate::inference::backend::BackendError;

/// In flight by default: one that runs, one that waits behind it, and one whose answer is on its way.
pub(in crate::inference) const DEPTH: NonZeroUsize = NonZeroUsize::new(3).unwrap();

/// Commands of one submission at most. A forward of the largest encoder has 170; more are cut, so that what
/// comes behind them is not kept waiting.
const DISPATCHES_MAX: u64 = 512;

/// Completions that are kept for whoever asks; the oldest go first.
const COMPLETIONS_MAX: usize = 256;

/// When a recording is handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::inference) enum Mode {
    /// When something has to be read, or it is long.
    #[default]
    Throughput,
    /// After each operation, which is waited for: so every one has a time of its own.
    Latency,
}

#[derive(Debug)]
pub(in crate::inference) struct Stream {
    gpu: Arc<Gpu>,
    depth: NonZeroUsize,
    mode: Mode,
    active: Option<Recording>,
    in_flight: VecDeque<InFlight>,
    completions: VecDeque<Completion>,
    begun: u64,
    counters: Counters,
    /// What the device had made before this stream began to count.
    made_before: [u64; 3],
    uploads: Uploads,
    downloads: Downloads,
    profiles: bool,
    stamps: Vec<Stamps>,
    /// Tensors that are on their way to the host.
    unread: usize,
    /// How long the host slept, by what for.
    waited: BTreeMap<&'static str, Duration>,
}

#[derive(Debug)]
struct InFlight {
    submission: Submission,
    label: &'static str,
    index: wgpu::SubmissionIndex,
    committed: Instant,
    stamps: Option<Stamps>,
}

/// A tensor on its way to the host.
#[derive(Debug)]
pub(in crate::inference) struct ReadBack {
    submission: Submission,
    download: Arc<Download>,
    bytes: usize,
}

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "an encoder waits in order, and asks for nothing else")
)]
impl ReadBack {
    pub fn submission(&self) -> &Submission {
        &self.submission
    }
}

#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "the whole contract stands here, and an encoder needs a part of it"
    )
)]
impl Stream {
    pub fn new(gpu: Arc<Gpu>, depth: NonZeroUsize) -> Self {
        let made_before = gpu.made();
        Self {
            gpu,
            depth,
            mode: Mode::default(),
            active: None,
            in_flight: VecDeque::new(),
            completions: VecDeque::new(),
            begun: 0,
            counters: Counters::default(),
            made_before,
            uploads: Uploads::default(),
            downloads: Downloads::default(),
            profiles: false,
            stamps: Vec::new(),
            unread: 0,
            waited: BTreeMap::new(),
        }
    }

    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    pub fn depth(&self) -> NonZeroUsize {
        self.depth
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// From now on every submission is timed by the clock of the device, where it has one.
    pub fn profile(&mut self, profiles: bool) {
        self.profiles = profiles && self.gpu.has_timestamps();
    }

    pub fn counters(&self) -> Counters {
        let made = self.gpu.made();
        let [buffers, bind_groups, pipelines] = [0, 1, 2].map(|at| made[at] - self.made_before[at]);
        Counters { buffers, bind_groups, pipelines, ..self.counters }
    }

    /// How long the host slept for `cause`: "room", "read" or "flush".
    pub fn waited(&self, cause: &str) -> Duration {
        self.waited.get(cause).copied().unwrap_or_default()
    }

    /// The open recording; a new one where none is.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn recording(&mut self, label: &'static str) -> Result<&mut Recording, BackendError> {
        let recording = match self.active.take() {
            Some(recording) => recording,
            None => self.begin(label)?,
        };
        Ok(self.active.insert(recording))
    }

    /// Forgets the open recording: an operation of it has failed.
    pub fn abandon(&mut self) {
        self.active = None;
    }

    /// A recording, when there is room for one more in flight.
    fn begin(&mut self, label: &'static str) -> Result<Recording, BackendError> {
        self.retire()?;
        while self.in_flight.len() >= self.depth.get() {
            self.wait_for_oldest("room")?;
        }
        let submission = Submission::new(self.begun);
        self.begun += 1;
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some(label) };
        let encoder = self.gpu.device().create_command_encoder(&descriptor);
        let stamps = if self.profiles { Some(self.take_stamps()?) } else { None };
        Ok(Recording::new(label, submission, encoder, stamps))
    }

    /// Puts `bytes` at the start of `to`, before whatever is recorded from here on.
    ///
    /// # Errors
    /// When there is no room.
    pub fn upload(
        &mut self,
        bytes: &[u8],
        to: &Block,
        label: &'static str,
    ) -> Result<(), BackendError> {
        let upload = self.uploads.write(&self.gpu, bytes)?;
        let recording = self.recording(label)?;
        recording.copy(&upload.block.buffer, &to.buffer, bytes.len() as u64);
        recording.uploads.push(upload);
        Ok(())
    }

    /// To be called after each operation. Says whether it handed the recording over: in latency mode, which also
    /// waits, and when it has become long.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn operation_ends(&mut self) -> Result<bool, BackendError> {
        let dispatches = self.active.as_ref().map_or(0, |recording| recording.dispatches);
        let ends = match self.mode {
            Mode::Throughput => dispatches >= DISPATCHES_MAX,
            Mode::Latency => dispatches > 0,
        };
        if let Some(recording) = self.active.take_if(|_| ends) {
            self.submit(recording)?;
        }
        if ends && self.mode == Mode::Latency {
            self.settle_all()?;
        }
        Ok(ends)
    }

    /// Hands the open recording over, if there is one.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn commit(&mut self) -> Result<Vec<Completion>, BackendError> {
        match self.active.take() {
            Some(recording) => self.submit(recording).map(drop)?,
            None => self.retire()?,
        }
        Ok(self.completions.drain(..).collect())
    }

    fn submit(&mut self, mut recording: Recording) -> Result<Submission, BackendError> {
        self.gpu.check()?;
        recording.end_pass();
        let Recording {
            label,
            submission,
            encoder,
            passes,
            dispatches,
            uploads,
            downloads,
            stamps,
            ..
        } = recording;
        let finished = Arc::new(submission.clone());
        // Some drivers compute while it is handed over.
        let committed = Instant::now();
        let index = self.gpu.queue().submit([encoder.finish()]);
        submission.commit();
        self.gpu.queue().on_submitted_work_done(move || finished.complete());
        for upload in uploads {
            upload.recycle();
        }
        for download in &downloads {
            download.map();
        }
        if let (Some(stamps), 1..) = (&stamps, passes) {
            stamps.download.map();
        }
        self.in_flight.push_back(InFlight {
            submission: submission.clone(),
            label,
            index,
            committed,
            stamps: stamps.filter(|_| passes > 0),
        });
        let counters = &mut self.counters;
        counters.submissions += 1;
        counters.passes += passes;
        counters.dispatches += dispatches;
        counters.in_flight_max = counters.in_flight_max.max(self.in_flight.len());
        Ok(submission)
    }

    /// What has been finished since the last time, without waiting.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn collect(&mut self) -> Result<Vec<Completion>, BackendError> {
        self.retire()?;
        Ok(self.completions.drain(..).collect())
    }

    /// Waits until `submission` is over, and for nothing behind it.
    ///
    /// # Errors
    /// When it was never handed over, or the device is gone.
    pub fn wait_for(&mut self, submission: &Submission) -> Result<Vec<Completion>, BackendError> {
        if !submission.is_committed() {
            return Err(self
                .gpu
                .failed("a submission that was not committed cannot be waited for"));
        }
        self.settle(submission)?;
        self.collect()
    }

    fn settle(&mut self, submission: &Submission) -> Result<(), BackendError> {
        while !submission.is_completed() {
            self.wait_for_oldest("read")?;
        }
        Ok(())
    }

    /// Hands over what is recorded and waits for all of it.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn flush(&mut self) -> Result<Vec<Completion>, BackendError> {
        if let Some(recording) = self.active.take() {
            self.submit(recording)?;
        }
        self.settle_all()?;
        self.collect()
    }

    fn settle_all(&mut self) -> Result<(), BackendError> {
        while !self.in_flight.is_empty() {
            self.wait_for_oldest("flush")?;
        }
        Ok(())
    }

    fn wait_for_oldest(&mut self, cause: &'static str) -> Result<(), BackendError> {
        let Some(oldest) = self.in_flight.front() else {
            return Err(self.gpu.failed("nothing is in flight"));
        };
        if !oldest.submission.is_completed() {
            let index = oldest.index.clone();
            let began = Instant::now();
            self.gpu.poll(Some(index))?;
            *self.waited.entry(cause).or_default() += began.elapsed();
            self.counters.waits += 1;
            self.counters.waits_while_recording += u64::from(self.active.is_some());
        }
        // The device says that it is finished before its callbacks have run.
        if let Some(oldest) = self.in_flight.front() {
            oldest.submission.complete();
        }
        self.retire()
    }

    /// Notes what is finished, in order.
    fn retire(&mut self) -> Result<(), BackendError> {
        self.gpu.poll(None)?;
        while let Some(oldest) = self.in_flight.pop_front_if(|f| f.submission.is_completed()) {
            let InFlight { submission, label, committed, stamps, .. } = oldest;
            let completion = Completion {
                submission,
                label,
                backend: self.gpu.backend(),
                elapsed: committed.elapsed(),
                device: stamps.as_ref().and_then(|stamps| self.device_time(stamps)),
            };
            self.stamps.extend(stamps);
            let number = completion.submission.number();
            trace!(number, label = completion.label, backend = completion.backend, elapsed = ?completion.elapsed, device = ?completion.device, "submission finished");
            if self.completions.len() == COMPLETIONS_MAX {
                self.completions.pop_front();
            }
            self.completions.push_back(completion);
        }
        Ok(())
    }

    /// Brings the first `bytes` of a buffer to the host, as they are when `defined` is over. Hands the
    /// open recording over where that is what defines them, and leaves it open otherwise.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn read_async(
        &mut self,
        from: &Block,
        bytes: usize,
        defined: &Submission,
    ) -> Result<ReadBack, BackendError> {
        let download = Arc::new(self.downloads.take(&self.gpu, bytes as u64)?);
        let of_active = self.active.as_ref().is_some_and(|active| active.submission == *defined);
        let mut recording = match self.active.take_if(|_| of_active) {
            Some(recording) => recording,
            None if defined.is_committed() => self.begin("read")?,
            None => return Err(self.gpu.failed("what was to be read was never computed")),
        };
        if let Some(to) = download.buffer() {
            recording.copy(&from.buffer, to, bytes as u64);
        }
        recording.downloads.push(Arc::clone(&download));
        let submission = self.submit(recording)?;
        self.unread += 1;
        self.counters.unread_max = self.counters.unread_max.max(self.unread);
        Ok(ReadBack { submission, download, bytes })
    }

    /// Waits for a tensor and hands its bytes to `read`.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn finish<T>(
        &mut self,
        read_back: ReadBack,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, BackendError> {
        self.unread = self.unread.saturating_sub(1);
        self.settle(&read_back.submission)?;
        // Another stream of this device may be telling its callers what is over, and not have come to
        // this one.
        while read_back.download.is_pending() {
            self.gpu.poll(None)?;
            std::thread::yield_now();
        }
        self.counters.host_reads += 1;
        let ReadBack { download, bytes, .. } = read_back;
        download.read(&self.gpu, bytes, read)
    }

    fn take_stamps(&mut self) -> Result<Stamps, BackendError> {
        let download = self.downloads.take(&self.gpu, STAMP_BYTES)?;
        if let Some(stamps) = self.stamps.pop() {
            return Ok(Stamps { download, ..stamps });
        }
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let resolved = self.gpu.buffer("timestamps", STAMP_BYTES, usage, false)?;
        let queries = self.gpu.device().create_query_set(&wgpu::QuerySetDescriptor {
            label: None,
            ty: wgpu::QueryType::Timestamp,
            count: 2,
        });
        Ok(Stamps { queries, resolved, download })
    }

    fn device_time(&self, stamps: &Stamps) -> Option<Duration> {
        let ticks = |bytes: &[u8]| {
            let (ends, _) = bytes.as_chunks::<8>();
            let [began, ended] =
                [0, 1].map(|at| ends.get(at).copied().map_or(0, u64::from_le_bytes));
            ended.saturating_sub(began)
        };
        let ticks = stamps.download.read(&self.gpu, STAMP_BYTES as usize, ticks).ok()?;
        let nanoseconds = ticks as f64 * f64::from(self.gpu.queue().get_timestamp_period());
        Some(Duration::from_nanos(nanoseconds as u64))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        debug!(counters = ?self.counters(), waited = ?self.waited, "a stream of submissions ends");
    }
}
