//! The whole store as one file: taken out, put in, and emptied.
//!
//! What comes in is prepared beside the store, where it is checked and brought to this format, and then
//! takes the store's place in one transaction: whoever reads meanwhile reads what was there before, and
//! whatever goes wrong leaves that as it was.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, InterruptHandle, OpenFlags};

use super::{StorageError, Store, schema};

/// Pages that are put in before it is looked whether to stop.
const STEP_PAGES: i32 = 2_048;

/// Bytes that are copied before it is looked whether to stop.
const COPY_BYTES: usize = 4 << 20;

/// Tries for a turn to write, a little apart.
const BUSY_TRIES: u32 = 100;
const BUSY_PAUSE: Duration = Duration::from_millis(100);

/// How far a transfer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    pub done_bytes: u64,
    pub total_bytes: u64,
}

/// Stops a transfer from another thread.
#[derive(Default)]
pub struct Interrupt {
    stopped: AtomicBool,
    handle: std::sync::Mutex<Option<InterruptHandle>>,
}

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interrupt").field("stopped", &self.stopped).finish_non_exhaustive()
    }
}

impl Interrupt {
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
        if let Some(handle) = &*self.handle.lock().unwrap_or_else(PoisonError::into_inner) {
            handle.interrupt();
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    fn set(&self, handle: Option<InterruptHandle>) {
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = handle;
    }
}

impl Store {
    /// Where an export is written until it is whole, beside where it is to be.
    #[must_use]
    pub fn export_part(target: &Path) -> PathBuf {
        let mut name = target.as_os_str().to_owned();
        name.push(".part");
        PathBuf::from(name)
    }

    /// Writes one state of the whole store into a file of its own, which appears when it is whole. Nobody
    /// waits for it.
    ///
    /// # Errors
    /// [`StorageError`]; then there is no file, or the one that was there before.
    pub fn export(&self, target: &Path, interrupt: &Interrupt) -> Result<(), StorageError> {
        let part = Self::export_part(target);
        let written = self.export_to(&part, interrupt).and_then(|()| {
            let transfer = |source| StorageError::Transfer {
                path: target.to_owned(),
                what: "written",
                source,
            };
            File::open(&part).and_then(|file| file.sync_all()).map_err(transfer)?;
            fs::rename(&part, target).map_err(transfer)
        });
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written
    }

    fn export_to(&self, part: &Path, interrupt: &Interrupt) -> Result<(), StorageError> {
        let transfer =
            |source| StorageError::Transfer { path: part.to_owned(), what: "written", source };
        if interrupt.is_stopped() {
            return Err(StorageError::Interrupted);
        }
        // It holds the text of private files, so nobody else may read it while it grows either. SQLite
        // takes an empty file for a new one.
        create_private(part).map_err(transfer)?;
        let connection = Connection::open_with_flags(
            &self.path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )
        .map_err(|e| StorageError::from_sqlite(&self.path, e))?;
        connection
            .busy_timeout(self.busy_timeout)
            .map_err(|e| StorageError::from_sqlite(&self.path, e))?;
        interrupt.set(Some(connection.get_interrupt_handle()));
        let name = part.to_string_lossy();
        let written = connection.execute("VACUUM INTO ?1", [name.as_ref()]);
        interrupt.set(None);
        match written {
            Ok(_) => Ok(()),
            Err(_) if interrupt.is_stopped() => Err(StorageError::Interrupted),
            Err(error) => Err(StorageError::from_sqlite(part, error)),
        }
    }

    /// Copies an export beside the store, checks it, and brings it to this format.
    ///
    /// # Errors
    /// [`StorageError`] when it is none, is not whole, or the disk is full.
    pub fn stage_import(
        &self,
        file: &Path,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Transferred),
    ) -> Result<StagedStore, StorageError> {
        let stage = Stage::new(self, "import")?;
        copy(file, &stage.path, interrupt, progress)?;
        check_export(&stage.path, file)?;
        let connection = schema::open_writer(&stage.path, self.busy_timeout).map_err(|error| {
            let detail = error.to_string();
            match error {
                StorageError::Damaged { .. } | StorageError::Foreign { .. } => {
                    StorageError::NoExport { path: file.to_owned(), detail }
                }
                other => other,
            }
        })?;
        Ok(StagedStore { connection, _stage: stage })
    }

