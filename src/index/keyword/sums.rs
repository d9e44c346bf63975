//! The best passages by adding up one posting list after the other.
//!
//! A query is some forty lists: each word in three fields, in the forms of each language. tantivy's block-max
//! WAND goes through all of them at once, and with a score that many small terms make up it can skip
//! little: over a hundred thousand passages it took half of a search (docs/performance.md). The time of
//! adding everything up is proportional to the postings, so beyond [`POSTINGS_MAX`] it is left to WAND.

use tantivy::postings::{Postings as _, TermInfo};
use tantivy::query::{Bm25StatisticsProvider as _, Bm25Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet as _, Score, Searcher, SegmentReader, TantivyError, Term};

use super::collector::KeyColumns;
use super::query::PreparedQuery;
use super::schema::Fields;
use super::scores::Named;
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

    /// Hands scores to `take`, with the place of the passage among the named ones.
    fn each_score_of(
        &self,
        here: &Named<'_>,
        mut take: impl FnMut(usize, Score),
    ) -> Result<(), TantivyError> {
        let Some(info) = &self.posted[here.at] else { return Ok(()) };
        let inverted = here.segment.inverted_index(self.field)?;
        let mut postings =
            inverted.read_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?;
        let lengths = here.segment.get_fieldnorms_reader(self.field)?;
        for (at, doc) in here.docs.iter().enumerate() {
            let reached = if postings.doc() < *doc { postings.seek(*doc) } else { postings.doc() };
            if reached == *doc {
                take(at, self.bm25.score(lengths.fieldnorm_id(*doc), postings.term_freq()));
            }
        }
        Ok(())
    }
}

/// The score of one word in one field that `holding` passages hold, as tantivy has it.
fn bm25(
    searcher: &Searcher,
    field: Field,
    holding: u64,
    weight: Score,
) -> Result<Bm25Weight, TantivyError> {
    let passages = searcher.total_num_docs()?;
    let words_a_passage = searcher.total_num_tokens(field)? as Score / passages as Score;
    let bm25 = Bm25Weight::for_one_term_without_explain(holding, passages, words_a_passage);
    Ok(bm25.boost_by(weight))
}

/// How the scores of several lists make one.
#[derive(Clone, Copy)]
enum Fold {
    Sum,
    Best,
}

impl Fold {
    #[inline]
    fn put(self, score: Score, into: &mut Score) {
        *into = match self {
            Self::Sum => *into + score,
            Self::Best => into.max(score),
        };
    }
}

/// The lists of a query without phrases.
pub(super) struct Lists {
    plain: Vec<List>,
    /// For each word with guesses, those, of which the best counts.
    guessed: Vec<Vec<List>>,
}

impl Lists {
    /// `None` where phrases have to be looked for.
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
        Ok(Some(Self { plain, guessed }))
    }

    /// Whether they are too long to be added up.
    pub fn are_long(&self) -> bool {
        let all = self.plain.iter().chain(self.guessed.iter().flatten());
        all.map(List::postings).sum::<u64>() > POSTINGS_MAX
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
        self.folded(here.1.max_doc() as usize, |list, fold, sums| {
            list.each_score(here, |doc, score| fold.put(score, &mut sums[doc as usize]))
        })
    }

    /// The same for named passages alone, in their order.
    pub fn sums_of(&self, here: &Named<'_>) -> Result<Vec<Score>, TantivyError> {
        self.folded(here.docs.len(), |list, fold, sums| {
            list.each_score_of(here, |at, score| fold.put(score, &mut sums[at]))
        })
    }

    fn folded(
        &self,
        passages: usize,
        add: impl Fn(&List, Fold, &mut [Score]) -> Result<(), TantivyError>,
    ) -> Result<Vec<Score>, TantivyError> {
        let mut sums = vec![0.0; passages];
        for list in &self.plain {
            add(list, Fold::Sum, &mut sums)?;
        }
        for guesses in &self.guessed {
            let mut best = vec![0.0; passages];
            for list in guesses {
                add(list, Fold::Best, &mut best)?;
            }
            sums.iter_mut().zip(best).for_each(|(sum, best)| *sum += best);
        }
        Ok(sums)
    }
}
