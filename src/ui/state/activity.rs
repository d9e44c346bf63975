use lodestone::engine::{CrawlFigures, EngineEvent, JobId, JobProgress, Pace, SiteId};

use crate::ui::wording::{bytes, count, counted, pages_per_second, site_name, time_left};

/// The jobs that run, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    jobs: Vec<JobView>,
    pub pace: Pace,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    pub id: JobId,
    pub label: String,
    pub work: Work,
    pub cancelling: bool,
}

/// What a job does, and how far it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    Files(JobProgress),
    Pages { site: SiteId, figures: CrawlFigures },
}

impl Activity {
    pub fn apply(&mut self, event: &EngineEvent) {
        match event {
            EngineEvent::JobStarted { job, label } => self.job(*job).label.clone_from(label),
            EngineEvent::JobProgress { job, progress } => {
                self.job(*job).work = Work::Files(progress.clone());
            }
            EngineEvent::CrawlProgress { job, site, figures } => {
                self.job(*job).work = Work::Pages { site: *site, figures: figures.clone() };
            }
            EngineEvent::JobFinished { job, .. } => self.jobs.retain(|view| view.id != *job),
            EngineEvent::Pace(pace) => self.pace = *pace,
            EngineEvent::Model(_)
            | EngineEvent::SitesChanged
            | EngineEvent::IndexChanged { .. } => {}
        }
    }

    /// The job with this id, made when its start was missed.
    fn job(&mut self, id: JobId) -> &mut JobView {
        let at = self.jobs.iter().position(|view| view.id == id).unwrap_or_else(|| {
            let (label, work) = ("Indexing".to_owned(), Work::Files(JobProgress::default()));
            self.jobs.push(JobView { id, label, work, cancelling: false });
            self.jobs.len() - 1
        });
        &mut self.jobs[at]
    }

    /// The site that a job crawls.
    pub fn site(&self, id: JobId) -> Option<SiteId> {
        match self.jobs.iter().find(|view| view.id == id)?.work {
            Work::Pages { site, .. } => Some(site),
            Work::Files(_) => None,
        }
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

    /// Oldest first.
    pub fn jobs(&self) -> &[JobView] {
        &self.jobs
    }

    pub fn current(&self) -> Option<&JobView> {
        self.jobs.first()
    }

    pub fn waiting(&self) -> usize {
        self.jobs.len().saturating_sub(1)
    }
}

impl JobView {
    /// Whether it reads a web site.
    pub fn is_crawl(&self) -> bool {
        matches!(self.work, Work::Pages { .. })
    }

    /// Done share of the work, by bytes for files, 0 ..= 1; `None` while the total still grows.
    pub fn share(&self) -> Option<f64> {
        let share = |done: u64, total: u64| (done as f64 / total as f64).clamp(0.0, 1.0);
        let progress = match &self.work {
            Work::Files(progress) => progress,
            // Most links are found by the first pages, which say nothing of how many there will be.
            Work::Pages { figures, .. } => {
                let known = figures.done + figures.queued;
                return (figures.done >= FIRST_PAGES).then(|| share(figures.done, known));
            }
        };
        match (progress.scanning, progress.bytes_total, progress.files_total) {
            (true, ..) | (_, 0, 0) => None,
            (_, 0, files_total) => Some(share(progress.files_done, files_total)),
            (_, bytes_total, _) => Some(share(progress.bytes_done, bytes_total)),
        }
    }

    /// `132 of 1,204 files`, with a note while folders are still being listed; `34 pages done, 86 to
    /// go`.
    pub fn amount(&self) -> String {
        let JobProgress { scanning, files_done, files_total, .. } = match &self.work {
            Work::Files(progress) => progress,
            Work::Pages { figures, .. } if figures.done + figures.queued == 0 => {
                return "Starting".to_owned();
            }
            Work::Pages { figures, .. } => {
                let done = counted(figures.done, "page");
                return format!("{done} done, {} to go", count(figures.queued));
            }
        };
        // A transfer of the whole index has bytes alone.
        if let (0, Work::Files(JobProgress { bytes_done, bytes_total: 1.., .. })) =
            (*files_total, &self.work)
        {
            return format!("{} done", bytes(*bytes_done));
        }
        if *files_total == 0 {
            return if *scanning { "Looking through folders" } else { "Starting" }.to_owned();
        }
        let more = if *scanning { ", still counting" } else { "" };
        format!("{} of {}{more}", count(*files_done), counted(*files_total, "file"))
    }

