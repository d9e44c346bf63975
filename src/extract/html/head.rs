//! What a page says to machines: where it leads, what it is called, whether it wants to be found.

use std::collections::HashMap;

use ego_tree::NodeRef;
use scraper::node::Element;
use scraper::{Html, Node};
use url::Url;

use super::redirect;
use crate::extract::page::{AGENT, Link, PageHead};

/// More links than people put on a page; the index of a large reference has ten thousand.
const LINKS_MAX: usize = 20_000;

/// Longer addresses are data or traps.
const URL_BYTES_MAX: usize = 2000;

/// Of a page that nothing was removed from.
pub(super) fn of(page: &Html, url: &Url) -> PageHead {
    let base = base(page, url);
    let resolve = |href: &str| {
        let mut target = base.join(href).ok()?;
        target.set_fragment(None);
        let is_web = matches!(target.scheme(), "http" | "https");
        (is_web && target.as_str().len() <= URL_BYTES_MAX).then_some(target)
    };
    let mut head = PageHead::default();
    let mut links = Links::default();
    head.refresh = redirect::target(page).as_deref().and_then(resolve);
    if let Some(target) = &head.refresh {
        links.add(target.clone(), false);
    }
    for element in elements(page) {
        match element.name() {
            "html" => {
                let language = element.attr("lang").or_else(|| element.attr("xml:lang"));
                head.language =
                    language.map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned);
            }
            "link" if has_word(element, "rel", "canonical") && head.canonical.is_none() => {
                head.canonical = element.attr("href").and_then(resolve);
            }
            "meta" => ask_of_robots(element, &mut head),
            _ => links.add_of(element, resolve),
        }
    }
    for text in unscripted(page) {
        if let Ok(part) = super::parse(&text) {
            elements(&part).for_each(|element| links.add_of(element, resolve));
        }
    }
    head.links = links.found;
    head
}

/// What addresses are resolved against: `<base href>`, the first there is.
fn base(page: &Html, url: &Url) -> Url {
    let href = elements(page)
        .filter(|element| element.name() == "base")
        .find_map(|element| element.attr("href"));
    let base = href.and_then(|href| url.join(href).ok());
    base.filter(|base| matches!(base.scheme(), "http" | "https")).unwrap_or_else(|| url.clone())
}

fn ask_of_robots(meta: &Element, head: &mut PageHead) {
    let is_for_us = meta.attr("name").map(str::trim).is_some_and(|name| {
        name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(AGENT)
    });
    if !is_for_us {
        return;
    }
    for rule in meta.attr("content").unwrap_or_default().split([',', ' ']) {
        let rule = rule.trim().to_ascii_lowercase();
        head.noindex |= matches!(rule.as_str(), "noindex" | "none");
        head.nofollow |= matches!(rule.as_str(), "nofollow" | "none");
    }
}

fn has_word(element: &Element, attribute: &str, word: &str) -> bool {
    let value = element.attr(attribute).unwrap_or_default();
    value.split_ascii_whitespace().any(|part| part.eq_ignore_ascii_case(word))
}

fn elements(page: &Html) -> impl Iterator<Item = &Element> {
    page.tree.root().descendants().filter_map(|node: NodeRef<'_, Node>| node.value().as_element())
}

/// What stands there for those who run no scripts, which the parser takes for text.
fn unscripted(page: &Html) -> impl Iterator<Item = String> {
    let is_for_them = |node: &NodeRef<'_, Node>| {
        node.value().as_element().is_some_and(|element| element.name() == "noscript")
    };
    page.tree.root().descendants().filter(is_for_them).map(|node| {
        node.children().filter_map(|child| child.value().as_text()).map(|text| &**text).collect()
    })
}

/// Each address once; it may be followed when one of its links may.
#[derive(Debug, Default)]
struct Links {
    found: Vec<Link>,
    places: HashMap<Url, usize>,
}

impl Links {
    fn add_of(&mut self, element: &Element, resolve: impl Fn(&str) -> Option<Url>) {
        let target = match element.name() {
            "a" | "area" => element.attr("href"),
            // The parts of a page of frames are its only text.
            "frame" | "iframe" => element.attr("src"),
            _ => None,
        };
        if let Some(target) = target.and_then(resolve) {
            self.add(target, has_word(element, "rel", "nofollow"));
        }
    }

