/// A vector of unit length that stands for the meaning of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding(Box<[f32]>);

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum EmbeddingError {
    #[error("vector has no direction: its length is {length}")]
    NoDirection { length: f32 },
}

impl Embedding {
    /// Scales `values` to unit length.
    ///
    /// # Errors
    /// When the length is zero or not finite, as after a numeric failure on a device.
    pub fn normalized(mut values: Vec<f32>) -> Result<Self, EmbeddingError> {
        let length = values.iter().map(|v| v * v).sum::<f32>().sqrt();
        if !length.is_finite() || length <= f32::EPSILON {
            return Err(EmbeddingError::NoDirection { length });
        }
        for value in &mut values {
            *value /= length;
        }
        Ok(Self(values.into()))
    }

    /// Takes components that were of unit length before they were rounded; they are kept as they are, so
    /// that storing them again changes nothing.
    #[must_use]
    pub fn from_stored(values: Vec<f32>) -> Self {
        Self(values.into())
    }

    /// Number of components.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// Cosine of the angle between the two, in −1 ..= 1; both have `dim` components.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f32 {
        debug_assert_eq!(self.dim(), other.dim());
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalized_has_unit_length_and_keeps_direction() {
        let e = Embedding::normalized(vec![3.0, 4.0]).unwrap();
        assert_eq!(e.as_slice(), [0.6, 0.8]);
        assert!((e.cosine(&e) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_vector_without_direction_is_refused() {
        for bad in [vec![0.0, 0.0], vec![f32::NAN, 1.0], vec![f32::INFINITY]] {
            assert!(Embedding::normalized(bad).is_err());
        }
    }
}
