//! `SQLite`: the truth.
//!
//! Everything that is known about a document is in one file, and a document becomes visible, or is
//! replaced, in one transaction. Indexes are derived from it by change number. Any number of
//! processes may have the same file open; readers never wait for a writer (write-ahead log), and
//! writers take turns.
//!
//! This module knows nothing of models, indexes or files on disk other than its own.

#![expect(
    clippy::cast_possible_wrap,
    reason = "SQLite counts in signed 64 bits; no size, offset or id of ours reaches 2^63"
)]

mod catalog;
mod changes;
mod condition;
mod error;
mod frontier;
mod golden;
mod history;
mod lease;
mod ledger;
mod model;
mod pages;
mod passages;
mod queue;
mod record;
mod removal;
mod reuse;
mod schema;
mod site;
mod switch;
mod traits;
mod transfer;
mod vectors;
mod write;

#[cfg(test)]
mod frontier_laws;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod queue_laws;
#[cfg(test)]
mod switch_laws;

pub use catalog::{Counts, DocumentSummary, StoredDocument};
pub use changes::{Changes, StoreId};
pub use condition::{Condition, Place, Requirement};
pub use error::StorageError;
pub use frontier::{
    PageAnswer, PageState, QueuedPage, SettledPage, SettledPages, SitemapPage, Taken, Verdict,
};
pub use golden::{Measurement, Star};
pub use history::{EndedJob, JobEnd};
pub use lease::ModelLease;
pub use ledger::{FileStamp, Root, SkippedSource};
pub use model::{EmbeddingModel, ModelKey, ModelUse, StoredModel};
pub use pages::{CrawlCounts, CrawlTotals, PageCounts, PageFilter, PageView};
pub use passages::StoredPassage;
pub use queue::{
    QueueCounts, QueuedFile, RunKey, RunLease, SUSPECT_ATTEMPTS, Settlement, SourceStamp, StoredRun,
};
pub use reuse::Twin;
pub use site::{CrawlKey, SiteKey, SiteLease, StoredSite};
pub use switch::{DocumentVersion, NewVectors, Switch, SwitchEnd};
pub use traits::DocumentTraits;
pub use transfer::{Interrupt, StagedStore, Transferred};
pub use write::Settled;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// Name of the file in the data directory.
const FILE_NAME: &str = "store.sqlite3";

/// How long a writer waits for its turn. One transaction takes milliseconds, so this passes only
/// when another process has stopped in the middle of one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Read connections that are kept open while idle.
const IDLE_READERS_MAX: usize = 4;

/// Removed documents that the change log remembers; about 3 MB.
const REMOVALS_MAX: u64 = 100_000;

/// The open store; share it by reference or `Arc` between threads.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    busy_timeout: Duration,
    removals_max: u64,
    writer: Mutex<Connection>,
    idle_readers: Mutex<Vec<Connection>>,
}

impl Store {
    /// Opens the store of a data directory; both are made when missing.
    ///
    /// # Errors
    /// [`StorageError`] names the file and says what to do. A file that is damaged, foreign or of a
    /// newer format is left as it is.
    pub fn open(data_dir: &Path) -> Result<Self, StorageError> {
        Self::open_with(data_dir, BUSY_TIMEOUT, REMOVALS_MAX)
    }

    fn open_with(
        data_dir: &Path,
        busy_timeout: Duration,
        removals_max: u64,
    ) -> Result<Self, StorageError> {
        let directory = |source| StorageError::Directory { path: data_dir.to_owned(), source };
        fs::create_dir_all(data_dir).map_err(directory)?;
        // Making the file and migrating it is the one thing that SQLite's own locks do not order
        // between processes. The lock goes with the handle, also when the process is killed.
        let lock = File::create(data_dir.join("store.lock")).map_err(directory)?;
        lock.lock().map_err(directory)?;
        let path = data_dir.join(FILE_NAME);
        let writer = schema::open_writer(&path, busy_timeout)?;
        Ok(Self {
            path,
            busy_timeout,
            removals_max,
            writer: Mutex::new(writer),
            idle_readers: Mutex::default(),
        })
    }

    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn data_dir(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Size of the database and its log on disk.
    #[must_use]
    pub fn bytes_on_disk(&self) -> u64 {
        ["", "-wal", "-shm"]
            .into_iter()
            .filter_map(|suffix| {
                let mut name = self.path.clone().into_os_string();
                name.push(suffix);
                fs::metadata(name).ok()
            })
            .map(|metadata| metadata.len())
            .sum()
    }

    /// Reads the whole file and returns what is wrong with it, nothing when all is well. Slow.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub fn check(&self) -> Result<Vec<String>, StorageError> {
        self.read(|connection| {
            let mut statement = connection.prepare("PRAGMA quick_check")?;
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
            lines.filter(|line| !matches!(line, Ok(line) if line == "ok")).collect()
        })
    }

    /// Runs `body` on one snapshot of the store.
    fn read<T>(
        &self,
        body: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StorageError> {
        let idle = self.idle_readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let read = || {
            let connection = match idle {
                Some(connection) => connection,
                None => schema::open_reader(&self.path, self.busy_timeout)?,
            };
            let snapshot = connection.unchecked_transaction()?;
            let answer = body(&snapshot)?;
            snapshot.finish()?;
            Ok((answer, connection))
        };
        let (answer, connection) = read().map_err(|e| StorageError::from_sqlite(&self.path, e))?;
        let mut idle = self.idle_readers.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_READERS_MAX {
            idle.push(connection);
        }
        Ok(answer)
    }

    /// Runs `body` in one transaction, which is on disk when this returns.
    fn write<T>(
        &self,
        body: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StorageError> {
        let mut connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let write = || {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = body(&transaction)?;
            transaction.commit()?;
            Ok(answer)
        };
        write().map_err(|e| StorageError::from_sqlite(&self.path, e))
    }
}
