//! XML as a stream of elements and text, for the formats that are packages of XML.
//!
//! Names lose their prefix: within one format no two elements that matter differ by it alone. No
//! entity but the five of XML is resolved and nothing outside the text is read, so a document can
//! neither grow nor reach for files.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// One step through a document.
#[derive(Debug)]
pub(crate) enum Node<'a> {
    Open(Element<'a>),
    /// The element of this name ends; an empty element ends at once.
    Close(&'a str),
    Text(&'a str),
}

#[derive(Debug)]
pub(crate) struct Element<'a> {
    start: &'a BytesStart<'a>,
    pub name: &'a str,
}

impl Element<'_> {
    /// The value of the attribute of this name, whatever its prefix.
    pub(crate) fn attr(&self, name: &str) -> Option<String> {
        let attribute = self
            .start
            .attributes()
            .with_checks(false)
            .flatten()
            .find(|attribute| attribute.key.local_name().as_ref() == name)?;
        let normal = attribute.normalized_value(XmlVersion::Implicit1_0);
        Some(normal.map_or_else(|_| attribute.value.to_string(), std::borrow::Cow::into_owned))
    }

    /// Whether any attribute has this value.
    pub(crate) fn has_value(&self, value: &str) -> bool {
        self.start
            .attributes()
            .with_checks(false)
            .flatten()
            .any(|attribute| *attribute.value == *value)
    }
}

/// Calls `visit` for every step; what follows a fault of the syntax is left out.
pub(crate) fn walk(xml: &str, mut visit: impl FnMut(Node<'_>)) {
    let mut reader = Reader::from_str(xml);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                let name = start.local_name();
                visit(Node::Open(Element { start: &start, name: name.as_ref() }));
            }
            Ok(Event::Empty(start)) => {
                let name = start.local_name();
                visit(Node::Open(Element { start: &start, name: name.as_ref() }));
                visit(Node::Close(name.as_ref()));
            }
            Ok(Event::End(end)) => visit(Node::Close(end.local_name().as_ref())),
            Ok(Event::Text(text)) => visit(Node::Text(&text.xml10_content())),
            Ok(Event::CData(text)) => visit(Node::Text(&text.xml10_content())),
            Ok(Event::GeneralRef(reference)) => {
                let c = match reference.resolve_char_ref() {
                    Ok(Some(c)) => Some(c),
                    _ => named(&reference),
                };
                if let Some(c) = c {
                    visit(Node::Text(c.encode_utf8(&mut [0; 4])));
                }
            }
            Ok(Event::Eof) | Err(_) => return,
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {}
        }
    }
}

fn named(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn seen(xml: &str) -> String {
        let mut seen = String::new();
        walk(xml, |node| match node {
            Node::Open(element) => {
                let id = element.attr("id").unwrap_or_default();
                let _ = write!(seen, "<{} {id}>", element.name);
            }
            Node::Close(name) => {
                let _ = write!(seen, "</{name}>");
            }
            Node::Text(text) => seen.push_str(text),
        });
        seen
    }

    #[test]
    fn names_lose_their_prefix_and_references_are_resolved() {
        assert_eq!(
            seen("<?xml version='1.0'?><w:a r:id='x&amp;y'>1 &lt; &#x32;<b/><![CDATA[<]]></w:a>"),
            "<a x&y>1 < 2<b ></b><</a>"
        );
    }

    #[test]
    fn entities_of_the_document_are_not_expanded() {
        let bomb = "<!DOCTYPE a [<!ENTITY b 'bbbb'><!ENTITY c '&b;&b;'>]><a>x&c;y</a>";
        assert_eq!(seen(bomb), "<a >xy</a>");
    }

    #[test]
    fn what_is_broken_ends_the_walk() {
        assert_eq!(seen("<a>x</b>y</c></a>"), "<a >x</b>y</c></a>");
        assert_eq!(seen("<a>x<b"), "<a >x");
    }
}
