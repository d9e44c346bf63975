//! How deeply a page nests, before it is parsed.
//!
//! An HTML parser looks through its stack of open elements at nearly every tag, so nesting without
//! bound makes it quadratic. This scan is linear and may overestimate; pages stay far below the
//! bound. End tags that match nothing can still mislead it: what holds then are the limits of the
//! process that pages are read in.

/// Elements that never hold others, or whose end is commonly left out and found by the parser.
const UNCOUNTED: &[&[u8]] = &[
    b"a",
    b"area",
    b"base",
    b"body",
    b"br",
    b"col",
    b"colgroup",
    b"embed",
    b"head",
    b"hr",
    b"html",
    b"img",
    b"input",
    b"link",
    b"meta",
    b"option",
    b"p",
    b"param",
    b"source",
    b"tbody",
    b"td",
    b"tfoot",
    b"th",
    b"thead",
    b"tr",
    b"track",
    b"wbr",
];

/// Their end is the end of what is open in them: the end tags of `rt` and `optgroup` are commonly left
/// out.
const ENDS_OTHERS: &[&[u8]] = &[b"ruby", b"select"];

/// Elements whose content is text up to their end tag, whatever stands in it.
const RAW: &[&[u8]] = &[
    b"script",
    b"style",
    b"textarea",
    b"title",
    b"xmp",
    b"iframe",
    b"noembed",
    b"noframes",
    b"noscript",
];

/// Inside a drawing or formula a tag ending in `/>` is closed at once; elsewhere the slash means
/// nothing. These tags end the drawing, or open a place for ordinary elements within it.
const LEAVES_DRAWING: &[&[u8]] = &[
    b"b",
    b"big",
    b"blockquote",
    b"body",
    b"br",
    b"center",
    b"code",
    b"dd",
    b"div",
    b"dl",
    b"dt",
    b"em",
    b"embed",
    b"font",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"head",
    b"hr",
    b"i",
    b"img",
    b"li",
    b"listing",
    b"menu",
    b"meta",
    b"nobr",
    b"ol",
    b"p",
    b"pre",
    b"ruby",
    b"s",
    b"small",
    b"span",
    b"strike",
    b"strong",
    b"sub",
    b"sup",
    b"table",
    b"tt",
    b"u",
    b"ul",
    b"var",
    b"annotation-xml",
    b"desc",
    b"foreignobject",
    b"mi",
    b"mn",
    b"mo",
    b"ms",
    b"mtext",
    b"title",
];

/// The most elements that are open at once, or more.
pub(super) fn levels(html: &str) -> usize {
    let bytes = html.as_bytes();
    let mut open = OpenElements::default();
    let mut most = 0;
    // How many elements were open where the current drawing began.
    let mut drawing: Option<usize> = None;
    // And where each of those began that end others.
    let mut holders: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(tag) = next_tag(bytes, at) {
        at = tag.end;
        let draws = tag.is_one_of(&[b"svg", b"math"]);
        let ends_others = tag.is_one_of(ENDS_OTHERS);
        if tag.is_one_of(LEAVES_DRAWING) {
            drawing = None;
        }
        // A drawing knows none of the rules for elements of a page.
        let is_counted = drawing.is_some() || !tag.is_one_of(UNCOUNTED);
        if tag.closes {
            match (drawing, ends_others.then(|| holders.pop()).flatten()) {
                (Some(outside), _) if draws => open.truncate(outside),
                (_, Some(outside)) => open.truncate(outside),
                _ if is_counted => open.close(tag.level()),
                _ => {}
            }
            // An end tag from outside the drawing ends the drawing too.
            drawing = drawing.filter(|outside| open.len() > *outside);
        } else if drawing.is_none() && tag.is_one_of(RAW) {
            at = end_of_raw(bytes, at, tag.name);
        } else if is_counted && !(tag.closed_at_once && (drawing.is_some() || draws)) {
            if draws && drawing.is_none() {
                drawing = Some(open.len());
            }
            if ends_others {
                holders.push(open.len());
            }
            open.push(tag.level());
            most = most.max(open.depth());
        }
    }
    most
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Element,
    /// `li`: the next one ends it.
    Item,
    /// `dt` or `dd`, of which each ends the other.
    Definition,
}

