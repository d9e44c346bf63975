//! The folder that the graph's file is in.
//!
//! A file is never written again, so that it can stay mapped: its name tells the change that it has
//! reached, and the next one has another. Whoever makes a graph holds the folder's lock meanwhile.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::data::ChangeNumber;
use crate::index::graph::{Graph, GraphOptions, VectorFileError, VectorOrigin};

const SUFFIX: &str = "vectors";
const LOCK: &str = "lock";

/// Where the graph of some vectors is kept.
#[derive(Clone, Debug)]
pub struct VectorHome {
    folder: PathBuf,
    origin: VectorOrigin,
}

/// What was found on opening.
#[derive(Debug)]
pub enum VectorOpening {
    /// There is no graph, or none of these vectors.
    Missing,
    Opened,
    /// It has to be made anew.
    Unusable {
        path: PathBuf,
        reason: VectorFileError,
    },
}

/// The right to make the next graph, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _lock: File,
}

impl VectorHome {
    /// `folder` need not be there yet.
    #[must_use]
    pub fn new(folder: PathBuf, origin: VectorOrigin) -> Self {
        Self { folder, origin }
    }

    /// The newest graph that can be used.
    pub(super) fn open(
        &self,
        options: &GraphOptions,
    ) -> (Option<(Graph, ChangeNumber)>, VectorOpening) {
        let mut opening = VectorOpening::Missing;
        for path in self.files().into_iter().rev() {
            match Graph::open(&path, &self.origin, options) {
                Ok(opened) => return (Some(opened), VectorOpening::Opened),
                Err(VectorFileError::Other) => {}
                Err(reason) => opening = VectorOpening::Unusable { path, reason },
            }
        }
        (None, opening)
    }

    /// The files of this model, oldest first.
    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.all_files();
        files.retain(|path| self.reached_of(path).is_some());
        files.sort();
        files
    }

    fn all_files(&self) -> Vec<PathBuf> {
        // A folder that cannot be read is like one that is not there: the graph is made anew.
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    fn path(&self, reached: ChangeNumber) -> PathBuf {
        let name = format!("{}-{:016x}.{SUFFIX}", self.origin.model, reached.0);
        self.folder.join(name)
    }

    /// The change that a file of this model reflects, by its name.
    fn reached_of(&self, path: &Path) -> Option<ChangeNumber> {
        let name = path.file_name()?.to_str()?.strip_suffix(SUFFIX)?.strip_suffix('.')?;
        let (model, reached) = name.rsplit_once('-')?;
        let is_ours = model == self.origin.model.to_string();
        u64::from_str_radix(reached, 16).ok().filter(|_| is_ours).map(ChangeNumber)
    }

    /// The change that the newest file reflects.
    pub(super) fn newest(&self) -> Option<ChangeNumber> {
        self.files().last().and_then(|path| self.reached_of(path))
    }

    /// The right to write here; `None` while another process has it.
    pub(super) fn turn(&self) -> io::Result<Option<Turn>> {
        fs::create_dir_all(&self.folder)?;
        let lock = File::create(self.folder.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Turn { _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Writes a graph and opens the file; those before it go.
    pub(super) fn keep(
        &self,
        graph: &Graph,
        reached: ChangeNumber,
        options: &GraphOptions,
        _turn: &Turn,
    ) -> Result<Graph, VectorFileError> {
        let path = self.path(reached);
        graph.save(&path, &self.origin, reached)?;
        let (kept, _) = Graph::open(&path, &self.origin, options)?;
        self.remove_except(Some(&path));
        Ok(kept)
    }

    /// Forgets what is kept here.
    pub(super) fn clear(&self, _turn: &Turn) {
        self.remove_except(None);
    }

    fn remove_except(&self, kept: Option<&Path>) {
        for path in self.all_files() {
            if Some(path.as_path()) != kept && path.file_name().is_some_and(|name| name != LOCK) {
                // One that another process has mapped may stay where the system wants it so; it goes
                // next time.
                let _ = fs::remove_file(path);
            }
        }
    }
}
