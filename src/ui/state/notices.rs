use std::time::Duration;

use lodestone::data::Source;
use lodestone::engine::{CrawlEnd, CrawlReport, EngineEvent, IngestReport, JobOutcome, SiteId};

use crate::ui::wording::{bytes, count, counted};

/// Short messages over the window's edge, newest last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notices {
    next: u64,
    shown: Vec<Notice>,
    /// Whether the pointer or the keys are on them: none goes while somebody reads it.
    pub held: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub id: u64,
    pub tone: NoticeTone,
    pub text: String,
    pub action: Option<NoticeAction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeTone {
    Quiet,
    Warning,
}

/// What the link in a notice does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeAction {
    ShowSkipped,
    Undo(Undo),
    /// The pages of a site that could not be had.
    ShowFailed(SiteId),
    /// Takes back what is about to be removed.
    UndoRemoval(u64),
}

/// How to take back what was just done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// A star was taken away.
    Star { query: String, source: Source },
    /// What is left out of folders was other than this.
    Exclusions(Vec<String>),
}

/// How long there is to read a notice, and to take back what it tells of.
const READ_WITHIN: Duration = Duration::from_secs(6);
const UNDO_WITHIN: Duration = Duration::from_secs(10);

impl Notice {
    /// How long it stays while nobody is on it; `None` for one that has to be read or acted on.
    pub fn stays(&self) -> Option<Duration> {
        match (self.tone, &self.action) {
            (NoticeTone::Quiet, None) => Some(READ_WITHIN),
            (_, Some(NoticeAction::Undo(_) | NoticeAction::UndoRemoval(_))) => Some(UNDO_WITHIN),
            _ => None,
        }
    }
}

/// Notices kept at once; an older one gives way.
const SHOWN_MAX: usize = 3;

impl Notices {
    /// Shows a notice and gives it back with its id.
    pub fn add(&mut self, tone: NoticeTone, text: String, action: Option<NoticeAction>) -> Notice {
        let notice = Notice { id: self.next, tone, text, action };
        self.next += 1;
        self.shown.push(notice.clone());
        if self.shown.len() > SHOWN_MAX {
            self.shown.remove(0);
        }
        notice
    }

    /// The summary of a job that ended, with the site if it was a crawl; other events say nothing here.
    pub fn apply(&mut self, event: &EngineEvent, site: Option<SiteId>) -> Option<Notice> {
        let EngineEvent::JobFinished { outcome, .. } = event else { return None };
        let (tone, text, skipped) = match outcome {
            // Somebody saved a file; that it is searchable is nothing to be told.
            JobOutcome::Updated(_) => return None,
            JobOutcome::Done(report) => (NoticeTone::Quiet, done(report), report.skipped.len()),
            JobOutcome::Cancelled(report) => {
                let kept = counted(report.indexed, "file");
                let text = format!("Cancelled. {kept} indexed before that, and kept.");
                (NoticeTone::Quiet, text, report.skipped.len())
            }
            JobOutcome::Switched { model, report } => {
                let text = format!("Searches use {model} now.");
                (NoticeTone::Quiet, text, report.skipped.len())
            }
            JobOutcome::SwitchPaused { model } => {
                let text = format!("The switch to {model} goes on at the next start.");
                (NoticeTone::Quiet, text, 0)
            }
            JobOutcome::Crawled(report) => {
                let failed = site.filter(|_| !report.failed.is_empty());
                let action = failed.map(NoticeAction::ShowFailed);
                return Some(self.add(NoticeTone::Quiet, crawled(report), action));
            }
            JobOutcome::Exported { bytes: written, .. } => {
                (NoticeTone::Quiet, format!("The index was exported, {}.", bytes(*written)), 0)
            }
            JobOutcome::Imported { documents } => {
                let text = format!("Imported {}.", counted(*documents, "document"));
                (NoticeTone::Quiet, text, 0)
            }
            JobOutcome::Cleared => (NoticeTone::Quiet, "The index is empty now.".to_owned(), 0),
            JobOutcome::Failed { reason } => (NoticeTone::Warning, format!("Stopped: {reason}"), 0),
        };
        Some(self.add(tone, text, (skipped > 0).then_some(NoticeAction::ShowSkipped)))
    }

    pub fn dismiss(&mut self, id: u64) {
        self.shown.retain(|notice| notice.id != id);
        // What was under the pointer may have gone without the pointer leaving it.
        self.held &= !self.shown.is_empty();
    }

    pub fn shown(&self) -> &[Notice] {
        &self.shown
    }
}

