//! The CPU as a device: the kernels of its best instruction set.

use std::sync::Arc;

use crate::gpu::{Lane, ModelLoader};
use crate::inference::backend::Precision;
use crate::inference::backend::cpu::{CpuBackend, Kernel, with_kernel};
use crate::inference::{EncoderConfig, EncoderLoader, Weights};
use crate::platform::Simd;

/// Loads an encoder onto the CPU; lanes share `threads`.
pub(in crate::inference) fn loader(
    weights: Arc<Weights>,
    config: EncoderConfig,
    simd: Simd,
    threads: usize,
) -> Arc<dyn ModelLoader> {
    with_kernel!(simd, K => on::<K>(weights, config, threads))
}

fn on<K: Kernel>(
    weights: Arc<Weights>,
    config: EncoderConfig,
    threads: usize,
) -> Arc<dyn ModelLoader> {
    let open = Arc::new(move |lane: Lane| CpuBackend::<K>::new((threads / lane.lanes).max(1)));
    // The kernel knows which numbers it multiplies.
    Arc::new(EncoderLoader::new(weights, config, Precision::F32, open))
}
