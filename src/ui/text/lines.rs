use std::ops::Range;

use super::node::{Kind, Node};

/// A longer line is cut, since one element of a megabyte brings the page to a halt.
const LINE_BYTES_MAX: usize = 4_000;
/// A paragraph of a plain text is cut at a line after this much.
const PARAGRAPH_BYTES_MAX: usize = 4_000;

/// A node a line, numbered.
pub fn numbered(text: &str) -> Vec<Node> {
    let mut nodes = Vec::new();
    for (at, line) in lines(text).enumerate() {
        let mut number = u32::try_from(at + 1).ok();
        for piece in pieces(text, line) {
            let leaf = Node::new(Kind::Text, piece.clone());
            nodes.push(Node::with(Kind::Line(number.take()), piece, vec![leaf]));
        }
    }
    nodes
}

/// A node for each run of lines between blank ones; line breaks count.
pub fn paragraphs(text: &str, kind: &Kind) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut open: Option<Range<usize>> = None;
    let mut close = |open: &mut Option<Range<usize>>| {
        for piece in open.take().into_iter().flat_map(|range| pieces(text, range)) {
            let leaf = Node::new(Kind::Text, piece.clone());
            nodes.push(Node::with(kind.clone(), piece, vec![leaf]));
        }
    };
    for line in lines(text) {
        if text[line.clone()].trim().is_empty() {
            close(&mut open);
            continue;
        }
        if open.as_ref().is_some_and(|range| range.len() > PARAGRAPH_BYTES_MAX) {
            close(&mut open);
        }
        open = Some(open.map_or(line.start, |range| range.start)..line.end);
    }
    close(&mut open);
    nodes
}

/// Whether a plain text is laid out in columns, so that only a monospaced face keeps it readable.
pub fn is_columnar(text: &str) -> bool {
    let (mut columnar, mut filled) = (0_usize, 0_usize);
    for line in text.lines().filter(|line| !line.trim().is_empty()).take(400) {
        filled += 1;
        let body = line.trim();
        let has_columns = body.contains('\t') || body.contains("   ");
        let is_structured = body.ends_with(['{', '}', '[', ']', ';'])
            || body.starts_with(['{', '}', '<'])
            || line.starts_with("  ");
        columnar += usize::from(has_columns || is_structured);
    }
    columnar * 4 > filled
}

/// Lines without their ends.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let range = start..start + line.trim_end_matches(['\n', '\r']).len();
        start += line.len();
        range
    })
}

/// The range cut into pieces of bounded length on character boundaries.
fn pieces(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = range.start;
    while range.end - start > LINE_BYTES_MAX {
        let end = text.floor_char_boundary(start + LINE_BYTES_MAX);
        pieces.push(start..end);
        start = end;
    }
    pieces.push(start..range.end);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_keep_their_bytes() {
        let text = "fn a() {\r\n\n}\n";
        let nodes = numbered(text);
        let shown: Vec<_> =
            nodes.iter().map(|node| (node.kind.clone(), &text[node.range.clone()])).collect();
        assert_eq!(
            shown,
            [
                (Kind::Line(Some(1)), "fn a() {"),
                (Kind::Line(Some(2)), ""),
                (Kind::Line(Some(3)), "}"),
            ]
        );
    }

    #[test]
    fn a_line_that_is_too_long_goes_on_without_a_number() {
        let text = "é".repeat(LINE_BYTES_MAX);
        let nodes = numbered(&text);
        assert_eq!(nodes.len(), 2);
        assert_eq!(nodes[1].kind, Kind::Line(None));
        assert_eq!(nodes[0].range.end, nodes[1].range.start);
        assert_eq!(nodes[1].range.end, text.len());
    }

    #[test]
    fn blank_lines_part_paragraphs() {
        let text = "one\ntwo\n \n\nthree";
        let shown: Vec<&str> = paragraphs(text, &Kind::Paragraph)
            .iter()
            .map(|node| &text[node.range.clone()])
            .collect();
        assert_eq!(shown, ["one\ntwo", "three"]);
        assert!(paragraphs("", &Kind::Paragraph).is_empty());
    }

    #[test]
    fn columns_are_told_from_prose() {
        assert!(is_columnar("name\tsize\na\t1\n"));
        assert!(is_columnar("{\n  \"a\": 1\n}"));
        assert!(!is_columnar("A letter.\nIt goes on.\n\nYours,\nA."));
    }
}
