//! A set of small numbers, one bit each.

/// Numbers below a bound that is fixed at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    words: Vec<u64>,
    ones: usize,
}

impl Bits {
    /// The empty set of numbers below `bound`.
    pub fn none(bound: usize) -> Self {
        Self { words: vec![0; bound.div_ceil(64)], ones: 0 }
    }

    /// Numbers in the set.
    pub fn ones(&self) -> usize {
        self.ones
    }

    #[inline]
    pub fn has(&self, number: u32) -> bool {
        self.words.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds a number; what is not below the bound is left out.
    pub fn add(&mut self, number: u32) {
        if let Some(word) = self.words.get_mut(number as usize / 64) {
            let bit = 1 << (number % 64);
            self.ones += usize::from(*word & bit == 0);
            *word |= bit;
        }
    }
}