    /// A store beside this one in which there is nothing.
    ///
    /// # Errors
    /// [`StorageError`] when the data directory cannot be written.
    pub fn stage_empty(&self) -> Result<StagedStore, StorageError> {
        let stage = Stage::new(self, "empty")?;
        let connection = schema::open_writer(&stage.path, self.busy_timeout)?;
        Ok(StagedStore { connection, _stage: stage })
    }

    /// Puts what was staged in the place of what is there, in one transaction. Jobs that had not ended in
    /// it are forgotten.
    ///
    /// # Errors
    /// [`StorageError`]; then nothing was changed.
    pub fn replace(
        &self,
        StagedStore { connection: staged, _stage }: &StagedStore,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Transferred),
    ) -> Result<(), StorageError> {
        let sqlite = |error| StorageError::from_sqlite(&self.path, error);
        let page_bytes: u64 = staged
            .query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0))
            .map_err(sqlite)?
            .unsigned_abs();
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // No index has seen this number, whichever store it came from, so each starts from scratch.
        let change: i64 =
            writer.query_row("SELECT change FROM state", [], |row| row.get(0)).map_err(sqlite)?;
        staged
            .execute(
                "UPDATE state SET store_id = lower(hex(randomblob(16))),
                     change = max(change, ?1) + 1, log_start = max(change, ?1) + 1",
                [change],
            )
            .and_then(|_| staged.execute("DELETE FROM runs", []))
            .map_err(sqlite)?;
        writer.flush_prepared_statement_cache();
        let backup = Backup::new(staged, &mut writer).map_err(sqlite)?;
        let mut tries = 0;
        loop {
            if interrupt.is_stopped() {
                return Err(StorageError::Interrupted);
            }
            match backup.step(STEP_PAGES).map_err(sqlite)? {
                StepResult::Done => break,
                StepResult::More => {
                    let all = backup.progress();
                    let bytes = |pages: i32| u64::from(pages.unsigned_abs()) * page_bytes;
                    progress(Transferred {
                        done_bytes: bytes(all.pagecount - all.remaining),
                        total_bytes: bytes(all.pagecount),
                    });
                }
                _ if tries == BUSY_TRIES => {
                    return Err(StorageError::Busy { path: self.path.clone() });
                }
                _ => {
                    tries += 1;
                    std::thread::sleep(BUSY_PAUSE);
                }
            }
        }
        drop(backup);
        // What they have prepared is of what was there.
        self.idle_readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }
}

/// A whole store that is to take the place of another.
#[derive(Debug)]
pub struct StagedStore {
    // In this order: the file can go when it is closed.
    connection: Connection,
    _stage: Stage,
}

/// A file in the data directory that goes when it was used.
#[derive(Debug)]
struct Stage {
    path: PathBuf,
}

impl Stage {
    fn new(store: &Store, name: &str) -> Result<Self, StorageError> {
        let path = store.data_dir().join(format!("{name}-{}.sqlite3", std::process::id()));
        let stage = Self { path };
        stage.remove();
        create_private(&stage.path).map_err(|source| StorageError::Transfer {
            path: stage.path.clone(),
            what: "written",
            source,
        })?;
        Ok(stage)
    }

    fn remove(&self) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let mut name = self.path.clone().into_os_string();
            name.push(suffix);
            let _ = fs::remove_file(name);
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.remove();
    }
}

