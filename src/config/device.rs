use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// The environment variable that chooses a device.
pub const DEVICE_VARIABLE: &str = "LODESTONE_DEVICE";

/// The environment variable that says how many device threads share the work.
pub const LANES_VARIABLE: &str = "LODESTONE_LANES";

/// The device that a person wants models to run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The best that works.
    #[default]
    Auto,
    Metal,
    Cuda,
    Cpu,
}

#[derive(Debug, thiserror::Error)]
pub enum DeviceChoiceError {
    #[error("{DEVICE_VARIABLE} is {value:?}; choose auto, metal, cuda or cpu")]
    Device { value: String },
    #[error("{LANES_VARIABLE} is {value:?}; choose a number from 1 on")]
    Lanes { value: String },
}

/// Device threads that share the work, as the environment says; without a word of it, one.
///
/// # Errors
/// When it is no number from 1 on.
pub fn lanes_from_environment() -> Result<NonZeroUsize, DeviceChoiceError> {
    match std::env::var_os(LANES_VARIABLE) {
        Some(value) if !value.is_empty() => {
            let value = value.to_string_lossy().into_owned();
            value.trim().parse().map_err(|_| DeviceChoiceError::Lanes { value })
        }
        _ => Ok(NonZeroUsize::MIN),
    }
}

impl DeviceChoice {
    const ALL: [(Self, &str); 4] =
        [(Self::Auto, "auto"), (Self::Metal, "metal"), (Self::Cuda, "cuda"), (Self::Cpu, "cpu")];

    /// What the environment says; without a word of it, the best device.
    ///
    /// # Errors
    /// When it names no device.
    pub fn from_environment() -> Result<Self, DeviceChoiceError> {
        match std::env::var_os(DEVICE_VARIABLE) {
            Some(value) if !value.is_empty() => value.to_string_lossy().parse(),
            _ => Ok(Self::Auto),
        }
    }
}

impl FromStr for DeviceChoice {
    type Err = DeviceChoiceError;

    fn from_str(value: &str) -> Result<Self, DeviceChoiceError> {
        let named = |(_, name): &&(Self, &str)| name.eq_ignore_ascii_case(value.trim());
        let choice = Self::ALL.iter().find(named).map(|(choice, _)| *choice);
        choice.ok_or_else(|| DeviceChoiceError::Device { value: value.to_owned() })
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::ALL.iter().find(|(choice, _)| choice == self);
        f.write_str(named.map_or("auto", |(_, name)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_are_written() {
        for (choice, name) in DeviceChoice::ALL {
            assert_eq!(name.parse::<DeviceChoice>().unwrap(), choice);
            assert_eq!(choice.to_string(), name);
        }
        assert_eq!(" CUDA ".parse::<DeviceChoice>().unwrap(), DeviceChoice::Cuda);
        let error = "tpu".parse::<DeviceChoice>().unwrap_err().to_string();
        assert_eq!(error, "LODESTONE_DEVICE is \"tpu\"; choose auto, metal, cuda or cpu");
    }
}
