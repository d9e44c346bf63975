use std::ops::Range;

use serde::Serialize;

use super::{ChunkKey, DocumentId, Locator, MediaType, Source};

/// One entry of one list, before fusion. Larger scores are better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    pub chunk: ChunkKey,
    pub score: f32,
}

/// A passage that answers a query, as shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// One-based.
    pub rank: usize,
    /// Fused score; larger is better, comparable within one answer only.
    pub score: f32,
    pub document: HitDocument,
    pub passage: Passage,
    /// Other passages of the same document in the answer, best first.
    pub more: Vec<Passage>,
    /// Documents further down the answer that say nearly the same: copies and versions of this one.
    pub also: Vec<HitDocument>,
    pub why: Why,
    /// Whether it is too far from the query to be an answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_weak: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HitDocument {
    pub id: DocumentId,
    #[serde(serialize_with = "display")]
    pub source: Source,
    pub title: String,
    pub media_type: MediaType,
    /// Seconds since the Unix epoch.
    pub modified: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Passage {
    pub chunk: ChunkKey,
    pub text: String,
    /// Bytes of the document's text.
    pub range: TextRange,
    pub locator: Option<Locator>,
    /// Bytes of `text` that match words of the query; ascending, disjoint.
    pub matches: Vec<TextRange>,
    /// Bytes of `text` of the sentence that answers best, where words tell.
    pub sentence: Option<TextRange>,
}

/// A byte range that is written to JSON as `[start, end]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextRange {
    pub start: usize,
    pub end: usize,
}

/// Why a hit stands where it stands: its score is the sum of what meaning and words are evidence of.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Why {
    pub semantic: Option<SemanticWhy>,
    pub keyword: Option<KeywordWhy>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SemanticWhy {
    /// One-based rank in the list by meaning; `None` beyond its end.
    pub rank: Option<usize>,
    /// Cosine similarity.
    pub score: f32,
    /// Part of the hit's score.
    pub evidence: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeywordWhy {
    /// One-based rank in the list by words; `None` beyond its end.
    pub rank: Option<usize>,
    /// BM25.
    pub score: f32,
    /// Part of the hit's score.
    pub evidence: f32,
    /// Words of the query that the passage holds.
    pub terms: Vec<String>,
}

impl From<Range<usize>> for TextRange {
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

impl From<TextRange> for Range<usize> {
    fn from(range: TextRange) -> Self {
        range.start..range.end
    }
}

impl Serialize for TextRange {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.start, self.end).serialize(serializer)
    }
}

fn display<S: serde::Serializer>(source: &Source, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(source)
}
