//! Elements to Markdown-like text.

mod block;
mod writer;

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::Node;
use scraper::node::Element;

use self::block::{Block, language_of};
use self::writer::{Gap, Writer};
use super::weight::Weights;
use crate::extract::headings::Headings;

/// A page's content as text, with its outline.
#[derive(Debug)]
pub(super) struct Rendered {
    pub text: String,
    pub headings: Headings,
}

/// Renders what lies below `root`; iterative, so that depth costs no stack.
pub(super) fn render(root: NodeRef<'_, Node>, weights: &Weights) -> Rendered {
    let mut renderer = Renderer { writer: Writer::default(), weights };
    for edge in root.traverse() {
        match edge {
            Edge::Open(node) => match node.value() {
                Node::Text(text) => renderer.writer.text(text),
                Node::Element(element) => renderer.open(node, element),
                _ => {}
            },
            Edge::Close(node) => {
                if let Some(element) = node.value().as_element() {
                    renderer.close(node, element);
                }
            }
        }
    }
    let (text, headings) = renderer.writer.finish();
    Rendered { text, headings }
}

struct Renderer<'a> {
    writer: Writer,
    weights: &'a Weights,
}

impl Renderer<'_> {
    fn open(&mut self, node: NodeRef<'_, Node>, element: &Element) {
        let Self { writer, weights } = self;
        match Block::of(element) {
            Block::Heading(level) => writer.open_heading(level, anchor_of(node, element)),
            Block::Code => writer.open_code(language_of(node)),
            Block::List { ordered } => {
                let start = element.attr("start").and_then(|start| start.parse().ok());
                writer.open_list(ordered.then(|| start.unwrap_or(1)));
            }
            Block::Item => writer.open_item(),
            Block::Quote => writer.open_quote(),
            // A table of blocks lays a page out; its cells are read one after the other.
            Block::Table | Block::Row | Block::Cell if is_layout(node, weights) => {
                writer.gap(Gap::Paragraph);
            }
            Block::Table | Block::Paragraph | Block::Term => writer.gap(Gap::Paragraph),
            Block::Row => writer.open_row(),
            Block::Cell => writer.open_cell(),
            Block::Division => writer.division(),
            Block::Line => writer.gap(Gap::Line),
            Block::Break => writer.line_break(),
            Block::InlineCode => writer.open_inline_code(),
            Block::Image => {
                let alt = element.attr("alt").unwrap_or_default();
                // One word is a label such as "logo" or "icon".
                if alt.split_whitespace().nth(1).is_some() {
                    writer.text(alt);
                }
            }
            Block::Inline => {}
        }
    }

    fn close(&mut self, node: NodeRef<'_, Node>, element: &Element) {
        let Self { writer, weights } = self;
        match Block::of(element) {
            Block::Heading(_) => writer.close_heading(),
            Block::Code => writer.close_code(),
            Block::List { .. } => writer.close_list(),
            Block::Item => writer.close_item(),
            Block::Quote => writer.close_quote(),
            Block::Table | Block::Row | Block::Cell if is_layout(node, weights) => {
                writer.gap(Gap::Paragraph);
            }
            Block::Table | Block::Paragraph => writer.gap(Gap::Paragraph),
            Block::Row => writer.close_row(),
            Block::Division => writer.division(),
            Block::Line | Block::Term => writer.gap(Gap::Line),
            Block::InlineCode => writer.close_inline_code(),
            Block::Cell | Block::Break | Block::Image | Block::Inline => {}
        }
    }
}

/// Whether the table around holds blocks that a row of text cannot.
fn is_layout(node: NodeRef<'_, Node>, weights: &Weights) -> bool {
    let is_table =
        |node: &NodeRef<'_, Node>| node.value().as_element().is_some_and(|e| e.name() == "table");
    // A row is at most two levels below its table, a cell three; a cell elsewhere is loose.
    let table = std::iter::once(node).chain(node.ancestors().take(3)).find(is_table);
    table.is_none_or(|table| weights.get(table).has_blocks)
}

/// What a browser can jump to: the heading's id, a named link inside it, or the id of the section
/// that it opens.
fn anchor_of(heading: NodeRef<'_, Node>, element: &Element) -> Option<String> {
    let named = |element: &Element| {
        let id = element.id().filter(|id| !id.is_empty());
        id.or_else(|| element.attr("name").filter(|_| element.name() == "a")).map(str::to_owned)
    };
    let inside =
        || heading.descendants().filter_map(|node| node.value().as_element()).find_map(named);
    let section = || {
        let opens = heading.prev_siblings().all(|before| !before.value().is_element());
        let parent = heading.parent().filter(|_| opens)?;
        let parent = parent.value().as_element()?;
        matches!(parent.name(), "section" | "article" | "div").then(|| named(parent)).flatten()
    };
    named(element).or_else(inside).or_else(section)
}
