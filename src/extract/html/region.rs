//! Which part of a page is its content.

use dom_smoothie::{Config, Readability};
use ego_tree::{NodeId, NodeRef};
use scraper::{Html, Node};

use super::chrome;
use super::locate::locate;
use super::render::{Rendered, render};
use super::weight::{Weight, Weights};

/// An element that says it is the main part has to hold this many characters of prose, or a fourth
/// of the page's; an empty `<main>` is filled by scripts that have not run.
const MAIN_PROSE_MIN: usize = 200;

/// A page with less prose is read whole: there is little to leave out, and readability gives up on
/// short pages piece by piece.
const READABILITY_PROSE_MIN: usize = 500;

/// Larger pages are not given to readability, whose time grows faster than the page.
const READABILITY_ELEMENTS_MAX: usize = 50_000;

/// An element around the article may be read in its place when it holds at most this much more
/// text, in percent: what is more is not the article.
const AROUND_ARTICLE_PERCENT_MAX: usize = 130;

/// Renders the content of `page`, which has no unseen elements; `None` when there is no text.
///
/// In this order: the element that the page declares as its main part, the only `<article>` when it
/// holds half of the prose, what readability finds when that loses neither prose nor code, the body
/// without its surroundings, the body.
pub(super) fn render_main(mut page: Html) -> Option<Rendered> {
    let whole = page.clone();
    chrome::remove_surroundings(&mut page);
    let weights = Weights::of(page.tree.root());
    let body = *page.root_element();
    let declared = declared_main(&page, &weights).and_then(|id| page.tree.get(id));
    let rendered = match declared {
        Some(main) => render(main, &weights),
        None => render_readable(&page, &weights).unwrap_or_else(|| render(body, &weights)),
    };
    if rendered.text.is_empty() {
        let rendered = render(*whole.root_element(), &Weights::of(whole.tree.root()));
        return (!rendered.text.is_empty()).then_some(rendered);
    }
    Some(rendered)
}

fn declared_main(page: &Html, weights: &Weights) -> Option<NodeId> {
    let total = weights.get(*page.root_element());
    let prose = |node: &NodeRef<'_, Node>| weights.get(*node).prose();
    // Only what hangs in the page: a removed element is still stored, with no weight.
    let elements = || page.tree.nodes().filter(|node| weights.get(*node).text > 0);
    let main = elements().filter(is_main).max_by_key(prose);
    if let Some(main) = main
        && (prose(&main) >= MAIN_PROSE_MIN || prose(&main) * 4 >= total.prose())
    {
        return Some(main.id());
    }
    let mut articles = elements().filter(is_article);
    let only = articles.next().filter(|_| articles.next().is_none())?;
    (prose(&only) * 2 >= total.prose()).then(|| only.id())
}

fn is_main(node: &NodeRef<'_, Node>) -> bool {
    let element = node.value().as_element();
    element.is_some_and(|element| element.name() == "main" || element.attr("role") == Some("main"))
}

fn is_article(node: &NodeRef<'_, Node>) -> bool {
    node.value().as_element().is_some_and(|element| element.name() == "article")
}

/// What readability takes for the article; `None` when it finds none, or drops half of the prose or
/// a tenth of the code. Its scoring is made for news and drops much of reference pages.
fn render_readable(page: &Html, weights: &Weights) -> Option<Rendered> {
    let total = weights.get(*page.root_element());
    if total.elements > READABILITY_ELEMENTS_MAX || total.prose() < READABILITY_PROSE_MIN {
        return None;
    }
    let config = Config { keep_classes: true, disable_json_ld: true, ..Config::default() };
    let article = Readability::new(page.html(), None, Some(config)).ok()?.parse().ok()?;
    let article = Html::parse_document(&article.content);
    let article_weights = Weights::of(article.tree.root());
    let kept = article_weights.get(*article.root_element());
    if kept.text == 0 || !keeps(&kept, &total) {
        return None;
    }
    let around = locate(page, &article).and_then(|id| page.tree.get(id)).filter(|around| {
        let weight = weights.get(*around);
        keeps(&weight, &kept) && weight.text * 100 <= kept.text * AROUND_ARTICLE_PERCENT_MAX
    });
    Some(match around {
        Some(around) => render(around, weights),
        None => render(*article.root_element(), &article_weights),
    })
}

fn keeps(part: &Weight, whole: &Weight) -> bool {
    part.prose() * 2 >= whole.prose() && part.code * 10 >= whole.code * 9
}
