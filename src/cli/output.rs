use std::io::{self, IsTerminal as _, Write};

use anyhow::Context as _;
use serde::Serialize;

use crate::failure::Failure;

/// Standard output: text for people, or one JSON value.
#[derive(Debug)]
pub struct Output {
    json: bool,
    pub style: Style,
}

impl Output {
    pub fn new(json: bool) -> Self {
        // https://no-color.org: set and not empty.
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let style =
            if io::stdout().is_terminal() && !no_color { Style::Terminal } else { Style::Plain };
        Self { json, style }
    }

    /// Prints `value` as JSON, or what `text` makes of it.
    pub fn print<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce(&T, Style) -> String,
    ) -> Result<(), Failure> {
        let printed = if self.json {
            serde_json::to_string(value).map(|json| json + "\n").map_err(Failure::environment)?
        } else {
            text(value, self.style)
        };
        let mut stdout = io::stdout().lock();
        match stdout.write_all(printed.as_bytes()).and_then(|()| stdout.flush()) {
            // The reader has seen enough, as `head` has.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => {
                written.context("standard output cannot be written").map_err(Failure::environment)
            }
        }
    }
}

/// Whether words may be set off with terminal codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Terminal,
}

impl Style {
    pub fn bold(self, text: &str) -> String {
        self.wrapped("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrapped("2", text)
    }

    /// A word of the query in a passage.
    pub fn matched(self, text: &str) -> String {
        self.wrapped("1;33", text)
    }

    fn wrapped(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Terminal => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// Text of a file, made harmless to a terminal: control characters could move the cursor, hide text
/// or worse. Every character keeps its place; lines stay lines.
pub fn printable(text: &str) -> String {
    text.chars()
        .filter(|c| *c != '\r')
        .map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c })
        .collect()
}

/// [`printable`] on one line.
pub fn one_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_files_do_not_reach_the_terminal() {
        assert_eq!(printable("a\x1b[2Jb\r\n\tc\u{9b}"), "a\u{fffd}[2Jb\n\tc\u{fffd}");
        assert_eq!(one_line(" a\n b\x07"), "a b\u{fffd}");
    }

    #[test]
    fn plain_style_adds_nothing() {
        assert_eq!(Style::Plain.bold("a") + &Style::Plain.matched("b"), "ab");
        assert_eq!(Style::Terminal.bold("a"), "\x1b[1ma\x1b[0m");
    }
}
