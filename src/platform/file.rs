use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Bytes that this user may still write on the disk that holds `path`, which has to exist.
///
/// # Errors
/// When the path does not exist or the file system gives no answer.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    fs4::available_space(path)
}

/// Last modification in seconds since the Unix epoch, negative before it; `None` where the file
/// system keeps no such time.
#[must_use]
pub fn modified_seconds(metadata: &Metadata) -> Option<i64> {
    let modified = metadata.modified().ok()?;
    match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).ok(),
        // A time before the epoch rounds down as well: half a second before it is second -1.
        Err(before) => {
            let before = before.duration();
            let whole = i64::try_from(before.as_secs()).ok()?;
            Some(-whole - i64::from(before.subsec_nanos() > 0))
        }
    }
}

/// Whether the content of a file lies with a cloud provider, so that opening it would download it.
///
/// Told without opening: recall-on-open, recall-on-data-access and offline attributes on Windows
/// (which its cloud drives set); on macOS `SF_DATALESS` (iCloud, File Provider) and the `.name.icloud` stubs
/// that older versions leave. Linux has no such mark.
#[must_use]
pub fn is_cloud_placeholder(path: &Path, metadata: &Metadata) -> bool {
    #[cfg(windows)]
    {
        use std::os::windows::fs::MetadataExt as _;
        const OFFLINE: u32 = 0x0000_1000;
        const RECALL_ON_OPEN: u32 = 0x0004_0000;
        const RECALL_ON_DATA_ACCESS: u32 = 0x0040_0000;
        let _ = path;
        metadata.file_attributes() & (OFFLINE | RECALL_ON_OPEN | RECALL_ON_DATA_ACCESS) != 0
    }
    #[cfg(target_os = "macos")]
    {
        use std::os::macos::fs::MetadataExt as _;
        const SF_DATALESS: u32 = 0x4000_0000;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_stub = name.starts_with('.') && name.ends_with(".icloud");
        is_stub || metadata.st_flags() & SF_DATALESS != 0
    }
    #[cfg(not(any(windows, target_os = "macos")))]
    {
        let _ = (path, metadata);
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn seconds_after_setting(time: SystemTime) -> Option<i64> {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_modified(time).unwrap();
        modified_seconds(&file.as_file().metadata().unwrap())
    }

    #[test]
    fn modification_times_are_whole_seconds_rounded_down() {
        let millis = Duration::from_millis;
        assert_eq!(seconds_after_setting(UNIX_EPOCH + millis(86_400_900)), Some(86_400));
        assert_eq!(seconds_after_setting(UNIX_EPOCH - millis(1_500)), Some(-2));
        assert_eq!(seconds_after_setting(UNIX_EPOCH - millis(2_000)), Some(-2));
    }

    #[test]
    fn free_space_is_told_for_what_exists() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_bytes(dir.path()).unwrap() > 0);
        assert!(free_bytes(&dir.path().join("missing")).is_err());
    }

    #[test]
    fn an_ordinary_file_is_no_placeholder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(!is_cloud_placeholder(file.path(), &file.as_file().metadata().unwrap()));
    }
}
