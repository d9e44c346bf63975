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

/// Size of the files below `dir` in bytes; what cannot be read, or goes meanwhile, counts nothing.
#[must_use]
pub fn directory_bytes(dir: &Path) -> u64 {
    let mut bytes = 0;
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = std::fs::read_dir(dir) else { continue };
        for entry in entries.flatten() {
            // Of the entry itself: a symbolic link is not followed.
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => dirs.push(entry.path()),
                Ok(metadata) if metadata.is_file() => bytes += metadata.len(),
                _ => {}
            }
        }
    }
    bytes
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

/// Seconds after which a file that was written keeps another modification time when it is written again,
/// on every file system in use: FAT counts in steps of two seconds.
const SETTLED_SECONDS: u64 = 3;

/// The modification time in nanoseconds since the Unix epoch, once it is long enough ago that another
/// change of the file would give another one; `None` before, and where the file system keeps none.
#[must_use]
pub fn settled_stamp(metadata: &Metadata) -> Option<i64> {
    let modified = metadata.modified().ok()?;
    let age = modified.elapsed().ok()?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    (age.as_secs() >= SETTLED_SECONDS).then(|| i64::try_from(since.as_nanos()).ok())?
}

/// Whether another disk is mounted at `path`, which is there. Elsewhere than on Unix a disk that is not there has no
/// path either.
#[must_use]
pub fn is_mount_point(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let device = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.dev()).ok();
        let devices = (device(path), path.parent().and_then(device));
        matches!(devices, (Some(here), Some(above)) if here != above)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
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
    fn a_stamp_is_given_once_it_tells_two_versions_apart() {
        let stamp = |time: SystemTime| {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_modified(time).unwrap();
            settled_stamp(&file.as_file().metadata().unwrap())
        };
        assert_eq!(stamp(UNIX_EPOCH + Duration::from_millis(1_500)), Some(1_500_000_000));
        assert_eq!(stamp(SystemTime::now()), None);
        assert_eq!(stamp(SystemTime::now() + Duration::from_mins(1)), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_mounted_disk_is_told_from_a_folder() {
        assert!(is_mount_point(Path::new("/proc")));
        assert!(!is_mount_point(Path::new("/proc/self")));
        assert!(!is_mount_point(Path::new("/")));
        assert!(!is_mount_point(Path::new("/nowhere")));
        assert!(!is_mount_point(Path::new("/nowhere/at/all")));
    }

    #[test]
    fn free_space_is_told_for_what_exists() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_bytes(dir.path()).unwrap() > 0);
        assert!(free_bytes(&dir.path().join("missing")).is_err());
    }

    #[test]
    fn a_directory_is_as_large_as_the_files_below_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("a"), "12345").unwrap();
        std::fs::write(dir.path().join("sub/b"), "678").unwrap();
        assert_eq!(directory_bytes(dir.path()), 8);
        assert_eq!(directory_bytes(&dir.path().join("missing")), 0);
    }

    #[test]
    fn an_ordinary_file_is_no_placeholder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(!is_cloud_placeholder(file.path(), &file.as_file().metadata().unwrap()));
    }
}