/// What is open, outermost first, each with how deep it lies.
#[derive(Debug, Default)]
struct OpenElements(Vec<(Level, usize)>);

impl OpenElements {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn depth(&self) -> usize {
        self.0.last().map_or(0, |(_, depth)| *depth)
    }

    /// Items end each other and do not count, but for one straight inside one of the other kind.
    fn push(&mut self, level: Level) {
        let around = self.0.last().map_or(Level::Element, |(around, _)| *around);
        let is_item = level != Level::Element;
        if is_item && around == level {
            return;
        }
        let is_deeper = !is_item || around != Level::Element;
        self.0.push((level, self.depth() + usize::from(is_deeper)));
    }

    /// An element ends with the items that are open in it; an item may have one of the other kind in it.
    fn close(&mut self, level: Level) {
        let items = self.0.iter().rev().take_while(|(open, _)| *open != Level::Element);
        let inside = match level {
            Level::Element => items.count(),
            item => match items.take(2).position(|(open, _)| *open == item) {
                Some(inside) => inside,
                None => return,
            },
        };
        self.truncate(self.len().saturating_sub(inside + 1));
    }

    fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }
}

struct Tag<'a> {
    name: &'a [u8],
    closes: bool,
    closed_at_once: bool,
    end: usize,
}

impl Tag<'_> {
    fn level(&self) -> Level {
        if self.is_one_of(&[b"li"]) {
            Level::Item
        } else if self.is_one_of(&[b"dt", b"dd"]) {
            Level::Definition
        } else {
            Level::Element
        }
    }

    fn is_one_of(&self, names: &[&[u8]]) -> bool {
        names.iter().any(|name| self.name.eq_ignore_ascii_case(name))
    }
}

/// The next tag at or after `at`; comments, declarations and lone `<` are passed over.
fn next_tag(bytes: &[u8], mut at: usize) -> Option<Tag<'_>> {
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == b'<')? + 1;
        if let Some(comment) = bytes[at..].strip_prefix(b"!--") {
            at += b"!--".len() + comment_length(comment);
            continue;
        }
        let closes = bytes.get(at) == Some(&b'/');
        let name_at = at + usize::from(closes);
        if !bytes.get(name_at).is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let is_name = |byte: &&u8| !byte.is_ascii_whitespace() && !b"/>".contains(byte);
        let name_end = name_at + bytes[name_at..].iter().take_while(is_name).count();
        let (end, closed_at_once) = end_of_tag(bytes, name_end);
        return Some(Tag { name: &bytes[name_at..name_end], closes, closed_at_once, end });
    }
}

/// Bytes of a comment after `<!--`, its end included: `-->`, `--!>`, or at once `>` or `->`.
fn comment_length(comment: &[u8]) -> usize {
    if comment.starts_with(b">") || comment.starts_with(b"->") {
        return 0;
    }
    comment
        .windows(2)
        .enumerate()
        .filter(|(_, window)| *window == b"--")
        .map(|(at, _)| at + 2)
        .find(|at| comment[*at..].starts_with(b">") || comment[*at..].starts_with(b"!>"))
        .unwrap_or(comment.len())
}

/// Where in a tag the scan is, after its name.
#[derive(Clone, Copy)]
enum Place {
    Between,
    Name,
    AfterName,
    Equals,
    Bare,
    Quoted(u8),
}

