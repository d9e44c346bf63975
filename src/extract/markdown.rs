//! Markdown: the text is the file as it is, so lines are true; the outline comes from the parser.

mod front_matter;
mod slug;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::headings::Headings;
use super::{Extracted, stem};
use crate::data::{MediaType, TextLayout};
use slug::Slugs;

/// Title: `title` of the front matter, else the first heading, else the name.
pub(super) fn read(text: String, name: &str) -> Extracted {
    let headings = outline(&text);
    let title = front_matter::title(&text)
        .or_else(|| headings.first().map(str::to_owned))
        .unwrap_or_else(|| stem(name).to_owned());
    Extracted {
        media_type: MediaType::Markdown,
        title,
        layout: TextLayout::Markdown,
        has_lines: true,
        locators: headings.into_marks(),
        text,
    }
}

/// The headings of a text with what each stands under.
pub(super) fn outline(text: &str) -> Headings {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let mut headings = Headings::default();
    let mut slugs = Slugs::default();
    let mut open: Option<OpenHeading> = None;
    // Headings in quotations and list items belong to what is quoted, not to the outline.
    let mut containers = 0_usize;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::Item) => containers += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::Item) => {
                containers = containers.saturating_sub(1);
            }
            Event::Start(Tag::Heading { level, id, .. }) if containers == 0 => {
                let id = id.map(|id| id.to_string());
                open = Some(OpenHeading { offset: range.start, level, id, text: String::new() });
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some(OpenHeading { offset, level, id, text }) = open.take() {
                    let anchor = id.unwrap_or_else(|| slugs.of(&text));
                    headings.push(offset, depth(level), &text, Some(anchor));
                }
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut open {
                    heading.text.push_str(&part);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut open {
                    heading.text.push(' ');
                }
            }
            _ => {}
        }
    }
    headings
}

struct OpenHeading {
    offset: usize,
    level: HeadingLevel,
    id: Option<String>,
    text: String,
}

/// What stands before and after a block of code: longer than any run of backticks in it.
pub(super) fn fence(code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn depth(level: HeadingLevel) -> u8 {
    level as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline_of(text: &str) -> Vec<String> {
        read(text.to_owned(), "notes.md")
            .locators
            .iter()
            .map(|(offset, locator)| {
                assert!(text[*offset..].trim_start().starts_with(['#', 'S']), "{offset}");
                locator.to_string()
            })
            .collect()
    }

    #[test]
    fn headings_of_both_kinds_form_the_outline() {
        let text = "# A *b* `c`\r\ntext\r\n\r\n## D\r\n\r\nSetext\r\n======\r\n> # quoted\n\n```\n# no\n```\n";
        assert_eq!(outline_of(text), ["§ A b c", "§ A b c › D", "§ Setext"]);
    }

    #[test]
    fn titles() {
        let title = |text: &str| read(text.to_owned(), "my notes.md").title;
        assert_eq!(title("---\ntitle: \"On: love\"\ndate: 1\n---\n# Other"), "On: love");
        assert_eq!(title("+++\ntitle = 'On love'\n+++\n# Other"), "On love");
        assert_eq!(title("intro\n\n# Other"), "Other");
        assert_eq!(title("no heading"), "my notes");
        assert_eq!(title("---\ndate: 1\n---\ntext"), "my notes");
    }

    #[test]
    fn the_text_is_the_source() {
        let text = "---\ntitle: T\n---\r\n# A\r\n";
        assert_eq!(read(text.to_owned(), "a.md").text, text);
    }
}
