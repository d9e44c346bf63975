use std::path::PathBuf;

use lodestone::engine::Estimate;

use crate::ui::wording::{bytes, count, counted, drop_label, kind_name, time_left};

/// More than this begins only when a person has seen what it costs.
const FILES_SMALL: u64 = 300;
const BYTES_SMALL: u64 = 100 << 20;
const SECONDS_SMALL: f64 = 60.0;

/// Kinds of files that are listed by name; the rest is one line.
const KINDS_SHOWN: usize = 6;

/// Files and folders that were dropped or chosen, with what indexing them costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    pub paths: Vec<PathBuf>,
    pub label: String,
    estimate: Estimate,
}

/// One line of the table: a kind of files, how many, how large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindLine {
    pub name: String,
    pub files: String,
    pub bytes: String,
}

impl Offer {
    pub fn new(paths: Vec<PathBuf>, are_folders: &[bool], estimate: Estimate) -> Self {
        let refs: Vec<_> = paths.iter().map(PathBuf::as_path).collect();
        Self { label: drop_label(&refs, are_folders), paths, estimate }
    }

    /// Whether it is begun without asking.
    pub fn is_small(&self) -> bool {
        let survey = &self.estimate.survey;
        let is_quick = self.estimate.seconds.is_none_or(|seconds| seconds <= SECONDS_SMALL);
        survey.is_whole && survey.files <= FILES_SMALL && survey.bytes <= BYTES_SMALL && is_quick
    }

    pub fn kinds(&self) -> Vec<KindLine> {
        let kinds = &self.estimate.survey.kinds;
        let (shown, rest) = kinds.split_at(kinds.len().min(KINDS_SHOWN));
        let line = |name: String, files: u64, size: u64| KindLine {
            name,
            files: count(files),
            bytes: bytes(size),
        };
        let mut lines: Vec<_> = shown
            .iter()
            .map(|kind| line(kind_name(&kind.extension), kind.files, kind.bytes))
            .collect();
        if !rest.is_empty() {
            let (files, bytes) = rest
                .iter()
                .fold((0, 0), |(files, bytes), kind| (files + kind.files, bytes + kind.bytes));
            lines.push(line(format!("{} other kinds", rest.len()), files, bytes));
        }
        lines
    }

    /// `1,204 files, 38 MB`; more than that where there was no time to look at all of it.
    pub fn total(&self) -> String {
        let survey = &self.estimate.survey;
        let at_least = if survey.is_whole { "" } else { "More than " };
        format!("{at_least}{}, {}", counted(survey.files, "file"), bytes(survey.bytes))
    }

    /// How long it takes, what it takes on disk, and what it leaves out.
    pub fn costs(&self) -> Vec<String> {
        let Estimate { survey, seconds, disk_bytes, free_bytes } = &self.estimate;
        let time = match seconds {
            Some(seconds) => format!("{} at the speed of earlier runs", time_left(*seconds)),
            None => "How long it takes shows after the first files".to_owned(),
        };
        let disk = disk_bytes.map(|disk| match free_bytes {
            Some(free) => format!("About {} on disk, of {} free", bytes(disk), bytes(*free)),
            None => format!("About {} on disk", bytes(disk)),
        });
        let left_out = (survey.left_out > 0).then(|| {
            format!("{} not read: links, devices and files over the limit", count(survey.left_out))
        });
        let mut costs = vec![time];
        costs.extend(disk.into_iter().chain(left_out));
        costs
    }
}

#[cfg(test)]
mod tests {
    use lodestone::engine::{Survey, SurveyedKind};

    use super::*;

    fn offer(files: u64, seconds: Option<f64>, is_whole: bool) -> Offer {
        let kind = |at: u64| SurveyedKind { extension: format!("x{at}"), files: 1, bytes: 10 };
        let mut kinds: Vec<_> = (0..8).map(kind).collect();
        kinds[0] = SurveyedKind { extension: "md".to_owned(), files, bytes: 4_000 };
        let survey = Survey { files, bytes: 4_070, kinds, left_out: 2, is_whole };
        let estimate = Estimate {
            survey,
            seconds,
            disk_bytes: Some(3_000_000),
            free_bytes: Some(40_000_000_000),
        };
        Offer::new(vec!["/home/ada/Notes".into()], &[true], estimate)
    }

    #[test]
    fn what_is_much_or_long_or_unknown_is_shown_first() {
        assert!(offer(300, Some(60.0), true).is_small());
        assert!(offer(300, None, true).is_small());
        assert!(!offer(301, Some(1.0), true).is_small());
        assert!(!offer(3, Some(61.0), true).is_small());
        assert!(!offer(3, None, false).is_small());
    }

    #[test]
    fn it_says_what_there_is_and_what_it_costs() {
        let offer = offer(1_204, Some(125.0), false);
        assert_eq!(offer.label, "Index folder Notes");
        assert_eq!(offer.total(), "More than 1,204 files, 4.1 KB");
        let kinds = offer.kinds();
        assert_eq!((kinds.len(), kinds[0].name.as_str()), (7, "Markdown (.md)"));
        assert_eq!((kinds[6].name.as_str(), kinds[6].files.as_str()), ("2 other kinds", "2"));
        let costs = offer.costs().join("; ");
        for part in ["at the speed of earlier runs", "3.0 MB on disk, of 40 GB free", "2 not read"]
        {
            assert!(costs.contains(part), "{costs}");
        }
    }
}
