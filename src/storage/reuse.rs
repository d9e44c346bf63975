//! Vectors that need not be made, because the encoder got the same before.

use std::collections::HashMap;

use half::f16;
use rusqlite::{Connection, OptionalExtension as _};

use super::{EmbeddingModel, StorageError, Store, model, record, vectors};
use crate::data::{Chunk, ContentHash, Document, DocumentId, Embedding, InputHash};

/// A stored document of the same content: a file that was copied or renamed.
#[derive(Clone, Debug, PartialEq)]
pub struct Twin {
    pub embeddings: Vec<Embedding>,
    /// What they were made from, which may name the file as it was called then.
    pub inputs: Vec<InputHash>,
}

impl Store {
    /// The vectors of `model` that are stored for these inputs, in their order; `document` is the one
    /// that they are wanted for, whose version before is the likeliest to have them.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn known_vectors(
        &self,
        model: &EmbeddingModel,
        document: DocumentId,
        inputs: &[InputHash],
    ) -> Result<Vec<Option<Embedding>>, StorageError> {
        self.read(|connection| {
            let Some(key) = model::find(connection, model)? else {
                return Ok(vec![None; inputs.len()]);
            };
            let reader = Reader { connection, model: key.get(), dim: model.dim };
            let mut places = HashMap::new();
            for (input, ordinal) in reader.inputs_of(document)? {
                places.insert(input, (record::id_value(document), ordinal));
            }
            let mut found: Vec<Option<Embedding>> = vec![None; inputs.len()];
            let mut wanted: HashMap<i64, Vec<(usize, u64)>> = HashMap::new();
            for (at, input) in inputs.iter().enumerate() {
                let place = match places.get(input) {
                    Some(place) => Some(*place),
                    None => reader.place(*input)?,
                };
                match place {
                    Some((document, ordinal)) => {
                        wanted.entry(document).or_default().push((at, ordinal));
                    }
                    None => found[at] = reader.spare(*input)?,
                }
            }
            for (document, places) in wanted {
                reader.rows(document, &places, &mut found)?;
            }
            Ok(found)
        })
    }

    /// The vectors of another document with the same bytes that was cut into the same passages.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn twin(
        &self,
        model: &EmbeddingModel,
        document: &Document,
        chunks: &[Chunk],
    ) -> Result<Option<Twin>, StorageError> {
        self.read(|connection| {
            let Some(key) = model::find(connection, model)? else { return Ok(None) };
            let ContentHash(hash) = document.content_hash;
            let twin: Option<i64> = connection
                .prepare_cached(
                    "SELECT id FROM documents WHERE content_hash = ?1 AND id <> ?2 LIMIT 1",
                )?
                .query_row((hash, record::id_value(document.id)), |row| row.get(0))
                .optional()?;
            let Some(twin) = twin else { return Ok(None) };
            let reader = Reader { connection, model: key.get(), dim: model.dim };
            let Some(inputs) = reader.inputs_if_cut_alike(twin, chunks)? else { return Ok(None) };
            let mut found = vec![None; chunks.len()];
            let places: Vec<_> = (0..chunks.len()).map(|at| (at, at as u64)).collect();
            reader.rows(twin, &places, &mut found)?;
            let embeddings: Option<Vec<_>> = found.into_iter().collect();
            Ok(embeddings.map(|embeddings| Twin { embeddings, inputs }))
        })
    }

    /// Keeps vectors of a document that is not committed yet, until no run and no switch of the model is left.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be written.
    pub fn keep_vectors(
        &self,
        model: &EmbeddingModel,
        made: &[(InputHash, Embedding)],
    ) -> Result<(), StorageError> {
        self.write(|transaction| {
            let Some(key) = model::find(transaction, model)? else { return Ok(()) };
            let mut statement = transaction.prepare_cached(
                "INSERT INTO spare_vectors VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            )?;
            for (input, embedding) in made {
                let vector = vectors::encode(std::slice::from_ref(embedding));
                statement.execute((key.get(), input.0, vector))?;
            }
            Ok(())
        })
    }
}

