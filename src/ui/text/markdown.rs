use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::node::{Kind, Node};

/// Markdown as a tree whose leaves are ranges of `text`.
pub fn blocks(text: &str) -> Vec<Node> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut builder = Builder { text, open: vec![Node::new(Kind::Paragraph, 0..text.len())] };
    let mut in_head = false;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                in_head = in_head || matches!(tag, Tag::TableHead);
                builder.open(kind(&tag, in_head), range);
            }
            Event::End(end) => {
                in_head = in_head && !matches!(end, TagEnd::TableHead);
                builder.close();
            }
            Event::Text(shown)
            | Event::Html(shown)
            | Event::InlineMath(shown)
            | Event::DisplayMath(shown) => builder.leaf(&shown, range),
            Event::Code(shown) => {
                builder.open(Kind::InlineCode, range.clone());
                builder.leaf(&shown, builder.inside_ticks(range));
                builder.close();
            }
            Event::SoftBreak => builder.push(Node::new(Kind::Shown(" ".to_owned()), range)),
            Event::HardBreak => builder.push(Node::new(Kind::Break, range)),
            Event::Rule => builder.push(Node::new(Kind::Rule, range)),
            Event::TaskListMarker(done) => {
                let shown = if done { "☑ " } else { "☐ " };
                builder.push(Node::new(Kind::Shown(shown.to_owned()), range));
            }
            Event::FootnoteReference(name) => {
                builder.push(Node::new(Kind::Shown(format!("[{name}]")), range));
            }
            // Tags inside a sentence say nothing to a reader.
            Event::InlineHtml(_) => {}
        }
    }
    let mut root = builder.open;
    root.pop().map(|node| node.children).unwrap_or_default()
}

fn kind(tag: &Tag<'_>, in_head: bool) -> Kind {
    match tag {
        Tag::Heading { level, .. } => Kind::Heading(*level as u8),
        Tag::BlockQuote(_) => Kind::Quote,
        Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::MetadataBlock(_) => Kind::Preformatted,
        Tag::List(start) => Kind::List(*start),
        Tag::Item => Kind::Item,
        Tag::Table(_) => Kind::Table,
        Tag::TableHead | Tag::TableRow => Kind::Row,
        Tag::TableCell if in_head => Kind::HeaderCell,
        Tag::TableCell => Kind::Cell,
        Tag::Strong => Kind::Strong,
        Tag::Emphasis | Tag::Image { .. } => Kind::Emphasis,
        Tag::Strikethrough => Kind::Struck,
        // A link leads out of the index; its words are what is read.
        Tag::Link { .. } | Tag::Superscript | Tag::Subscript => Kind::Inline,
        Tag::Paragraph
        | Tag::FootnoteDefinition(_)
        | Tag::DefinitionList
        | Tag::DefinitionListTitle
        | Tag::DefinitionListDefinition => Kind::Paragraph,
    }
}

struct Builder<'a> {
    text: &'a str,
    /// The path from the root to the innermost open node.
    open: Vec<Node>,
}

impl Builder<'_> {
    fn open(&mut self, kind: Kind, range: Range<usize>) {
        let end = range.start + self.text[range.clone()].trim_end().len();
        self.open.push(Node::new(kind, range.start..end));
    }

    fn close(&mut self) {
        if let Some(node) = self.open.pop() {
            self.push(node);
        }
    }

    fn push(&mut self, node: Node) {
        if let Some(parent) = self.open.last_mut() {
            parent.children.push(node);
        }
    }

    /// The bytes of inline code without its backticks and the space that may pad them.
    fn inside_ticks(&self, range: Range<usize>) -> Range<usize> {
        let code = &self.text[range.clone()];
        let ticks = code.len() - code.trim_start_matches('`').len();
        let inner = code.get(ticks..code.len().saturating_sub(ticks)).unwrap_or_default();
        let padded = inner.starts_with(' ') && inner.ends_with(' ') && !inner.trim().is_empty();
        let start = range.start + ticks + usize::from(padded);
        let end = start + inner.len() - 2 * usize::from(padded);
        start..end
    }

    /// A leaf that shows `shown`: the bytes themselves when they read so.
    fn leaf(&mut self, shown: &str, range: Range<usize>) {
        let kind = match self.text.get(range.clone()) {
            Some(written) if written == shown => Kind::Text,
            _ => Kind::Shown(shown.to_owned()),
        };
        self.push(Node::new(kind, range));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree as `kind(children)`, leaves as their shown text.
    fn outline(text: &str, nodes: &[Node]) -> String {
        let parts: Vec<String> = nodes
            .iter()
            .map(|node| match &node.kind {
                Kind::Text => format!("{:?}", &text[node.range.clone()]),
                Kind::Shown(shown) => format!("={shown:?}"),
                kind => format!("{kind:?}({})", outline(text, &node.children)),
            })
            .collect();
        parts.join(" ")
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(outline(text, &blocks(text)), expected);
    }

    #[test]
    fn blocks_and_spans_keep_their_bytes() {
        check(
            "# Title\n\nSome *words* and `code`.",
            concat!(
                r#"Heading(1)("Title") "#,
                r#"Paragraph("Some " Emphasis("words") " and " InlineCode("code") ".")"#
            ),
        );
        check("```rust\nlet a = 1;\n```", r#"Preformatted("let a = 1;\n")"#);
        check("a `` b ` `` c", r#"Paragraph("a " InlineCode("b `") " c")"#);
        check("[text](http://x.org)\nnext", r#"Paragraph(Inline("text") =" " "next")"#);
    }

    #[test]
    fn what_is_shown_otherwise_than_written_is_one_leaf() {
        check("a &amp; b", r#"Paragraph("a " ="&" " b")"#);
    }

    #[test]
    fn lists_tables_and_quotes_nest() {
        check(
            "1. one\n2. two\n   - deep",
            concat!(r#"List(Some(1))(Item("one") "#, r#"Item("two" List(None)(Item("deep"))))"#),
        );
        check(
            "|a|b|\n|-|-|\n|c|d|",
            concat!(
                r#"Table(Row(HeaderCell("a") HeaderCell("b")) "#,
                r#"Row(Cell("c") Cell("d")))"#
            ),
        );
        check("> said", r#"Quote(Paragraph("said"))"#);
        check("- [x] done", r#"List(None)(Item(="☑ " "done"))"#);
    }

    #[test]
    fn a_block_ends_where_its_text_ends() {
        let text = "# A\n\n\nbody\n\n";
        let ends: Vec<usize> = blocks(text).iter().map(|node| node.range.end).collect();
        assert_eq!(ends, [3, 10]);
    }
}
