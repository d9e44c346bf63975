use ego_tree::NodeRef;
use scraper::Node;
use scraper::node::Element;

/// What an element means for the layout of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    Heading(u8),
    /// Preformatted text.
    Code,
    List {
        ordered: bool,
    },
    Item,
    Quote,
    Table,
    Row,
    Cell,
    /// Apart from its neighbors by a blank line.
    Paragraph,
    /// Apart from what stands before, next to what it names.
    Term,
    /// A box without a meaning of its own.
    Division,
    /// On a line of its own.
    Line,
    Break,
    InlineCode,
    Image,
    Inline,
}

impl Block {
    pub(super) fn of(element: &Element) -> Self {
        match element.name() {
            "h1" => Self::Heading(1),
            "h2" => Self::Heading(2),
            "h3" => Self::Heading(3),
            "h4" => Self::Heading(4),
            "h5" => Self::Heading(5),
            "h6" => Self::Heading(6),
            "pre" | "listing" | "xmp" | "plaintext" => Self::Code,
            "ul" | "menu" | "dir" => Self::List { ordered: false },
            "ol" => Self::List { ordered: true },
            "li" => Self::Item,
            "blockquote" => Self::Quote,
            "table" => Self::Table,
            "tr" => Self::Row,
            "td" | "th" => Self::Cell,
            "dt" => Self::Term,
            "p" | "dl" | "figure" | "figcaption" | "caption" | "details" | "summary" | "hr"
            | "address" | "fieldset" | "legend" => Self::Paragraph,
            "div" | "section" | "article" | "main" | "header" | "footer" | "aside" | "form"
            | "center" | "body" | "hgroup" => Self::Division,
            "dd" => Self::Line,
            "br" => Self::Break,
            "code" | "tt" => Self::InlineCode,
            "img" => Self::Image,
            _ => Self::Inline,
        }
    }
}

/// How a class names the language of a code block, by the tools that make pages.
const LANGUAGE_PREFIXES: &[&str] = &["language-", "lang-", "highlight-source-", "highlight-"];

/// The language that a class of a code block, of its first child or of the box around it names.
pub(super) fn language_of(pre: NodeRef<'_, Node>) -> String {
    let child = pre.children().find(|child| child.value().is_element());
    [Some(pre), child, pre.parent()]
        .into_iter()
        .flatten()
        .filter_map(|node| node.value().as_element())
        .find_map(language_class)
        .unwrap_or_default()
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_'))
        .collect()
}

fn language_class(element: &Element) -> Option<&str> {
    let named =
        |class| LANGUAGE_PREFIXES.iter().find_map(|prefix| str::strip_prefix(class, prefix));
    element.classes().find_map(named)
}
