//! The best passages by adding up one posting list after the other.
//!
//! A query is some forty lists: each word in three fields, in the forms of each language. tantivy's block-max
//! WAND goes through all of them at once, and with a score that many small terms make up it can skip
//! little: over a hundred thousand passages it took half of a search (docs/performance.md). The time of
//! adding everything up is proportional to the postings, so beyond [`POSTINGS_MAX`] it is left to WAND.

use tantivy::postings::TermInfo;
use tantivy::query::Bm25Weight;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, Score, Searcher, SegmentReader, TantivyError, Term};

use super::collector::KeyColumns;
use super::query::PreparedQuery;
use super::schema::Fields;
use super::scores::bm25;
use crate::data::Candidate;
use crate::index::PassageFilter;
use crate::index::top::Top;

/// Postings that are added up for one query, ten times what eight common words have in a hundred thousand
/// passages. Where WAND would begin to be faster was not measured.
const POSTINGS_MAX: u64 = 4_000_000;

/// Where one word in one field is posted, and what a posting is worth.
struct List {
    field: Field,
    bm25: Bm25Weight,
    /// For each segment.
    posted: Vec<Option<TermInfo>>,
}

impl List {
    fn find(searcher: &Searcher, term: &Term, weight: Score) -> Result<Self, TantivyError> {
        let mut posted = Vec::with_capacity(searcher.segment_readers().len());
        for segment in searcher.segment_readers() {
            posted.push(segment.inverted_index(term.field())?.get_term_info(term)?);
        }
        let holding = posted.iter().flatten().map(|info| u64::from(info.doc_freq)).sum();
        let bm25 = bm25(searcher, term.field(), holding, weight)?;
        Ok(Self { field: term.field(), bm25, posted })
    }

    fn postings(&self) -> u64 {
        self.posted.iter().flatten().map(|info| u64::from(info.doc_freq)).sum()
    }

    fn each_score(
        &self,
        (at, segment): (usize, &SegmentReader),
        mut take: impl FnMut(DocId, Score),
    ) -> Result<(), TantivyError> {
        let Some(info) = &self.posted[at] else { return Ok(()) };
        let inverted = segment.inverted_index(self.field)?;
        let with_freqs = IndexRecordOption::WithFreqs;
        let mut postings = inverted.read_block_postings_from_terminfo(info, with_freqs)?;
        let lengths = segment.get_fieldnorms_reader(self.field)?;
        while !postings.docs().is_empty() {
            for (doc, frequency) in postings.docs().iter().zip(postings.freqs()) {
                take(*doc, self.bm25.score(lengths.fieldnorm_id(*doc), *frequency));
            }
            postings.advance();
        }
        Ok(())
    }
}

/// The lists of a query without phrases.
pub(super) struct Lists {
    plain: Vec<List>,
    /// For each word with guesses, those, of which the best counts.
    guessed: Vec<Vec<List>>,
}

impl Lists {
    /// `None` where phrases have to be looked for, or where there is too much to add up.
    pub fn find(
        searcher: &Searcher,
        fields: &Fields,
        query: &PreparedQuery,
    ) -> Result<Option<Self>, TantivyError> {
        if query.has_phrases() {
            return Ok(None);
        }
        let find = |(term, weight): (Term, Score)| List::find(searcher, &term, weight);
        let plain = query.plain_terms(fields).into_iter().map(find).collect::<Result<_, _>>()?;
        let mut guessed = Vec::new();
        for guesses in query.guessed_terms(fields) {
            guessed.push(guesses.into_iter().map(find).collect::<Result<_, _>>()?);
        }
        let lists = Self { plain, guessed };
        let all = lists.plain.iter().chain(lists.guessed.iter().flatten());
        let postings: u64 = all.map(List::postings).sum();
        Ok((postings <= POSTINGS_MAX).then_some(lists))
    }

    /// The best `limit` passages that a filter allows, best first. Scores are added in the order of the
    /// terms, so that they are the same however the index is cut into segments.
    pub fn best(
        &self,
        searcher: &Searcher,
        columns: &[KeyColumns],
        filter: &PassageFilter,
        limit: usize,
    ) -> Result<Vec<Candidate>, TantivyError> {
        let mut top = Top::new(limit);
        for (at, (segment, keys)) in searcher.segment_readers().iter().zip(columns).enumerate() {
            let alive = segment.alive_bitset();
            for (doc, score) in (0..).zip(self.sums((at, segment))?) {
                let is_alive = || alive.is_none_or(|alive| alive.is_alive(doc));
                if score > 0.0 && top.wants(score) && is_alive() {
                    let key = keys.key(doc);
                    if filter.allows(key) {
                        top.offer(score, key, ());
                    }
                }
            }
        }
        Ok(top.into_candidates())
    }

    /// The score of each passage of a segment; 0 for those that hold nothing of the query.
    fn sums(&self, here: (usize, &SegmentReader)) -> Result<Vec<Score>, TantivyError> {
        let mut sums = vec![0.0; here.1.max_doc() as usize];
        for list in &self.plain {
            list.each_score(here, |doc, score| sums[doc as usize] += score)?;
        }
        for guesses in &self.guessed {
            let mut best = vec![0.0_f32; sums.len()];
            for list in guesses {
                list.each_score(here, |doc, score| {
                    let best = &mut best[doc as usize];
                    *best = best.max(score);
                })?;
            }
            sums.iter_mut().zip(best).for_each(|(sum, best)| *sum += best);
        }
        Ok(sums)
    }
}
