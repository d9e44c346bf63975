//! What the application is started with.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::wording::is_address;

pub const USAGE: &str = "\
usage: lodestone [FILE | FOLDER | URL]...

Opens the window, or brings it to the front where it is open already, and indexes what is named.
The command line is lode; lode --help tells about it.

  --help       this text
  --version    the version

LODESTONE_DATA_DIR  another place for the index
";

/// What is to be indexed as soon as the window is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Absolute, so that it means the same in another process.
    pub paths: Vec<PathBuf>,
    pub addresses: Vec<String>,
}

impl Wish {
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.addresses.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    Open(Wish),
    Help,
    Version,
}

#[derive(Debug, thiserror::Error)]
pub enum ArgumentsError {
    #[error("unknown option {0}; lodestone --help lists what there is")]
    Option(String),
    #[error("{path} cannot be made absolute: {source}")]
    Relative { path: PathBuf, source: std::io::Error },
}

/// Reads the arguments behind the program's name.
///
/// # Errors
/// When an option is not known, or the working directory has gone.
pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Start, ArgumentsError> {
    let mut wish = Wish::default();
    let mut are_names = false;
    for argument in arguments {
        match argument.to_str() {
            Some("--help" | "-h") if !are_names => return Ok(Start::Help),
            Some("--version" | "-V") if !are_names => return Ok(Start::Version),
            Some("--") if !are_names => are_names = true,
            // What macOS passes to an application that was opened from the Finder.
            Some(serial) if !are_names && serial.starts_with("-psn_") => {}
            Some(option) if !are_names && option.starts_with('-') => {
                return Err(ArgumentsError::Option(option.to_owned()));
            }
            Some(address) if is_address(address) => wish.addresses.push(address.to_owned()),
            _ => {
                let path = PathBuf::from(argument);
                let absolute = std::path::absolute(&path)
                    .map_err(|source| ArgumentsError::Relative { path, source })?;
                wish.paths.push(absolute);
            }
        }
    }
    Ok(Start::Open(wish))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Start, ArgumentsError> {
        parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn files_and_addresses_are_told_apart() {
        let Ok(Start::Open(wish)) = read(&["notes", "https://example.org/docs", "--", "--help"])
        else {
            panic!("it is to open")
        };
        assert_eq!(wish.addresses, ["https://example.org/docs"]);
        let here = std::env::current_dir().unwrap();
        assert_eq!(wish.paths, [here.join("notes"), here.join("--help")]);
        assert_eq!(read(&[]).unwrap(), Start::Open(Wish::default()));
    }

    #[test]
    fn options_are_few_and_others_are_named() {
        assert_eq!(read(&["notes", "--help"]).unwrap(), Start::Help);
        assert_eq!(read(&["-V"]).unwrap(), Start::Version);
        let message = read(&["--hlep"]).unwrap_err().to_string();
        assert!(message.contains("--hlep"), "{message}");
    }
}
