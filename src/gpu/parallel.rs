use std::num::NonZeroUsize;

use super::lanes::Lanes;
use super::{GpuError, SchedulerOptions};

/// Several device threads, each with every model on a device, or a group of cores, of its own.
///
/// They share one queue, so the order is that of [`super::SerialScheduler`]: whichever lane is free
/// takes the next step of the first class that waits. The steps of one batch may run on several lanes
/// at once; an answer that is generated stays on the lane where it began.
#[derive(Debug)]
pub struct ParallelScheduler(pub(super) Lanes);

impl ParallelScheduler {
    /// Starts the threads `gpu-scheduler-0`, `gpu-scheduler-1` and so on.
    ///
    /// # Errors
    /// [`GpuError::Spawn`] when the system refuses a thread.
    pub fn start(options: &SchedulerOptions, lanes: NonZeroUsize) -> Result<Self, GpuError> {
        let names = (0..lanes.get()).map(|lane| format!("gpu-scheduler-{lane}")).collect();
        Ok(Self(Lanes::start(options, names)?))
    }
}
