use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use directories::ProjectDirs;

/// Environment variable that overrides the platform's data directory.
pub const DATA_DIR_VARIABLE: &str = "LODESTONE_DATA_DIR";

#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    #[error(
        "no home directory is known, so there is no place for data; set {DATA_DIR_VARIABLE} to a \
         directory"
    )]
    NoHome,
    #[error("data directory {path} cannot be made absolute: {source}")]
    Relative { path: PathBuf, source: io::Error },
}

/// Where the store, the indexes and the settings lie: `LODESTONE_DATA_DIR` when it is set and not
/// empty, else the platform's directory for data that stays on this machine. Nothing is created.
///
/// # Errors
/// When the variable is not set and the person has no home directory.
pub fn data_dir() -> Result<PathBuf, DirectoryError> {
    // Local rather than roaming on Windows: an index is large and can be made again elsewhere.
    let native =
        ProjectDirs::from("", "", "Lodestone").map(|dirs| dirs.data_local_dir().to_path_buf());
    choose(env::var_os(DATA_DIR_VARIABLE), native)
}

fn choose(variable: Option<OsString>, native: Option<PathBuf>) -> Result<PathBuf, DirectoryError> {
    let path = match variable.filter(|value| !value.is_empty()) {
        Some(value) => PathBuf::from(value),
        None => native.ok_or(DirectoryError::NoHome)?,
    };
    std::path::absolute(&path).map_err(|source| DirectoryError::Relative { path, source })
}

/// Makes a data directory where there is none, and closes it to others.
///
/// # Errors
/// When it cannot be made, or its rights cannot be changed.
pub fn prepare_data_dir(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    restrict_to_owner(dir)
}

/// Lets only the owner enter `dir`: it holds the text of private files. Windows gives a profile's
/// directories such rights by inheritance, so nothing is done there.
fn restrict_to_owner(dir: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mut permissions = std::fs::metadata(dir)?.permissions();
        if permissions.mode() & 0o777 != 0o700 {
            permissions.set_mode(0o700);
            std::fs::set_permissions(dir, permissions)?;
        }
    }
    #[cfg(not(unix))]
    let _ = dir;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_wins_over_the_platform_unless_it_is_empty() {
        let native = env::temp_dir().join("native");
        let chosen = env::temp_dir().join("chosen");
        let choice = |variable: Option<OsString>| choose(variable, Some(native.clone())).unwrap();
        assert_eq!(choice(Some(chosen.clone().into())), chosen);
        assert_eq!(choice(Some("".into())), native);
        assert_eq!(choice(None), native);
        assert!(choose(Some("here".into()), None).unwrap().is_absolute());
    }

    #[test]
    fn without_a_home_the_message_names_the_variable() {
        let message = choose(None, None).unwrap_err().to_string();
        assert!(message.contains(DATA_DIR_VARIABLE), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_enters_the_data_directory() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let mode = |mode| std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(dir.path(), mode(0o755)).unwrap();
        restrict_to_owner(dir.path()).unwrap();
        let now = std::fs::metadata(dir.path()).unwrap().permissions().mode();
        assert_eq!(now & 0o777, 0o700);
        assert!(restrict_to_owner(&dir.path().join("missing")).is_err());
    }
}
