//! Search by words, on tantivy: one of its documents a passage.

mod analysis;
mod collector;
mod error;
mod language;
mod marks;
mod query;
mod schema;
mod scores;
mod snapshot;
mod sums;
mod update;

pub use error::KeywordIndexError;
pub use marks::{Mark, Marker};
pub use query::{KeywordQuery, PreparedQuery};
pub use snapshot::KeywordSnapshot;
pub use update::{IndexProgress, KeywordDocument, KeywordPassage, KeywordUpdate};

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tantivy::directory::MmapDirectory;
use tantivy::{Index, IndexReader, ReloadPolicy, TantivyError};

use self::schema::Fields;
use crate::data::DocumentId;

/// The words of every passage, in a directory that several processes may have open: all of them
/// search, and one at a time writes.
pub struct KeywordIndex {
    directory: PathBuf,
    index: Index,
    reader: IndexReader,
    fields: Fields,
}

impl fmt::Debug for KeywordIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeywordIndex").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// What was found when the index was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeywordOpening {
    Existing,
    Created,
    /// What was there could not be used and is gone; the index is empty.
    Rebuilt {
        reason: String,
    },
}

impl KeywordIndex {
    /// Opens the index in `directory`, makes it when there is none, and replaces one that is
    /// damaged or of another format by an empty one: everything in it can be derived again.
    ///
    /// # Errors
    /// [`KeywordIndexError`] when the directory cannot be read or written.
    pub fn open_or_rebuild(directory: &Path) -> Result<(Self, KeywordOpening), KeywordIndexError> {
        let disk = |source| KeywordIndexError::Disk { path: directory.to_owned(), source };
        fs::create_dir_all(directory).map_err(disk)?;
        // Two processes that find the same damage are to mend it once.
        let lock = File::create(directory.with_extension("lock")).map_err(disk)?;
        lock.lock().map_err(disk)?;
        let is_new = !directory.join("meta.json").exists();
        match Self::open(directory) {
            Ok(index) if is_new => Ok((index, KeywordOpening::Created)),
            Ok(index) => Ok((index, KeywordOpening::Existing)),
            Err(error @ KeywordIndexError::Damaged { .. }) => {
                fs::remove_dir_all(directory).map_err(disk)?;
                fs::create_dir_all(directory).map_err(disk)?;
                let reason = error.to_string();
                Ok((Self::open(directory)?, KeywordOpening::Rebuilt { reason }))
            }
            Err(error) => Err(error),
        }
    }

    fn open(directory: &Path) -> Result<Self, KeywordIndexError> {
        let sort = |source| KeywordIndexError::from_tantivy(directory, source);
        let files = MmapDirectory::open(directory).map_err(|e| sort(e.into()))?;
        let (schema, fields) = schema::schema();
        let index = Index::open_or_create(files, schema).map_err(sort)?;
        // Passages come cut into words, each in its own language; tantivy wants a name all the same.
        index.tokenizers().register(schema::ANALYZER, analysis::unstemmed());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
        let keyword =
            Self { directory: directory.to_owned(), reader: reader.map_err(sort)?, index, fields };
        keyword.progress()?;
        Ok(keyword)
    }

    /// What the last commit, by whichever process, has reached; `None` for an index that nothing
    /// was ever committed to.
    ///
    /// # Errors
    /// [`KeywordIndexError`] when the directory cannot be read or is of another format.
    pub fn progress(&self) -> Result<Option<IndexProgress>, KeywordIndexError> {
        let metas = self.index.load_metas().map_err(|e| self.error(e))?;
        metas
            .payload
            .map(|payload| IndexProgress::from_payload(&payload))
            .transpose()
            .map_err(|detail| KeywordIndexError::Damaged { path: self.directory.clone(), detail })
    }

    /// What was committed by now, also by other processes, and what it had reached: exactly that, so
    /// that nobody takes passages of one embedding model for those of another.
    ///
    /// # Errors
    /// [`KeywordIndexError`] when the directory cannot be read or is of another format.
    pub fn snapshot(&self) -> Result<KeywordSnapshot, KeywordIndexError> {
        loop {
            let progress = self.progress()?;
            self.reader.reload().map_err(|e| self.error(e))?;
            let searcher = self.reader.searcher();
            // Another process may commit between the two reads.
            if self.progress()? == progress {
                return KeywordSnapshot::new(self, searcher, progress).map_err(|e| self.error(e));
            }
        }
    }

    /// Reads every file and compares checksums; returns the names of damaged files. Slow.
    ///
    /// # Errors
    /// [`KeywordIndexError`] when the directory cannot be read.
    pub fn check(&self) -> Result<Vec<PathBuf>, KeywordIndexError> {
        let mut damaged: Vec<_> =
            self.index.validate_checksum().map_err(|e| self.error(e))?.into_iter().collect();
        damaged.sort();
        Ok(damaged)
    }

    /// Merges what many commits have left, so that searches look into few segments; returns whether
    /// anything was done. Takes seconds for a hundred thousand passages. Snapshots that were made before
    /// stay as they are.
    ///
    /// # Errors
    /// [`KeywordIndexError`], [`KeywordIndexError::Busy`] while another process or thread writes; then the
    /// index is as it was.
    pub fn settle(&self) -> Result<bool, KeywordIndexError> {
        update::settle(self).map_err(|e| self.error(e))
    }

    /// Begins to take changes in.
    ///
    /// # Errors
    /// [`KeywordIndexError::Busy`] while another process, or another thread of this one, does so:
    /// it will catch up, and [`KeywordIndex::snapshot`] then shows it.
    pub fn update(&self) -> Result<KeywordUpdate<'_>, KeywordIndexError> {
        KeywordUpdate::begin(self)
    }

    fn error(&self, source: TantivyError) -> KeywordIndexError {
        KeywordIndexError::from_tantivy(&self.directory, source)
    }
}

/// How a document is named inside the index.
fn document_term(fields: &Fields, document: DocumentId) -> tantivy::Term {
    tantivy::Term::from_field_u64(fields.document, document.get())
}

#[cfg(test)]
mod tests;
