//! What a person does not want any more, and what is therefore not queued.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row, Transaction};

use super::catalog::{sources_under, under};
use super::queue::RunKey;
use super::{StorageError, Store, record};
use crate::data::Source;

impl Store {
    /// Forgets `path` with all below it, in one transaction: documents, what is known of other sources,
    /// roots, and what is still to be done; returns how many documents there were, and `None` when nothing
    /// was known. Below a root that remains it stays out until it is added itself.
    ///
    /// # Errors
    /// [`StorageError`]; then nothing was forgotten.
    pub fn remove_under(&self, path: &Path) -> Result<Option<u64>, StorageError> {
        let (removed, ended) = self.write(|transaction| {
            let sources = sources_under(transaction, path)?;
            let roots = delete_under(transaction, "roots", path)?;
            delete_under(transaction, "queue", path)?;
            delete_under(transaction, "removed", path)?;
            delete_under(transaction, "mounts", path)?;
            let ended = leave_out_of_runs(transaction, path)?;
            let removed = self.forget(transaction, sources.iter())?;
            let is_known = roots > 0 || !sources.is_empty() || !ended.is_empty();
            if is_known && is_below_a_root(transaction, path)? {
                let key = Source::File(path.to_owned()).key();
                transaction.execute("INSERT INTO removed VALUES (?1)", [key])?;
            }
            Ok((is_known.then_some(removed), ended))
        })?;
        for run in ended {
            let _ = fs::remove_file(self.run_path(run));
        }
        self.shrink_after(removed.unwrap_or(0));
        Ok(removed)
    }
}

/// Deletes the rows of a table whose source is `path` or below it.
pub(super) fn delete_under(
    transaction: &Transaction<'_>,
    table: &str,
    path: &Path,
) -> rusqlite::Result<usize> {
    let (exact, range) = under(path);
    let sql = format!("DELETE FROM {table} WHERE source = ?1 OR (source >= ?2 AND source < ?3)");
    transaction.execute(&sql, (exact, range.start, range.end))
}

/// Takes `path` out of what runs are to index, and ends those that have nothing else; returns these.
fn leave_out_of_runs(transaction: &Transaction<'_>, path: &Path) -> rusqlite::Result<Vec<RunKey>> {
    let runs: Vec<(RunKey, Vec<Source>)> = transaction
        .prepare_cached("SELECT id, paths FROM runs")?
        .query_map([], |row| Ok((RunKey(row.get(0)?), record::from_json(row, 1)?)))?
        .collect::<Result<_, _>>()?;
    let mut ended = Vec::new();
    for (run, paths) in runs {
        let is_left = |source: &&Source| source.path().is_none_or(|at| !at.starts_with(path));
        let left: Vec<&Source> = paths.iter().filter(is_left).collect();
        if left.len() == paths.len() {
            continue;
        }
        if left.is_empty() {
            transaction.execute("DELETE FROM runs WHERE id = ?1", [run.0])?;
            ended.push(run);
        } else {
            let left = record::to_json(&left)?;
            transaction.execute("UPDATE runs SET paths = ?2 WHERE id = ?1", (run.0, left))?;
        }
    }
    Ok(ended)
}

fn is_below_a_root(transaction: &Transaction<'_>, path: &Path) -> rusqlite::Result<bool> {
    Ok(paths(transaction, "roots")?.iter().any(|root| path.starts_with(root)))
}

/// The files and folders of a table of sources.
pub(super) fn paths(connection: &Connection, table: &str) -> rusqlite::Result<BTreeSet<PathBuf>> {
    let path = |row: &Row<'_>| Ok(record::source(row, 0)?.path().map(Path::to_owned));
    connection
        .prepare_cached(&format!("SELECT source FROM {table}"))?
        .query_map([], path)?
        .filter_map(Result::transpose)
        .collect()
}

/// What a run may put on the queue.
#[derive(Debug)]
pub(super) struct Wanted {
    roots: Vec<PathBuf>,
    removed: BTreeSet<PathBuf>,
}

impl Wanted {
    /// `None` when the run has ended.
    pub fn of(
        transaction: &Transaction<'_>,
        RunKey(run): RunKey,
    ) -> rusqlite::Result<Option<Self>> {
        let roots: Vec<Source> = match transaction
            .prepare_cached("SELECT paths FROM runs WHERE id = ?1")?
            .query_row([run], |row| record::from_json(row, 0))
        {
            Ok(roots) => roots,
            Err(rusqlite::Error::QueryReturnedNoRows) => return Ok(None),
            Err(error) => return Err(error),
        };
        let roots = roots.iter().filter_map(|root| root.path().map(Path::to_owned)).collect();
        Ok(Some(Self { roots, removed: paths(transaction, "removed")? }))
    }

    /// Whether a source lies in a root, and in nothing that was removed from it.
    pub fn has(&self, source: &Source) -> bool {
        let Some(path) = source.path() else { return true };
        self.roots.iter().filter(|root| path.starts_with(root)).any(|root| {
            let mut below = path.ancestors().take_while(|at| *at != root.as_path());
            !below.any(|at| self.removed.contains(at))
        })
    }
}
