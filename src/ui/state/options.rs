use lodestone::engine::{Diagnosis, Endpoint, FetchProgress, ModelEntry, SelfMeasurement};

/// What the Settings view knows beside the settings themselves.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub models: Vec<ModelEntry>,
    /// The model that is fetched, and how far.
    pub fetching: Option<(String, Option<FetchProgress>)>,
    /// Why the last one could not be had.
    pub fetch_trouble: Option<String>,
    pub endpoint: Endpoint,
    pub measuring: bool,
    pub measured: Measured,
    pub testing: bool,
    pub tested: Option<Diagnosis>,
    /// A pattern that cannot be read, and why.
    pub exclusion_trouble: Option<String>,
    /// On disk, all of the data directory.
    pub data_bytes: Option<u64>,
    /// What waits for a second word.
    pub asking: Option<Asking>,
}

/// What came of a self-measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Measured {
    #[default]
    NotYet,
    /// Nothing was there to be measured.
    Nothing,
    As(SelfMeasurement),
}

/// What cannot be undone, or costs much, and is therefore asked about once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asking {
    Clear,
    /// Another model, for so many documents.
    Switch(String),
    RemoveModel(String),
    Import(std::path::PathBuf),
}

impl Options {
    pub fn set_models(&mut self, models: Vec<ModelEntry>) {
        self.models = models;
        let is_known = |name: &String| self.models.iter().any(|model| model.name == *name);
        if let Some(Asking::Switch(name) | Asking::RemoveModel(name)) = &self.asking
            && !is_known(name)
        {
            self.asking = None;
        }
    }

    /// Percent of a fetch, once its size is known.
    pub fn fetched_percent(&self) -> Option<f64> {
        let (_, progress) = self.fetching.as_ref()?;
        let progress = progress.as_ref().filter(|progress| progress.bytes_total > 0)?;
        Some((progress.bytes_done as f64 / progress.bytes_total as f64 * 100.0).min(100.0))
    }
}

#[cfg(test)]
mod tests {
    use lodestone::engine::{KnownModelKind, ModelEntryState};

    use super::*;

    fn model(name: &str, state: ModelEntryState) -> ModelEntry {
        let kind = KnownModelKind::Embedding;
        ModelEntry { name: name.into(), kind, dim: Some(384), bytes: 45, folder: None, state }
    }

    #[test]
    fn a_question_about_a_model_that_has_gone_is_dropped() {
        let mut options =
            Options { asking: Some(Asking::Switch("b".into())), ..Options::default() };
        let a = model("a", ModelEntryState::InUse);
        options.set_models(vec![a.clone(), model("b", ModelEntryState::Pending { percent: 40 })]);
        assert!(options.asking.is_some());
        options.set_models(vec![a]);
        assert_eq!((options.asking, options.models.len()), (None, 1));
    }

    #[test]
    fn a_fetch_has_a_share_once_its_size_is_known() {
        let mut options = Options { fetching: Some(("a/b".into(), None)), ..Options::default() };
        assert_eq!(options.fetched_percent(), None);
        let progress = FetchProgress { file: "x".into(), bytes_done: 1, bytes_total: 4 };
        options.fetching = Some(("a/b".into(), Some(progress)));
        assert!((options.fetched_percent().unwrap() - 25.0).abs() < 1e-9);
    }
}
