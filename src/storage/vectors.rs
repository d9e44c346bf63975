use half::f16;
use rusqlite::OptionalExtension as _;

use super::record::{document_id, id_value};
use super::{ModelKey, StorageError, Store};
use crate::data::{ChangeNumber, DocumentId, Embedding};

impl Store {
    /// Hands every document's vectors of `model` to `visit`, row after row in the order of its
    /// passages, and returns the change number that they belong to.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn for_each_vectors(
        &self,
        model: ModelKey,
        mut visit: impl FnMut(DocumentId, &[f16]),
    ) -> Result<ChangeNumber, StorageError> {
        self.read(|connection| {
            let change = super::changes::current(connection)?;
            let mut statement = connection.prepare_cached(
                "SELECT document, rows FROM embedded WHERE model = ?1 ORDER BY document",
            )?;
            let mut rows = statement.query([model.0])?;
            let mut vectors = Vec::new();
            while let Some(row) = rows.next()? {
                decode(row.get_ref(1)?.as_blob()?, &mut vectors);
                visit(document_id(row, 0)?, &vectors);
            }
            Ok(change)
        })
    }

    /// The vectors of one document, row after row in the order of its passages; `None` when it is
    /// not there or has none of this model.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn vectors_of(
        &self,
        document: DocumentId,
        model: ModelKey,
    ) -> Result<Option<Vec<f16>>, StorageError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT rows FROM embedded WHERE document = ?1 AND model = ?2")?
                .query_row((id_value(document), model.0), |row| {
                    let mut vectors = Vec::new();
                    decode(row.get_ref(0)?.as_blob()?, &mut vectors);
                    Ok(vectors)
                })
                .optional()
        })
    }
}

/// Half precision: the components of a unit vector lose at most 2^-12 of themselves, which moves a
/// cosine by less than 1e-3 and halves what is read at start.
pub(super) fn encode(embeddings: &[Embedding]) -> Vec<u8> {
    embeddings
        .iter()
        .flat_map(Embedding::as_slice)
        .flat_map(|value| f16::from_f32(*value).to_le_bytes())
        .collect()
}

fn decode(bytes: &[u8], vectors: &mut Vec<f16>) {
    vectors.clear();
    vectors.extend(bytes.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]])));
}
