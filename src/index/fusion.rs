//! What nearness and words are evidence of, in one unit, so that they can be added.

/// How the cosines of one query with any passages are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    pub mean: f32,
    pub deviation: f32,
}

/// What unrelated texts have with all-MiniLM-L6-v2, for an index that has nothing to tell yet.
impl Default for Moments {
    fn default() -> Self {
        Self { mean: 0.1, deviation: 0.1 }
    }
}

/// A word that a passage holds once counts its inverse document frequency in BM25, which is the
/// surprise at finding it there; one that a passage holds over and over counts up to this often, k₁ + 1.
/// Nearness is not something that a passage has once: it is taken at the same full measure.
const SATURATION: f32 = 2.2;

/// A passage counts as near where fewer than this many unrelated passages of the index would be.
const UNRELATED_MAX: f32 = 10.0;

/// In a small index it counts as near where at most one in so many unrelated passages would be.
const ONE_IN: f32 = 50.0;

/// A passage this near says nearly the same words with any model, whatever is ordinary in the index.
const NEARLY_THE_SAME: f32 = 0.95;

/// Says for one query what its cosines and its BM25 are evidence of.
///
/// Both are brought to one unit, the surprise (−ln of the probability) at a passage that has nothing to do
/// with the query. BM25 is a sum of such numbers. For a cosine it is the upper tail of a normal
/// distribution with the mean and deviation that this query has with any passages of this index, times
/// what the model knows of the words of the two texts: a query in a language that it was not trained on
/// has neighbors as well, and they mean nothing. Adding surprises is Fisher's method of combining tests (1932). There
/// is no weight between the two lists that one collection would want otherwise than another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judge {
    ordinary: Moments,
    familiarity: f32,
    /// The surprise from which a passage is near.
    floor: f32,
}

impl Judge {
    /// `ordinary` is how the query's cosines are spread over any passages, `familiarity` (0 ..= 1) how
    /// much of the query the model knows, `passages` how many the index holds.
    #[must_use]
    pub fn new(ordinary: Moments, familiarity: f32, passages: usize) -> Self {
        let floor = (passages as f32 / UNRELATED_MAX).max(ONE_IN).ln();
        Self { ordinary, familiarity: familiarity.clamp(0.0, 1.0), floor }
    }

    /// What a cosine is evidence of.
    #[must_use]
    pub fn meaning(&self, cosine: f32) -> f32 {
        SATURATION * self.surprise(cosine)
    }

    /// What BM25 is evidence of.
    #[must_use]
    pub fn words(&self, bm25: f32) -> f32 {
        bm25
    }

    /// Whether a passage is nearer to the query than unrelated ones are.
    #[must_use]
    pub fn is_near(&self, cosine: f32) -> bool {
        cosine >= NEARLY_THE_SAME || self.surprise(cosine) >= self.floor
    }

    fn surprise(&self, cosine: f32) -> f32 {
        // Vectors that are all alike tell nothing apart.
        let deviations = (cosine - self.ordinary.mean) / self.ordinary.deviation.max(1e-3);
        // Two texts are compared, and the passage is in the language of the query.
        self.familiarity * self.familiarity * surprise(deviations)
    }
}

/// −ln of the probability that a normal variable is `z` deviations above its mean or more.
fn surprise(z: f32) -> f32 {
    let beyond = tail_ln(z.abs());
    if z >= 0.0 { -beyond } else { -(-beyond.exp()).ln_1p() }
}

/// Of the polynomial in [`tail_ln`], lowest degree first.
const TAIL: [f32; 10] = [
    -1.265_512_2,
    1.000_023_7,
    0.374_091_96,
    0.096_784_18,
    -0.186_288_06,
    0.278_868_07,
    -1.135_204,
    1.488_515_9,
    -0.822_152_2,
    0.170_872_77,
];

/// ln of the probability that a normal variable is `z` ≥ 0 deviations above its mean or more: the
/// complementary error function after Press et al., Numerical Recipes, whose relative error is 1.2e-7.
fn tail_ln(z: f32) -> f32 {
    let x = z * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x);
    let sum = TAIL.iter().rev().fold(0.0, |sum, coefficient| sum * t + coefficient);
    (0.5 * t).ln() - x * x + sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn surprise_is_that_of_a_normal_tail() {
        for (z, expected) in [
            (-2.0, 0.0230_f32),
            (-1.0, 0.1728),
            (0.0, std::f32::consts::LN_2),
            (1.0, 1.8410),
            (2.0, 3.7832),
            (3.0, 6.6077),
            (5.0, 15.0650),
            (8.0, 35.0134),
        ] {
            let got = surprise(z);
            assert!((got - expected).abs() < 1e-3, "{z}: {got} is not {expected}");
        }
    }

    #[test]
    fn a_query_that_the_model_does_not_know_is_left_to_words() {
        let ordinary = Moments { mean: 0.2, deviation: 0.1 };
        let (known, unknown) = (Judge::new(ordinary, 1.0, 9), Judge::new(ordinary, 0.0, 9));
        assert!(known.meaning(0.7) > known.words(20.0));
        assert!(unknown.meaning(0.7) < unknown.words(0.1));
    }

    #[test]
    fn the_more_passages_there_are_the_nearer_one_has_to_be() {
        let ordinary = Moments { mean: 0.2, deviation: 0.1 };
        let (small, large) = (Judge::new(ordinary, 1.0, 9), Judge::new(ordinary, 1.0, 100_000));
        assert!(small.is_near(0.42) && !small.is_near(0.38));
        assert!(large.is_near(0.6) && !large.is_near(0.55));
        assert!(!Judge::new(ordinary, 0.2, 9).is_near(0.5), "neighbors of unknown words");
        let alike = Moments { mean: 0.97, deviation: 0.05 };
        assert!(Judge::new(alike, 1.0, 9).is_near(1.0), "the same text");
    }

    #[test]
    fn just_below_the_mean_is_no_more_evidence_than_just_above() {
        assert!((surprise(-1e-4) - surprise(1e-4)).abs() < 1e-3);
    }

    proptest! {
        /// However near and however spread, nearer is more evidence and none is no number.
        #[test]
        fn nearer_is_more_evidence(
            mean in -0.2_f32..0.9,
            deviation in 0.0_f32..0.3,
            one in -1.0_f32..1.0,
            two in -1.0_f32..1.0,
            familiarity in 0.0_f32..1.0,
        ) {
            let judge = Judge::new(Moments { mean, deviation }, familiarity, 100);
            let (low, high) = (one.min(two), one.max(two));
            prop_assert!(judge.meaning(low) <= judge.meaning(high) + 1e-3);
            prop_assert!(judge.meaning(low) >= 0.0 && judge.meaning(high).is_finite());
        }
    }
}
