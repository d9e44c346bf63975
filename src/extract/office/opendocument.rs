//! OpenDocument texts and presentations: headings, paragraphs, lists, tables as rows, notes after their
//! paragraph; of a presentation slide after slide with the speaker's notes.

use super::element_text;
use crate::data::{Locator, LocatorMap, MediaType};
use crate::extract::package::Package;
use crate::extract::prose::Prose;
use crate::extract::xml::{Element, Node, walk};
use crate::extract::{Extracted, Unreadable, one_line, title};

/// Spaces that one element may stand for.
const SPACES_MAX: usize = 64;

/// # Errors
/// When the package is damaged, encrypted or holds no text.
pub(in crate::extract) fn read_text(package: Package, name: &str) -> Result<Extracted, Unreadable> {
    read(package, name, MediaType::Document)
}

/// # Errors
/// As [`read_text`].
pub(in crate::extract) fn read_presentation(
    package: Package,
    name: &str,
) -> Result<Extracted, Unreadable> {
    read(package, name, MediaType::Presentation)
}

fn read(mut package: Package, name: &str, media_type: MediaType) -> Result<Extracted, Unreadable> {
    let is_encrypted = package
        .optional("META-INF/manifest.xml")
        .is_some_and(|manifest| manifest.contains("encryption-data"));
    if is_encrypted {
        return Err(Unreadable::Encrypted);
    }
    let content = package.required("content.xml")?;
    let mut writer = Writer::default();
    walk(&content, |node| writer.step(node));
    let Writer { prose, slides, .. } = writer;
    if prose.text().is_empty() {
        return Err(Unreadable::NoText);
    }
    let property = package.optional("meta.xml").and_then(|meta| element_text(&meta, "title"));
    let first_slide = slides.iter().find_map(|(_, locator)| locator.headings().first().cloned());
    let heading = prose.first_heading().map(str::to_owned).or(first_slide);
    let title = title::choose(property.as_deref(), heading.as_deref(), name);
    let (text, headings) = prose.finish();
    let locators = if media_type == MediaType::Presentation { slides } else { headings };
    Ok(Extracted::converted(media_type, title, text, locators))
}

#[derive(Debug, Default)]
struct Paragraph {
    text: String,
    /// Level of a heading.
    level: Option<u8>,
    /// Paragraphs of notes that are open in this one, to be written after it.
    notes: Vec<String>,
}

#[derive(Debug, Default)]
struct Writer {
    prose: Prose,
    /// Paragraphs that are open: a note stands in the middle of one.
    open: Vec<Paragraph>,
    lists: usize,
    /// Notes and comments that are open.
    notes: usize,
    /// Who wrote a comment and when stands before its paragraphs, in elements that are fields elsewhere.
    in_comment_head: bool,
    /// Inside what is no text of the document: deleted text, the number of a note.
    skipped: usize,
    slides: LocatorMap,
    slide: Option<Slide>,
    slide_count: u32,
    is_speaker: bool,
}

#[derive(Debug)]
struct Slide {
    offset: usize,
    title: Option<String>,
    /// Whether the frame around holds the slide's title.
    in_title: bool,
}

impl Writer {
    fn step(&mut self, node: Node<'_>) {
        match node {
            Node::Open(open) if is_skipped(open.name) => self.skipped += 1,
            Node::Close(name) if is_skipped(name) => self.skipped = self.skipped.saturating_sub(1),
            _ if self.skipped > 0 => {}
            Node::Open(open) => self.open(&open),
            Node::Close(name) => self.close(name),
            Node::Text(text) => self.push(text),
        }
    }

