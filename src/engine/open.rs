use std::path::Path;
use std::process::Command;

use crate::data::Locator;
use crate::platform::{self, FilePlace};

/// The command that opens a file at a place in it, in the application that the system opens such files
/// with; `None` where that cannot be told the place. Asks other programs, so it is not for a thread that
/// has to answer.
#[must_use]
pub fn open_command(path: &Path, locator: &Locator) -> Option<Command> {
    platform::open_command(path, place(locator)?)
}

/// What of a place other programs understand. A place in a member of an archive is none of the file.
fn place(locator: &Locator) -> Option<FilePlace> {
    match locator {
        Locator::Page { page } => Some(FilePlace::Page(*page)),
        Locator::Line { .. } | Locator::Heading { .. } => locator.line().map(FilePlace::Line),
        Locator::Slide { .. }
        | Locator::Cell { .. }
        | Locator::Chapter { .. }
        | Locator::Message { .. }
        | Locator::Member { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_lines_are_told_and_what_lies_inside_a_file_is_not() {
        assert_eq!(place(&Locator::Page { page: 3 }), Some(FilePlace::Page(3)));
        assert_eq!(place(&Locator::Line { line: 7 }), Some(FilePlace::Line(7)));
        let within = Some(Box::new(Locator::Line { line: 7 }));
        assert_eq!(place(&Locator::Member { path: "a.txt".into(), within }), None);
        let heading = Locator::Heading { path: vec![], anchor: None, line: None };
        assert_eq!(place(&heading), None);
    }
}
