//! Work that gives way to whatever a person is doing.

/// Puts this thread behind others that want a core, for good: taking it back needs rights that a program
/// does not have. Threads and processes that it starts are as it is, on Linux.
///
/// Linux: nice 5, a quarter of the share of an ordinary thread. macOS: the quality of service "utility".
/// Nothing is done on Windows.
pub fn lower_thread_priority() {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    system::lower_thread_priority();
}

/// While this lives, disk access of this thread comes after that of others.
///
/// Linux: the idle class of the I/O scheduler, as far as the scheduler of the disk has classes (`bfq`).
/// macOS: throttled I/O. Windows has background mode for whole threads only, which lowers their CPU
/// priority as well, so nothing is done there.
#[derive(Debug)]
pub struct BackgroundIo {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    before: i32,
}

impl BackgroundIo {
    #[must_use]
    pub fn begin() -> Self {
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        {
            let before = system::get();
            system::set(system::BACKGROUND);
            Self { before }
        }
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        Self {}
    }
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
impl Drop for BackgroundIo {
    fn drop(&mut self) {
        if self.before >= 0 {
            system::set(self.before);
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    /// `IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)`, of linux/ioprio.h.
    pub const BACKGROUND: i32 = 3 << 13;
    const WHO_PROCESS: i32 = 1;
    /// This thread.
    const SELF: i32 = 0;

    const NICE: i32 = 5;

    pub fn lower_thread_priority() {
        // SAFETY: the call takes three numbers and returns one. On Linux 0 is the calling thread.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
    }

    pub fn get() -> i32 {
        // SAFETY: the call takes two numbers and returns one.
        (unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, SELF) }) as i32
    }

    /// A refusal leaves the priority as it is, which is no worse than not having asked.
    pub fn set(priority: i32) {
        // SAFETY: the call takes three numbers and returns one.
        unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, SELF, priority) };
    }
}

// sys/resource.h; the crate `libc` has none of these.
#[cfg(target_os = "macos")]
mod system {
    use std::ffi::c_int;

    /// `IOPOL_THROTTLE`.
    pub const BACKGROUND: i32 = 3;
    const IOPOL_TYPE_DISK: c_int = 0;
    const IOPOL_SCOPE_THREAD: c_int = 1;

    unsafe extern "C" {
        safe fn getiopolicy_np(iotype: c_int, scope: c_int) -> c_int;
        safe fn setiopolicy_np(iotype: c_int, scope: c_int, policy: c_int) -> c_int;
        // pthread/qos.h
        safe fn pthread_set_qos_class_self_np(class: u32, relative_priority: c_int) -> c_int;
    }

    pub fn lower_thread_priority() {
        const QOS_CLASS_UTILITY: u32 = 0x11;
        pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
    }

    pub fn get() -> i32 {
        getiopolicy_np(IOPOL_TYPE_DISK, IOPOL_SCOPE_THREAD)
    }

    /// A refusal leaves the policy as it is, which is no worse than not having asked.
    pub fn set(policy: i32) {
        setiopolicy_np(IOPOL_TYPE_DISK, IOPOL_SCOPE_THREAD, policy);
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_put_behind_others_and_stays_there() {
        let nice = || {
            // SAFETY: the call takes two numbers and returns one.
            unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
        };
        let before = nice();
        let after = std::thread::spawn(move || {
            lower_thread_priority();
            nice()
        });
        assert_eq!(after.join().unwrap(), before.max(5));
        assert_eq!(nice(), before);
    }

    #[test]
    fn the_priority_is_lowered_and_comes_back() {
        let before = system::get();
        let low = BackgroundIo::begin();
        assert_eq!(system::get(), system::BACKGROUND);
        drop(low);
        assert_eq!(system::get(), before);
    }
}
