use std::path::PathBuf;
use std::process::Command;

/// The program that runs, to be started once more. On Linux it is the very same even when it was
/// replaced on the disk meanwhile, as by an update.
#[must_use]
pub fn own_program() -> PathBuf {
    #[cfg(target_os = "linux")]
    {
        PathBuf::from("/proc/self/exe")
    }
    #[cfg(not(target_os = "linux"))]
    {
        std::env::current_exe().unwrap_or_default()
    }
}

/// Lets a program be started without a console window that comes and goes, which Windows would open.
pub fn without_window(command: &mut Command) {
    #[cfg(windows)]
    {
        use std::os::windows::process::CommandExt as _;
        const CREATE_NO_WINDOW: u32 = 0x0800_0000;
        command.creation_flags(CREATE_NO_WINDOW);
    }
    #[cfg(not(windows))]
    let _ = command;
}
