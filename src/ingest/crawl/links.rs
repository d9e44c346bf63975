use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use url::Url;

use crate::crawler::{Scope, Traps, canonical, is_not_for_text};
use crate::extract::PageHead;

/// Decides which links of a page are followed.
#[derive(Debug)]
pub(super) struct Links {
    scope: Scope,
    traps: Mutex<Traps>,
}

impl Links {
    /// `known` are the pages of the crawl so far, in the order in which they were found.
    pub(super) fn new(scope: Scope, known: &[Url]) -> Self {
        let mut traps = Traps::default();
        for url in known {
            // What was accepted, or a sitemap names, stays.
            let _ = traps.accept(url);
        }
        Self { scope, traps: Mutex::new(traps) }
    }

    pub(super) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The pages that a page at this depth leads to and that are wanted, each once, in its order.
    pub(super) fn wanted(&self, head: &PageHead, depth: u32) -> Vec<Url> {
        let mut seen = HashSet::new();
        let followed = head.links.iter().filter(|link| !link.nofollow);
        followed
            .filter_map(|link| self.one(&link.url, depth.saturating_add(1)))
            .filter(|url| seen.insert(url.clone()))
            .collect()
    }

    /// The canonical form of an address that is wanted at this depth.
    pub(super) fn one(&self, url: &Url, depth: u32) -> Option<Url> {
        let url = canonical(url).ok()?;
        let is_wanted = !is_not_for_text(&url)
            && self.scope.judge(&url, depth).is_ok()
            && self.traps().accept(&url).is_ok();
        is_wanted.then_some(url)
    }

    fn traps(&self) -> MutexGuard<'_, Traps> {
        self.traps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::CrawlRules;
    use crate::extract::Link;

    #[test]
    fn only_what_is_wanted_is_followed_and_once() {
        let rules = CrawlRules { depth_max: 3, ..CrawlRules::default() };
        let site = crate::crawler::site("https://example.org/guide/", rules).unwrap();
        let links = Links::new(Scope::new(&site).unwrap(), &[]);
        let link = |path: &str, nofollow| Link {
            url: Url::parse("https://example.org/guide/").unwrap().join(path).unwrap(),
            nofollow,
        };
        let head = PageHead {
            links: vec![
                link("b#top", false),
                link("b?utm_source=x", false),
                link("secret", true),
                link("/about", false),
                link("logo.png", false),
                link("https://other.example/guide/", false),
                link("a", false),
            ],
            ..PageHead::default()
        };
        let wanted: Vec<_> = links.wanted(&head, 2).iter().map(Url::to_string).collect();
        assert_eq!(wanted, ["https://example.org/guide/b", "https://example.org/guide/a"]);
        assert_eq!(links.wanted(&head, 3), []);
    }
}