    fn add(&mut self, url: Url, nofollow: bool) {
        if let Some(place) = self.places.get(&url) {
            self.found[*place].nofollow &= nofollow;
        } else if self.found.len() < LINKS_MAX {
            self.places.insert(url.clone(), self.found.len());
            self.found.push(Link { url, nofollow });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(html: &str) -> PageHead {
        of(&Html::parse_document(html), &Url::parse("https://a.test/guide/page.html?x#y").unwrap())
    }

    fn links(html: &str) -> Vec<(String, bool)> {
        head(html).links.into_iter().map(|link| (link.url.into(), link.nofollow)).collect()
    }

    fn check(html: &str, expected: &[(&str, bool)]) {
        let expected: Vec<_> = expected.iter().map(|(url, no)| ((*url).to_owned(), *no)).collect();
        assert_eq!(links(html), expected, "{html}");
    }

    #[test]
    fn links_are_resolved_and_given_once() {
        check(
            "<a href=b.html#c>x</a><a href=' /d '>y</a><a href=//b.test/e>z</a><a href='?q'>w</a>\
             <a href='b.html'>again</a><a>none</a><a href='mailto:a@b'>m</a><a href='javascript:x'>j</a>\
             <a href='https://['>broken</a><map><area href=f></map><iframe src=g></iframe>",
            &[
                ("https://a.test/guide/b.html", false),
                ("https://a.test/d", false),
                ("https://b.test/e", false),
                ("https://a.test/guide/page.html?q", false),
                ("https://a.test/guide/f", false),
                ("https://a.test/guide/g", false),
            ],
        );
        check(
            "<noscript><iframe src=toc></iframe></noscript><noscript>&lt;a href=x></noscript>",
            &[("https://a.test/guide/toc", false)],
        );
        check("<a href='#part'>x</a>", &[("https://a.test/guide/page.html?x", false)]);
        check(
            "<base href='/other/'><base href='/no/'><a href=b>x</a>",
            &[("https://a.test/other/b", false)],
        );
        check("<base href='javascript:x'><a href=b>x</a>", &[("https://a.test/guide/b", false)]);
        check("<nav hidden><a href=b>x</a></nav>", &[("https://a.test/guide/b", false)]);
    }

    #[test]
    fn a_link_that_is_not_to_be_followed_says_so_every_time() {
        check("<a rel='noopener NoFollow' href=b>x</a>", &[("https://a.test/guide/b", true)]);
        check(
            "<a rel=nofollow href=b>x</a><a href=b>x</a><a rel=nofollow href=b>x</a>",
            &[("https://a.test/guide/b", false)],
        );
    }

    #[test]
    fn robots_are_spoken_to_by_all_names() {
        let asked = |html: &str| (head(html).noindex, head(html).nofollow);
        assert_eq!(asked("<meta name=robots content='NOINDEX, follow'>"), (true, false));
        assert_eq!(asked("<meta name=Robots content=none>"), (true, true));
        assert_eq!(asked("<meta name=Lodestone content='nofollow'>"), (false, true));
        assert_eq!(asked("<meta name=googlebot content='noindex'>"), (false, false));
        let both = "<meta name=robots content=noindex><meta name=lodestone content=nofollow>";
        assert_eq!(asked(both), (true, true));
    }

    #[test]
    fn canonical_address_language_and_refresh() {
        let read = head(
            "<html lang=' de-AT '><link rel='Canonical other' href='../c'><link rel=canonical href=d>\
             <meta http-equiv=refresh content='0; url=next'><a href=e>x</a>",
        );
        assert_eq!(read.canonical.unwrap().as_str(), "https://a.test/c");
        assert_eq!(read.language.as_deref(), Some("de-AT"));
        assert_eq!(read.refresh.as_ref().unwrap().as_str(), "https://a.test/guide/next");
        assert_eq!(read.links[0].url, read.refresh.unwrap());
        assert_eq!(head("<p>x"), PageHead::default());
    }

    #[test]
    fn a_page_of_links_alone_has_a_bound() {
        let numbers = 0..LINKS_MAX + 5;
        let html: Vec<_> = numbers.map(|number| format!("<a href={number}>x</a>")).collect();
        let html = html.concat();
        assert_eq!(links(&html).len(), LINKS_MAX);
        check(&format!("<a href={}>x</a>", "y".repeat(URL_BYTES_MAX)), &[]);
    }
}
