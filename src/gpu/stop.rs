/// Finds stop sequences in a stream of tokens and holds back what may be the start of one.
#[derive(Clone, Debug)]
pub(super) struct StopWatch {
    stop: Vec<Vec<u32>>,
    /// The longest end of the stream that a stop sequence starts with.
    held: Vec<u32>,
}

impl StopWatch {
    /// Empty sequences end nothing.
    pub(super) fn new(mut stop: Vec<Vec<u32>>) -> Self {
        stop.retain(|sequence| !sequence.is_empty());
        Self { stop, held: Vec::new() }
    }

    /// Takes the next token; returns the tokens that are certain now, and whether the stream has ended.
    pub(super) fn push(&mut self, token: u32) -> (Vec<u32>, bool) {
        self.held.push(token);
        let ended = self.stop.iter().filter(|stop| self.held.ends_with(stop)).map(Vec::len).max();
        if let Some(length) = ended {
            self.held.truncate(self.held.len() - length);
            return (self.flush(), true);
        }
        let starts_one = |end: &[u32]| self.stop.iter().any(|stop| stop.starts_with(end));
        let certain = (0..self.held.len())
            .find(|start| starts_one(&self.held[*start..]))
            .unwrap_or(self.held.len());
        (self.held.drain(..certain).collect(), false)
    }

    /// What was held back, when the stream ends for another reason.
    pub(super) fn flush(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(stop: &[Vec<u32>], tokens: &[u32]) -> (Vec<u32>, bool) {
        let mut watch = StopWatch::new(stop.to_vec());
        let mut out = Vec::new();
        for token in tokens {
            let (certain, ended) = watch.push(*token);
            out.extend(certain);
            if ended {
                return (out, true);
            }
        }
        out.extend(watch.flush());
        (out, false)
    }

    #[test]
    fn a_stop_sequence_is_cut_off_and_half_of_one_is_not() {
        let stop = [vec![1, 2, 3], vec![9]];
        assert_eq!(run(&stop, &[5, 1, 2, 3, 7]), (vec![5], true));
        assert_eq!(run(&stop, &[1, 1, 2, 1, 2, 3]), (vec![1, 1, 2], true));
        assert_eq!(run(&stop, &[4, 9]), (vec![4], true));
        assert_eq!(run(&stop, &[1, 2]), (vec![1, 2], false));
        assert_eq!(run(&[vec![]], &[1]), (vec![1], false));
    }

    proptest! {
        /// The stream ends with the first token that completes a stop sequence; nothing before that
        /// sequence is lost, whatever was held back in between.
        #[test]
        fn everything_before_the_first_stop_comes_out(
            stop in prop::collection::vec(prop::collection::vec(0..3_u32, 1..4), 0..3),
            tokens in prop::collection::vec(0..3_u32, 0..30),
        ) {
            let ends_at = |end: usize| {
                stop.iter().filter(|s| tokens[..end].ends_with(s)).map(|s| end - s.len()).min()
            };
            let want = (1..=tokens.len()).find_map(ends_at);
            let (out, ended) = run(&stop, &tokens);
            prop_assert_eq!(ended, want.is_some());
            prop_assert_eq!(out, &tokens[..want.unwrap_or(tokens.len())]);
        }
    }
}
