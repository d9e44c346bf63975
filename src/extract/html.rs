//! HTML pages to Markdown-like text: the main part alone, with headings, lists, tables and code
//! blocks, without navigation, scripts and whatever is hidden.

mod charset;
mod chrome;
mod head;
mod locate;
mod nesting;
mod redirect;
mod region;
mod render;
mod weight;

use ego_tree::iter::Edge;
use scraper::{Html, Node};
use url::Url;

use super::{Extracted, PageHead, Unreadable, one_line, stem};
use crate::data::{LocatorMap, MediaType};
use render::{Rendered, render};
use weight::Weights;

pub(super) use charset::declared_encoding;

/// Deepest nesting that is parsed. Browsers stop at 512; the parser's time grows with depth times
/// length, so this bound is what keeps a hostile page from taking minutes.
const LEVELS_MAX: usize = 1024;

/// Deepest tree: items and cells, whose ends may be left out, are not counted before.
const TREE_LEVELS_MAX: usize = 2 * LEVELS_MAX;

/// A page that leads on at once and has no more text than this says only so.
const REDIRECT_BYTES_MAX: usize = 300;

/// Title: the page's `<title>` without the name of the site, else the first heading, else the name.
///
/// # Errors
/// When the page nests too deeply, has no text or only leads on to another.
pub(super) fn read(html: &str, name: &str) -> Result<Extracted, Unreadable> {
    read_parsed(parse(html)?, name)
}

/// As [`read`], with what the page at `url` says to machines, which it may though it holds no text.
pub(super) fn read_page(
    html: &str,
    name: &str,
    url: &Url,
) -> (PageHead, Result<Extracted, Unreadable>) {
    match parse(html) {
        Ok(page) => (head::of(&page, url), read_parsed(page, name)),
        Err(error) => (PageHead::default(), Err(error)),
    }
}

fn read_parsed(mut page: Html, name: &str) -> Result<Extracted, Unreadable> {
    let page_title = page_title(&page);
    let leads_on = redirect::target(&page);
    chrome::remove_unseen(&mut page);
    let rendered = region::render_main(page).ok_or(Unreadable::NoTextInPage)?;
    if let Some(target) = leads_on.filter(|_| rendered.text.len() <= REDIRECT_BYTES_MAX) {
        return Err(Unreadable::Redirect { target });
    }
    let first_heading = rendered.headings.first();
    let title = page_title
        .map(|title| without_site(&title, first_heading).to_owned())
        .or_else(|| first_heading.map(str::to_owned))
        .unwrap_or_else(|| stem(name).to_owned());
    let locators = rendered.headings.into_marks();
    Ok(Extracted::converted(MediaType::Html, title, rendered.text, locators))
}

/// A page as text with its outline.
#[derive(Debug)]
pub(super) struct Page {
    pub text: String,
    pub marks: LocatorMap,
}

/// All of a page that is part of something larger, such as a chapter or a message, where nothing is
/// navigation; `None` when there is no text.
///
/// # Errors
/// When the page nests too deeply.
pub(super) fn read_whole(html: &str) -> Result<Option<Page>, Unreadable> {
    let mut page = parse(html)?;
    chrome::remove_unseen(&mut page);
    let body = *page.root_element();
    let Rendered { text, headings } = render(body, &Weights::of(page.tree.root()));
    Ok((!text.is_empty()).then(|| Page { text, marks: headings.into_marks() }))
}

/// Text of the first `<title>` (a drawing inside the page may have others), on one line.
/// What is too deep is refused before it is parsed where that can be seen, and else before anything goes
/// through the tree, which would end the stack.
fn parse(html: &str) -> Result<Html, Unreadable> {
    let too_deep = Unreadable::TooDeep { levels_max: LEVELS_MAX };
    if nesting::levels(html) > LEVELS_MAX {
        return Err(too_deep);
    }
    let page = Html::parse_document(html);
    let mut depth = 0_usize;
    for edge in page.tree.root().traverse() {
        match edge {
            Edge::Open(_) => depth += 1,
            Edge::Close(_) => depth -= 1,
        }
        if depth > TREE_LEVELS_MAX {
            return Err(too_deep);
        }
    }
    Ok(page)
}

fn page_title(page: &Html) -> Option<String> {
    let title = page
        .tree
        .nodes()
        .find(|node| node.value().as_element().is_some_and(|element| element.name() == "title"))?;
    let text: String = title
        .children()
        .filter_map(|child| match child.value() {
            Node::Text(text) => Some(&**text),
            _ => None,
        })
        .collect();
    let title = one_line(&text);
    (!title.is_empty()).then_some(title)
}

/// `Chapter - Book` becomes `Chapter` when the page's first heading is `Chapter`: the heading proves
/// which side of the separator is the page's own.
fn without_site<'a>(title: &'a str, first_heading: Option<&str>) -> &'a str {
    const SEPARATORS: [&str; 9] = [" - ", " | ", " — ", " – ", " · ", " • ", " :: ", " » ", " / "];
    let Some(heading) = first_heading else { return title };
    match title.split_at_checked(heading.len()) {
        Some((own, rest))
            if own.eq_ignore_ascii_case(heading)
                && SEPARATORS.iter().any(|separator| rest.starts_with(separator)) =>
        {
            own
        }
        _ => title,
    }
}

#[cfg(test)]
mod tests;
