//! Documents of office programs: what Office Open XML and OpenDocument have in common.

mod compound;
mod docx;
mod opendocument;
mod pptx;
mod rtf;
mod sheet;

pub(super) use compound::has_sound_chains;
pub(super) use docx::read as read_docx;
pub(super) use opendocument::{read_presentation as read_odp, read_text as read_odt};
pub(super) use pptx::read as read_pptx;
pub(super) use rtf::read as read_rtf;
pub(super) use sheet::{Workbook, read as read_workbook};

use super::package::{Package, resolve};
use super::xml::{Node, walk};

/// A link from one part of an Office Open XML package to another.
#[derive(Debug)]
struct Relationship {
    id: String,
    /// The last part of its type, such as `slide` or `notesSlide`.
    kind: String,
    /// Name of the part that it leads to.
    target: String,
}

/// The links of `part`; none where it has none.
fn relationships(package: &mut Package, part: &str) -> Vec<Relationship> {
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    let list = format!("{folder}/_rels/{name}.rels");
    let Some(xml) = package.optional(list.trim_start_matches('/')) else { return Vec::new() };
    let mut found = Vec::new();
    walk(&xml, |node| {
        let Node::Open(element) = node else { return };
        if element.name != "Relationship"
            || element.attr("TargetMode").is_some_and(|m| m == "External")
        {
            return;
        }
        if let (Some(id), Some(kind), Some(target)) =
            (element.attr("Id"), element.attr("Type"), element.attr("Target"))
        {
            let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
            found.push(Relationship { id, kind, target: resolve(part, &target) });
        }
    });
    found
}

/// Elements of Office Open XML whose text stands elsewhere as well or not at all any more: what a drawing
/// says to programs that do not know it, what was moved away, how a paragraph was set before.
fn is_skipped(name: &str) -> bool {
    matches!(name, "Fallback" | "moveFrom" | "pPrChange")
}

/// The text of the first element `name` of an XML part.
fn element_text(xml: &str, name: &str) -> Option<String> {
    let mut depth = 0;
    let mut text: Option<String> = None;
    let mut done = false;
    walk(xml, |node| match node {
        Node::Open(element) if element.name == name && !done => {
            depth += 1;
            text.get_or_insert_default();
        }
        Node::Close(closed) if closed == name && depth > 0 => {
            depth -= 1;
            done = depth == 0;
        }
        Node::Text(part) if depth > 0 => {
            if let Some(text) = &mut text {
                text.push_str(part);
            }
        }
        _ => {}
    });
    text
}

/// The title among the properties of an Office Open XML package.
fn core_title(package: &mut Package) -> Option<String> {
    element_text(&package.optional("docProps/core.xml")?, "title")
}