    fn open(&mut self, open: &Element<'_>) {
        match open.name {
            "p" => {
                self.in_comment_head = false;
                self.open.push(Paragraph::default());
            }
            "h" => {
                let level = open.attr("outline-level").and_then(|level| level.parse().ok());
                self.open.push(Paragraph { level: level.or(Some(1)), ..Paragraph::default() });
            }
            "s" => {
                let count = open.attr("c").and_then(|count| count.parse().ok()).unwrap_or(1);
                self.push(&" ".repeat(SPACES_MAX.min(count)));
            }
            "tab" => self.push("\t"),
            "line-break" => self.push("\n"),
            "list" => self.lists += 1,
            "note-body" => self.notes += 1,
            "annotation" => (self.notes, self.in_comment_head) = (self.notes + 1, true),
            "table-row" => self.prose.open_row(),
            "table-cell" => self.prose.open_cell(),
            "page" => {
                self.slide_count = self.slide_count.saturating_add(1);
                let offset = self.prose.begin_part();
                self.slide = Some(Slide { offset, title: None, in_title: false });
            }
            "notes" => self.is_speaker = true,
            "frame" => {
                let class = open.attr("class");
                if let Some(slide) = &mut self.slide {
                    slide.in_title = class.as_deref() == Some("title");
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "p" | "h" => self.close_paragraph(),
            "list" => self.lists = self.lists.saturating_sub(1),
            "note-body" | "annotation" => {
                self.notes = self.notes.saturating_sub(1);
                self.in_comment_head = false;
            }
            "table-row" => self.prose.close_row(),
            "notes" => self.is_speaker = false,
            "frame" => {
                if let Some(slide) = &mut self.slide {
                    slide.in_title = false;
                }
            }
            "page" => {
                let Some(Slide { offset, title, .. }) = self.slide.take() else { return };
                if self.prose.next_offset() > offset {
                    self.slides.push(offset, Locator::Slide { slide: self.slide_count, title });
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        if self.in_comment_head {
            return;
        }
        if let Some(paragraph) = self.open.last_mut() {
            // Line breaks of the file are white space; those of the text are elements.
            if text == "\n" || text == "\t" || !text.contains(['\n', '\r']) {
                paragraph.text.push_str(text);
            } else {
                paragraph.text.push_str(&text.replace(['\n', '\r'], " "));
            }
        }
    }

    fn close_paragraph(&mut self) {
        let Some(Paragraph { text, level, notes }) = self.open.pop() else { return };
        if self.notes > 0
            && let Some(around) = self.open.last_mut()
        {
            around.notes.push(text);
            return;
        }
        let title = self.slide.as_mut().filter(|slide| slide.in_title && !text.trim().is_empty());
        if let Some(slide) = title {
            let title = one_line(&text);
            slide.title.get_or_insert(title);
            self.prose.heading(2, &text);
        } else if let Some(level) = level {
            self.prose.heading(level, &text);
        } else if self.is_speaker && !text.trim().is_empty() {
            self.prose.paragraph(&format!("Notes: {}", text.trim()));
        } else if self.lists > 0 {
            self.prose.item(self.lists, &text);
        } else {
            self.prose.paragraph(&text);
        }
        for note in notes.iter().filter(|note| !note.trim().is_empty()) {
            self.prose.paragraph(&format!("({})", note.trim()));
        }
    }
}

fn is_skipped(name: &str) -> bool {
    matches!(
        name,
        "tracked-changes"
            | "note-citation"
            | "event-listeners"
            | "page-number"
            | "footer-decl"
            | "date-time-decl"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slide_has_its_title_and_what_is_said_to_it() {
        let xml = "<draw:page><draw:frame presentation:class='title'><text:p>Varroa</text:p>\
                   </draw:frame><draw:frame><text:list><text:list-item><text:p>Count<text:s \
                   text:c='3'/>them</text:p></text:list-item></text:list></draw:frame>\
                   <presentation:notes><draw:frame><text:p>Gloves!</text:p></draw:frame>\
                   </presentation:notes></draw:page><draw:page/>";
        let mut writer = Writer::default();
        walk(xml, |node| writer.step(node));
        let slides: Vec<_> = writer.slides.iter().map(|(_, slide)| slide.to_string()).collect();
        assert_eq!(slides, ["slide 1: Varroa"]);
        assert_eq!(writer.prose.finish().0, "## Varroa\n\n- Count them\n\nNotes: Gloves!\n");
    }

    #[test]
    fn a_slide_without_title_begins_at_its_first_item() {
        let slide = |text: &str| {
            format!(
                "<draw:page><text:list><text:list-item><text:p>{text}</text:p></text:list-item>\
                 </text:list></draw:page>"
            )
        };
        let mut writer = Writer::default();
        walk(&[slide("a"), slide("b")].concat(), |node| writer.step(node));
        let offsets: Vec<usize> = writer.slides.iter().map(|(offset, _)| *offset).collect();
        let text = writer.prose.finish().0;
        assert_eq!(offsets, [0, text.find("- b").unwrap()], "{text:?}");
    }

    #[test]
    fn fields_are_text_and_who_made_a_comment_is_not() {
        let xml = "<text:p>Bonn, <text:date>3 May</text:date>, <text:creator>Ada</text:creator>\
                   <office:annotation><dc:creator>Bo</dc:creator><dc:date>2026</dc:date>\
                   <meta:creator-initials>B</meta:creator-initials><text:p>Said on <text:date>4 \
                   May</text:date></text:p></office:annotation> Lind</text:p>";
        let mut writer = Writer::default();
        walk(xml, |node| writer.step(node));
        let expected = "Bonn, 3 May, Ada Lind\n\n(Said on 4 May)\n";
        assert_eq!(writer.prose.finish().0, expected);
    }

    #[test]
    fn notes_follow_their_paragraph_and_what_was_deleted_is_gone() {
        let xml = "<text:tracked-changes><text:p>old</text:p></text:tracked-changes><text:h \
                   text:outline-level='2'>Soil</text:h><text:p>Dry<text:note><text:note-citation>1\
                   </text:note-citation><text:note-body><text:p>Walnut rots slowly.</text:p>\
                   </text:note-body></text:note> leaves</text:p>";
        let mut writer = Writer::default();
        walk(xml, |node| writer.step(node));
        let expected = "## Soil\n\nDry leaves\n\n(Walnut rots slowly.)\n";
        assert_eq!(writer.prose.finish().0, expected);
    }
}
