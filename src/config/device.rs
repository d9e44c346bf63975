use std::fmt;
use std::str::FromStr;

/// The environment variable that chooses a device.
pub const DEVICE_VARIABLE: &str = "LODESTONE_DEVICE";

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
#[error("{DEVICE_VARIABLE} is {value:?}; choose auto, metal, cuda or cpu")]
pub struct DeviceChoiceError {
    value: String,
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
        choice.ok_or_else(|| DeviceChoiceError { value: value.to_owned() })
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
