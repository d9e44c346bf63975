use std::cmp::Reverse;
use std::fmt;

use serde::{Deserialize, Serialize};
use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::merge_policy::{LogMergePolicy, NoMergePolicy};
use tantivy::{IndexWriter, TantivyDocument, TantivyError};
use tracing::warn;

use super::schema::FORMAT;
use super::{KeywordIndex, KeywordIndexError, analysis, document_term};
use crate::data::{ChangeNumber, DocumentId};

/// Memory that words are gathered in before they are written.
const WRITER_BYTES: usize = 48 << 20;

/// Segments that a search looks into without being noticeably slower for it.
const SEGMENTS_MAX: usize = 4;

/// Share of removed passages from which a segment is written anew: they take space, and they count
/// in how rare a word is.
const DEAD_SHARE_MAX: f32 = 0.2;

/// Which store an index was derived from, and up to which change. It is part of the commit, so it
/// is never ahead of the content or behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexProgress {
    /// The id of the store.
    pub store: String,
    pub reached: ChangeNumber,
    /// The embedding model that the passages were cut for, as the store numbers it; `None` before
    /// one was chosen.
    pub model: Option<i64>,
}

#[derive(Serialize, Deserialize)]
struct Payload {
    format: u32,
    store: String,
    reached: u64,
    #[serde(default)]
    model: Option<i64>,
}

impl IndexProgress {
    pub(super) fn from_payload(payload: &str) -> Result<Self, String> {
        let Payload { format, store, reached, model } =
            serde_json::from_str(payload).map_err(|e| format!("its state is no JSON: {e}"))?;
        if format != FORMAT {
            return Err(format!("it has format {format}, this version writes {FORMAT}"));
        }
        Ok(Self { store, reached: ChangeNumber(reached), model })
    }

    fn to_payload(&self) -> serde_json::Result<String> {
        let Self { store, reached, model } = self.clone();
        serde_json::to_string(&Payload { format: FORMAT, store, reached: reached.0, model })
    }
}

/// A document as the keyword index takes it.
#[derive(Clone, Copy, Debug)]
pub struct KeywordDocument<'a> {
    pub id: DocumentId,
    pub title: &'a str,
    /// In order; the place of a passage is its ordinal.
    pub passages: &'a [KeywordPassage<'a>],
}

#[derive(Clone, Copy, Debug)]
pub struct KeywordPassage<'a> {
    /// The headings that the passage stands under.
    pub headings: &'a [String],
    pub body: &'a str,
}

/// Changes that are being taken in. Nothing is seen by searches before [`KeywordUpdate::commit`],
/// and nothing remains when it is dropped without.
pub struct KeywordUpdate<'a> {
    index: &'a KeywordIndex,
    writer: IndexWriter,
    progress: Option<IndexProgress>,
}

impl fmt::Debug for KeywordUpdate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeywordUpdate").field("progress", &self.progress).finish_non_exhaustive()
    }
}

impl<'a> KeywordUpdate<'a> {
    pub(super) fn begin(index: &'a KeywordIndex) -> Result<Self, KeywordIndexError> {
        // One thread: the same changes then give the same segments, and so the same scores.
        let writer: IndexWriter =
            index.index.writer_with_num_threads(1, WRITER_BYTES).map_err(|e| index.error(e))?;
        let mut policy = LogMergePolicy::default();
        policy.set_del_docs_ratio_before_merge(DEAD_SHARE_MAX);
        writer.set_merge_policy(Box::new(policy));
        // Read under the writer's lock: another process may have gone on since anyone looked.
        let progress = index.progress()?;
        Ok(Self { index, writer, progress })
    }

    /// What the index has reached; changes after that are still to be taken in.
    #[must_use]
    pub fn progress(&self) -> Option<&IndexProgress> {
        self.progress.as_ref()
    }

    /// Forgets everything.
    ///
    /// # Errors
    /// [`KeywordIndexError`] when the directory cannot be written.
    pub fn clear(&self) -> Result<(), KeywordIndexError> {
        self.writer.delete_all_documents().map_err(|e| self.index.error(e))?;
        Ok(())
    }

    pub fn remove(&self, document: DocumentId) {
        self.writer.delete_term(document_term(&self.index.fields, document));
    }

    /// Takes a document in, in place of its older version.
    ///
    /// # Errors
    /// [`KeywordIndexError`] when the directory cannot be written.
    pub fn upsert(&self, document: &KeywordDocument<'_>) -> Result<(), KeywordIndexError> {
        self.remove(document.id);
        let fields = &self.index.fields;
        let texts = document.passages.iter().map(|passage| passage.body);
        let language = analysis::language_of([document.title].into_iter().chain(texts));
        let mut analyzer = analysis::stemming(language);
        let title = analysis::tokens(&mut analyzer, document.title);
        for (ordinal, passage) in document.passages.iter().enumerate() {
            let mut words = TantivyDocument::new();
            words.add_u64(fields.document, document.id.get());
            words.add_u64(fields.ordinal, ordinal as u64);
            words.add_text(fields.language, language.code());
            words.add_pre_tokenized_text(fields.title, title.clone());
            if !passage.headings.is_empty() {
                let headings = analysis::tokens(&mut analyzer, &passage.headings.join("\n"));
                words.add_pre_tokenized_text(fields.headings, headings);
            }
            let body = analysis::tokens(&mut analyzer, passage.body);
            words.add_pre_tokenized_text(fields.body, body);
            self.writer.add_document(words).map_err(|e| self.index.error(e))?;
        }
        Ok(())
    }

    /// Makes everything visible at once, for every process, and notes what was reached.
    ///
    /// # Errors
    /// [`KeywordIndexError`]; then the index is as it was.
    pub fn commit(mut self, progress: &IndexProgress) -> Result<(), KeywordIndexError> {
        let commit = |writer: &mut IndexWriter| {
            let payload = progress.to_payload()?;
            let mut prepared = writer.prepare_commit()?;
            prepared.set_payload(&payload);
            prepared.commit()
        };
        commit(&mut self.writer).map_err(|e| self.index.error(e))?;
        // Merges run beside the commit; leaving before they are done would throw their work away
        // each time, and segments would pile up. What was committed is there whatever becomes of them.
        if let Err(error) = self.writer.wait_merging_threads() {
            warn!(%error, "segments of the keyword index are not merged");
        }
        Ok(())
    }
}

/// Merges the segments that commits have left, if there are too many to search quickly; returns whether
/// anything was done. A large segment is left alone while the others are few passages beside it, so that
/// each passage is written anew a few times as the index grows, and not after every job.
pub(super) fn settle(index: &KeywordIndex) -> Result<bool, TantivyError> {
    let mut segments = index.index.searchable_segment_metas()?;
    if segments.len() <= SEGMENTS_MAX {
        return Ok(false);
    }
    segments.sort_by_key(|segment| Reverse(segment.max_doc()));
    let others: u32 = segments[1..].iter().map(SegmentMeta::max_doc).sum();
    let merged = if others < segments[0].max_doc() / 2 { &segments[1..] } else { &segments[..] };
    let merged: Vec<SegmentId> = merged.iter().map(SegmentMeta::id).collect();
    let mut writer: IndexWriter = index.index.writer_with_num_threads(1, WRITER_BYTES)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    writer.merge(&merged).wait()?;
    writer.wait_merging_threads()?;
    Ok(true)
}
