//! How deeply a page nests, before it is parsed.
//!
//! An HTML parser looks through its stack of open elements at nearly every tag, so nesting without
//! bound makes it quadratic. This scan is linear and may overestimate; pages stay far below the
//! bound.

/// Elements that never hold others, or whose end is commonly left out and found by the parser.
const UNCOUNTED: &[&[u8]] = &[
    b"a",
    b"area",
    b"base",
    b"body",
    b"br",
    b"col",
    b"colgroup",
    b"dd",
    b"dt",
    b"embed",
    b"head",
    b"hr",
    b"html",
    b"img",
    b"input",
    b"li",
    b"link",
    b"meta",
    b"optgroup",
    b"option",
    b"p",
    b"param",
    b"rp",
    b"rt",
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
    let (mut open, mut most) = (0_usize, 0_usize);
    // How many elements were open where the current drawing began.
    let mut drawing: Option<usize> = None;
    let mut at = 0;
    while let Some(tag) = next_tag(bytes, at) {
        at = tag.end;
        let draws = tag.is_one_of(&[b"svg", b"math"]);
        if tag.is_one_of(LEAVES_DRAWING) {
            drawing = None;
        }
        if tag.closes {
            match drawing {
                Some(outside) if draws => open = outside,
                _ if !tag.is_one_of(UNCOUNTED) => open = open.saturating_sub(1),
                _ => {}
            }
            // An end tag from outside the drawing ends the drawing too.
            drawing = drawing.filter(|outside| open > *outside);
        } else if drawing.is_none() && tag.is_one_of(RAW) {
            at = end_of_raw(bytes, at, tag.name);
        } else if !tag.is_one_of(UNCOUNTED) && !(tag.closed_at_once && (drawing.is_some() || draws))
        {
            if draws && drawing.is_none() {
                drawing = Some(open);
            }
            open += 1;
            most = most.max(open);
        }
    }
    most
}

struct Tag<'a> {
    name: &'a [u8],
    closes: bool,
    closed_at_once: bool,
    end: usize,
}

impl Tag<'_> {
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
        let end = end_of_tag(bytes, name_end);
        return Some(Tag {
            name: &bytes[name_at..name_end],
            closes,
            closed_at_once: bytes[..end].ends_with(b"/>"),
            end,
        });
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

/// One past the `>` that ends a tag, which a quoted value may hold as well.
fn end_of_tag(bytes: &[u8], from: usize) -> usize {
    let mut quote = None;
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            _ => {}
        }
    }
    bytes.len()
}

fn end_of_raw(bytes: &[u8], from: usize, name: &[u8]) -> usize {
    let mut at = from;
    while let Some(next) = bytes[at..].windows(2).position(|window| window == b"</") {
        at += next + 2;
        if bytes.get(at..at + name.len()).is_some_and(|end| end.eq_ignore_ascii_case(name)) {
            return end_of_tag(bytes, at);
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
    fn broken_markup_ends() {
        for text in
            ["<", "</", "<!--", "<a", "<a b='", "<script>", "<script></scrip", "< div", "<é>"]
        {
            let _ = levels(text);
        }
    }
}
