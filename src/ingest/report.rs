use serde::Serialize;

use crate::storage::SkippedSource;

/// What an indexing run did: the JSON of `lode index --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IngestReport {
    /// Documents that are new or replaced.
    pub indexed: u64,
    pub unchanged: u64,
    /// Documents whose files have gone.
    pub removed: u64,
    pub skipped: Vec<Skipped>,
    /// Passages of the indexed documents.
    pub chunks: u64,
    /// Of them, those that the model was asked about; the others kept their vectors.
    pub embedded: u64,
    /// Of the passages that were embedded.
    pub tokens: u64,
    pub seconds: f64,
    pub stages: StageSeconds,
}

/// Where the time went. Stages run side by side, so they add up to more than the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StageSeconds {
    /// Reading, extracting, tokenizing and cutting, over all threads.
    pub reading: f64,
    /// Waiting for the device, over all documents at once.
    pub embedding: f64,
    /// Storing, on one thread: no more than the whole when the store is the slowest of all.
    pub storing: f64,
}

/// A source that is not searchable, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// For people: the path or URL.
    pub source: String,
    /// What is wrong and what can be done.
    pub reason: String,
    /// How often it failed; 0 for a source that cannot be indexed as it is.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempts: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(attempts: &u32) -> bool {
    *attempts == 0
}

impl From<SkippedSource> for Skipped {
    fn from(skipped: SkippedSource) -> Self {
        let SkippedSource { source, reason, attempts, .. } = skipped;
        Self { source: source.to_string(), reason, attempts }
    }
}
