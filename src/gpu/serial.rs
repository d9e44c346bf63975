use super::lanes::Lanes;
use super::{GpuError, SchedulerOptions};

/// One named thread that owns the device and every model, and runs one step at a time.
///
/// Dropping it answers everything that waits with [`GpuError::Stopped`] and joins the thread, which
/// takes at most one step.
#[derive(Debug)]
pub struct SerialScheduler(pub(super) Lanes);

impl SerialScheduler {
    /// Starts the thread `gpu-scheduler`.
    ///
    /// # Errors
    /// [`GpuError::Spawn`] when the system refuses a thread.
    pub fn start(options: &SchedulerOptions) -> Result<Self, GpuError> {
        Ok(Self(Lanes::start(options, vec!["gpu-scheduler".to_owned()])?))
    }
}
