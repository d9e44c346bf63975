//! EPUB books: the chapters in reading order, each read as a page.

use std::collections::HashMap;

use super::nested::Unread;
use super::package::{Package, resolve};
use super::xml::{Node, walk};
use super::{Extracted, Unreadable, encoding, html, one_line, title};
use crate::data::{Locator, LocatorMap, MediaType};

/// # Errors
/// When the package is damaged, protected or holds no text.
pub(super) fn read(mut package: Package, name: &str) -> Result<Extracted, Unreadable> {
    let container = package.required("META-INF/container.xml")?;
    let root = root_file(&container)
        .ok_or_else(|| Unreadable::Damaged { what: "it names no list of its chapters".into() })?;
    let contents = Contents::parse(&package.required(&root)?, &root);
    let labels = labels(&mut package, &contents);
    let mut book = Book::default();
    let mut unread = Unread::default();
    for href in &contents.spine {
        match chapter(&mut package, href) {
            Ok(Some(page)) => book.append(href, labels.get(href), &page),
            Ok(None) => {}
            Err(reason) => unread.push(href, &reason),
        }
    }
    if book.text.is_empty() {
        // Books under copy protection have chapters that are no text.
        let is_protected = package.contains("META-INF/encryption.xml");
        let reason = unread.into_reason();
        let is_locked = is_protected && reason != Unreadable::NoText;
        return Err(if is_locked { Unreadable::Encrypted } else { reason });
    }
    unread.write(&mut book.text, "Chapters without text:");
    let first = book.locators.iter().find_map(|(_, mark)| mark.headings().first());
    let title = title::choose(contents.title.as_deref(), first.map(String::as_str), name);
    Ok(Extracted::converted(MediaType::Book, title, book.text, book.locators))
}

fn chapter(package: &mut Package, href: &str) -> Result<Option<html::Page>, Unreadable> {
    let missing = || Unreadable::Damaged { what: "it is missing".into() };
    let bytes = package.part(href)?.ok_or_else(missing)?;
    let declared = html::declared_encoding(&bytes);
    let text = encoding::decode(bytes, declared)?;
    html::read_whole(&with_end_tags(&text))
}

/// XHTML may close an element at once (`<title/>`), which HTML knows of a few elements only and else
/// takes for one that goes on, up to the end of the chapter.
fn with_end_tags(xhtml: &str) -> String {
    const VOID: [&str; 13] = [
        "area", "base", "br", "col", "embed", "hr", "image", "img", "input", "link", "meta",
        "source", "wbr",
    ];
    let mut html = String::with_capacity(xhtml.len());
    let mut rest = xhtml;
    while let Some(end) = rest.find("/>") {
        let (before, after) = rest.split_at(end);
        let tag = before.rfind('<').map_or("", |start| &before[start + 1..]);
        let name = tag.split(|c: char| c.is_whitespace()).next().unwrap_or_default();
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        html.push_str(before);
        if is_name && !tag.contains('>') && !VOID.contains(&name) {
            html.extend(["></", name, ">"]);
        } else {
            html.push_str("/>");
        }
        rest = &after[2..];
    }
    html.push_str(rest);
    html
}

/// The first package document that the container names.
fn root_file(container: &str) -> Option<String> {
    let mut root = None;
    walk(container, |node| {
        if let Node::Open(element) = node
            && element.name == "rootfile"
            && root.is_none()
        {
            root = element.attr("full-path");
        }
    });
    root
}

/// What the package document says.
#[derive(Debug, Default)]
struct Contents {
    title: Option<String>,
    /// Parts in reading order.
    spine: Vec<String>,
    /// Parts that hold a table of contents.
    tables: Vec<String>,
}

