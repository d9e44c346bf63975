//! What a person asked for, and what could not be had: roots and skipped sources.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rusqlite::{Row, Transaction};

use super::{StorageError, Store, record, removal};
use crate::data::{ContentHash, Source};

/// A source that is not searchable, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedSource {
    pub source: Source,
    /// For people: what is wrong and what can be done.
    pub reason: String,
    /// What the source looked like; while it looks the same there is no use in trying again.
    /// `None` for trouble that can pass by itself.
    pub stamp: Option<FileStamp>,
    /// How often it failed; 0 for a source that cannot be indexed as it is.
    pub attempts: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    pub bytes: u64,
    /// Seconds since the Unix epoch.
    pub modified: Option<i64>,
    /// Known when the file could be read.
    pub content_hash: Option<ContentHash>,
}

/// A folder or file that a person added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    pub path: PathBuf,
    /// Whether it is kept up to date.
    pub watched: bool,
    /// Whether another disk was mounted there: without it the folder is offline and not empty.
    pub is_mount: bool,
}

impl Store {
    /// Remembers a file or folder that a person added, to be watched; adding it twice is once. What was
    /// removed at or below it is wanted again.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn add_root(&self, path: &Path, is_mount: bool) -> Result<(), StorageError> {
        let key = Source::File(path.to_owned()).key();
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO roots (source, is_mount) VALUES (?1, ?2)
                 ON CONFLICT (source) DO UPDATE SET is_mount = max(is_mount, excluded.is_mount)",
                (key, is_mount),
            )?;
            removal::delete_under(transaction, "removed", path)?;
            Ok(())
        })
    }

    /// Keeps a root up to date from now on, or no longer; whether there is such a root.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn watch_root(&self, path: &Path, watched: bool) -> Result<bool, StorageError> {
        let key = Source::File(path.to_owned()).key();
        self.write(|transaction| {
            let sql = "UPDATE roots SET watched = ?2 WHERE source = ?1";
            Ok(transaction.execute(sql, (key, watched))? > 0)
        })
    }

    /// Everything a person added, in the order of the paths.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn roots(&self) -> Result<Vec<Root>, StorageError> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT source, watched, is_mount FROM roots")?;
            let root = |row: &Row<'_>| Ok((record::source(row, 0)?, row.get(1)?, row.get(2)?));
            let roots = statement.query_map([], root)?;
            roots
                .filter_map(|root| match root {
                    Ok((Source::File(path), watched, is_mount)) => {
                        Some(Ok(Root { path, watched, is_mount }))
                    }
                    Ok((Source::Web(_), ..)) => None,
                    Err(error) => Some(Err(error)),
                })
                .collect()
        })
    }

    /// Notes where below a root other disks are mounted.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn add_mounts(&self, mounts: &[PathBuf]) -> Result<(), StorageError> {
        self.write(|transaction| {
            let mut add = transaction
                .prepare_cached("INSERT INTO mounts VALUES (?1) ON CONFLICT DO NOTHING")?;
            for mount in mounts {
                add.execute([Source::File(mount.clone()).key()])?;
            }
            Ok(())
        })
    }

    /// Where below a root another disk is, or was, mounted.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn mounts(&self) -> Result<BTreeSet<PathBuf>, StorageError> {
        self.read(|connection| removal::paths(connection, "mounts"))
    }

    /// Notes that a source is not searchable, in place of what was noted before. A version of it
    /// that was indexed earlier stays.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn set_skipped(&self, skipped: &[SkippedSource]) -> Result<(), StorageError> {
        self.write(|transaction| insert_skipped(transaction, skipped.iter()))
    }

    /// Lets these files be read once more, also when they look as they did.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn unstamp(&self, paths: &[PathBuf]) -> Result<(), StorageError> {
        self.write(|transaction| {
            let mut skipped =
                transaction.prepare_cached("UPDATE skipped SET stamp = NULL WHERE source = ?1")?;
            let mut documents = transaction.prepare_cached(
                "UPDATE documents SET stamp = NULL, readers = NULL WHERE source = ?1",
            )?;
            for path in paths {
                let key = Source::File(path.clone()).key();
                skipped.execute([&key])?;
                documents.execute([&key])?;
            }
            Ok(())
        })
    }

    /// Every skipped source, in the order of the keys.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn skipped(&self) -> Result<Vec<SkippedSource>, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT source, reason, content_hash, bytes, modified, attempts
                     FROM skipped ORDER BY source",
                )?
                .query_map([], skipped_source)?
                .collect()
        })
    }
}

pub(super) fn insert_skipped<'a>(
    transaction: &Transaction<'_>,
    skipped: impl Iterator<Item = &'a SkippedSource>,
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO skipped (source, reason, content_hash, bytes, modified, attempts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (source) DO UPDATE SET
         reason = excluded.reason, content_hash = excluded.content_hash,
         bytes = excluded.bytes, modified = excluded.modified,
         attempts = iif(excluded.attempts > 0, attempts + excluded.attempts, 0),
         stamp = NULL, readers = NULL",
    )?;
    for SkippedSource { source, reason, stamp, attempts } in skipped {
        statement.execute((
            source.key(),
            reason,
            stamp.and_then(|stamp| stamp.content_hash).map(|hash| hash.0),
            stamp.map(|stamp| stamp.bytes as i64),
            stamp.and_then(|stamp| stamp.modified),
            attempts,
        ))?;
    }
    Ok(())
}

fn skipped_source(row: &Row<'_>) -> rusqlite::Result<SkippedSource> {
    let bytes: Option<i64> = row.get(3)?;
    let content_hash: Option<[u8; 32]> = row.get(2)?;
    let modified = row.get(4)?;
    Ok(SkippedSource {
        source: record::source(row, 0)?,
        reason: row.get(1)?,
        stamp: bytes.map(|bytes| FileStamp {
            bytes: bytes as u64,
            modified,
            content_hash: content_hash.map(ContentHash),
        }),
        attempts: row.get(5)?,
    })
}
