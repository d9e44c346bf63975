use std::ops::Range;

/// What is marked in a document's text; every range counts its bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marks {
    /// The chosen passage.
    pub chosen: Option<Range<usize>>,
    /// First shown byte of the chosen passage: what is scrolled to.
    pub anchor: Option<usize>,
    /// First shown byte of what answers best in it.
    pub best: Option<usize>,
    /// Passages of the answer.
    pub found: Vec<Range<usize>>,
    /// Words of the query.
    pub matches: Vec<Range<usize>>,
    /// Sentences that answer best.
    pub sentences: Vec<Range<usize>>,
    /// First shown byte of every passage, ascending.
    pub starts: Vec<usize>,
}

/// A piece of a leaf with one set of marks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent mark of the piece")]
pub struct Segment {
    pub range: Range<usize>,
    pub chosen: bool,
    pub found: bool,
    pub matched: bool,
    pub sentence: bool,
    /// A passage starts here.
    pub starts: bool,
    /// The chosen passage starts here.
    pub anchor: bool,
    /// What answers best in the chosen passage starts here.
    pub best: bool,
}

impl Segment {
    /// Whether nothing is left to mark inside a block that is itself marked as chosen or found.
    pub fn is_plain_within(&self, chosen: bool, found: bool) -> bool {
        let marked = self.matched || self.sentence || self.starts || self.anchor || self.best;
        !marked && (chosen || !self.chosen) && (chosen || found || !self.found)
    }
}

impl Marks {
    pub fn sort(&mut self) {
        self.starts.sort_unstable();
        self.starts.dedup();
        for ranges in [&mut self.found, &mut self.matches, &mut self.sentences] {
            ranges.sort_unstable_by_key(|range| range.start);
        }
    }

    pub fn chooses(&self, range: &Range<usize>) -> bool {
        self.chosen.as_ref().is_some_and(|chosen| holds(chosen, range))
    }

    pub fn finds(&self, range: &Range<usize>) -> bool {
        self.found.iter().any(|found| holds(found, range))
    }

    /// Cuts a leaf wherever a mark begins or ends.
    pub fn segments(&self, leaf: &Range<usize>) -> Vec<Segment> {
        let first = self.starts.partition_point(|start| *start <= leaf.start);
        let past = self.starts.partition_point(|start| *start < leaf.end);
        let mut cuts: Vec<usize> = self.starts.get(first..past).unwrap_or_default().to_vec();
        let ranges = self.chosen.iter().chain(&self.found).chain(&self.matches);
        for range in ranges.chain(&self.sentences) {
            let inside = |cut: &usize| leaf.start < *cut && *cut < leaf.end;
            cuts.extend([range.start, range.end].iter().filter(|cut| inside(cut)));
        }
        cuts.extend([leaf.start, leaf.end]);
        cuts.sort_unstable();
        cuts.dedup();
        cuts.windows(2).map(|cut| self.segment(cut[0]..cut[1])).collect()
    }

    /// The marks of a range that no mark cuts, or that is shown whole.
    pub fn segment(&self, range: Range<usize>) -> Segment {
        let any = |ranges: &[Range<usize>]| ranges.iter().any(|mark| holds(mark, &range));
        Segment {
            chosen: self.chooses(&range),
            found: any(&self.found),
            matched: any(&self.matches),
            sentence: any(&self.sentences),
            starts: self.starts.binary_search(&range.start).is_ok(),
            anchor: self.anchor == Some(range.start),
            best: self.best == Some(range.start),
            range,
        }
    }
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_leaf_is_cut_at_every_mark() {
        let one = |range: Range<usize>| Vec::from([range]);
        let marks = Marks {
            chosen: Some(4..20),
            anchor: Some(4),
            matches: one(6..8),
            sentences: one(5..10),
            starts: vec![0, 4],
            ..Marks::default()
        };
        let shown: Vec<String> = marks
            .segments(&(0..12))
            .iter()
            .map(|segment| {
                let flag = |on: bool, name: &'static str| if on { name } else { "" };
                format!(
                    "{:?}{}{}{}{}{}",
                    segment.range,
                    flag(segment.chosen, "c"),
                    flag(segment.matched, "m"),
                    flag(segment.sentence, "s"),
                    flag(segment.starts, "|"),
                    flag(segment.anchor, "!"),
                )
            })
            .collect();
        assert_eq!(shown, ["0..4|", "4..5c|!", "5..6cs", "6..8cms", "8..10cs", "10..12c"]);
    }

    proptest! {
        /// Segments cover the leaf in order, and none is cut by a mark.
        #[test]
        fn segments_cover_the_leaf(
            leaf in (0_usize..40, 1_usize..40),
            matches in proptest::collection::vec((0_usize..80, 1_usize..20), 0..6),
            starts in proptest::collection::vec(0_usize..80, 0..6),
        ) {
            let leaf = leaf.0..leaf.0 + leaf.1;
            let matches: Vec<_> = matches.into_iter().map(|(at, len)| at..at + len).collect();
            let mut marks = Marks { matches, starts, ..Marks::default() };
            marks.sort();
            let segments = marks.segments(&leaf);
            prop_assert_eq!(segments.first().map(|s| s.range.start), Some(leaf.start));
            prop_assert_eq!(segments.last().map(|s| s.range.end), Some(leaf.end));
            for pair in segments.windows(2) {
                prop_assert_eq!(pair[0].range.end, pair[1].range.start);
            }
            for segment in &segments {
                for byte in segment.range.clone() {
                    let marked = marks.matches.iter().any(|m| m.contains(&byte));
                    prop_assert_eq!(marked, segment.matched);
                }
            }
        }
    }
}
