//! What is still to be indexed. It outlives the process: whoever starts next goes on with it.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};

use super::removal::Wanted;
use super::{SkippedSource, StorageError, Store, ledger, record};
use crate::data::{DocumentId, Source};

/// A file that was in hand so often when the process ended may be what ended it.
pub const SUSPECT_ATTEMPTS: u32 = 3;

/// Names an indexing job in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey(pub(super) i64);

/// An indexing job that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRun {
    pub key: RunKey,
    pub paths: Vec<PathBuf>,
    /// Only these places below them.
    pub only: Option<BTreeSet<PathBuf>>,
}

/// Says that this process is at work on a run. It goes with the handle, also when the process is killed.
#[derive(Debug)]
pub struct RunLease {
    _file: File,
}

impl RunLease {
    fn of(file: File) -> io::Result<Self> {
        file.try_lock()?;
        Ok(Self { _file: file })
    }
}

/// A file on the queue, as it looked when it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedFile {
    pub source: Source,
    pub bytes: u64,
    /// Seconds since the Unix epoch.
    pub modified: Option<i64>,
    /// Nanoseconds since the Unix epoch; `None` where the file may change without its changing.
    pub stamp: Option<i64>,
    /// Smaller is sooner.
    pub place: i64,
    /// How often it was begun.
    pub attempts: u32,
    /// Of a file that was taken: another when it was queued once more because it looked otherwise.
    pub generation: i64,
}

/// How a source looked when it was last read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceStamp {
    pub source: Source,
    /// Seconds since the Unix epoch.
    pub modified: Option<i64>,
    /// As [`QueuedFile::stamp`].
    pub stamp: Option<i64>,
    /// The generation of the readers; a new one may read what this one could not, or more of it.
    pub readers: i64,
    /// As [`QueuedFile::generation`]: what was read of an earlier one may be out of date.
    pub generation: i64,
    /// Whether what is stored of it is what it holds now.
    pub is_current: bool,
}

/// What [`Store::enqueue`] did not queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It looks as it did when it was indexed.
    Unchanged { bytes: u64 },
    /// It looks as it did when it could not be indexed.
    Skipped { source: Source, reason: String, bytes: u64 },
    /// A person removed it.
    Removed { bytes: u64 },
}

/// Sources on the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct QueueCounts {
    pub queued: u64,
    pub extracting: u64,
    pub embedded: u64,
    /// Of them, those that nothing was known of before, and pages of sites that are not searchable.
    #[serde(skip)]
    pub new: u64,
}

