//! Jobs that have ended, so that a person can look back at them after a restart.

use rusqlite::Row;
use serde::Serialize;

use super::record;
use super::{StorageError, Store};

/// Jobs that are kept; the oldest go first.
const JOBS_MAX: u32 = 500;

/// A job that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndedJob {
    /// What it was, in words: "Indexing Notes".
    pub label: String,
    /// Seconds since the Unix epoch.
    pub started_at: i64,
    pub ended_at: i64,
    pub end: JobEnd,
    /// New or changed.
    pub documents: u64,
    pub passages: u64,
    pub tokens: u64,
    /// Sources that could not be had.
    pub trouble: u64,
    /// Why it failed, or goes on later.
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnd {
    Done,
    Cancelled,
    /// It goes on later.
    Paused,
    Failed,
}

impl JobEnd {
    const ALL: [Self; 4] = [Self::Done, Self::Cancelled, Self::Paused, Self::Failed];

    fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Paused => "paused",
            Self::Failed => "failed",
        }
    }
}

impl Store {
    /// Keeps a job beside those before it.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn add_ended_job(&self, job: &EndedJob) -> Result<(), StorageError> {
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO jobs (label, started_at, ended_at, outcome, documents, passages, tokens,
                     trouble, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                (
                    &job.label,
                    job.started_at,
                    job.ended_at,
                    job.end.name(),
                    job.documents as i64,
                    job.passages as i64,
                    job.tokens as i64,
                    job.trouble as i64,
                    &job.reason,
                ),
            )?;
            transaction
                .execute("DELETE FROM jobs WHERE id <= (SELECT max(id) FROM jobs) - ?1", [
                    JOBS_MAX,
                ])?;
            Ok(())
        })
    }

    /// The `limit` newest jobs that have ended, newest first.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn ended_jobs(&self, limit: usize) -> Result<Vec<EndedJob>, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT label, started_at, ended_at, outcome, documents, passages, tokens,
                         trouble, reason
                     FROM jobs ORDER BY id DESC LIMIT ?1",
                )?
                .query_map([limit as i64], ended_job)?
                .collect()
        })
    }

    /// Forgets every job that has ended, or those whose label ends with this name.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn forget_ended_jobs(&self, named: Option<&str>) -> Result<u64, StorageError> {
        self.write(|transaction| {
            let gone = match named {
                None => transaction.execute("DELETE FROM jobs", [])?,
                Some(name) => transaction
                    .execute("DELETE FROM jobs WHERE substr(label, -length(?1)) = ?1", [name])?,
            };
            Ok(gone as u64)
        })
    }
}

fn ended_job(row: &Row<'_>) -> rusqlite::Result<EndedJob> {
    let name: String = row.get(3)?;
    // A name that this version does not know cannot be in a file that it opens.
    let end = JobEnd::ALL.into_iter().find(|end| end.name() == name).unwrap_or(JobEnd::Failed);
    Ok(EndedJob {
        label: row.get(0)?,
        started_at: row.get(1)?,
        ended_at: row.get(2)?,
        end,
        documents: record::count(row, 4)?,
        passages: record::count(row, 5)?,
        tokens: record::count(row, 6)?,
        trouble: record::count(row, 7)?,
        reason: row.get(8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(label: &str, end: JobEnd) -> EndedJob {
        EndedJob {
            label: label.to_owned(),
            started_at: 10,
            ended_at: 25,
            end,
            documents: 3,
            passages: 40,
            tokens: 5_000,
            trouble: 1,
            reason: (end == JobEnd::Failed).then(|| "disk full".to_owned()),
        }
    }

    #[test]
    fn jobs_read_back_newest_first_also_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let jobs: Vec<_> = JobEnd::ALL.iter().map(|end| job("Indexing Notes", *end)).collect();
        let store = Store::open(dir.path()).unwrap();
        for job in &jobs {
            store.add_ended_job(job).unwrap();
        }
        drop(store);
        let mut expected = jobs;
        expected.reverse();
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(store.ended_jobs(9).unwrap(), expected);
        assert_eq!(store.ended_jobs(1).unwrap(), expected[..1]);
    }

    #[test]
    fn the_oldest_jobs_go() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        for at in 0..JOBS_MAX + 3 {
            store.add_ended_job(&job(&at.to_string(), JobEnd::Done)).unwrap();
        }
        let kept = store.ended_jobs(usize::MAX >> 1).unwrap();
        assert_eq!((kept.len(), kept.last().unwrap().label.as_str()), (JOBS_MAX as usize, "3"));
    }

    #[test]
    fn jobs_of_a_name_are_forgotten_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        for label in ["Indexing Notes", "Looking through Notes", "Indexing Letters"] {
            store.add_ended_job(&job(label, JobEnd::Done)).unwrap();
        }
        assert_eq!(store.forget_ended_jobs(Some("Notes")).unwrap(), 2);
        assert_eq!(store.ended_jobs(9).unwrap()[0].label, "Indexing Letters");
        assert_eq!(store.forget_ended_jobs(None).unwrap(), 1);
    }
}
