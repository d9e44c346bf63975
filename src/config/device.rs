use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// The environment variable that chooses a device.
pub const DEVICE_VARIABLE: &str = "LODESTONE_DEVICE";

/// The environment variable that says how many device threads share the work.
pub const LANES_VARIABLE: &str = "LODESTONE_LANES";

/// The environment variable that chooses a GPU among those that wgpu finds: a part of its name, or "software"
/// for a driver that computes on the processor.
pub const GPU_VARIABLE: &str = "LODESTONE_GPU";

/// The environment variable that says how many submissions a GPU has at once.
pub const GPU_DEPTH_VARIABLE: &str = "LODESTONE_GPU_DEPTH";

/// The environment variable that has a GPU do one operation after the other, each with its time in the log.
pub const GPU_PROFILE_VARIABLE: &str = "LODESTONE_GPU_PROFILE";

/// The device that a person wants models to run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The best that works.
    #[default]
    Auto,
    Metal,
    Cuda,
    /// Any GPU with a driver for Vulkan, Metal or Direct3D 12.
    Wgpu,
    Cpu,
}

#[derive(Debug, thiserror::Error)]
pub enum DeviceChoiceError {
    #[error("{DEVICE_VARIABLE} is {value:?}; choose auto, metal, cuda, wgpu or cpu")]
    Device { value: String },
    #[error("{GPU_DEPTH_VARIABLE} is {value:?}; choose a number from 1 on")]
    GpuDepth { value: String },
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

/// The GPU that the environment names, if it does.
#[must_use]
pub fn gpu_from_environment() -> Option<String> {
    let value = std::env::var_os(GPU_VARIABLE)?.to_string_lossy().trim().to_owned();
    (!value.is_empty()).then_some(value)
}

/// Whether the environment asks for the time of every operation on a GPU.
#[must_use]
pub fn gpu_profile_from_environment() -> bool {
    std::env::var_os(GPU_PROFILE_VARIABLE).is_some_and(|value| !value.is_empty())
}

/// Submissions that a GPU has at once, as the environment says, if it does.
///
/// # Errors
/// When it is no number from 1 on.
pub fn gpu_depth_from_environment() -> Result<Option<NonZeroUsize>, DeviceChoiceError> {
    match std::env::var_os(GPU_DEPTH_VARIABLE) {
        Some(value) if !value.is_empty() => {
            let value = value.to_string_lossy().into_owned();
            let depth = value.trim().parse();
            depth.map(Some).map_err(|_| DeviceChoiceError::GpuDepth { value })
        }
        _ => Ok(None),
    }
}

impl DeviceChoice {
    const ALL: [(Self, &str); 5] = [
        (Self::Auto, "auto"),
        (Self::Metal, "metal"),
        (Self::Cuda, "cuda"),
        (Self::Wgpu, "wgpu"),
        (Self::Cpu, "cpu"),
    ];

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
        assert_eq!(error, "LODESTONE_DEVICE is \"tpu\"; choose auto, metal, cuda, wgpu or cpu");
    }
}
