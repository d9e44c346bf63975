//! How near the passages of an index are to a query that none of them answers.

use half::f16;

use super::SearchError;
use crate::data::Embedding;
use crate::index::{Moments, cosines};
use crate::storage::{Store, StoredModel};

/// Passages that stand for all: the standard error of a mean cosine is then a twentieth of the deviation.
const SAMPLE: usize = 512;

/// Unrelated passages that are thought beside an empty sample; every two real ones take the place of
/// one of them.
const THOUGHT: f32 = 16.0;

/// A sample of the vectors of an index, whatever their documents are about.
///
/// Cosines mean different things for every model and collection: two unrelated passages have 0.05 with
/// one model and 0.75 with another, and texts of one field are nearer to each other than those of many.
/// The sample tells what is ordinary here for one query.
#[derive(Clone, Debug, Default)]
pub struct Background {
    dim: usize,
    rows: Vec<f16>,
}

impl Background {
    /// Takes the sample; the same documents give the same one, whatever came and went before.
    pub(super) fn read(store: &Store, model: Option<&StoredModel>) -> Result<Self, SearchError> {
        let Some(model) = model else { return Ok(Self::default()) };
        Ok(Self { dim: model.model.dim, rows: store.sample_vectors(model, SAMPLE)? })
    }

    /// What is ordinary for this query. Few passages are themselves the answers that are to be told
    /// from the ordinary, so a few unrelated ones, as a familiar model has them, are thought beside them.
    #[must_use]
    pub fn moments(&self, query: &Embedding) -> Moments {
        let prior = Moments::default();
        if query.dim() != self.dim {
            return prior;
        }
        let cosines = cosines(query, &self.rows);
        let thought = (THOUGHT - cosines.len() as f32 / 2.0).max(0.0);
        let count = cosines.len() as f32 + thought;
        let mean = (cosines.iter().sum::<f32>() + thought * prior.mean) / count;
        let squares: f32 = cosines.iter().map(|cosine| (cosine - mean).powi(2)).sum();
        let prior_square = prior.deviation.powi(2) + (prior.mean - mean).powi(2);
        Moments { mean, deviation: ((squares + thought * prior_square) / count).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn background(angles: &[f32]) -> Background {
        let rows =
            angles.iter().flat_map(|angle| [angle.cos(), angle.sin()].map(f16::from_f32)).collect();
        Background { dim: 2, rows }
    }

    #[test]
    fn many_passages_tell_what_is_ordinary_and_few_do_not() {
        let query = Embedding::normalized(vec![1.0, 0.0]).unwrap();
        let many: Vec<f32> = (0..512).map(|n| if n % 2 == 0 { 0.5 } else { 0.7 }).collect();
        let Moments { mean, deviation } = background(&many).moments(&query);
        let (low, high) = (0.7_f32.cos(), 0.5_f32.cos());
        assert!((mean - f32::midpoint(low, high)).abs() < 1e-3, "{mean}");
        assert!((deviation - (high - low) / 2.0).abs() < 1e-3, "{deviation}");
        // One that answers and one that does not.
        let Moments { mean, deviation } = background(&[0.0, 1.5]).moments(&query);
        assert!((1.0 - mean) / deviation > 3.0 && mean < 0.2, "{mean} {deviation}");
        assert_eq!(Background::default().moments(&query), Moments::default());
    }
}
