//! The tables, and how a file of an older format becomes one of this format.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::StorageError;

/// Marks our files: "LODE" in ASCII.
const APPLICATION_ID: i64 = 0x4C4F_4445;

/// Entry `n` leads from format `n` to format `n + 1`. Entries are only ever appended.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/v1.sql"),
    include_str!("schema/v2.sql"),
    include_str!("schema/v3.sql"),
    include_str!("schema/v4.sql"),
    include_str!("schema/v5.sql"),
    include_str!("schema/v6.sql"),
];

/// Makes the file or brings it to this format, and returns the connection that writes.
///
/// The caller holds the lock that keeps other processes out of this function.
pub(super) fn open_writer(path: &Path, busy_timeout: Duration) -> Result<Connection, StorageError> {
    let sqlite = |source| StorageError::from_sqlite(path, source);
    let mut connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(sqlite)?;
    connection.busy_timeout(busy_timeout).map_err(sqlite)?;
    refuse_strangers(&connection, path)?;
    // The first two count only while the file is empty. Freed pages are given back to the disk,
    // and overwritten with zeros first, because removing a document is to forget it.
    connection
        .execute_batch(
            "PRAGMA page_size = 8192;
             PRAGMA auto_vacuum = INCREMENTAL;
             PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA foreign_keys = ON;
             PRAGMA secure_delete = ON;
             PRAGMA journal_size_limit = 67108864;",
        )
        .map_err(sqlite)?;
    migrate(&mut connection).map_err(sqlite)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// A connection that cannot change anything. The file is there and of this format.
pub(super) fn open_reader(path: &Path, busy_timeout: Duration) -> rusqlite::Result<Connection> {
    // A reader of a write-ahead log updates the shared index beside the file, so the connection is
    // opened for writing and then forbidden to write.
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(busy_timeout)?;
    connection.execute_batch("PRAGMA query_only = ON;")?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Whether the file of this connection is one of ours, of whichever format.
pub(super) fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    Ok(application == APPLICATION_ID)
}

fn refuse_strangers(connection: &Connection, path: &Path) -> Result<(), StorageError> {
    let sqlite = |source| StorageError::from_sqlite(path, source);
    let number =
        |pragma| -> rusqlite::Result<i64> { connection.query_row(pragma, [], |row| row.get(0)) };
    let application = number("PRAGMA application_id").map_err(sqlite)?;
    let format = number("PRAGMA user_version").map_err(sqlite)?;
    let tables = number("SELECT count(*) FROM sqlite_schema").map_err(sqlite)?;
    let is_new = application == 0 && format == 0 && tables == 0;
    if application != APPLICATION_ID && !is_new {
        return Err(StorageError::Foreign { path: path.to_owned() });
    }
    let known = MIGRATIONS.len() as i64;
    if format > known {
        return Err(StorageError::Newer { path: path.to_owned(), found: format, known });
    }
    Ok(())
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let format: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let pending = MIGRATIONS.get(format as usize..).unwrap_or_default();
    if pending.is_empty() {
        return Ok(());
    }
    for migration in pending {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    transaction.commit()
}