impl Store {
    /// Begins a run, and says that this process is at work on it.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn begin_run(
        &self,
        paths: &[PathBuf],
        only: Option<&BTreeSet<PathBuf>>,
        added_at: i64,
    ) -> Result<(RunKey, RunLease), StorageError> {
        let sources = |path: &PathBuf| Source::File(path.clone());
        let keys: Vec<_> = paths.iter().map(sources).collect();
        let only = only.map(|only| only.iter().map(sources).collect::<Vec<_>>());
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO runs (paths, only, added_at) VALUES (?1, ?2, ?3)",
                (
                    record::to_json(&keys)?,
                    only.map(|only| record::to_json(&only)).transpose()?,
                    added_at,
                ),
            )?;
            let key = RunKey(transaction.last_insert_rowid());
            // Before anybody else can know of it.
            let lease = self.run_file(key).and_then(RunLease::of);
            let failed = |error| rusqlite::Error::ToSqlConversionFailure(Box::new(error));
            Ok((key, lease.map_err(failed)?))
        })
    }

    /// Every run that has not ended, oldest first.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn runs(&self) -> Result<Vec<StoredRun>, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT id, paths, only FROM runs ORDER BY id")?
                .query_map([], |row| {
                    let paths: Vec<Source> = record::from_json(row, 1)?;
                    let only: Option<Vec<Source>> = record::from_optional_json(row, 2)?;
                    let path = |source: Source| source.path().map(PathBuf::from);
                    Ok(StoredRun {
                        key: RunKey(row.get(0)?),
                        paths: paths.into_iter().filter_map(path).collect(),
                        only: only.map(|only| only.into_iter().filter_map(path).collect()),
                    })
                })?
                .collect()
        })
    }

    /// How many runs have not ended.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn run_count(&self) -> Result<u64, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT count(*) FROM runs")?
                .query_row([], |row| record::count(row, 0))
        })
    }

    /// Takes over a run that no process is at work on; what was in hand is queued again, behind the
    /// rest. `None` while somebody has it, and when it has ended.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn adopt_run(&self, run: RunKey) -> Result<Option<RunLease>, StorageError> {
        let directory = |source| StorageError::Directory { path: self.run_path(run), source };
        let file = self.run_file(run).map_err(directory)?;
        let lease = match RunLease::of(file) {
            Ok(lease) => lease,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(directory(error)),
        };
        let adopted = self.write(|transaction| {
            if !is_open(transaction, run)? {
                return Ok(None);
            }
            // Whatever ended the process comes after everything that did not.
            transaction.execute(
                "UPDATE queue SET state = 'queued', place = place + attempts * 1000
                 WHERE run = ?1 AND state <> 'queued'",
                [run.0],
            )?;
            Ok(Some(lease))
        })?;
        if adopted.is_none() {
            // It ended after it was listed, and its file came back by asking for it.
            let _ = fs::remove_file(self.run_path(run));
        }
        Ok(adopted)
    }

    /// Queues what is in hand once more: the process ends in order.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn put_back(&self, run: RunKey) -> Result<(), StorageError> {
        self.write(|transaction| {
            transaction.execute(
                "UPDATE queue SET state = 'queued', attempts = attempts - 1
                 WHERE run = ?1 AND state <> 'queued'",
                [run.0],
            )?;
            Ok(())
        })
    }

    /// Forgets a run with what it had left to do.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn end_run(&self, run: RunKey) -> Result<(), StorageError> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM runs WHERE id = ?1", [run.0])?;
            // Nobody is left who could be in the middle of a long document; a switch of the model has no
            // run.
            transaction.execute(
                "DELETE FROM spare_vectors WHERE NOT EXISTS (SELECT 1 FROM runs)
                 AND (SELECT pending FROM state) IS NULL",
                [],
            )?;
            Ok(())
        })?;
        // It only marks that somebody is at work.
        let _ = fs::remove_file(self.run_path(run));
        Ok(())
    }

    /// Whether a run has not ended: a person may have removed all that it was to index.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn is_open(&self, run: RunKey) -> Result<bool, StorageError> {
        self.read(|connection| is_open(connection, run))
    }

    /// Queues files, but for those that look as they did when they were indexed, or when the readers of
    /// this generation could not read them, and those that a person removed; returns what became of
    /// these, and `None` when the run has ended.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn enqueue(
        &self,
        run: RunKey,
        files: &[QueuedFile],
        readers: i64,
    ) -> Result<Option<Vec<Settlement>>, StorageError> {
        self.write(|transaction| {
            let Some(wanted) = Wanted::of(transaction, run)? else { return Ok(None) };
            let mut settled = Vec::new();
            for file in files {
                if !wanted.has(&file.source) {
                    settled.push(Settlement::Removed { bytes: file.bytes });
                    continue;
                }
                match known(transaction, file, readers)? {
                    Some(known) => settled.push(known),
                    None => insert(transaction, run, file)?,
                }
            }
            Ok(Some(settled))
        })
    }

    /// Notes what a run found and does not queue, as [`Store::set_skipped`], but for what a person
    /// removed.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn pass_over(&self, run: RunKey, skipped: &[SkippedSource]) -> Result<(), StorageError> {
        self.write(|transaction| {
            let Some(wanted) = Wanted::of(transaction, run)? else { return Ok(()) };
            let skipped = skipped.iter().filter(|skipped| wanted.has(&skipped.source));
            ledger::insert_skipped(transaction, skipped)
        })
    }

    /// The next files of a run, at most `limit`, which are in hand from now on. One that was begun
    /// [`SUSPECT_ATTEMPTS`] times and never finished comes alone.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn take(&self, run: RunKey, limit: usize) -> Result<Vec<QueuedFile>, StorageError> {
        self.write(|transaction| {
            let mut next: Vec<QueuedFile> = transaction
                .prepare_cached(
                    "SELECT source, bytes, modified, stamp, place, attempts, generation FROM queue
                     WHERE run = ?1 AND state = 'queued' ORDER BY place, source LIMIT ?2",
                )?
                .query_map((run.0, limit as i64), queued_file)?
                .collect::<Result<_, _>>()?;
            let innocent = next.iter().take_while(|file| file.attempts < SUSPECT_ATTEMPTS).count();
            next.truncate(innocent.max(1));
            let mut take = transaction.prepare_cached(
                "UPDATE queue SET state = 'extracting', attempts = attempts + 1
                 WHERE run = ?1 AND source = ?2",
            )?;
            for file in &next {
                take.execute((run.0, file.source.key()))?;
            }
            Ok(next)
        })
    }

    /// Notes that some vectors of a file in hand are on disk: it gets on, so it is no suspect.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn note_embedded(&self, run: RunKey, source: &Source) -> Result<(), StorageError> {
        self.write(|transaction| {
            transaction.execute(
                "UPDATE queue SET state = 'embedded', attempts = 1
                 WHERE run = ?1 AND source = ?2 AND state <> 'queued'",
                (run.0, source.key()),
            )?;
            Ok(())
        })
    }

    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn queue_counts(&self) -> Result<QueueCounts, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT count(*) FILTER (WHERE state = 'queued'),
                            count(*) FILTER (WHERE state = 'extracting'),
                            count(*) FILTER (WHERE state = 'embedded'),
                            (SELECT queued_new + pages_missing FROM state)
                     FROM queue",
                )?
                .query_row([], |row| {
                    Ok(QueueCounts {
                        queued: record::count(row, 0)?,
                        extracting: record::count(row, 1)?,
                        embedded: record::count(row, 2)?,
                        new: record::count(row, 3)?,
                    })
                })
        })
    }

    /// Sources on the queue that nothing was known of before, and pages of sites that are not searchable,
    /// without counting them: every search asks.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn queued_new(&self) -> Result<u64, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT queued_new + pages_missing FROM state")?
                .query_row([], |row| record::count(row, 0))
        })
    }

    pub(super) fn run_path(&self, run: RunKey) -> PathBuf {
        self.data_dir().join(format!("run-{}.lock", run.0))
    }

    fn run_file(&self, run: RunKey) -> io::Result<File> {
        File::create(self.run_path(run))
    }
}