/// One past the `>` that ends a tag, which a quoted value may hold as well, and whether a slash of the
/// tag itself stands before it.
/// <https://html.spec.whatwg.org/multipage/parsing.html#before-attribute-name-state>
fn end_of_tag(bytes: &[u8], from: usize) -> (usize, bool) {
    use Place::{AfterName, Bare, Between, Equals, Name, Quoted};

    let mut place = Between;
    let mut after_slash = false;
    for (at, byte) in bytes.iter().copied().enumerate().skip(from) {
        let is_space = byte.is_ascii_whitespace();
        let is_slash = byte == b'/' && matches!(place, Between | Name | AfterName);
        place = match (place, byte) {
            (Quoted(quote), _) if byte == quote => Between,
            (Quoted(_), _) => place,
            (_, b'>') => return (at + 1, after_slash),
            (Equals, b'"' | b'\'') => Quoted(byte),
            (Name | AfterName, b'=') => Equals,
            (Bare, _) if is_space => Between,
            (Name, _) if is_space => AfterName,
            (Between | AfterName | Equals, _) if is_space => place,
            (Bare | Equals, _) => Bare,
            _ if is_slash => Between,
            (Between | Name | AfterName, _) => Name,
        };
        after_slash = is_slash;
    }
    (bytes.len(), false)
}

fn end_of_raw(bytes: &[u8], from: usize, name: &[u8]) -> usize {
    let mut at = from;
    while let Some(next) = bytes[at..].windows(2).position(|window| window == b"</") {
        at += next + 2;
        if bytes.get(at..at + name.len()).is_some_and(|end| end.eq_ignore_ascii_case(name)) {
            return end_of_tag(bytes, at).0;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_count_what_is_open_at_once() {
        assert_eq!(levels("<div><p>a<p>b<br><b>c</b></div><div></div>"), 2);
        assert_eq!(levels("<div title='a > <b>'><!-- <div><div> --><i></i></div>"), 2);
        assert_eq!(levels("<script>'<div><div>' </b></script><p>"), 0);
        assert_eq!(levels(&format!("<svg>{}</svg><div>", "<path d='M0'/>".repeat(99))), 1);
        assert_eq!(levels(&format!("<svg>{}</svg><div>", "<g>".repeat(9))), 10);
    }

    #[test]
    fn a_slash_closes_nothing_outside_a_drawing() {
        assert_eq!(levels(&"<div/>".repeat(50)), 50);
        assert_eq!(levels(&format!("<svg><div>{}", "<path/>".repeat(50))), 52);
        assert_eq!(levels(&format!("<div><svg></div>{}", "<path/>".repeat(50))), 51);
        assert_eq!(levels(&format!("<!-->{}", "<DIV>".repeat(50))), 50);
    }

    #[test]
    fn quotes_and_slashes_count_where_a_value_may_stand() {
        assert_eq!(levels(&"<div '>".repeat(50)), 50);
        assert_eq!(levels(&"<div a'='>'>".repeat(50)), 50);
        assert_eq!(levels(&format!("<svg>{}", "<g d=a/>".repeat(50))), 51);
        assert_eq!(levels(&format!("<svg>{}", "<g d='a'/><g d=a />".repeat(50))), 1);
        assert_eq!(levels(&format!("<svg>{}", "<a>".repeat(50))), 51);
    }

    #[test]
    fn what_may_be_left_open_ends_with_what_is_around_it() {
        assert_eq!(levels(&"<ruby>漢<rp>(<rt>kan<rp>)</ruby>".repeat(50)), 4);
        assert_eq!(levels(&"<select><optgroup><option></select>".repeat(50)), 2);
        for lone in ["<rt>", "<optgroup>"] {
            assert_eq!(levels(&lone.repeat(50)), 50);
        }
    }

    #[test]
    fn items_end_each_other_unless_they_are_of_different_kinds() {
        assert_eq!(levels(&format!("<ul>{}</ul>", "<li>a".repeat(50))), 1);
        assert_eq!(levels(&format!("<dl>{}</dl>", "<dt>a<dd>b".repeat(50))), 1);
        assert_eq!(levels(&"<li>a<dl><dd>b</dl></li>".repeat(50)), 1);
        assert_eq!(levels(&"<dd><li>a</li></dd>".repeat(50)), 1);
        assert_eq!(levels(&"<li><dd>".repeat(50)), 99);
    }

    #[test]
    fn broken_markup_ends() {
        for text in
            ["<", "</", "<!--", "<a", "<a b='", "<script>", "<script></scrip", "< div", "<é>"]
        {
            let _ = levels(text);
        }
    }
}
