/// Whether icons of running applications have a place on this desktop. On Linux it takes a library that
/// not every desktop installs, and whoever asks for an icon without it is ended by a panic.
#[must_use]
pub fn has_tray() -> bool {
    #[cfg(target_os = "linux")]
    {
        [c"libayatana-appindicator3.so.1", c"libappindicator3.so.1"].iter().any(|name| {
            // SAFETY: the name is a C string, and loading one of these libraries runs no code of ours.
            let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) };
            !library.is_null()
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        cfg!(any(target_os = "macos", target_os = "windows"))
    }
}
