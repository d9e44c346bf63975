//! LaTeX: the text is the file as it is, so lines are true; its commands for sections give the outline.

use super::headings::Headings;
use super::{Extracted, title};
use crate::data::{MediaType, TextLayout};

const SECTIONS: [(&str, u8); 6] = [
    ("part", 1),
    ("chapter", 1),
    ("section", 2),
    ("subsection", 3),
    ("subsubsection", 4),
    ("paragraph", 5),
];

/// A command with a title or heading that is longer than this has lost its closing brace.
const ARGUMENT_BYTES_MAX: usize = 500;

/// Title: what `\title` says, else the first section, else the name.
pub(super) fn read(text: String, name: &str) -> Extracted {
    let mut headings = Headings::default();
    let mut title = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        for (at, _) in without_comment(line).match_indices('\\') {
            let at = start + at;
            let after = &text[at + 1..];
            let after = &after[..after.floor_char_boundary(after.len().min(ARGUMENT_BYTES_MAX))];
            let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
            let (command, rest) = after.split_at(end);
            if command == "title" && title.is_none() {
                title = argument(rest).map(plain);
            } else if let Some((_, level)) = SECTIONS.iter().find(|(name, _)| *name == command)
                && let Some(heading) = argument(rest)
            {
                headings.push(at, *level, &plain(heading), None);
            }
        }
        start += line.len();
    }
    let title = title::choose(title.as_deref(), headings.first(), name);
    Extracted {
        media_type: MediaType::Text,
        title,
        layout: TextLayout::Plain,
        has_lines: true,
        locators: headings.into_marks(),
        text,
    }
}

/// A line up to its percent sign; one with a backslash before it is a character like others.
fn without_comment(line: &str) -> &str {
    let is_comment = |at: &usize| !line[..*at].ends_with('\\');
    let end = line.match_indices('%').map(|(at, _)| at).find(is_comment).unwrap_or(line.len());
    &line[..end]
}

/// What stands in the braces after a command, past a star and an option.
fn argument(rest: &str) -> Option<&str> {
    let mut rest = rest.strip_prefix('*').unwrap_or(rest).trim_start();
    if let Some(option) = rest.strip_prefix('[') {
        rest = option.split_once(']')?.1.trim_start();
    }
    let inner = rest.strip_prefix('{')?;
    let mut depth = 1;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&inner[..at]);
        }
    }
    None
}

/// A heading without commands and braces: `On \emph{real}~data` is `On real data`.
fn plain(heading: &str) -> String {
    let mut plain = String::new();
    let mut rest = heading;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' if rest.starts_with('\\') => {
                plain.push(' ');
                rest = &rest[1..];
            }
            '\\' => {
                let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
                // `\&` and the like are the character.
                rest = if end == 0 { rest } else { rest[end..].trim_start_matches([' ', '*']) };
                if let (0, Some(c)) = (end, rest.chars().next()) {
                    plain.push(c);
                    rest = &rest[c.len_utf8()..];
                }
            }
            '{' | '}' | '$' => {}
            '~' => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_form_the_outline() {
        let text = "% \\section{No}\n\\title[short]{On \\emph{real}~data \\& more}\n\\section*{A}\n\
                    50\\% \\subsection{B\n C}\n\\section{lost";
        let read = read(text.to_owned(), "paper.tex");
        let marks: Vec<_> = read.locators.iter().map(|(at, mark)| format!("{at} {mark}")).collect();
        assert_eq!(marks, ["58 § A", "76 § A › B C"]);
        assert_eq!((read.title.as_str(), read.text.as_str()), ("On real data & more", text));
    }

    #[test]
    fn without_a_title_the_first_section_is_it() {
        assert_eq!(read("\\chapter{One}".to_owned(), "a.tex").title, "One");
        assert_eq!(read("text \\ { \\".to_owned(), "a.tex").title, "a");
    }
}
