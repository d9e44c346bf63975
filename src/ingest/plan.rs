use std::collections::{HashMap, HashSet};

use super::IngestError;
use crate::data::{ChunkedDocument, Embedding, InputHash};
use crate::storage::{EmbeddingModel, Store};

/// A document with the vectors that need not be made.
#[derive(Debug)]
pub struct PlannedDocument {
    pub(super) chunked: ChunkedDocument,
    /// Of every chunk.
    pub(super) inputs: Vec<InputHash>,
    pub(super) known: HashMap<InputHash, Embedding>,
    /// Chunks to be embedded; of those with the same input, the first.
    pub(super) missing: Vec<usize>,
}

/// What the model had to do for a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbeddingCost {
    pub passages: u64,
    /// Those around a passage not counted.
    pub tokens: u64,
}

impl PlannedDocument {
    pub(super) fn new(
        store: &Store,
        model: &EmbeddingModel,
        chunked: ChunkedDocument,
    ) -> Result<Self, IngestError> {
        let inputs = chunked.inputs();
        let mut known = HashMap::new();
        for (input, embedding) in
            inputs.iter().zip(store.known_vectors(model, chunked.document.id, &inputs)?)
        {
            if let Some(embedding) = embedding {
                known.insert(*input, embedding);
            }
        }
        let is_known = |input: &InputHash| known.contains_key(input);
        if !inputs.iter().all(is_known)
            && let Some(twin) = store.twin(model, &chunked.document, &chunked.chunks)?
        {
            // The same bytes under another name: its vectors say so, and making them anew would not make
            // anybody find more.
            let known = twin.inputs.iter().copied().zip(twin.embeddings).collect();
            return Ok(Self { chunked, inputs: twin.inputs, known, missing: Vec::new() });
        }
        let mut seen = HashSet::new();
        let is_missing = |at: &usize| !is_known(&inputs[*at]) && seen.insert(inputs[*at]);
        let missing = (0..inputs.len()).filter(is_missing).collect();
        Ok(Self { chunked, inputs, known, missing })
    }

    pub(super) fn cost(&self) -> EmbeddingCost {
        let tokens = self
            .missing
            .iter()
            .map(|at| self.chunked.context(*at).len() + self.chunked.chunks[*at].tokens.len());
        EmbeddingCost { passages: self.missing.len() as u64, tokens: tokens.sum::<usize>() as u64 }
    }
}

#[cfg(test)]
impl PlannedDocument {
    /// Gives every passage some vector.
    pub fn pretend_embedded(&mut self, dim: usize) {
        for input in &self.inputs {
            let mut values = vec![0.0; dim];
            values[usize::from(input.0[0])] = 1.0;
            self.known.insert(*input, Embedding::from_stored(values));
        }
        self.missing.clear();
    }
}
