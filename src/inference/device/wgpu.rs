//! A GPU through wgpu as a device.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{gpu_depth_from_environment, gpu_profile_from_environment};
use crate::gpu::{Lane, ModelLoader};
use crate::inference::backend::wgpu::{AdapterChoice, DEPTH, WgpuBackend};
use crate::inference::backend::{BackendError, Precision};
use crate::inference::{EncoderConfig, EncoderLoader, Weights};

/// Loads an encoder onto the GPU that the environment names, or else the best; lanes have a queue each. What the
/// GPU was found to do is kept in the data directory.
pub(in crate::inference) fn loader(
    weights: Arc<Weights>,
    config: EncoderConfig,
    data_dir: Option<PathBuf>,
) -> Arc<dyn ModelLoader> {
    let open = Arc::new(move |_lane: Lane| {
        let choice = AdapterChoice::from_environment();
        let depth = gpu_depth_from_environment().map_err(|error| BackendError::Device {
            device: "GPU".to_owned(),
            message: error.to_string(),
        })?;
        let mut backend = WgpuBackend::open(&choice, depth.unwrap_or(DEPTH), data_dir.as_deref())?;
        if gpu_profile_from_environment() {
            backend.time_operations();
        }
        Ok(backend)
    });
    // A device that computes in f32 unpacks them.
    Arc::new(EncoderLoader::new(weights, config, Precision::F16, open))
}