    /// `3,120 tokens/s` or `12 pages/s`, once something has been measured.
    pub fn speed(&self) -> Option<String> {
        match &self.work {
            Work::Files(progress) => {
                let speed = progress.tokens_per_second;
                (speed >= 1.0).then(|| format!("{} tokens/s", count(speed.round() as u64)))
            }
            Work::Pages { figures, .. } => pages_per_second(figures.pages_per_second),
        }
    }

    /// What else there is to say of a crawl: pages that failed, and how much was sent.
    pub fn facts(&self) -> Vec<String> {
        let Work::Pages { figures, .. } = &self.work else { return Vec::new() };
        let failed = (figures.failed > 0).then(|| format!("{} failed", count(figures.failed)));
        let sent = (figures.bytes > 0).then(|| bytes(figures.bytes));
        failed.into_iter().chain(sent).collect()
    }

    /// How many pages there will be is not known, so nothing is promised for a crawl.
    pub fn left(&self) -> Option<String> {
        match &self.work {
            Work::Files(progress) if !progress.scanning => progress.seconds_left.map(time_left),
            Work::Files(_) | Work::Pages { .. } => None,
        }
    }

    /// The file in hand by its name, or the page by its address.
    pub fn in_hand(&self) -> Option<String> {
        match &self.work {
            Work::Files(progress) => {
                let path = progress.in_hand.as_ref()?;
                let name = path.file_name().unwrap_or(path.as_os_str());
                Some(name.to_string_lossy().into_owned())
            }
            Work::Pages { figures, .. } => figures.in_hand.as_ref().map(site_name),
        }
    }
}

/// Pages after which the share of what is done means something.
const FIRST_PAGES: u64 = 10;

#[cfg(test)]
mod tests {
    use lodestone::engine::{IngestReport, JobOutcome};

    use super::*;

    fn running(progress: JobProgress) -> JobView {
        let (label, work) = ("Notes".to_owned(), Work::Files(progress));
        JobView { id: JobId(1), label, work, cancelling: false }
    }

    fn crawling(figures: CrawlFigures) -> JobView {
        let work = Work::Pages { site: SiteId::from_stored(1), figures };
        JobView { work, ..running(JobProgress::default()) }
    }

    #[test]
    fn a_crawl_counts_pages_and_promises_no_time() {
        let starting = crawling(CrawlFigures::default());
        assert_eq!((starting.amount().as_str(), starting.share()), ("Starting", None));
        let few = crawling(CrawlFigures { done: 1, queued: 1, ..CrawlFigures::default() });
        assert_eq!((few.amount().as_str(), few.share()), ("1 page done, 1 to go", None));
        let job = crawling(CrawlFigures {
            done: 300,
            queued: 900,
            failed: 2,
            bytes: 4_210_000,
            pages_per_second: 11.8,
            in_hand: Some("https://docs.rs/tokio/fs.html".parse().unwrap()),
            ..CrawlFigures::default()
        });
        assert_eq!(job.amount(), "300 pages done, 900 to go");
        assert_eq!((job.share(), job.left()), (Some(0.25), None));
        assert_eq!(job.speed().unwrap(), "12 pages/s");
        assert_eq!(job.facts(), ["2 failed", "4.2 MB"]);
        assert_eq!(job.in_hand().unwrap(), "docs.rs/tokio/fs.html");
        assert!(job.is_crawl() && !running(JobProgress::default()).is_crawl());
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
        assert_eq!(job.amount(), "132 of 1,204 files");
        assert_eq!(job.speed().unwrap(), "3,120 tokens/s");
        assert_eq!(job.left().unwrap(), "about 2 min left");
        assert_eq!(job.in_hand().unwrap(), "a b.md");
        assert_eq!(job.share(), Some(0.25));
    }

    #[test]
    fn while_totals_grow_nothing_is_promised() {
        let scanning = JobProgress { scanning: true, ..JobProgress::default() };
        assert_eq!(running(JobProgress::default()).amount(), "Starting");
        assert_eq!(running(scanning.clone()).amount(), "Looking through folders");
        let job = running(JobProgress {
            files_total: 40,
            bytes_total: 10,
            seconds_left: Some(3.0),
            ..scanning
        });
        assert_eq!(job.amount(), "0 of 40 files, still counting");
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
        let (site, figures) = (SiteId::from_stored(3), CrawlFigures::default());
        activity.apply(&EngineEvent::CrawlProgress { job: JobId(9), site, figures });
        assert_eq!(activity.site(JobId(9)), Some(site));
        assert_eq!(activity.site(JobId(2)), None);
    }
}
