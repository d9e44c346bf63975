use std::fmt;
use std::process::ExitCode;

use lodestone::engine::EngineError;

/// How a command that ran to its end ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    /// Some inputs were skipped or failed, or the run was cancelled; the rest is done.
    Partly,
    /// It ran, and found the surroundings (disk, model, device) unwell.
    Unwell,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Partly => 1,
            Exit::Unwell => 3,
        })
    }
}

/// Why a command could not run, with the exit code that says whose fault it is.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    error: anyhow::Error,
}

impl Failure {
    /// Wrong use: arguments, or what they name.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { code: 2, error: error.into() }
    }

    /// Disk, model or device.
    pub fn environment(error: impl Into<anyhow::Error>) -> Self {
        Self { code: 3, error: error.into() }
    }

    /// Says on one line what failed and why.
    pub fn report(&self) -> ExitCode {
        eprintln!("lode: {self}");
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut message = String::new();
        for cause in self.error.chain().map(ToString::to_string) {
            // Messages of the library quote their sources.
            if !message.contains(&cause) {
                let separator = if message.is_empty() { "" } else { ": " };
                message = message + separator + &cause;
            }
        }
        f.write_str(&message.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        if error.is_environment() { Self::environment(error) } else { Self::usage(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line() {
        let error = anyhow::anyhow!("disk is\n full").context("index cannot be written");
        let failure = Failure::environment(error);
        assert_eq!(failure.to_string(), "index cannot be written: disk is full");
        assert_eq!(failure.code, 3);
    }

    #[test]
    fn a_source_that_the_message_quotes_is_not_repeated() {
        let source = std::io::Error::other("disk is full");
        let failure = Failure::from(EngineError::Directory { path: "/x".into(), source });
        assert_eq!(failure.to_string().matches("disk is full").count(), 1, "{failure}");
    }

    #[test]
    fn a_collection_that_is_none_is_wrong_use() {
        let error = EngineError::CollectionEmpty { path: "/x".into() };
        assert_eq!(Failure::from(error).code, 2);
        assert_eq!(Failure::from(EngineError::Closed).code, 3);
    }
}
