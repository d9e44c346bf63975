//! PowerPoint presentations (Office Open XML): slide after slide with its title, text, tables and the
//! speaker's notes. What repeats on every slide (date, footer, number) is left out.

use super::{core_title, is_skipped, relationships};
use crate::data::{Locator, LocatorMap, MediaType};
use crate::extract::package::Package;
use crate::extract::prose::Prose;
use crate::extract::xml::{Node, walk};
use crate::extract::{Extracted, Unreadable, one_line, title};

const PRESENTATION: &str = "ppt/presentation.xml";

/// # Errors
/// When the package is damaged, encrypted or holds no text.
pub(in crate::extract) fn read(mut package: Package, name: &str) -> Result<Extracted, Unreadable> {
    let mut prose = Prose::default();
    let mut locators = LocatorMap::default();
    let mut first_title = None;
    for (number, part) in (1_u32..).zip(slides(&mut package)?) {
        let Some(xml) = package.text(&part)? else { continue };
        let offset = prose.begin_part();
        let title = write_slide(&mut prose, &xml, &["dt", "ftr", "sldNum", "hdr"]);
        let links = relationships(&mut package, &part);
        let notes = links.iter().find(|link| link.kind == "notesSlide");
        if let Some(xml) = notes.and_then(|notes| package.optional(&notes.target)) {
            let mut said = Prose::default();
            // The picture of the slide repeats its title.
            write_slide(&mut said, &xml, &["dt", "ftr", "sldNum", "hdr", "sldImg", "title"]);
            if !said.text().is_empty() {
                prose.paragraph(&format!("Notes: {}", said.text()));
            }
        }
        if prose.next_offset() > offset {
            locators.push(offset, Locator::Slide { slide: number, title: title.clone() });
            first_title = first_title.or(title);
        }
    }
    if prose.text().is_empty() {
        return Err(Unreadable::NoText);
    }
    let title = title::choose(core_title(&mut package).as_deref(), first_title.as_deref(), name);
    Ok(Extracted::converted(MediaType::Presentation, title, prose.finish().0, locators))
}

/// Names of the slides' parts in the order they are shown.
fn slides(package: &mut Package) -> Result<Vec<String>, Unreadable> {
    let xml = package.required(PRESENTATION)?;
    let links = relationships(package, PRESENTATION);
    let mut slides = Vec::new();
    walk(&xml, |node| {
        if let Node::Open(element) = node
            && element.name == "sldId"
            // `r:id` beside the slide's own `id`, which is a number.
            && let Some(link) = links.iter().find(|link| element.has_value(&link.id))
        {
            slides.push(link.target.clone());
        }
    });
    Ok(slides)
}

/// Writes the text of a slide without the placeholders named in `left_out`; returns its title.
fn write_slide(prose: &mut Prose, xml: &str, left_out: &[&str]) -> Option<String> {
    let (shape, text, title) = (None, None, None);
    let mut slide = Slide { prose, left_out, shape, text, level: 0, skipped: 0, title };
    walk(xml, |node| slide.step(node));
    slide.title
}

struct Slide<'a> {
    prose: &'a mut Prose,
    left_out: &'a [&'a str],
    /// What the shape around is a placeholder for; empty where it is for nothing.
    shape: Option<String>,
    /// Text of the paragraph that is open.
    text: Option<String>,
    /// Its level in a list.
    level: usize,
    /// Elements that are skipped and open.
    skipped: usize,
    title: Option<String>,
}

impl Slide<'_> {
    fn step(&mut self, node: Node<'_>) {
        match node {
            Node::Open(open) if is_skipped(open.name) => self.skipped += 1,
            Node::Close(name) if is_skipped(name) => self.skipped = self.skipped.saturating_sub(1),
            _ if self.skipped > 0 => {}
            Node::Open(open) => match open.name {
                "sp" => self.shape = Some(String::new()),
                "ph" => self.shape = Some(open.attr("type").unwrap_or_else(|| "body".to_owned())),
                "p" => (self.text, self.level) = (Some(String::new()), 0),
                "pPr" => {
                    self.level = open.attr("lvl").and_then(|level| level.parse().ok()).unwrap_or(0);
                }
                "br" | "tab" => self.push(if open.name == "br" { "\n" } else { "\t" }),
                "tr" => self.prose.open_row(),
                "tc" => self.prose.open_cell(),
                _ => {}
            },
            Node::Close("sp") => self.shape = None,
            Node::Close("p") => self.close_paragraph(),
            Node::Close("tr") => self.prose.close_row(),
            Node::Text(text) => self.push(text),
            Node::Close(_) => {}
        }
    }

    /// Text stands in paragraphs alone; what is between is the file's own white space.
    fn push(&mut self, text: &str) {
        if let Some(open) = &mut self.text {
            open.push_str(text);
        }
    }

    fn close_paragraph(&mut self) {
        let Some(text) = self.text.take() else { return };
        let shape = self.shape.as_deref().unwrap_or_default();
        if text.trim().is_empty() || self.left_out.contains(&shape) {
            return;
        }
        match shape {
            "title" | "ctrTitle" => {
                self.prose.heading(2, &text);
                let title = one_line(&text);
                self.title.get_or_insert(title);
            }
            "body" if self.level > 0 => self.prose.item(self.level + 1, &text),
            "body" => self.prose.item(1, &text),
            _ => self.prose.paragraph(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_say_what_a_text_is_for() {
        let shape = |kind: &str, text: &str| {
            format!(
                "<p:sp><p:nvPr><p:ph type='{kind}'/></p:nvPr><p:txBody>{text}</p:txBody></p:sp>"
            )
        };
        let text = |text: &str| format!("<a:p><a:r><a:t>{text}</a:t></a:r></a:p>");
        let deeper = "<a:p><a:pPr lvl='1'/><a:r><a:t>of oxalic</a:t></a:r></a:p>";
        let xml = [
            shape("ctrTitle", &text("Bees &amp; mites")),
            shape("body", &(text("Treat in winter") + deeper)),
            shape("sldNum", &text("7")),
            format!("<mc:Fallback>{}</mc:Fallback>", shape("body", &text("Treat in winter"))),
            "<a:tbl><a:tr><a:tc><a:p><a:t>May</a:t></a:p></a:tc><a:tc><a:p><a:t>3</a:t></a:p></a:tc></a:tr></a:tbl>"
                .to_owned(),
        ]
        .concat();
        let mut prose = Prose::default();
        let title = write_slide(&mut prose, &format!("<p:sld>{xml}</p:sld>"), &["sldNum"]);
        assert_eq!(title.as_deref(), Some("Bees & mites"));
        let expected = "## Bees & mites\n\n- Treat in winter\n  - of oxalic\nMay | 3\n";
        assert_eq!(prose.finish().0, expected);
    }
}