/// `Crawled 34 pages, 3 unchanged, 2 failed.`
fn crawled(report: &CrawlReport) -> String {
    let began = match &report.end {
        CrawlEnd::Done => format!("Crawled {}", counted(report.pages, "page")),
        CrawlEnd::Later { reason, .. } => format!("The crawl goes on later: {reason}"),
        CrawlEnd::Removed => "The site was removed".to_owned(),
        CrawlEnd::Paused | CrawlEnd::Interrupted | CrawlEnd::Outdated => {
            format!("Crawl paused after {}", counted(report.pages, "page"))
        }
    };
    let also = |number: u64, what: &str| (number > 0).then(|| format!("{} {what}", count(number)));
    let unchanged = also(report.unchanged, "unchanged");
    let failed = also(report.failed.len() as u64, "failed");
    let parts: Vec<String> = std::iter::once(began).chain(unchanged).chain(failed).collect();
    format!("{}.", parts.join(", "))
}

/// `Indexed 34 files, 3 unchanged, 2 not indexed.`
fn done(report: &IngestReport) -> String {
    let mut parts = Vec::new();
    if report.indexed > 0 {
        parts.push(format!("Indexed {}", counted(report.indexed, "file")));
    }
    let mut also = |number: u64, what: &str| {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    };
    also(report.unchanged, "unchanged");
    also(report.removed, "gone");
    also(report.skipped.len() as u64, "not indexed");
    if parts.is_empty() {
        return "Nothing to index there.".to_owned();
    }
    format!("{}.", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use lodestone::engine::{JobId, PageTrouble, Skipped};

    use super::*;

    fn ended(outcome: JobOutcome) -> Notice {
        let event = EngineEvent::JobFinished { job: JobId(1), outcome };
        Notices::default().apply(&event, None).unwrap()
    }

    #[test]
    fn a_summary_counts_and_links_to_reasons() {
        let skipped =
            vec![Skipped { source: "/a.bin".into(), reason: "binary".into(), attempts: 0 }];
        let report = IngestReport { indexed: 34, unchanged: 3, skipped, ..IngestReport::default() };
        let notice = ended(JobOutcome::Done(report));
        assert_eq!(notice.text, "Indexed 34 files, 3 unchanged, 1 not indexed.");
        assert_eq!(notice.action, Some(NoticeAction::ShowSkipped));
        assert_eq!(notice.stays(), None);
    }

    #[test]
    fn what_can_be_taken_back_stays_longer_and_nobody_is_hurried() {
        let mut notices = Notices::default();
        let undo = NoticeAction::Undo(Undo::Exclusions(Vec::new()));
        let told = notices.add(NoticeTone::Quiet, "a.md was removed.".into(), Some(undo));
        assert_eq!(told.stays(), Some(UNDO_WITHIN));
        notices.held = true;
        notices.dismiss(told.id);
        assert!(!notices.held, "the pointer is on nothing any more");
    }

    #[test]
    fn nothing_found_and_failure_are_told() {
        let nothing = ended(JobOutcome::Done(IngestReport::default()));
        assert_eq!(nothing.text, "Nothing to index there.");
        assert_eq!(nothing.stays(), Some(READ_WITHIN));
        let failed = ended(JobOutcome::Failed { reason: "disk full".into() });
        assert_eq!(failed.text, "Stopped: disk full");
        assert_eq!(failed.stays(), None);
    }

    #[test]
    fn a_crawl_with_failed_pages_links_to_them() {
        let trouble = PageTrouble { url: "https://a.test/x".into(), reason: "HTTP 500".into() };
        let mut report = CrawlReport {
            pages: 34,
            unchanged: 3,
            copies: 0,
            failed: vec![trouble],
            skipped: Vec::new(),
            beyond: 0,
            end: CrawlEnd::Done,
            seconds: 1.0,
        };
        let notice = |report: &CrawlReport| {
            let outcome = JobOutcome::Crawled(report.clone());
            let event = EngineEvent::JobFinished { job: JobId(1), outcome };
            Notices::default().apply(&event, Some(SiteId::from_stored(4))).unwrap()
        };
        let failed = notice(&report);
        assert_eq!(failed.text, "Crawled 34 pages, 3 unchanged, 1 failed.");
        assert_eq!(failed.action, Some(NoticeAction::ShowFailed(SiteId::from_stored(4))));
        report.failed.clear();
        assert_eq!(notice(&report).stays(), Some(READ_WITHIN));
    }

    #[test]
    fn notices_can_be_dismissed_and_stay_few() {
        let mut notices = Notices::default();
        for at in 0..5 {
            notices.add(NoticeTone::Quiet, format!("{at}"), None);
        }
        assert_eq!(notices.shown().len(), SHOWN_MAX);
        notices.dismiss(4);
        assert_eq!(notices.shown().last().unwrap().text, "3");
    }
}
