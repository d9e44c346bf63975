//! Whether a difference between two systems on the same queries could be chance.

/// Relabelings that are drawn. The standard error of a p-value of 0.05 is then 0.0015.
const RELABELINGS: u32 = 20_000;

/// Two sums that differ by less are one: an exchange that changes nothing may round differently.
const ROUNDING: f64 = 1e-9;

/// The two-sided p-value of a paired randomization test on the mean difference (Fisher; recommended for
/// retrieval by Smucker, Allan and Carterette, CIKM 2007): how often a difference at least as large
/// comes about when it is left to a coin, query by query, which of the two scores is whose.
///
/// `differences` holds one number for each query. The coin is seeded, so the same differences give the
/// same answer on every run; without any there is nothing to tell apart, and the answer is 1.
#[must_use]
pub fn paired_randomization(differences: &[f64]) -> f64 {
    let telling: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let observed = telling.iter().sum::<f64>().abs() - ROUNDING;
    let mut coin = Coin(0x4c6f_6465_7374_6f6e);
    let as_large = (0..RELABELINGS)
        .filter(|_| {
            let flipped = |d: &f64| if coin.toss() { *d } else { -*d };
            telling.iter().map(flipped).sum::<f64>().abs() >= observed
        })
        .count();
    // The labels as they are count as one of the draws, so that no p-value is zero.
    (as_large as f64 + 1.0) / (f64::from(RELABELINGS) + 1.0)
}

/// `SplitMix64` (Steele, Lea and Flood 2014).
struct Coin(u64);

impl Coin {
    fn toss(&mut self) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) >> 63 == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every one of the 2ⁿ relabelings, for few queries.
    fn exact(differences: &[f64]) -> f64 {
        let observed = differences.iter().sum::<f64>().abs() - ROUNDING;
        let all = 1_u32 << differences.len();
        let as_large = (0..all).filter(|labels| {
            let signed = |(at, d): (usize, &f64)| if labels >> at & 1 == 1 { *d } else { -*d };
            differences.iter().enumerate().map(signed).sum::<f64>().abs() >= observed
        });
        as_large.count() as f64 / f64::from(all)
    }

    #[test]
    fn nothing_to_tell_apart_is_no_difference() {
        assert!((paired_randomization(&[]) - 1.0).abs() < 1e-12);
        assert!((paired_randomization(&[0.0; 40]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_that_is_always_better_is_significant_and_one_that_is_by_turns_is_not() {
        assert!(paired_randomization(&[0.1; 30]) < 1e-3);
        let by_turns: Vec<f64> = (0..30).map(|n| if n % 2 == 0 { 0.1 } else { -0.1 }).collect();
        assert!(paired_randomization(&by_turns) > 0.9);
    }

    proptest! {
        #[test]
        fn the_drawn_relabelings_stand_for_all_of_them(
            tenths in proptest::collection::vec(-10_i8..10, 1..10),
        ) {
            let differences: Vec<f64> = tenths.iter().map(|d| f64::from(*d) / 10.0).collect();
            let drawn = paired_randomization(&differences);
            prop_assert!((drawn - exact(&differences)).abs() < 0.02);
            // Which system is called the first does not count.
            let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
            prop_assert!((paired_randomization(&turned) - drawn).abs() < 0.02);
        }
    }
}
