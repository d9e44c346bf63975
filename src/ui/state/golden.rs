use lodestone::data::Source;
use lodestone::engine::{GoldenMeasurement, GoldenSet, StarredAnswer};

/// The starred answers, and how well search has found them.
#[derive(Clone, Debug, Default)]
pub struct GoldenState {
    set: GoldenSet,
    /// Whether the starred queries are being asked right now.
    pub measuring: bool,
}

impl GoldenState {
    pub fn refresh(&mut self, set: GoldenSet) {
        self.set = set;
    }

    pub fn is_starred(&self, query: &str, source: &Source) -> bool {
        let query = query.trim();
        self.set.stars.iter().any(|starred| starred.query == query && starred.source == *source)
    }

    pub fn stars(&self) -> &[StarredAnswer] {
        &self.set.stars
    }

    /// Newest first.
    pub fn measurements(&self) -> &[GoldenMeasurement] {
        &self.set.measurements
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_belongs_to_a_query_and_a_source() {
        let source = |path: &str| Source::File(path.into());
        let star = StarredAnswer { query: "why rust".into(), source: source("/a"), starred_at: 0 };
        let mut golden = GoldenState::default();
        assert!(!golden.is_starred("why rust", &source("/a")));
        golden.refresh(GoldenSet { stars: vec![star], measurements: Vec::new() });
        assert!(golden.is_starred(" why rust ", &source("/a")));
        assert!(!golden.is_starred("why rust", &source("/b")));
        assert!(!golden.is_starred("why", &source("/a")));
    }
}
