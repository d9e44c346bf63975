use half::f16;
use rusqlite::OptionalExtension as _;

use super::record::{document_id, id_value};
use super::{ModelKey, StorageError, Store, StoredModel};
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

    /// Vectors of about `limit` passages of `model`, row after row: the same ones as long as the
    /// documents are the same, and spread over all of them. Ids are hashes, so the first documents in
    /// their order are any documents.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn sample_vectors(
        &self,
        model: &StoredModel,
        limit: usize,
    ) -> Result<Vec<f16>, StorageError> {
        let row_bytes = model.model.dim * size_of::<f16>();
        self.read(|connection| {
            let documents: Vec<(i64, u64)> = connection
                .prepare_cached(
                    "SELECT document, length(rows) FROM embedded
                     WHERE model = ?1 AND passages > 0 ORDER BY document LIMIT ?2",
                )?
                .query_map((model.key.0, limit as i64), |row| {
                    let bytes: i64 = row.get(1)?;
                    Ok((row.get(0)?, bytes as u64 / row_bytes.max(1) as u64))
                })?
                .collect::<Result<_, _>>()?;
            let of_each = (limit / documents.len().max(1)).max(1) as u64;
            let mut read = connection.prepare_cached(
                "SELECT substr(rows, ?3, ?4) FROM embedded WHERE document = ?1 AND model = ?2",
            )?;
            let (mut sample, mut rows) = (Vec::new(), Vec::new());
            for (document, passages) in documents {
                let taken = of_each.min(passages);
                for at in 0..taken {
                    // Begins anywhere, so that not every document shows its beginning.
                    let ordinal = (document as u64 + at * passages / taken) % passages;
                    let start = 1 + ordinal as i64 * row_bytes as i64;
                    let place = (document, model.key.0, start, row_bytes as i64);
                    read.query_row(place, |row| {
                        decode(row.get_ref(0)?.as_blob()?, &mut rows);
                        Ok(())
                    })?;
                    sample.extend_from_slice(&rows);
                }
            }
            Ok(sample)
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

pub(super) fn decode(bytes: &[u8], vectors: &mut Vec<f16>) {
    vectors.clear();
    vectors.extend(bytes.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]])));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Chunk, ContentHash, Document, EmbeddedDocument, Source};
    use crate::storage::EmbeddingModel;

    /// A document of so many passages, whose vectors tell its number and theirs.
    fn document(number: u8, passages: u8) -> EmbeddedDocument {
        let source = Source::File(format!("/{number}").into());
        let text = "a".repeat(usize::from(passages));
        let document = Document::plain(source, String::new(), text);
        let document = Document { content_hash: ContentHash::of(&[number]), ..document };
        let chunk = |at: usize| Chunk { range: at..at + 1, tokens: at..at + 1, locator: None };
        let vector = |at: u8| vec![f32::from(number) + 1.0, f32::from(at) + 1.0];
        EmbeddedDocument {
            document,
            chunks: (0..usize::from(passages)).map(chunk).collect(),
            embeddings: (0..passages)
                .map(|at| Embedding::normalized(vector(at)).unwrap())
                .collect(),
            inputs: Vec::new(),
        }
    }

    fn sample(order: &[(u8, u8)], limit: usize) -> Vec<[u16; 2]> {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let model = EmbeddingModel { name: "fake".to_owned(), dim: 2 };
        store.choose_model(&model).unwrap();
        for (number, passages) in order {
            store.commit_documents(&model, &[document(*number, *passages)], 0).unwrap();
        }
        let rows = store.sample_vectors(&store.model().unwrap().unwrap(), limit).unwrap();
        rows.chunks_exact(2).map(|row| [row[0].to_bits(), row[1].to_bits()]).collect()
    }

    #[test]
    fn a_sample_depends_on_what_is_there_and_on_nothing_else() {
        let forth: Vec<(u8, u8)> = (0..40).map(|n| (n, 1 + n % 5)).collect();
        let back: Vec<(u8, u8)> = forth.iter().rev().copied().collect();
        let sampled = sample(&forth, 16);
        assert_eq!(sampled.len(), 16);
        assert_eq!(sample(&back, 16), sampled);
        let again: Vec<(u8, u8)> = [(3, 9)].into_iter().chain(forth).collect();
        assert_eq!(sample(&again, 16), sampled);
    }

    #[test]
    fn few_documents_show_several_of_their_passages_each_once() {
        let mut sampled = sample(&[(0, 30), (1, 2)], 16);
        assert_eq!(sampled.len(), 8 + 2);
        sampled.sort_unstable();
        sampled.dedup();
        assert_eq!(sampled.len(), 10);
        assert_eq!(sample(&[], 16), Vec::<[u16; 2]>::new());
    }
}
