//! What of a page is not its content: unseen, for operating the page, or around it.

use ego_tree::{NodeId, NodeRef};
use scraper::node::Element;
use scraper::{Html, Node};

use super::weight::{Weight, Weights};

/// Elements without text for a reader.
const UNSEEN: &[&str] = &[
    "annotation",
    "annotation-xml",
    "audio",
    "button",
    "canvas",
    "datalist",
    "embed",
    "head",
    "iframe",
    "input",
    "link",
    "meta",
    "nav",
    "noscript",
    "object",
    "optgroup",
    "option",
    "script",
    "select",
    "style",
    "svg",
    "template",
    "textarea",
    "video",
];

const UNSEEN_ROLES: &[&str] = &[
    "alertdialog",
    "banner",
    "contentinfo",
    "dialog",
    "menu",
    "menubar",
    "navigation",
    "search",
    "toolbar",
    "tooltip",
];

const UNSEEN_CLASSES: &[&str] = &[
    "hidden",
    "lineno",
    "linenos",
    "line-numbers-rows",
    "noprint",
    "screen-reader-text",
    "skip-link",
    "skip-to-content",
    "sr-only",
    "visually-hidden",
];

/// Words in an id or class by which pages name what surrounds their content.
const SURROUNDINGS: &[&str] = &[
    "ad",
    "ads",
    "advert",
    "banner",
    "breadcrumb",
    "breadcrumbs",
    "consent",
    "cookie",
    "cookies",
    "footer",
    "masthead",
    "menu",
    "nav",
    "navbar",
    "navigation",
    "newsletter",
    "pager",
    "pagination",
    "promo",
    "related",
    "share",
    "sharing",
    "sidebar",
    "sitemap",
    "social",
    "toc",
    "toolbar",
];

/// Marks that pages put beside a heading as a link to it.
const PERMALINKS: &[&str] = &["", "#", "¶", "§", "🔗", "\u{f0c1}"];

/// Text shorter than this that stands in surroundings is a notice or a label.
const NOTICE_CHARS_MAX: usize = 200;

/// Removes scripts, controls, navigation, permalinks and what is hidden from readers.
pub(super) fn remove_unseen(page: &mut Html) {
    remove(page, |node, element| is_unseen(element) || is_permalink(node, element));
}

/// Removes sidebars, footers and the like: elements that are named so and that hold mostly links or
/// very little. The larger part of a page is never removed, whatever it is called.
pub(super) fn remove_surroundings(page: &mut Html) {
    let weights = Weights::of(page.tree.root());
    let total = weights.get(*page.root_element());
    remove(page, |node, element| {
        let weight = weights.get(node);
        names_surroundings(element) && is_slight(element, &weight) && weight.text * 2 < total.text
    });
}

fn remove(page: &mut Html, mut picks: impl FnMut(NodeRef<'_, Node>, &Element) -> bool) {
    let picked: Vec<NodeId> = page
        .tree
        .nodes()
        .filter(|node| node.value().as_element().is_some_and(|element| picks(*node, element)))
        .map(|node| node.id())
        .collect();
    for id in picked {
        if let Some(mut node) = page.tree.get_mut(id) {
            node.detach();
        }
    }
}

fn is_unseen(element: &Element) -> bool {
    // A class such as `md:flex` shows on wide screens what `hidden` hides on narrow ones.
    let responsive = || element.classes().any(|class| class.contains(':'));
    UNSEEN.contains(&element.name())
        || element.attr("role").is_some_and(|role| UNSEEN_ROLES.contains(&role))
        || element.attr("hidden").is_some_and(|value| value != "until-found")
        || element.attr("aria-hidden") == Some("true")
        || element.attr("style").is_some_and(hides)
        || (element.classes().any(|class| UNSEEN_CLASSES.contains(&class)) && !responsive())
}

fn hides(style: &str) -> bool {
    style.split(';').filter_map(|rule| rule.split_once(':')).any(|(property, value)| {
        let value = value.trim().trim_end_matches("!important").trim_end();
        matches!(
            (property.trim(), value),
            ("display", "none") | ("visibility", "hidden" | "collapse")
        )
    })
}

fn is_permalink(node: NodeRef<'_, Node>, element: &Element) -> bool {
    if element.name() != "a" || !element.attr("href").is_some_and(|href| href.starts_with('#')) {
        return false;
    }
    // An empty link may be what the fragment of a heading points to.
    if element.id().is_some() || element.attr("name").is_some() {
        return false;
    }
    let text: String = node
        .descendants()
        .filter_map(|node| node.value().as_text())
        .flat_map(|t| t.chars())
        .collect();
    PERMALINKS.contains(&text.trim())
}

fn names_surroundings(element: &Element) -> bool {
    let is_name = |name: &str| {
        name.split(|c: char| !c.is_alphanumeric())
            .any(|word| SURROUNDINGS.iter().any(|known| known.eq_ignore_ascii_case(word)))
    };
    let is_box = matches!(
        element.name(),
        "div" | "section" | "ul" | "ol" | "dl" | "table" | "td" | "form" | "p" | "span"
    );
    // The id of a section is its heading as an anchor, and any word may stand in a heading.
    let is_section =
        element.name() == "section" || element.classes().any(|class| class == "section");
    matches!(element.name(), "header" | "footer" | "aside")
        || element.attr("role") == Some("complementary")
        || (is_box && !is_section && element.id().is_some_and(is_name))
        || (is_box && element.classes().any(is_name))
}

fn is_slight(element: &Element, weight: &Weight) -> bool {
    let mostly_links = weight.linked * 5 > weight.text * 2;
    let notice = weight.text < NOTICE_CHARS_MAX && weight.code == 0;
    // The header of an article holds its title, which is a link to itself on many sites.
    let holds_title = element.name() == "header" && weight.has_title;
    (mostly_links || notice) && !holds_title
}
