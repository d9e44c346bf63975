//! What a crawl asks before its first page: `robots.txt` and the sitemaps.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::crawler::{Fetcher, Scope, Sitemaps};
use crate::data::{SiteFindings, SitemapFinding};
use crate::ingest::IngestError;
use crate::storage::{CrawlKey, SitemapPage, Store};

/// Pages of sitemaps in one transaction at most, so that other writers get their turn.
const SEEDS_MAX: usize = 2_000;

/// Queues what the sitemaps name, and notes what was found. `Err` within is the reason why the site cannot
/// be asked now.
pub(super) async fn seed(
    store: &Arc<Store>,
    fetcher: &Fetcher,
    scope: &Scope,
    crawl: CrawlKey,
) -> Result<Result<(), String>, IngestError> {
    let sitemaps = fetcher.sitemaps(scope).await;
    if let Err(reason) = &sitemaps.robots {
        return Ok(Err(reason.clone()));
    }
    let store = Arc::clone(store);
    let seed = move || {
        let findings = findings(&sitemaps);
        let page = |entry: crate::crawler::SitemapEntry| {
            let (url, lastmod) = (entry.url, entry.lastmod);
            SitemapPage { url, lastmod }
        };
        let pages: Vec<_> = sitemaps.entries.into_iter().map(page).collect();
        for some in pages.chunks(SEEDS_MAX) {
            store.seed_pages(crawl, some)?;
        }
        store.note_findings(crawl, &findings)?;
        Ok::<(), IngestError>(())
    };
    spawn_blocking(seed).await??;
    Ok(Ok(()))
}

fn findings(sitemaps: &Sitemaps) -> SiteFindings {
    let mut robots = match &sitemaps.robots {
        Ok(true) => "it is followed".to_owned(),
        Ok(false) => "there is none, so all is allowed".to_owned(),
        Err(reason) => reason.clone(),
    };
    if sitemaps.is_cut_off {
        robots += "; the sitemaps name more than is read";
    }
    let is_there = |file: &&crate::crawler::SitemapFile| !sitemaps.is_guess || file.pages.is_ok();
    let finding = |file: &crate::crawler::SitemapFile| SitemapFinding {
        url: file.url.clone(),
        pages: file.pages.as_ref().map_or(0, |pages| *pages),
        trouble: file.pages.as_ref().err().cloned(),
    };
    SiteFindings {
        robots,
        crawl_delay_ms: sitemaps.crawl_delay.map(|delay| delay.as_millis() as u64),
        sitemaps: sitemaps.files.iter().filter(is_there).map(finding).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use url::Url;

    use super::*;
    use crate::crawler::SitemapFile;

    #[test]
    fn a_sitemap_that_was_only_guessed_is_not_missed() {
        let url = Url::parse("https://example.org/sitemap.xml").unwrap();
        let missing = SitemapFile { url: url.clone(), pages: Err("404".to_owned()) };
        let guessed = Sitemaps {
            files: vec![missing.clone()],
            is_guess: true,
            crawl_delay: Some(Duration::from_secs(2)),
            ..Sitemaps::default()
        };
        let found = findings(&guessed);
        assert_eq!((found.sitemaps, found.crawl_delay_ms), (vec![], Some(2_000)));
        let named = Sitemaps { files: vec![missing], robots: Ok(true), ..Sitemaps::default() };
        let found = findings(&named);
        assert_eq!(found.sitemaps[0].trouble.as_deref(), Some("404"));
        assert_eq!(found.robots, "it is followed");
    }
}
