//! The engine on Mesa's software driver: its rows of the contract, and whole encoders.

mod bench;
mod encoders;
mod rows;
mod shaders;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::*;

/// The software driver; every test machine has it (`scripts/lib/system-packages.sh`).
pub(super) static GPU: LazyLock<Arc<Gpu>> =
    LazyLock::new(|| Gpu::open(&AdapterChoice::Software).expect("a software Vulkan driver"));

/// Backends by their tier, so that what one test compiled serves the next.
static BACKENDS: LazyLock<Mutex<HashMap<Tier, WgpuBackend>>> = LazyLock::new(Mutex::default);

/// What the software driver can run.
pub(super) fn tiers() -> Vec<Tier> {
    let tiers = GPU.tiers().to_vec();
    assert_eq!(tiers, [Tier::Subgroup, Tier::Base]);
    tiers
}

pub(super) fn with_backend<T>(tier: Tier, run: impl FnOnce(&mut WgpuBackend) -> T) -> T {
    let mut backends = BACKENDS.lock().unwrap_or_else(PoisonError::into_inner);
    let backend =
        backends.entry(tier).or_insert_with(|| WgpuBackend::with_tier(&GPU, tier, DEPTH).unwrap());
    // What another test left behind is no part of this one.
    backend.stream.abandon();
    backend.kernels.forget_groups();
    run(backend)
}
