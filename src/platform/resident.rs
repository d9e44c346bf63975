/// Memory of this process that is in RAM now, files that it has mapped included; `None` where the
/// system does not tell.
///
/// Linux: `/proc/self/statm`. macOS: the basic information of the task. Windows: the working set.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: asks for a constant of the system.
        let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        let pages: u64 = std::fs::read_to_string("/proc/self/statm")
            .ok()?
            .split_whitespace()
            .nth(1)?
            .parse()
            .ok()?;
        Some(pages * page)
    }
    #[cfg(any(target_os = "macos", windows))]
    {
        system::resident_bytes()
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
    None
}

#[cfg(target_os = "macos")]
mod system {
    /// `MACH_TASK_BASIC_INFO` of mach/task_info.h.
    const BASIC_INFO: u32 = 20;

    /// `struct mach_task_basic_info`, packed to four bytes as there.
    #[repr(C, packed(4))]
    #[derive(Clone, Copy, Default)]
    struct BasicInfo {
        virtual_bytes: u64,
        resident_bytes: u64,
        resident_bytes_max: u64,
        user_time: [i32; 2],
        system_time: [i32; 2],
        policy: i32,
        suspend_count: i32,
    }

    const WORDS: u32 = (size_of::<BasicInfo>() / size_of::<u32>()) as u32;

    unsafe extern "C" {
        static mach_task_self_: u32;
        fn task_info(task: u32, flavor: u32, info: *mut i32, count: *mut u32) -> i32;
    }

    pub fn resident_bytes() -> Option<u64> {
        let mut info = BasicInfo::default();
        let mut words = WORDS;
        // SAFETY: the structure has the layout and the length that the system documents, and both it and
        // the count outlive the call.
        let answer = unsafe {
            task_info(mach_task_self_, BASIC_INFO, (&raw mut info).cast(), &raw mut words)
        };
        (answer == 0 && words == WORDS).then_some(info.resident_bytes)
    }
}

#[cfg(windows)]
mod system {
    /// `PROCESS_MEMORY_COUNTERS` of psapi.h.
    #[repr(C)]
    #[derive(Default)]
    struct Counters {
        bytes: u32,
        page_faults: u32,
        working_set_max: usize,
        working_set: usize,
        quotas: [usize; 4],
        page_file: usize,
        page_file_max: usize,
    }

    #[link(name = "kernel32")]
    unsafe extern "system" {
        safe fn GetCurrentProcess() -> *mut std::ffi::c_void;
        fn K32GetProcessMemoryInfo(
            process: *mut std::ffi::c_void,
            counters: *mut Counters,
            bytes: u32,
        ) -> i32;
    }

    pub fn resident_bytes() -> Option<u64> {
        let bytes = size_of::<Counters>() as u32;
        let mut counters = Counters { bytes, ..Counters::default() };
        // SAFETY: the structure has the layout that the system documents and outlives the call.
        let known =
            unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &raw mut counters, bytes) };
        (known != 0).then_some(counters.working_set as u64)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_written_is_resident() {
        let before = resident_bytes().unwrap();
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident_bytes().unwrap();
        assert!(after >= before + (48 << 20), "{before} and then {after}");
        drop(block);
    }
}