fn is_open(connection: &Connection, RunKey(run): RunKey) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?1)")?
        .query_row([run], |row| row.get(0))
}

/// What is known of a file that looks as it did.
fn known(
    transaction: &Transaction<'_>,
    file: &QueuedFile,
    readers: i64,
) -> rusqlite::Result<Option<Settlement>> {
    let key = file.source.key();
    let (id, bytes) = (record::id_value(DocumentId::of(&file.source)), file.bytes as i64);
    let reason: Option<Option<String>> = transaction
        .prepare_cached(
            "SELECT iif(bytes = ?2 AND stamp = ?3 AND readers = ?4, reason, NULL)
             FROM skipped WHERE source = ?1",
        )?
        .query_row((&key, bytes, file.stamp, readers), |row| row.get(0))
        .optional()?;
    if let Some(reason) = reason {
        let source = file.source.clone();
        let bytes = file.bytes;
        return Ok(reason.map(|reason| Settlement::Skipped { source, reason, bytes }));
    }
    let is_unchanged: bool = transaction
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM documents
                            WHERE id = ?1 AND bytes = ?2 AND stamp = ?3 AND readers = ?4)",
        )?
        .query_row((id, bytes, file.stamp, readers), |row| row.get(0))?;
    Ok(is_unchanged.then_some(Settlement::Unchanged { bytes: file.bytes }))
}

