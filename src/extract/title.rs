//! Which of the names that a file offers is its title.

use super::{one_line, stem};

/// Longest title that is taken from the properties of a file or its first heading, in characters.
const TITLE_CHARS_MAX: usize = 200;

/// The title among a file's properties when a person could have meant it, else its first heading,
/// else its name.
pub(super) fn choose(property: Option<&str>, heading: Option<&str>, name: &str) -> String {
    [property.filter(|title| is_meant(title)), heading]
        .into_iter()
        .flatten()
        .map(one_line)
        .find(|title| !title.is_empty() && title.chars().count() <= TITLE_CHARS_MAX)
        .unwrap_or_else(|| stem(name).to_owned())
}

/// Programs fill the property with the name of a file, of a template or of nothing.
fn is_meant(title: &str) -> bool {
    const PLACEHOLDERS: [&str; 12] = [
        "untitled",
        "untitled document",
        "unknown",
        "title",
        "document",
        "document1",
        "presentation",
        "powerpoint presentation",
        "powerpoint-präsentation",
        "slide 1",
        "no title",
        "none",
    ];
    const ENDINGS: [&str; 12] = [
        ".doc", ".docx", ".dvi", ".fm", ".indd", ".pdf", ".ppt", ".pptx", ".ps", ".qxd", ".tex",
        ".xls",
    ];
    let lower = title.trim().to_lowercase();
    lower.chars().any(char::is_alphabetic)
        && !title.contains(char::REPLACEMENT_CHARACTER)
        && !PLACEHOLDERS.contains(&lower.as_str())
        && !ENDINGS.iter().any(|ending| lower.ends_with(ending))
        && !lower.starts_with("microsoft word")
        && !lower.starts_with("microsoft powerpoint")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_property_counts_when_a_person_could_have_meant_it() {
        let title = |property| choose(property, Some(" First\nheading "), "report 7.pdf");
        assert_eq!(title(Some(" On  Rust ")), "On Rust");
        for placeholder in
            ["", " ", "Untitled", "Microsoft Word - a.doc", "paper.TEX", "-1-", "\u{fffd}x"]
        {
            assert_eq!(title(Some(placeholder)), "First heading", "{placeholder:?}");
        }
        assert_eq!(title(None), "First heading");
        assert_eq!(choose(None, None, "report 7.pdf"), "report 7");
        assert_eq!(choose(Some(&"x".repeat(201)), Some(" "), ".hidden"), ".hidden");
    }
}
