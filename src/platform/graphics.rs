/// Whether the machine looks as if it had a GPU; asking a driver costs more, and some of them talk.
///
/// Linux: a render node, NVIDIA's device or that of a Windows host. Everywhere else a GPU draws the screen.
#[must_use]
pub fn may_have_gpu() -> bool {
    #[cfg(target_os = "linux")]
    {
        may_have_gpu_in(std::path::Path::new("/dev"))
    }
    #[cfg(not(target_os = "linux"))]
    true
}

#[cfg(target_os = "linux")]
fn may_have_gpu_in(devices: &std::path::Path) -> bool {
    let is_render_node = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().starts_with(b"renderD"))
    };
    let nodes = std::fs::read_dir(devices.join("dri"));
    nodes.is_ok_and(|mut nodes| nodes.any(is_render_node))
        || ["nvidia0", "dxg"].iter().any(|name| devices.join(name).exists())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_told_by_its_device_files() {
        let devices = tempfile::tempdir().unwrap();
        assert!(!may_have_gpu_in(devices.path()));
        std::fs::create_dir(devices.path().join("dri")).unwrap();
        // A screen that is only written to.
        std::fs::write(devices.path().join("dri/card0"), "").unwrap();
        assert!(!may_have_gpu_in(devices.path()));
        std::fs::write(devices.path().join("dri/renderD128"), "").unwrap();
        assert!(may_have_gpu_in(devices.path()));
        let devices = tempfile::tempdir().unwrap();
        std::fs::write(devices.path().join("nvidia0"), "").unwrap();
        assert!(may_have_gpu_in(devices.path()));
    }
}