/// An empty file that only its owner reads.
fn create_private(path: &Path) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn copy(
    from: &Path,
    to: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Transferred),
) -> Result<(), StorageError> {
    let read = |source| StorageError::Transfer { path: from.to_owned(), what: "read", source };
    let write = |source| StorageError::Transfer { path: to.to_owned(), what: "written", source };
    let mut source = File::open(from).map_err(read)?;
    let mut target = File::options().write(true).open(to).map_err(write)?;
    let mut transferred =
        Transferred { done_bytes: 0, total_bytes: source.metadata().map_err(read)?.len() };
    let mut block = vec![0; COPY_BYTES];
    loop {
        if interrupt.is_stopped() {
            return Err(StorageError::Interrupted);
        }
        let length = source.read(&mut block).map_err(read)?;
        if length == 0 {
            return Ok(());
        }
        target.write_all(&block[..length]).map_err(write)?;
        transferred.done_bytes += length as u64;
        progress(transferred);
    }
}

/// Whether a file is an export and whole; `named` is how a person knows it.
fn check_export(path: &Path, named: &Path) -> Result<(), StorageError> {
    let no_export = |detail: String| StorageError::NoExport { path: named.to_owned(), detail };
    let check = || -> rusqlite::Result<Vec<String>> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        if !schema::is_ours(&connection)? {
            return Ok(vec!["it was not made by this application".to_owned()]);
        }
        let mut statement = connection.prepare("PRAGMA quick_check(3)")?;
        let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
        lines.filter(|line| !matches!(line, Ok(line) if line == "ok")).collect()
    };
    match check() {
        Ok(problems) if problems.is_empty() => Ok(()),
        Ok(problems) => Err(no_export(problems.join("; "))),
        Err(error) => Err(no_export(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Source;
    use crate::storage::Star;

    fn star(name: &str) -> Star {
        let source = Source::File(format!("/{name}").into());
        Star { query: name.to_owned(), source, starred_at: 1 }
    }

    fn stars(store: &Store) -> Vec<String> {
        store.stars().unwrap().into_iter().map(|star| star.query).collect()
    }

    /// A store with something in it.
    fn store(dir: &Path, name: &str) -> Store {
        let store = Store::open(dir).unwrap();
        store.star(&star(name)).unwrap();
        store
    }

    fn import(store: &Store, file: &Path) -> Result<(), StorageError> {
        import_with(store, file, &Interrupt::default(), &mut |_| {})
    }

    fn import_with(
        store: &Store,
        file: &Path,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Transferred),
    ) -> Result<(), StorageError> {
        let staged = store.stage_import(file, interrupt, progress)?;
        store.replace(&staged, interrupt, progress)
    }

    #[test]
    fn what_is_exported_comes_in_whole_and_every_index_starts_from_scratch() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("index.lodestone");
        let from = store(&dir.path().join("a"), "from");
        from.export(&file, &Interrupt::default()).unwrap();
        assert!(!Store::export_part(&file).exists());

        let into = store(&dir.path().join("b"), "into");
        let (before, id) = (into.change_number().unwrap(), into.id().unwrap());
        // A reader and a second handle that were there before see the change as well.
        let other = Store::open(&dir.path().join("b")).unwrap();
        assert_eq!((stars(&into), stars(&other)), (vec!["into".into()], vec!["into".into()]));
        let mut told = Vec::new();
        let mut tell = |progress| told.push(progress);
        import_with(&into, &file, &Interrupt::default(), &mut tell).unwrap();
        assert_eq!((stars(&into), stars(&other)), (vec!["from".into()], vec!["from".into()]));
        assert_ne!(into.id().unwrap(), id);
        assert_ne!(into.id().unwrap(), from.id().unwrap());
        assert!(into.changes_since(before).unwrap().from_scratch);
        assert!(told.iter().all(|progress| progress.done_bytes <= progress.total_bytes));
        assert!(into.check().unwrap().is_empty());
        // It goes on as any other.
        into.star(&star("more")).unwrap();
        drop((into, other));
        let again = Store::open(&dir.path().join("b")).unwrap();
        assert_eq!(stars(&again), ["from", "more"]);
        let left: Vec<_> = fs::read_dir(dir.path().join("b"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("import"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn what_is_no_export_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x");
        let into = store(&dir.path().join("b"), "into");
        let from = store(&dir.path().join("a"), "from");
        from.export(&file, &Interrupt::default()).unwrap();
        let whole = fs::read(&file).unwrap();
        let mut damaged = whole.clone();
        damaged[8_192..].fill(0x5a);
        let cut = whole[..whole.len() / 2].to_vec();
        for (what, bytes) in
            [("empty", Vec::new()), ("text", b"hello".to_vec()), ("damaged", damaged), ("cut", cut)]
        {
            fs::write(&file, bytes).unwrap();
            let refused = import(&into, &file);
            assert!(matches!(refused, Err(StorageError::NoExport { .. })), "{what}: {refused:?}");
            assert_eq!(stars(&into), ["into"], "{what}");
        }
        let foreign = Connection::open(dir.path().join("foreign")).unwrap();
        foreign.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1);").unwrap();
        let refused = import(&into, &dir.path().join("foreign"));
        assert!(matches!(refused, Err(StorageError::NoExport { .. })), "{refused:?}");
        let missing = import(&into, &dir.path().join("nowhere"));
        assert!(matches!(missing, Err(StorageError::Transfer { .. })), "{missing:?}");
        assert_eq!(stars(&into), ["into"]);
    }

    #[test]
    fn one_damaged_page_is_enough_to_refuse_an_export() {
        const PAGE: usize = 8_192;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x");
        let into = store(&dir.path().join("b"), "into");
        into.export(&file, &Interrupt::default()).unwrap();
        let whole = fs::read(&file).unwrap();
        for page in 1..whole.len() / PAGE {
            let mut damaged = whole.clone();
            damaged[page * PAGE..(page + 1) * PAGE].fill(0x5a);
            fs::write(&file, damaged).unwrap();
            let refused = import(&into, &file);
            assert!(matches!(refused, Err(StorageError::NoExport { .. })), "{page}: {refused:?}");
        }
        assert_eq!(stars(&into), ["into"]);
    }

    #[test]
    fn an_export_of_a_newer_version_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x");
        let into = store(&dir.path().join("b"), "into");
        into.export(&file, &Interrupt::default()).unwrap();
        Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
        assert!(matches!(import(&into, &file), Err(StorageError::Newer { found: 99, .. })));
        assert_eq!(stars(&into), ["into"]);
    }

    #[test]
    fn a_transfer_that_is_stopped_leaves_everything_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x");
        let into = store(&dir.path().join("b"), "into");
        let stopped = Interrupt::default();
        stopped.stop();
        assert!(matches!(into.export(&file, &stopped), Err(StorageError::Interrupted)));
        assert!(!file.exists() && !Store::export_part(&file).exists());
        into.export(&file, &Interrupt::default()).unwrap();
        // While it copies.
        let during = Interrupt::default();
        let told = import_with(&into, &file, &during, &mut |_| during.stop());
        assert!(matches!(told, Err(StorageError::Interrupted)), "{told:?}");
        assert_eq!(stars(&into), ["into"]);
        // An export over one that is there leaves that until it is whole.
        let before = fs::read(&file).unwrap();
        assert!(into.export(&file, &stopped).is_err());
        assert_eq!(fs::read(&file).unwrap(), before);
    }

    #[test]
    fn a_cleared_store_is_empty_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path(), "gone");
        let before = store.change_number().unwrap();
        let empty = store.stage_empty().unwrap();
        store.replace(&empty, &Interrupt::default(), &mut |_| {}).unwrap();
        assert!(stars(&store).is_empty());
        assert!(store.changes_since(before).unwrap().from_scratch);
        store.star(&star("new")).unwrap();
        assert_eq!(stars(&store), ["new"]);
    }
}
