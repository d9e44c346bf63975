use serde::Serialize;

/// What an indexing run did: the JSON of `lode index --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IngestReport {
    /// Documents that are new or replaced.
    pub indexed: u64,
    pub unchanged: u64,
    /// Documents whose files have gone.
    pub removed: u64,
    pub skipped: Vec<Skipped>,
    pub chunks: u64,
    pub tokens: u64,
    pub seconds: f64,
}

/// A source that is not searchable, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// For people: the path or URL.
    pub source: String,
    /// What is wrong and what can be done.
    pub reason: String,
}
