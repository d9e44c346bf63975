use rusqlite::Row;

use super::{StorageError, Store, record};
use crate::data::{DocumentId, MediaType};

/// What documents are counted by: kind, place and date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentTraits {
    /// The key of the source: most of them are counted and never shown.
    pub source: String,
    pub media_type: MediaType,
    /// The end of the name after the last dot, in lower case.
    pub extension: Option<String>,
    /// Host of a page, in lower case.
    pub site: Option<String>,
    /// Seconds since the Unix epoch.
    pub modified: Option<i64>,
}

impl Store {
    /// The traits of these documents, in their order; those that have gone are left out.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn traits_of(&self, documents: &[DocumentId]) -> Result<Vec<DocumentTraits>, StorageError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT source, media_type, extension, site, modified FROM documents WHERE id = ?1",
            )?;
            let mut found = Vec::with_capacity(documents.len());
            for document in documents {
                let mut rows = statement.query([record::id_value(*document)])?;
                if let Some(row) = rows.next()? {
                    found.push(traits(row)?);
                }
            }
            Ok(found)
        })
    }

    /// Hands the traits of every document to `visit`.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn for_each_traits(
        &self,
        mut visit: impl FnMut(DocumentTraits),
    ) -> Result<(), StorageError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT source, media_type, extension, site, modified FROM documents",
            )?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                visit(traits(row)?);
            }
            Ok(())
        })
    }
}

fn traits(row: &Row<'_>) -> rusqlite::Result<DocumentTraits> {
    Ok(DocumentTraits {
        source: row.get(0)?,
        media_type: record::media_type(row, 1)?,
        extension: row.get(2)?,
        site: row.get(3)?,
        modified: row.get(4)?,
    })
}
