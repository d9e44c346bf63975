//! Opening candle's devices.

use candle_core::Device;

use super::{CandleBackend, Layout};
use crate::gpu::{DeviceInfo, DeviceKind};
use crate::inference::backend::{BackendError, Precision};
use crate::inference::device;

impl CandleBackend {
    /// Kinds of devices that this program was built for, best first. Whether there is such a device
    /// shows when it is opened.
    pub fn kinds() -> impl Iterator<Item = DeviceKind> {
        let built = [
            (candle_core::utils::metal_is_available(), DeviceKind::Metal),
            (candle_core::utils::cuda_is_available(), DeviceKind::Cuda),
            (true, DeviceKind::Cpu),
        ];
        built.into_iter().filter_map(|(built, kind)| built.then_some(kind))
    }

    /// What a device of `kind` computes with. GPUs multiply f16 several times faster; candle's CPU
    /// would convert every number there and back.
    #[must_use]
    pub fn precision(kind: DeviceKind) -> Precision {
        match kind {
            DeviceKind::Metal | DeviceKind::Cuda | DeviceKind::Wgpu => Precision::F16,
            DeviceKind::Cpu => Precision::F32,
        }
    }

    /// Opens device number `ordinal` of `kind`; of the CPU there is one, and it takes `threads`.
    ///
    /// # Errors
    /// When there is no such device, or the program was built without it.
    pub fn open(kind: DeviceKind, ordinal: usize, threads: usize) -> Result<Self, BackendError> {
        let opened = match kind {
            DeviceKind::Cpu => return Self::cpu(threads),
            DeviceKind::Metal => Device::new_metal(ordinal),
            DeviceKind::Cuda => Device::new_cuda(ordinal),
            DeviceKind::Wgpu => Err(candle_core::Error::msg("candle has no backend for wgpu")),
        };
        let kind_name = device::name(kind);
        let device = opened.map_err(|error| failed(kind_name, &error))?;
        let name = name(&device).unwrap_or_else(|| format!("{kind_name} device {ordinal}"));
        let info = DeviceInfo { kind, name };
        Ok(Self { device, info, layout: Layout::Padded, pool: None })
    }

    /// The CPU with `threads` threads.
    ///
    /// # Errors
    /// When the system refuses the threads.
    pub fn cpu(threads: usize) -> Result<Self, BackendError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|at| format!("cpu-{at}"))
            .build()
            .map_err(|error| BackendError::Device {
                device: "CPU".to_owned(),
                message: error.to_string(),
            })?;
        let threads = pool.current_num_threads();
        let plural = if threads == 1 { "" } else { "s" };
        let info =
            DeviceInfo { kind: DeviceKind::Cpu, name: format!("CPU, {threads} thread{plural}") };
        Ok(Self { device: Device::Cpu, info, layout: Layout::Each, pool: Some(pool) })
    }

    /// The CPU, doing all that a GPU does, for numbers of either precision.
    #[cfg(test)]
    pub(crate) fn cpu_padded(threads: usize) -> Result<Self, BackendError> {
        Ok(Self { layout: Layout::Padded, ..Self::cpu(threads)? })
    }
}

/// What the maker calls the device, where the driver says it.
fn name(device: &Device) -> Option<String> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(device) => device.cuda_stream().context().name().ok(),
        _ => None,
    }
}

/// What happened, on one line: candle appends a backtrace where the environment asks for those.
pub(in crate::inference) fn message(error: &candle_core::Error) -> String {
    match error {
        candle_core::Error::WithBacktrace { inner, .. } => message(inner),
        error => error.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" "),
    }
}

/// Drivers say that memory is out in words alone.
pub(in crate::inference) fn is_full(message: &str) -> bool {
    let words = message.to_lowercase();
    ["out of memory", "out_of_memory", "alloc_failed", "failed to create metal resource"]
        .iter()
        .any(|sign| words.contains(sign))
}

pub(super) fn failed(device: &str, error: &candle_core::Error) -> BackendError {
    let (device, message) = (device.to_owned(), message(error));
    if is_full(&message) {
        BackendError::OutOfMemory { device, message }
    } else {
        BackendError::Device { device, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::ModelError;

    #[test]
    fn an_error_is_one_line_without_a_backtrace() {
        let error = candle_core::Error::WithBacktrace {
            inner: Box::new(candle_core::Error::Msg("no\n  driver".to_owned())),
            backtrace: Box::new(std::backtrace::Backtrace::force_capture()),
        };
        assert_eq!(failed("CUDA", &error).to_string(), "device CUDA failed: no driver");
    }

    #[test]
    fn a_full_device_is_told_from_a_broken_one() {
        let error = |message: &str| {
            ModelError::from(failed("CUDA", &candle_core::Error::Msg(message.to_owned())))
        };
        let full = error("DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")");
        assert!(full.is_out_of_memory());
        assert!(full.to_string().starts_with("device CUDA has no memory left"), "{full}");
        assert!(!error("an illegal memory access was encountered").is_out_of_memory());
    }

    #[test]
    fn the_cpu_is_always_there_and_comes_last() {
        let kinds: Vec<_> = CandleBackend::kinds().collect();
        assert!(kinds.is_sorted());
        assert_eq!(kinds.last(), Some(&DeviceKind::Cpu));
    }
}
