use std::ops::Range;

/// A piece of laid-out text: a block, an inline span or a leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub kind: Kind,
    /// Bytes of the document's text.
    pub range: Range<usize>,
    pub children: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Heading(u8),
    Paragraph,
    /// A block in monospace whose line breaks count.
    Preformatted,
    /// The number of the first item, or `None` for bullets.
    List(Option<u64>),
    Item,
    Quote,
    Table,
    Row,
    HeaderCell,
    Cell,
    Rule,
    /// A line of source with its one-based number; `None` goes on a line that was too long.
    Line(Option<u32>),
    Strong,
    Emphasis,
    Struck,
    InlineCode,
    /// A span without a look of its own.
    Inline,
    /// A leaf that shows the bytes of its range.
    Text,
    /// A leaf that shows something else than its bytes, such as `&` for `&amp;`; it is marked
    /// whole.
    Shown(String),
    Break,
}

impl Node {
    pub fn new(kind: Kind, range: Range<usize>) -> Self {
        Self { kind, range, children: Vec::new() }
    }

    pub fn with(kind: Kind, range: Range<usize>, children: Vec<Self>) -> Self {
        Self { kind, range, children }
    }

    pub fn is_leaf(&self) -> bool {
        matches!(self.kind, Kind::Text | Kind::Shown(_))
    }

    pub fn is_inline(&self) -> bool {
        self.is_leaf()
            || matches!(
                self.kind,
                Kind::Strong
                    | Kind::Emphasis
                    | Kind::Struck
                    | Kind::InlineCode
                    | Kind::Inline
                    | Kind::Break
            )
    }

    /// The first shown byte at or after `offset` in this node.
    pub fn anchor(&self, offset: usize) -> Option<usize> {
        if self.range.end <= offset {
            return None;
        }
        if self.is_leaf() {
            let inside = matches!(self.kind, Kind::Text) && self.range.start < offset;
            return Some(if inside { offset } else { self.range.start });
        }
        self.children.iter().find_map(|child| child.anchor(offset))
    }
}