/// Reads vectors of one model.
struct Reader<'a> {
    connection: &'a Connection,
    model: i64,
    dim: usize,
}

impl Reader<'_> {
    fn inputs_of(&self, document: DocumentId) -> rusqlite::Result<Vec<(InputHash, u64)>> {
        self.connection
            .prepare_cached(
                "SELECT input, ordinal FROM passages
                 WHERE document = ?1 AND model = ?2 AND input IS NOT NULL",
            )?
            .query_map((record::id_value(document), self.model), |row| {
                Ok((InputHash(row.get(0)?), record::count(row, 1)?))
            })?
            .collect()
    }

    /// A passage of any document: the document and which of its passages.
    fn place(&self, input: InputHash) -> rusqlite::Result<Option<(i64, u64)>> {
        self.connection
            .prepare_cached(
                "SELECT document, ordinal FROM passages WHERE input = ?1 AND model = ?2 LIMIT 1",
            )?
            .query_row((input.0, self.model), |row| Ok((row.get(0)?, record::count(row, 1)?)))
            .optional()
    }

    fn spare(&self, input: InputHash) -> rusqlite::Result<Option<Embedding>> {
        self.connection
            .prepare_cached("SELECT vector FROM spare_vectors WHERE model = ?1 AND input = ?2")?
            .query_row((self.model, input.0), |row| Ok(self.embedding(row.get_ref(0)?.as_blob()?)))
            .optional()
            .map(Option::flatten)
    }

    /// Reads rows of one document. Its vectors are one value, of which only these bytes are read.
    fn rows(
        &self,
        document: i64,
        places: &[(usize, u64)],
        found: &mut [Option<Embedding>],
    ) -> rusqlite::Result<()> {
        let row: Option<i64> = self
            .connection
            .prepare_cached("SELECT rowid FROM embedded WHERE document = ?1 AND model = ?2")?
            .query_row((document, self.model), |row| row.get(0))
            .optional()?;
        let Some(row) = row else { return Ok(()) };
        let blob = self.connection.blob_open("main", "embedded", "rows", row, true)?;
        let row_bytes = self.dim * size_of::<f16>();
        let mut bytes = vec![0; row_bytes];
        for (at, ordinal) in places {
            let start = *ordinal as usize * row_bytes;
            // A document that the model failed on has passages and no vectors.
            if start + row_bytes <= blob.len() {
                blob.read_at_exact(&mut bytes, start)?;
                found[*at] = self.embedding(&bytes);
            }
        }
        Ok(())
    }

    fn inputs_if_cut_alike(
        &self,
        document: i64,
        chunks: &[Chunk],
    ) -> rusqlite::Result<Option<Vec<InputHash>>> {
        let stored: Vec<(usize, usize, Option<[u8; 16]>)> = self
            .connection
            .prepare_cached(
                "SELECT start, stop, input FROM passages
                 WHERE document = ?1 AND model = ?2 ORDER BY ordinal",
            )?
            .query_map((document, self.model), |row| {
                let offset = |column| record::count(row, column).map(|number| number as usize);
                Ok((offset(0)?, offset(1)?, row.get(2)?))
            })?
            .collect::<Result<_, _>>()?;
        let ranges = stored.iter().map(|(start, stop, _)| *start..*stop);
        if !ranges.eq(chunks.iter().map(|chunk| chunk.range.clone())) {
            return Ok(None);
        }
        Ok(stored.into_iter().map(|(_, _, input)| input.map(InputHash)).collect())
    }

    fn embedding(&self, bytes: &[u8]) -> Option<Embedding> {
        let mut halves = Vec::new();
        vectors::decode(bytes, &mut halves);
        (halves.len() == self.dim)
            .then(|| Embedding::from_stored(halves.into_iter().map(f16::to_f32).collect()))
    }
}
