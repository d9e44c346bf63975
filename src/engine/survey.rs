//! What indexing would cost, before it begins.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::{Engine, EngineError};
use crate::ingest;
pub use crate::ingest::{Survey, SurveyedKind};
use crate::platform;
use crate::storage::{EndedJob, JobEnd, Store};

/// Jobs whose speed is looked at.
const JOBS: usize = 50;

/// A job of fewer tokens says more about its start than about its speed.
const TOKENS_MIN: u64 = 20_000;

/// Bytes of a kind in the index from which on its share of text is trusted.
const EVIDENCE_BYTES: u64 = 100_000;

/// What is taken for a kind of file that the index has none of: English prose has a token every four bytes,
/// and no file has more text than that.
const TOKENS_A_BYTE: f64 = 0.25;

/// Files and folders, and what indexing them would cost here.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    pub survey: Survey,
    /// At the speed of earlier jobs; `None` while there was none.
    pub seconds: Option<f64>,
    /// That the index would take, by what it takes now; `None` while it is empty.
    pub disk_bytes: Option<u64>,
    /// Free on the disk of the index; `None` where the system does not say.
    pub free_bytes: Option<u64>,
}

impl Engine {
    /// Looks through files and folders for `time_max` at most, and says what indexing them would cost.
    ///
    /// # Errors
    /// When the store or the settings cannot be read.
    pub async fn estimate(
        &self,
        paths: Vec<PathBuf>,
        time_max: Duration,
    ) -> Result<Estimate, EngineError> {
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            let paths = paths.iter().map(|path| platform::resolve(path)).collect();
            let survey = ingest::survey(paths, &inner.limits()?, time_max);
            let tokens = tokens(&survey, &inner.store.text_shares()?);
            let speed = speed(&inner.store)?;
            let counts = inner.store.counts()?;
            let data_dir = &inner.config.data_dir;
            let bytes_a_token = (counts.tokens >= TOKENS_MIN)
                .then(|| platform::directory_bytes(data_dir) as f64 / counts.tokens as f64);
            Ok(Estimate {
                seconds: speed.map(|speed| tokens / speed),
                disk_bytes: bytes_a_token.map(|bytes| (bytes * tokens) as u64),
                free_bytes: platform::free_bytes(data_dir).ok(),
                survey,
            })
        })
        .await
    }
}

/// Tokens that the files will have, by how much text files of their kinds had: bytes and tokens.
fn tokens(survey: &Survey, shares: &HashMap<String, (u64, u64)>) -> f64 {
    let of_kind = |kind: &SurveyedKind| {
        let share = match shares.get(&kind.extension) {
            Some((bytes, tokens)) if *bytes >= EVIDENCE_BYTES => *tokens as f64 / *bytes as f64,
            _ => TOKENS_A_BYTE,
        };
        kind.bytes as f64 * share
    };
    survey.kinds.iter().map(of_kind).sum()
}

/// Tokens a second, the median of the last jobs that had enough of them.
fn speed(store: &Store) -> Result<Option<f64>, EngineError> {
    let mut speeds: Vec<f64> = store.ended_jobs(JOBS)?.iter().filter_map(speed_of).collect();
    speeds.sort_by(f64::total_cmp);
    Ok(speeds.get(speeds.len() / 2).copied())
}

fn speed_of(job: &EndedJob) -> Option<f64> {
    let seconds = job.ended_at.saturating_sub(job.started_at);
    let counts = job.end == JobEnd::Done && job.tokens >= TOKENS_MIN && seconds > 0;
    counts.then(|| job.tokens as f64 / seconds as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_known_counts_as_it_did_and_others_as_prose() {
        let kind = |extension: &str, bytes| SurveyedKind {
            extension: extension.to_owned(),
            files: 1,
            bytes,
        };
        let kinds = vec![kind("pdf", 1_000_000), kind("md", 4_000), kind("xyz", 400)];
        let survey = Survey { kinds, ..Survey::default() };
        let shares = HashMap::from([
            ("pdf".to_owned(), (10_000_000, 100_000)),
            // Of too little to go by.
            ("md".to_owned(), (1_000, 1)),
        ]);
        assert!((tokens(&survey, &shares) - (10_000.0 + 1_000.0 + 100.0)).abs() < 1e-6);
    }

    #[test]
    fn the_speed_is_that_of_jobs_that_had_something_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(speed(&store).unwrap(), None);
        for (tokens, seconds, end) in [
            (30_000, 10, JobEnd::Done),
            (100_000, 10, JobEnd::Done),
            (500_000, 10, JobEnd::Done),
            (10, 100, JobEnd::Done),
            (50_000, 1, JobEnd::Cancelled),
        ] {
            let job = EndedJob {
                label: "Indexing Notes".to_owned(),
                started_at: 1_000,
                ended_at: 1_000 + seconds,
                end,
                documents: 1,
                passages: 1,
                tokens,
                trouble: 0,
                reason: None,
            };
            store.add_ended_job(&job).unwrap();
        }
        assert_eq!(speed(&store).unwrap(), Some(10_000.0));
    }
}
