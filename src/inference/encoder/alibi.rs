/// Attention with linear biases (Press et al. 2021), in the symmetric form of encoders (Günther et al.
/// 2023): a score loses `slope · |i − j|` for the distance between the two tokens.
///
/// The slopes are all that is kept. As a tensor `[heads, n, n]` the bias of 8,192 tokens and 8 heads
/// would be 2 GiB.
#[derive(Clone, Debug, PartialEq)]
pub struct Alibi {
    slopes: Vec<f32>,
}

impl Alibi {
    /// For a power of two the slopes are 2^(−8/heads), 2^(−16/heads), … 2^(−8). Other numbers of heads
    /// take those of the next lower power of two, then every second one of the next higher.
    #[must_use]
    pub fn new(heads: usize) -> Self {
        let lower = if heads.is_power_of_two() { heads } else { heads.next_power_of_two() / 2 };
        let geometric = |count: usize| {
            (1..=count).map(move |at| (-8.0 * at as f64 / count as f64).exp2() as f32)
        };
        let between = geometric(2 * lower).step_by(2);
        Self { slopes: geometric(lower).chain(between).take(heads).collect() }
    }

    /// One for each head, positive.
    #[must_use]
    pub fn slopes(&self) -> &[f32] {
        &self.slopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that the authors of both papers publish in their code.
    #[test]
    fn slopes_are_those_of_the_papers() {
        assert_eq!(Alibi::new(4).slopes(), [0.25, 0.0625, 0.015_625, 0.003_906_25]);
        assert_eq!(Alibi::new(1).slopes(), [0.003_906_25]);
        let twelve = Alibi::new(12);
        assert_eq!(twelve.slopes()[..8], *Alibi::new(8).slopes());
        let between = [0.5_f32.sqrt(), 0.353_553_4, 0.176_776_7, 0.088_388_35];
        for (slope, want) in twelve.slopes()[8..].iter().zip(between) {
            assert!((slope - want).abs() < 1e-7, "{slope} {want}");
        }
    }

    #[test]
    fn every_head_has_a_slope_of_its_own() {
        for heads in 1..=64 {
            let mut slopes = Alibi::new(heads).slopes().to_vec();
            slopes.sort_by(f32::total_cmp);
            slopes.dedup();
            assert_eq!(slopes.len(), heads);
            assert!(slopes.iter().all(|slope| (0.0..1.0).contains(slope)), "{slopes:?}");
        }
    }
}
