//! Word documents (Office Open XML): headings by their styles, tables as rows, notes and comments
//! after the paragraph that they belong to. Headers and footers repeat on every page and are left out.

use std::collections::HashMap;

use super::{core_title, is_skipped};
use crate::data::MediaType;
use crate::extract::package::Package;
use crate::extract::prose::Prose;
use crate::extract::xml::{Node, walk};
use crate::extract::{Extracted, Unreadable, title};

const BODY: &str = "word/document.xml";

/// # Errors
/// When the package is damaged, encrypted or holds no text.
pub(in crate::extract) fn read(mut package: Package, name: &str) -> Result<Extracted, Unreadable> {
    let body = package.required(BODY)?;
    let styles = package.optional("word/styles.xml").map_or_else(HashMap::new, |xml| styles(&xml));
    let mut notes = Notes::new();
    for (part, element, reference) in [
        ("word/footnotes.xml", "footnote", "footnoteReference"),
        ("word/endnotes.xml", "endnote", "endnoteReference"),
        ("word/comments.xml", "comment", "commentReference"),
    ] {
        if let Some(xml) = package.optional(part) {
            collect_notes(&xml, element, reference, &mut notes);
        }
    }
    let mut writer = Writer::new(&styles, &notes);
    walk(&body, |node| writer.step(node));
    let Writer { prose, title: first_title, .. } = writer;
    if prose.text().is_empty() {
        return Err(Unreadable::NoText);
    }
    let heading = first_title.as_deref().or(prose.first_heading());
    let title = title::choose(core_title(&mut package).as_deref(), heading, name);
    let (text, locators) = prose.finish();
    Ok(Extracted::converted(MediaType::Document, title, text, locators))
}

/// What a paragraph style means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Title,
    Heading(u8),
}

/// Style ids with a meaning. A style says it by its outline level or its English name, which Word
/// keeps in every language, or inherits it.
fn styles(xml: &str) -> HashMap<String, Style> {
    let mut known = HashMap::new();
    let mut based_on: Vec<(String, String)> = Vec::new();
    let mut id = String::new();
    walk(xml, |node| {
        let Node::Open(element) = node else { return };
        match element.name {
            "style" => id = element.attr("styleId").unwrap_or_default(),
            "name" => {
                let name = element.attr("val").unwrap_or_default().to_lowercase();
                let level = name.strip_prefix("heading ").and_then(|level| level.parse().ok());
                if name == "title" {
                    known.insert(id.clone(), Style::Title);
                } else if let Some(level) = level {
                    known.insert(id.clone(), Style::Heading(level));
                }
            }
            "outlineLvl" => {
                if let Some(level) = outline_level(element.attr("val").as_deref()) {
                    known.entry(id.clone()).or_insert(Style::Heading(level));
                }
            }
            "basedOn" => based_on.push((id.clone(), element.attr("val").unwrap_or_default())),
            _ => {}
        }
    });
    // Styles that are derived from derived ones stand after them nearly always; twice is enough.
    for _ in 0..2 {
        for (id, base) in &based_on {
            if let Some(style) = known.get(base).copied() {
                known.entry(id.clone()).or_insert(style);
            }
        }
    }
    known
}

/// Levels count from zero in the file; nine is body text.
fn outline_level(value: Option<&str>) -> Option<u8> {
    let level: u8 = value?.parse().ok()?;
    (level < 9).then_some(level + 1)
}

/// Texts of notes by the element that refers to them and their id.
type Notes = HashMap<(&'static str, String), String>;

fn collect_notes(xml: &str, element: &str, reference: &'static str, notes: &mut Notes) {
    let mut id = None;
    let mut text = String::new();
    let mut in_text = false;
    walk(xml, |node| match node {
        Node::Open(open) if open.name == element => {
            // Separators are notes as well.
            id = if open.attr("type").is_some() { None } else { open.attr("id") };
            text.clear();
        }
        Node::Open(open) if open.name == "t" => in_text = true,
        Node::Close("t") => in_text = false,
        Node::Close("p" | "tab" | "br") => text.push(' '),
        Node::Close(close) if close == element => {
            if let Some(id) = id.take().filter(|_| !text.trim().is_empty()) {
                notes.insert((reference, id), text.trim().to_owned());
            }
        }
        Node::Text(part) if in_text => text.push_str(part),
        _ => {}
    });
}

#[derive(Debug, Default)]
struct Paragraph {
    text: String,
    style: Option<Style>,
    /// List level from zero.
    list: Option<usize>,
    notes: Vec<String>,
}

#[derive(Debug)]
struct Writer<'a> {
    styles: &'a HashMap<String, Style>,
    notes: &'a Notes,
    prose: Prose,
    /// Paragraphs that are open: a text box in a paragraph holds others.
    open: Vec<Paragraph>,
    in_text: bool,
    /// Elements that are skipped and open.
    skipped: usize,
    title: Option<String>,
}