fn insert(
    transaction: &Transaction<'_>,
    RunKey(run): RunKey,
    file: &QueuedFile,
) -> rusqlite::Result<()> {
    let QueuedFile { source, bytes, modified, stamp, place, .. } = file;
    transaction
        .prepare_cached("DELETE FROM queue WHERE source = ?1 AND run <> ?2")?
        .execute((source.key(), run))?;
    transaction
        .prepare_cached(
            "INSERT INTO queue (run, source, state, place, bytes, modified, stamp, generation, is_new)
             VALUES (?1, ?2, 'queued', ?3, ?4, ?5, ?6, random(),
                     NOT EXISTS (SELECT 1 FROM documents WHERE id = ?7)
                     AND NOT EXISTS (SELECT 1 FROM skipped WHERE source = ?2))
             ON CONFLICT (run, source) DO UPDATE SET
                 state = 'queued', generation = excluded.generation,
                 bytes = excluded.bytes, modified = excluded.modified, stamp = excluded.stamp
             WHERE bytes <> excluded.bytes OR stamp IS NULL OR stamp IS NOT excluded.stamp",
        )?
        .execute((
            run,
            source.key(),
            place,
            *bytes as i64,
            modified,
            stamp,
            record::id_value(DocumentId::of(source)),
        ))?;
    Ok(())
}

/// The sources that this run still has in hand as they were when it read them; `None` for what does not
/// come from it.
pub(super) fn owned(
    transaction: &Transaction<'_>,
    run: Option<RunKey>,
    stamps: &[SourceStamp],
) -> rusqlite::Result<Option<HashSet<Source>>> {
    let Some(RunKey(run)) = run else { return Ok(None) };
    let mut is_owned = transaction.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM queue WHERE run = ?1 AND source = ?2
                            AND state <> 'queued' AND generation = ?3)",
    )?;
    let mut owned = HashSet::new();
    for SourceStamp { source, generation, .. } in stamps {
        if is_owned.query_row((run, source.key(), generation), |row| row.get(0))? {
            owned.insert(source.clone());
        }
    }
    Ok(Some(owned))
}

/// Takes a source off the queue, and notes how it looked.
pub(super) fn settle(
    transaction: &Transaction<'_>,
    run: Option<RunKey>,
    SourceStamp { source, modified, stamp, readers, is_current, .. }: &SourceStamp,
) -> rusqlite::Result<()> {
    let key = source.key();
    if let Some(RunKey(run)) = run {
        transaction
            .prepare_cached("DELETE FROM queue WHERE run = ?1 AND source = ?2")?
            .execute((run, &key))?;
    }
    if *is_current {
        // A file may have been touched, or written again as it was.
        transaction
            .prepare_cached(
                "UPDATE documents SET stamp = ?2, modified = ?3, readers = ?4 WHERE id = ?1",
            )?
            .execute((record::id_value(DocumentId::of(source)), stamp, modified, readers))?;
        transaction.prepare_cached("DELETE FROM skipped WHERE source = ?1")?.execute([key])?;
    } else {
        // Trouble that can pass by itself has no size, and is tried again.
        transaction
            .prepare_cached(
                "UPDATE skipped SET stamp = ?2, readers = ?3
                 WHERE source = ?1 AND bytes IS NOT NULL",
            )?
            .execute((key, stamp, readers))?;
    }
    Ok(())
}

fn queued_file(row: &Row<'_>) -> rusqlite::Result<QueuedFile> {
    Ok(QueuedFile {
        source: record::source(row, 0)?,
        bytes: record::count(row, 1)?,
        modified: row.get(2)?,
        stamp: row.get(3)?,
        place: row.get(4)?,
        attempts: row.get(5)?,
        generation: row.get(6)?,
    })
}
