use lodestone::engine::{EngineEvent, JobId, JobProgress, Pace};

use crate::ui::wording::{count, counted, time_left};

/// The indexing jobs that run, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    jobs: Vec<JobView>,
    pub pace: Pace,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    pub id: JobId,
    pub label: String,
    pub progress: JobProgress,
    pub cancelling: bool,
}

impl Activity {
    pub fn apply(&mut self, event: &EngineEvent) {
        match event {
            EngineEvent::JobStarted { job, label } => self.job(*job).label.clone_from(label),
            EngineEvent::JobProgress { job, progress } => {
                self.job(*job).progress.clone_from(progress);
            }
            EngineEvent::JobFinished { job, .. } => self.jobs.retain(|view| view.id != *job),
            EngineEvent::Pace(pace) => self.pace = *pace,
            EngineEvent::Model(_) | EngineEvent::IndexChanged { .. } => {}
        }
    }

    /// The job with this id, made when its start was missed.
    fn job(&mut self, id: JobId) -> &mut JobView {
        let at = self.jobs.iter().position(|view| view.id == id).unwrap_or_else(|| {
            let (label, progress) = ("Indexing".to_owned(), JobProgress::default());
            self.jobs.push(JobView { id, label, progress, cancelling: false });
            self.jobs.len() - 1
        });
        &mut self.jobs[at]
    }

    /// Shows at once that a cancellation is on its way.
    pub fn cancelling(&mut self, id: JobId) {
        if let Some(view) = self.jobs.iter_mut().find(|view| view.id == id) {
            view.cancelling = true;
        }
    }

    /// Forgets every job: events were missed, and the ones still running will tell of themselves.
    pub fn forget(&mut self) {
        self.jobs.clear();
    }

    pub fn current(&self) -> Option<&JobView> {
        self.jobs.first()
    }

    pub fn waiting(&self) -> usize {
        self.jobs.len().saturating_sub(1)
    }
}

impl JobView {
    /// Done share of the work by bytes, 0 ..= 1; `None` while the total still grows.
    pub fn share(&self) -> Option<f64> {
        let JobProgress { scanning, files_done, files_total, bytes_done, bytes_total, .. } =
            self.progress;
        if scanning {
            return None;
        }
        let share = |done: u64, total: u64| (done as f64 / total as f64).clamp(0.0, 1.0);
        match (bytes_total, files_total) {
            (0, 0) => None,
            (0, files_total) => Some(share(files_done, files_total)),
            (bytes_total, _) => Some(share(bytes_done, bytes_total)),
        }
    }

    /// `132 of 1,204 files`, with a note while folders are still being listed.
    pub fn files(&self) -> String {
        let JobProgress { scanning, files_done, files_total, .. } = self.progress;
        if files_total == 0 {
            return if scanning { "Looking through folders" } else { "Starting" }.to_owned();
        }
        let more = if scanning { ", still counting" } else { "" };
        format!("{} of {}{more}", count(files_done), counted(files_total, "file"))
    }

    /// `3,120 tokens/s`, once something has been measured.
    pub fn speed(&self) -> Option<String> {
        let speed = self.progress.tokens_per_second;
        (speed >= 1.0).then(|| format!("{} tokens/s", count(speed.round() as u64)))
    }

    pub fn left(&self) -> Option<String> {
        if self.progress.scanning {
            return None;
        }
        self.progress.seconds_left.map(time_left)
    }

    /// The file in hand by its name.
    pub fn in_hand(&self) -> Option<String> {
        let path = self.progress.in_hand.as_ref()?;
        Some(path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use lodestone::engine::{IngestReport, JobOutcome};

    use super::*;

    fn running(progress: JobProgress) -> JobView {
        JobView { id: JobId(1), label: "Notes".to_owned(), progress, cancelling: false }
    }

    #[test]
    fn progress_is_told_in_words() {
        let job = running(JobProgress {
            files_done: 132,
            files_total: 1_204,
            bytes_done: 25,
            bytes_total: 100,
            tokens_per_second: 3_119.6,
            seconds_left: Some(125.0),
            in_hand: Some("/x/Notes/a b.md".into()),
            ..JobProgress::default()
        });
        assert_eq!(job.files(), "132 of 1,204 files");
        assert_eq!(job.speed().unwrap(), "3,120 tokens/s");
        assert_eq!(job.left().unwrap(), "about 2 min left");
        assert_eq!(job.in_hand().unwrap(), "a b.md");
        assert_eq!(job.share(), Some(0.25));
    }

    #[test]
    fn while_totals_grow_nothing_is_promised() {
        let scanning = JobProgress { scanning: true, ..JobProgress::default() };
        assert_eq!(running(JobProgress::default()).files(), "Starting");
        assert_eq!(running(scanning.clone()).files(), "Looking through folders");
        let job = running(JobProgress {
            files_total: 40,
            bytes_total: 10,
            seconds_left: Some(3.0),
            ..scanning
        });
        assert_eq!(job.files(), "0 of 40 files, still counting");
        assert_eq!((job.share(), job.left(), job.speed()), (None, None, None));
    }

    #[test]
    fn jobs_come_and_go_with_their_events() {
        let mut activity = Activity::default();
        let started = |id| EngineEvent::JobStarted { job: JobId(id), label: format!("job {id}") };
        activity.apply(&started(1));
        activity.apply(&started(2));
        assert_eq!(activity.current().unwrap().label, "job 1");
        assert_eq!(activity.waiting(), 1);
        activity.cancelling(JobId(1));
        assert!(activity.current().unwrap().cancelling);
        let outcome = JobOutcome::Cancelled(IngestReport::default());
        activity.apply(&EngineEvent::JobFinished { job: JobId(1), outcome });
        assert_eq!(activity.current().unwrap().id, JobId(2));
        let progress = JobProgress { files_done: 3, ..JobProgress::default() };
        activity.apply(&EngineEvent::JobProgress { job: JobId(9), progress });
        assert_eq!(activity.waiting(), 1, "a job whose start was missed still shows");
    }
}
