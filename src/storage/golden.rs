//! The golden set: answers that a person starred, and how well search found them, over time.

use rusqlite::Row;

use super::record;
use super::{StorageError, Store};
use crate::data::Source;

/// Measurements that are kept; the oldest go first.
const MEASUREMENTS_MAX: u32 = 1_000;

/// An answer that a person marked as right for a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Star {
    /// As it was typed, less white space around it.
    pub query: String,
    pub source: Source,
    /// Seconds since the Unix epoch.
    pub starred_at: i64,
}

/// How well search found the starred answers at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Seconds since the Unix epoch.
    pub at: i64,
    /// The embedding model that answered, as the store names it.
    pub model: String,
    pub passages: u64,
    pub queries: u64,
    pub stars: u64,
    /// Share of the starred answers among the first ten documents, a mean over the queries.
    pub recall_at_10: f64,
    /// One over the rank of the first starred answer, a mean over the queries.
    pub mrr_at_10: f64,
    /// Share of the ten true neighbors of each query that the vector index missed; `None` where there
    /// are no vectors.
    pub ann_gap_at_10: Option<f64>,
    /// End to end.
    pub p50_ms: f64,
    pub p95_ms: f64,
}

impl Store {
    /// Stars an answer; starring it twice is once. Whether it was new.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn star(&self, star: &Star) -> Result<bool, StorageError> {
        self.write(|transaction| {
            let added = transaction.execute(
                "INSERT INTO stars VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                (star.query.trim(), star.source.key(), star.starred_at),
            )?;
            Ok(added > 0)
        })
    }

    /// Whether there was such a star.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn unstar(&self, query: &str, source: &Source) -> Result<bool, StorageError> {
        self.write(|transaction| {
            let gone = transaction.execute(
                "DELETE FROM stars WHERE query = ?1 AND source = ?2",
                (query.trim(), source.key()),
            )?;
            Ok(gone > 0)
        })
    }

    /// Every star, in the order of queries and sources.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn stars(&self) -> Result<Vec<Star>, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT query, source, starred_at FROM stars")?
                .query_map([], |row| {
                    let (query, source) = (row.get(0)?, record::source(row, 1)?);
                    Ok(Star { query, source, starred_at: row.get(2)? })
                })?
                .collect()
        })
    }

    /// Keeps a measurement beside those before it.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn add_measurement(&self, measured: &Measurement) -> Result<(), StorageError> {
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO measurements (at, model, passages, queries, stars, recall_at_10,
                     mrr_at_10, ann_gap_at_10, p50_ms, p95_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                (
                    measured.at,
                    &measured.model,
                    measured.passages as i64,
                    measured.queries as i64,
                    measured.stars as i64,
                    measured.recall_at_10,
                    measured.mrr_at_10,
                    measured.ann_gap_at_10,
                    measured.p50_ms,
                    measured.p95_ms,
                ),
            )?;
            transaction.execute(
                "DELETE FROM measurements WHERE id <= (SELECT max(id) FROM measurements) - ?1",
                [MEASUREMENTS_MAX],
            )?;
            Ok(())
        })
    }

    /// The `limit` newest measurements, newest first.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn measurements(&self, limit: usize) -> Result<Vec<Measurement>, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT at, model, passages, queries, stars, recall_at_10, mrr_at_10,
                         ann_gap_at_10, p50_ms, p95_ms
                     FROM measurements ORDER BY id DESC LIMIT ?1",
                )?
                .query_map([limit as i64], measurement)?
                .collect()
        })
    }
}

fn measurement(row: &Row<'_>) -> rusqlite::Result<Measurement> {
    Ok(Measurement {
        at: row.get(0)?,
        model: row.get(1)?,
        passages: record::count(row, 2)?,
        queries: record::count(row, 3)?,
        stars: record::count(row, 4)?,
        recall_at_10: row.get(5)?,
        mrr_at_10: row.get(6)?,
        ann_gap_at_10: row.get(7)?,
        p50_ms: row.get(8)?,
        p95_ms: row.get(9)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn star(query: &str, path: &str) -> Star {
        Star { query: query.to_owned(), source: Source::File(path.into()), starred_at: 7 }
    }

    fn measured(at: i64) -> Measurement {
        Measurement {
            at,
            model: "m".to_owned(),
            passages: 5,
            queries: 2,
            stars: 3,
            recall_at_10: 0.5,
            mrr_at_10: 0.25,
            ann_gap_at_10: None,
            p50_ms: 1.5,
            p95_ms: 2.5,
        }
    }

    #[test]
    fn stars_are_kept_once_and_go_with_their_source() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        assert!(store.star(&star(" why rust ", "/a.md")).unwrap());
        assert!(!store.star(&star("why rust", "/a.md")).unwrap());
        assert!(store.star(&star("why rust", "/b.md")).unwrap());
        assert!(store.star(&star("how", "/b.md")).unwrap());
        let expected = [star("how", "/b.md"), star("why rust", "/a.md"), star("why rust", "/b.md")];
        assert_eq!(store.stars().unwrap(), expected);
        assert!(store.unstar("how ", &Source::File("/b.md".into())).unwrap());
        assert!(!store.unstar("how", &Source::File("/b.md".into())).unwrap());
        // Forgetting a source forgets what was asked about it.
        store.remove(&[Source::File("/b.md".into())]).unwrap();
        assert_eq!(store.stars().unwrap(), [star("why rust", "/a.md")]);
    }

    #[test]
    fn measurements_read_back_newest_first_and_the_oldest_go() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let with_gap = Measurement { ann_gap_at_10: Some(0.01), ..measured(2) };
        store.add_measurement(&measured(1)).unwrap();
        store.add_measurement(&with_gap).unwrap();
        assert_eq!(store.measurements(9).unwrap(), [with_gap.clone(), measured(1)]);
        assert_eq!(store.measurements(1).unwrap(), [with_gap]);
    }
}