impl<'a> Writer<'a> {
    fn new(styles: &'a HashMap<String, Style>, notes: &'a Notes) -> Self {
        let prose = Prose::default();
        Self { styles, notes, prose, open: Vec::new(), in_text: false, skipped: 0, title: None }
    }

    fn step(&mut self, node: Node<'_>) {
        match node {
            Node::Open(open) if is_skipped(open.name) => self.skipped += 1,
            Node::Close(name) if is_skipped(name) => self.skipped = self.skipped.saturating_sub(1),
            _ if self.skipped > 0 => {}
            Node::Open(open) => {
                let value = || open.attr("val");
                match open.name {
                    "p" => self.open.push(Paragraph::default()),
                    "t" => self.in_text = true,
                    "tr" => self.prose.open_row(),
                    "tc" => self.prose.open_cell(),
                    "tab" => self.push("\t"),
                    "br" | "cr" => self.push("\n"),
                    "noBreakHyphen" => self.push("-"),
                    "pStyle" => {
                        self.set_style(value().and_then(|id| self.styles.get(&id).copied()));
                    }
                    "outlineLvl" => {
                        self.set_style(outline_level(value().as_deref()).map(Style::Heading));
                    }
                    "ilvl" => {
                        if let Some(paragraph) = self.open.last_mut() {
                            paragraph.list = value().and_then(|level| level.parse().ok());
                        }
                    }
                    "footnoteReference" => self.note("footnoteReference", open.attr("id")),
                    "endnoteReference" => self.note("endnoteReference", open.attr("id")),
                    "commentReference" => self.note("commentReference", open.attr("id")),
                    _ => {}
                }
            }
            Node::Close("t") => self.in_text = false,
            Node::Close("p") => self.close_paragraph(),
            Node::Close("tr") => self.prose.close_row(),
            Node::Text(text) if self.in_text => self.push(text),
            Node::Close(_) | Node::Text(_) => {}
        }
    }

    fn push(&mut self, text: &str) {
        if let Some(paragraph) = self.open.last_mut() {
            paragraph.text.push_str(text);
        }
    }

    fn set_style(&mut self, style: Option<Style>) {
        if let (Some(paragraph), Some(style)) = (self.open.last_mut(), style) {
            paragraph.style = Some(style);
        }
    }

    fn note(&mut self, reference: &'static str, id: Option<String>) {
        let note = id.and_then(|id| self.notes.get(&(reference, id)));
        if let (Some(paragraph), Some(note)) = (self.open.last_mut(), note) {
            paragraph.notes.push(note.clone());
        }
    }

    fn close_paragraph(&mut self) {
        let Some(Paragraph { text, style, list, notes }) = self.open.pop() else { return };
        match style {
            Some(Style::Title) => {
                if self.title.is_none() && !text.trim().is_empty() {
                    self.title = Some(text.trim().to_owned());
                }
                self.prose.heading(1, &text);
            }
            Some(Style::Heading(level)) => self.prose.heading(level, &text),
            None => match list {
                Some(level) => self.prose.item(level + 1, &text),
                None => self.prose.paragraph(&text),
            },
        }
        for note in notes {
            self.prose.paragraph(&format!("({note})"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_moved_or_changed_is_as_it_is_now() {
        let text = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
        let properties = "<w:pPr><w:pStyle w:val='H2'/><w:pPrChange><w:pPr><w:pStyle w:val='H1'/>\
                          </w:pPr></w:pPrChange></w:pPr>";
        let xml = [
            format!("<w:p>{properties}{}</w:p>", text("Soil")),
            format!("<w:p>{}<w:moveFrom>{}</w:moveFrom></w:p>", text("Dry"), text(" leaves")),
            format!("<w:p><w:moveTo>{}</w:moveTo></w:p>", text("leaves")),
        ];
        let styles = [("H1", 1), ("H2", 2)];
        let styles = styles.map(|(id, level)| (id.to_owned(), Style::Heading(level))).into();
        let notes = Notes::new();
        let mut writer = Writer::new(&styles, &notes);
        walk(&xml.concat(), |node| writer.step(node));
        assert_eq!(writer.prose.finish().0, "## Soil\n\nDry\n\nleaves\n");
    }
}
