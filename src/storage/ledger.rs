//! What a person asked for, and what could not be had: roots and skipped sources.

use std::path::{Path, PathBuf};

use rusqlite::Row;

use super::record;
use super::{StorageError, Store};
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    pub bytes: u64,
    /// Seconds since the Unix epoch.
    pub modified: Option<i64>,
    /// Known when the file could be read.
    pub content_hash: Option<ContentHash>,
}

impl Store {
    /// Remembers a file or folder that a person added; adding it twice is once.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn add_root(&self, path: &Path) -> Result<(), StorageError> {
        let key = Source::File(path.to_owned()).key();
        self.write(|transaction| {
            transaction.execute("INSERT INTO roots VALUES (?1) ON CONFLICT DO NOTHING", [key])?;
            Ok(())
        })
    }

    /// Whether it was there.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn remove_root(&self, path: &Path) -> Result<bool, StorageError> {
        let key = Source::File(path.to_owned()).key();
        self.write(|transaction| {
            Ok(transaction.execute("DELETE FROM roots WHERE source = ?1", [key])? > 0)
        })
    }

    /// Everything a person added, in the order of the paths.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn roots(&self) -> Result<Vec<PathBuf>, StorageError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT source FROM roots")?;
            let sources = statement.query_map([], |row| record::source(row, 0))?;
            sources
                .filter_map(|source| match source {
                    Ok(Source::File(path)) => Some(Ok(path)),
                    Ok(Source::Web(_)) => None,
                    Err(error) => Some(Err(error)),
                })
                .collect()
        })
    }

    /// Notes that a source is not searchable, in place of what was noted before. A version of it
    /// that was indexed earlier stays.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn set_skipped(&self, skipped: &[SkippedSource]) -> Result<(), StorageError> {
        self.write(|transaction| {
            let mut statement = transaction.prepare_cached(
                "INSERT INTO skipped VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (source) DO UPDATE SET
                 reason = excluded.reason, content_hash = excluded.content_hash,
                 bytes = excluded.bytes, modified = excluded.modified",
            )?;
            for SkippedSource { source, reason, stamp } in skipped {
                statement.execute((
                    source.key(),
                    reason,
                    stamp.and_then(|stamp| stamp.content_hash).map(|hash| hash.0),
                    stamp.map(|stamp| stamp.bytes as i64),
                    stamp.and_then(|stamp| stamp.modified),
                ))?;
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
                .prepare_cached("SELECT * FROM skipped ORDER BY source")?
                .query_map([], skipped_source)?
                .collect()
        })
    }
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
    })
}