impl Contents {
    fn parse(xml: &str, base: &str) -> Self {
        let mut contents = Self::default();
        let mut hrefs: HashMap<String, String> = HashMap::new();
        let mut in_title = false;
        walk(xml, |node| match node {
            Node::Open(element) => match element.name {
                "title" if contents.title.is_none() => {
                    in_title = true;
                    contents.title = Some(String::new());
                }
                "item" => {
                    let (Some(id), Some(href)) = (element.attr("id"), element.attr("href")) else {
                        return;
                    };
                    let href = resolve(base, &percent_decoded(&href));
                    let is_table = element.attr("media-type").as_deref()
                        == Some("application/x-dtbncx+xml")
                        || element.attr("properties").is_some_and(|p| p.contains("nav"));
                    if is_table {
                        contents.tables.push(href.clone());
                    }
                    hrefs.insert(id, href);
                }
                "itemref" => {
                    let href = element.attr("idref").and_then(|id| hrefs.get(&id));
                    contents.spine.extend(href.cloned());
                }
                _ => {}
            },
            Node::Close("title") => in_title = false,
            Node::Text(text) if in_title => {
                contents.title.get_or_insert_default().push_str(text);
            }
            Node::Close(_) | Node::Text(_) => {}
        });
        // The table of contents may stand among the chapters; it repeats their headings.
        contents.spine.retain(|href| !contents.tables.contains(href));
        contents
    }
}

/// Names of chapters by their part, as the tables of contents give them; of several the first.
fn labels(package: &mut Package, contents: &Contents) -> HashMap<String, String> {
    let mut labels = HashMap::new();
    for table in &contents.tables {
        let Some(xml) = package.optional(table) else { continue };
        let mut text = String::new();
        let mut linked: Option<String> = None;
        let mut label = |href: &str, text: &str| {
            let text = one_line(text);
            if !text.is_empty() {
                labels.entry(resolve(table, &percent_decoded(href))).or_insert(text);
            }
        };
        walk(&xml, |node| match node {
            Node::Open(element) => match element.name {
                "text" => text.clear(),
                "content" => label(&element.attr("src").unwrap_or_default(), &text),
                "a" => {
                    text.clear();
                    linked = element.attr("href");
                }
                _ => {}
            },
            Node::Close("a") => {
                if let Some(href) = linked.take() {
                    label(&href, &text);
                }
            }
            Node::Text(part) => text.push_str(part),
            Node::Close(_) => {}
        });
    }
    labels
}

#[derive(Debug, Default)]
struct Book {
    text: String,
    locators: LocatorMap,
}

impl Book {
    fn append(&mut self, href: &str, label: Option<&String>, page: &html::Page) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let start = self.text.len();
        self.text.push_str(&page.text);
        let path = label.map(|label| vec![label.clone()]).unwrap_or_default();
        self.locators.push(start, Locator::Chapter { path, href: href.to_owned() });
        for (offset, locator) in page.marks.iter() {
            let Locator::Heading { path, anchor, .. } = locator else { continue };
            let mut path = path.clone();
            if let Some(label) = label
                && path.first() != Some(label)
            {
                path.insert(0, label.clone());
            }
            let fragment = anchor.as_ref().map(|anchor| format!("#{anchor}")).unwrap_or_default();
            self.locators
                .push(start + offset, Locator::Chapter { path, href: format!("{href}{fragment}") });
        }
    }
}

/// A reference with its `%20` and the like resolved.
fn percent_decoded(href: &str) -> String {
    let mut bytes = Vec::with_capacity(href.len());
    let mut rest = href.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = escaped
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(byte) = byte {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_end_at_once_end_in_html_as_well() {
        let xhtml = "<title/><br/><a id='x' />a <b>/></b><hr /> 1 /> 2";
        let html = "<title></title><br/><a id='x' ></a>a <b>/></b><hr /> 1 /> 2";
        assert_eq!(with_end_tags(xhtml), html);
    }

    #[test]
    fn a_chapter_that_is_missing_is_named() {
        let container = "<container><rootfile full-path='a.opf'/></container>";
        let contents = "<package><item id='a' href='a.xhtml'/><item id='b' href='b.xhtml'/>\
                        <itemref idref='a'/><itemref idref='b'/></package>";
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, part) in [
            ("META-INF/container.xml", container),
            ("a.opf", contents),
            ("a.xhtml", "<html><body><p>Straw</p></body></html>"),
        ] {
            zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            std::io::Write::write_all(&mut zip, part.as_bytes()).unwrap();
        }
        let package = Package::open(zip.finish().unwrap().into_inner()).unwrap();
        let text = read(package, "a.epub").unwrap().text;
        let expected =
            "Straw\n\nChapters without text:\n\nb.xhtml (the file is damaged: it is missing;";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn references_are_unescaped() {
        assert_eq!(percent_decoded("a%20b%c3%A9.xhtml"), "a bé.xhtml");
        assert_eq!(percent_decoded("100%"), "100%");
        assert_eq!(percent_decoded("%zz%é"), "%zz%é");
    }
}
