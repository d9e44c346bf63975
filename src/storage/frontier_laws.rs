//! What holds for the frontier of a crawl, whatever the web and the process do.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tempfile::TempDir;
use url::Url;

use super::laws::{document, fresh, model};
use super::*;
use crate::data::{ContentHash, CrawlRules, Site, SiteFindings, Source};

fn page(path: &str) -> Url {
    Url::parse("https://example.org/").unwrap().join(path).unwrap()
}

fn add(store: &Store, rules: CrawlRules) -> StoredSite {
    let site = store.add_site(&Site { start: page("/"), rules }, 1).unwrap();
    store.begin_crawl(site.key, 10).unwrap().unwrap()
}

fn take(store: &Store, crawl: CrawlKey, limit: usize) -> Vec<QueuedPage> {
    match store.take_pages(crawl, limit, (1, 100)).unwrap() {
        Taken::Pages(pages) => pages,
        _ => Vec::new(),
    }
}

fn paths(pages: &[QueuedPage]) -> Vec<&str> {
    pages.iter().map(|page| page.url.path()).collect()
}

fn text(url: &Url, text: &str) -> Verdict {
    let document = Box::new(document(&Source::Web(url.clone()), text));
    Verdict::Indexed { document, text: ContentHash::of(text.as_bytes()) }
}

fn settled(url: &Url, verdict: Verdict, links: &[&str]) -> SettledPage {
    let is_counted = matches!(verdict, Verdict::Indexed { .. } | Verdict::CopyOf(_));
    SettledPage {
        url: url.clone(),
        answered_by: url.clone(),
        answer: PageAnswer {
            status: Some(200),
            etag: Some(format!("\"{url}\"")),
            bytes: 10,
            is_counted,
            ..PageAnswer::default()
        },
        verdict,
        links: links.iter().map(|link| page(link)).collect(),
    }
}

fn settle(store: &Store, crawl: CrawlKey, pages: &[SettledPage]) -> SettledPages {
    store.settle_pages((crawl, &model("words")), pages, 1, 100).unwrap().unwrap()
}

/// Takes one page and settles it.
fn read(store: &Store, crawl: CrawlKey, path: &str, verdict: Verdict, links: &[&str]) {
    let taken = take(store, crawl, 1);
    assert_eq!(paths(&taken), [path]);
    settle(store, crawl, &[settled(&page(path), verdict, links)]);
}

fn again(store: &Store, key: SiteKey) -> CrawlKey {
    let before = store.site(key).unwrap().unwrap();
    store.end_crawl(before.crawl_key(), 20, None).unwrap();
    store.begin_crawl(key, 30).unwrap().unwrap().crawl_key()
}

fn found(store: &Store, key: SiteKey, path: &str) -> PageView {
    let (pages, _) = store.pages(key, &PageFilter::default(), 0..1_000).unwrap();
    pages.into_iter().find(|row| row.url == page(path)).unwrap()
}

fn states(store: &Store, key: SiteKey) -> Vec<(String, PageState)> {
    let (pages, _) = store.pages(key, &PageFilter::default(), 0..1_000).unwrap();
    pages.into_iter().map(|page| (page.url.path().to_owned(), page.state)).collect()
}

fn searchable(store: &Store) -> Vec<String> {
    store.documents().unwrap().iter().map(|d| d.source.to_string()).collect()
}

/// Counts over the rows what triggers and transactions keep.
fn check_counters(store: &Store) {
    let number = |sql: &str| -> u64 {
        store.read(|connection| connection.query_row(sql, [], |row| record::count(row, 0))).unwrap()
    };
    assert_eq!(store.queued_new().unwrap(), number("SELECT count(*) FROM pages WHERE is_missing"));
    assert_eq!(
        number("SELECT coalesce(sum(counted), 0) FROM sites"),
        number("SELECT count(*) FROM pages WHERE counted")
    );
    assert_eq!(
        number("SELECT count(*) FROM documents WHERE site IS NOT NULL"),
        number("SELECT count(*) FROM pages WHERE stored")
    );
    let orphans = "SELECT count(*) FROM pages LEFT JOIN documents ON source = url
                   WHERE stored AND documents.id IS NULL";
    assert_eq!(number(orphans), 0);
}

#[test]
fn a_crawl_goes_breadth_first_and_asks_once() {
    let (_dir, store) = fresh();
    let site = add(&store, CrawlRules::default());
    let crawl = site.crawl_key();
    read(&store, crawl, "/", text(&page("/"), "start"), &["/b", "/a", "/"]);
    read(&store, crawl, "/b", text(&page("/b"), "b"), &["/b/deep", "/a"]);
    assert_eq!(paths(&take(&store, crawl, 9)), ["/a", "/b/deep"]);
    assert_eq!(store.take_pages(crawl, 9, (1, 100)).unwrap(), Taken::Nothing);
    let late = settled(&page("/b"), text(&page("/b"), "not in hand"), &["/c"]);
    assert_eq!(settle(&store, crawl, &[late]), SettledPages::default());
    assert_eq!(found(&store, site.key, "/b/deep").depth, 2);
    assert_eq!(found(&store, site.key, "/b/deep").found_by, Some(page("/b")));
    assert_eq!(store.queued_new().unwrap(), 2, "known and not searchable");
    check_counters(&store);
}

#[test]
fn a_limit_holds_for_new_pages_and_leaves_known_ones_alone() {
    let (_dir, store) = fresh();
    let site = add(&store, CrawlRules { pages_max: 3, ..CrawlRules::default() });
    let crawl = site.crawl_key();
    let links: Vec<String> = (0..9).map(|n| format!("/{n}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    read(&store, crawl, "/", text(&page("/"), "start"), &links);
    assert_eq!(paths(&take(&store, crawl, 9)), ["/0", "/1"]);
    // What was no page leaves room for another.
    let gone = Verdict::Gone { reason: "404".into() };
    settle(&store, crawl, &[settled(&page("/0"), gone, &[])]);
    settle(&store, crawl, &[settled(&page("/1"), text(&page("/1"), "one"), &[])]);
    assert_eq!(paths(&take(&store, crawl, 9)), ["/2"]);
    settle(&store, crawl, &[settled(&page("/2"), text(&page("/2"), "two"), &[])]);
    assert_eq!(store.take_pages(crawl, 9, (1, 100)).unwrap(), Taken::Nothing);
    let crawl = again(&store, site.key);
    assert_eq!(store.crawl_counts(crawl).unwrap(), CrawlCounts::default());
    assert_eq!(paths(&take(&store, crawl, 9)), ["/", "/1", "/2"]);
    check_counters(&store);
}

#[test]
fn what_a_dead_process_had_in_hand_is_taken_again() {
    let (dir, store) = fresh();
    let site = add(&store, CrawlRules::default());
    let crawl = site.crawl_key();
    let lease = store.adopt_site(site.key).unwrap().unwrap();
    read(&store, crawl, "/", text(&page("/"), "start"), &["/a", "/b"]);
    assert_eq!(paths(&take(&store, crawl, 1)), ["/a"]);
    let other = Store::open(dir.path()).unwrap();
    assert!(other.adopt_site(site.key).unwrap().is_none());
    assert!(other.is_adopted(site.key));
    drop(lease);
    assert!(!other.is_adopted(site.key));
    let _lease = other.adopt_site(site.key).unwrap().unwrap();
    let taken = take(&other, crawl, 9);
    assert_eq!(paths(&taken), ["/a", "/b"]);
    assert_eq!((taken[0].attempts, taken[1].attempts), (1, 0));
}

#[test]
fn pausing_and_other_rules_stop_whoever_crawls() {
    let (_dir, store) = fresh();
    let site = add(&store, CrawlRules::default());
    store.pause_site(site.key, true).unwrap();
    assert_eq!(store.take_pages(site.crawl_key(), 9, (1, 100)).unwrap(), Taken::Paused);
    store.pause_site(site.key, false).unwrap();
    let taken = take(&store, site.crawl_key(), 1);
    let rules = CrawlRules { depth_max: 1, ..CrawlRules::default() };
    assert!(store.set_rules(site.key, &rules).unwrap());
    assert!(!store.set_rules(site.key, &rules).unwrap());
    assert_eq!(store.take_pages(site.crawl_key(), 9, (1, 100)).unwrap(), Taken::Outdated);
    let late = [settled(&taken[0].url, text(&taken[0].url, "start"), &["/a"])];
    let model = model("words");
    let settled = store.settle_pages((site.crawl_key(), &model), &late, 1, 100).unwrap();
    assert_eq!((settled, store.counts().unwrap().documents), (None, 0));
    store.remove_site(site.key).unwrap();
    assert_eq!(store.take_pages(site.crawl_key(), 9, (1, 100)).unwrap(), Taken::Removed);
    assert!(store.adopt_site(site.key).unwrap().is_none());
}

#[test]
fn a_page_is_stored_once_whichever_address_it_has() {
    let (_dir, store) = fresh();
    let site = add(&store, CrawlRules::default());
    let (key, crawl) = (site.key, site.crawl_key());
    read(&store, crawl, "/", text(&page("/"), "start"), &["/a", "/a/print", "/old", "/named"]);
    read(&store, crawl, "/a", text(&page("/a"), "same"), &[]);
    read(&store, crawl, "/a/print", text(&page("/a/print"), "same"), &[]);
    // A redirect, answered by a page that was not known.
    let taken = take(&store, crawl, 1);
    let moved = SettledPage {
        answered_by: page("/new"),
        ..settled(&taken[0].url, text(&page("/new"), "new"), &["/beside"])
    };
    settle(&store, crawl, &[moved]);
    read(&store, crawl, "/named", Verdict::CopyOf(page("/canonical")), &[]);
    assert_eq!(
        states(&store, key),
        [
            ("/", PageState::Indexed),
            ("/a", PageState::Indexed),
            ("/a/print", PageState::Duplicate),
            ("/old", PageState::Redirected),
            ("/named", PageState::Duplicate),
            ("/new", PageState::Indexed),
            ("/beside", PageState::Queued),
            ("/canonical", PageState::Queued),
        ]
        .map(|(path, state)| (path.to_owned(), state))
    );
    assert_eq!(found(&store, key, "/old").target, Some(page("/new")));
    assert_eq!(found(&store, key, "/a/print").target, Some(page("/a")));
    check_counters(&store);
    // What stood for another goes, or changes.
    assert_eq!(paths(&take(&store, crawl, 9)), ["/canonical", "/beside"]);
    let gone = Verdict::Gone { reason: "404".into() };
    settle(&store, crawl, &[settled(&page("/canonical"), gone, &[])]);
    assert!(!store.may_stand_for(key, &page("/canonical"), &page("/named")).unwrap());
    read(&store, crawl, "/named", text(&page("/named"), "named"), &[]);
    let crawl = again(&store, key);
    read(&store, crawl, "/", Verdict::Unchanged, &[]);
    assert_eq!(paths(&take(&store, crawl, 2)), ["/a", "/a/print"]);
    settle(&store, crawl, &[settled(&page("/a/print"), text(&page("/a/print"), "same"), &[])]);
    assert_eq!(found(&store, key, "/a/print").state, PageState::Duplicate);
    settle(&store, crawl, &[settled(&page("/a"), text(&page("/a"), "edited"), &[])]);
    assert_eq!(found(&store, key, "/a/print").state, PageState::Queued);
    check_counters(&store);
}

#[test]
fn what_is_stored_is_asked_for_by_what_was_known_of_it() {
    let (_dir, store) = fresh();
    let site = add(&store, CrawlRules::default());
    let skipped = Verdict::Skipped { reason: "noindex".into(), is_outdated: true };
    read(&store, site.crawl_key(), "/", text(&page("/"), "start"), &["/a"]);
    read(&store, site.crawl_key(), "/a", skipped, &[]);
    let crawl = again(&store, site.key);
    let etags = |readers| {
        let Taken::Pages(pages) = store.take_pages(crawl, 9, (readers, 100)).unwrap() else {
            panic!()
        };
        store.put_back_pages(site.key).unwrap();
        pages.into_iter().map(|page| page.etag).collect::<Vec<_>>()
    };
    // Nothing is stored of what was skipped, so it cannot be unchanged.
    assert_eq!(etags(1), [Some("\"https://example.org/\"".to_owned()), None]);
    assert_eq!(etags(2), [None, None], "readers that read more");
}

#[test]
fn two_pages_that_name_each_other_are_one() {
    let (_dir, store) = fresh();
    let site = add(&store, CrawlRules::default());
    let crawl = site.crawl_key();
    read(&store, crawl, "/", Verdict::CopyOf(page("/home")), &[]);
    assert!(!store.may_stand_for(site.key, &page("/"), &page("/home")).unwrap());
    read(&store, crawl, "/home", text(&page("/home"), "home"), &[]);
    assert_eq!(searchable(&store), ["https://example.org/home"]);
}

#[test]
fn a_page_goes_when_it_was_missed_often_and_never_for_a_failure() {
    let (_dir, store) = fresh();
    let site = add(&store, CrawlRules::default());
    let mut crawl = site.crawl_key();
    read(&store, crawl, "/", text(&page("/"), "start"), &[]);
    let gone = || Verdict::Gone { reason: "404".into() };
    let failed = || Verdict::Failed { reason: "no answer".into(), retry_at: None };
    // The failure is no miss, and does not end a row of them either.
    for verdict in [failed(), gone(), failed(), gone(), failed(), failed(), failed()] {
        crawl = again(&store, site.key);
        let taken = take(&store, crawl, 1);
        assert_eq!(taken[0].etag.as_deref(), Some("\"https://example.org/\""));
        settle(&store, crawl, &[settled(&page("/"), verdict, &[])]);
        assert_eq!(searchable(&store).len(), 1);
        check_counters(&store);
    }
    crawl = again(&store, site.key);
    read(&store, crawl, "/", gone(), &[]);
    assert_eq!((searchable(&store).len(), store.queued_new().unwrap()), (0, 0));
    crawl = again(&store, site.key);
    read(&store, crawl, "/", text(&page("/"), "back"), &[]);
    assert_eq!(found(&store, site.key, "/").state, PageState::Indexed);
    // One answer between two misses ends the row.
    for verdict in [gone(), gone(), Verdict::Unchanged, gone(), gone()] {
        crawl = again(&store, site.key);
        read(&store, crawl, "/", verdict, &[]);
        assert_eq!(searchable(&store).len(), 1);
    }
}

#[test]
fn a_failed_page_is_tried_again_later_in_the_same_crawl() {
    let (_dir, store) = fresh();
    let site = add(&store, CrawlRules::default());
    let crawl = site.crawl_key();
    take(&store, crawl, 1);
    let failed = Verdict::Failed { reason: "no answer".into(), retry_at: Some(150) };
    assert_eq!(settle(&store, crawl, &[settled(&page("/"), failed, &[])]).failed, 0);
    assert_eq!(store.take_pages(crawl, 9, (1, 149)).unwrap(), Taken::Later(150));
    let Taken::Pages(pages) = store.take_pages(crawl, 9, (1, 150)).unwrap() else { panic!() };
    assert_eq!(pages[0].attempts, 1);
    store.put_back_pages(site.key).unwrap();
    let Taken::Pages(pages) = store.take_pages(crawl, 9, (1, 150)).unwrap() else { panic!() };
    assert_eq!(pages[0].attempts, 1, "a process that ends in order makes nobody a suspect");
    let later = Verdict::Later { reason: "the host rests".into(), retry_at: 160 };
    settle(&store, crawl, &[settled(&page("/"), later, &[])]);
    let Taken::Pages(pages) = store.take_pages(crawl, 9, (1, 160)).unwrap() else { panic!() };
    assert_eq!(pages[0].attempts, 1, "it was not asked for");
}

#[test]
fn a_sitemap_says_what_need_not_be_asked_for() {
    let (_dir, store) = fresh();
    let site = add(&store, CrawlRules::default());
    let crawl = site.crawl_key();
    let seed = |crawl, path: &str, lastmod| {
        let seeds = [SitemapPage { url: page(path), lastmod }];
        store.seed_pages(crawl, &seeds).unwrap()
    };
    let day = 86_400;
    assert_eq!(seed(crawl, "/a", Some(-2 * day)), 1);
    assert_eq!(seed(crawl, "/a", Some(-2 * day)), 0);
    assert_eq!(seed(crawl, "/b", None), 1);
    read(&store, crawl, "/", text(&page("/"), "start"), &["/a"]);
    assert_eq!(found(&store, site.key, "/a").depth, 1);
    read(&store, crawl, "/a", text(&page("/a"), "a"), &["/nearer"]);
    assert_eq!(found(&store, site.key, "/nearer").depth, 2);
    seed(crawl, "/nearer", None);
    assert_eq!(found(&store, site.key, "/nearer").depth, 1);
    assert_eq!(store.drop_pages(site.key, |url, _| url.path() != "/nearer").unwrap(), 0);
    read(&store, crawl, "/b", text(&page("/b"), "b"), &[]);
    let crawl = again(&store, site.key);
    seed(crawl, "/a", Some(-2 * day));
    seed(crawl, "/b", None);
    assert_eq!(paths(&take(&store, crawl, 9)), ["/", "/b"]);
    assert_eq!(store.crawl_counts(crawl).unwrap().unchanged, 1);
    // The day of the visit, or a later one.
    let crawl = again(&store, site.key);
    seed(crawl, "/a", Some(99));
    assert_eq!(paths(&take(&store, crawl, 9)), ["/", "/a", "/b"]);
    // Links are looked for by new rules.
    let wider = CrawlRules { depth_max: 20, ..CrawlRules::default() };
    store.set_rules(site.key, &wider).unwrap();
    let crawl = again(&store, site.key);
    store.adopt_site(site.key).unwrap().unwrap();
    seed(crawl, "/a", Some(-2 * day));
    assert_eq!(paths(&take(&store, crawl, 9)), ["/", "/a", "/b"]);
}

#[test]
fn a_site_goes_with_all_that_is_its_own() {
    let (_dir, store) = fresh();
    let (a, file) = (add(&store, CrawlRules::default()), laws::file("/a"));
    store.commit_document(&document(&file, "file"), 1).unwrap();
    let below = Site { start: page("/docs/"), rules: CrawlRules::default() };
    let b = store.add_site(&below, 1).unwrap();
    let b = store.begin_crawl(b.key, 10).unwrap().unwrap();
    read(&store, a.crawl_key(), "/", text(&page("/"), "start"), &["/docs/"]);
    read(&store, a.crawl_key(), "/docs/", text(&page("/docs/"), "docs"), &[]);
    read(&store, b.crawl_key(), "/docs/", text(&page("/docs/"), "docs"), &["/docs/b"]);
    read(&store, b.crawl_key(), "/docs/b", text(&page("/docs/b"), "b"), &[]);
    store.end_crawl(b.crawl_key(), 20, None).unwrap();
    assert_eq!(store.counts().unwrap().documents, 4);
    check_counters(&store);
    assert_eq!(store.remove_site(a.key).unwrap(), Some(2));
    assert_eq!(store.remove_site(a.key).unwrap(), None);
    check_counters(&store);
    // What both had is read again for the other.
    let heir = store.site(b.key).unwrap().unwrap();
    assert!(heir.is_open());
    read(&store, heir.crawl_key(), "/docs/", text(&page("/docs/"), "docs"), &[]);
    // It goes from one of them by its rules.
    let c = add(&store, CrawlRules::default());
    read(&store, c.crawl_key(), "/", text(&page("/"), "start"), &["/docs/"]);
    read(&store, c.crawl_key(), "/docs/", text(&page("/docs/"), "docs"), &[]);
    assert_eq!(found(&store, c.key, "/docs/").state, PageState::Indexed);
    assert_eq!(store.drop_pages(b.key, |_, _| false).unwrap(), 2);
    check_counters(&store);
    read(&store, c.crawl_key(), "/docs/", text(&page("/docs/"), "docs"), &[]);
    assert_eq!(store.remove_site(c.key).unwrap(), Some(2));
    assert_eq!(store.remove_site(b.key).unwrap(), Some(0));
    assert_eq!(searchable(&store), [file.to_string()]);
    assert_eq!((store.sites().unwrap(), store.queued_new().unwrap()), (vec![], 0));
}

#[test]
fn what_a_person_does_not_want_goes_at_once() {
    let (_dir, store) = fresh();
    let site = add(&store, CrawlRules::default());
    let crawl = site.crawl_key();
    read(&store, crawl, "/", text(&page("/"), "start"), &["/a", "/b", "/c"]);
    for path in ["/a", "/b"] {
        read(&store, crawl, path, text(&page(path), path), &[]);
    }
    assert_eq!(store.drop_pages(site.key, |url, _| url.path() != "/a").unwrap(), 1);
    assert_eq!(store.remove_page(&page("/b")).unwrap(), Some(1));
    assert_eq!(store.remove_page(&page("/z")).unwrap(), None);
    check_counters(&store);
    assert_eq!(searchable(&store), ["https://example.org/"]);
    // What was dropped comes back with a link to it, what was removed does not.
    let crawl = again(&store, site.key);
    read(&store, crawl, "/", Verdict::Unchanged, &["/a", "/b"]);
    assert_eq!(paths(&take(&store, crawl, 9)), ["/c", "/a"]);
}

#[test]
fn a_crawl_that_cannot_go_on_says_why() {
    let (_dir, store) = fresh();
    let site = add(&store, CrawlRules::default());
    store.postpone_crawl(site.crawl_key(), 500, "offline").unwrap();
    let found = store.site(site.key).unwrap().unwrap();
    assert_eq!((found.next_at, found.trouble.as_deref()), (Some(500), Some("offline")));
    store.forget_trouble(site.crawl_key()).unwrap();
    assert_eq!(store.site(site.key).unwrap().unwrap().trouble, None);
    let findings = SiteFindings { robots: "all is allowed".into(), ..SiteFindings::default() };
    store.note_findings(site.crawl_key(), &findings).unwrap();
    let found = store.site(site.key).unwrap().unwrap();
    assert!(found.is_seeded());
    assert_eq!(found.findings, Some(findings));
    store.end_crawl(site.crawl_key(), 20, Some(900)).unwrap();
    let found = store.site(site.key).unwrap().unwrap();
    assert_eq!((found.is_open(), found.ended_at, found.next_at), (false, Some(20), Some(900)));
    assert!(!store.begin_crawl(site.key, 30).unwrap().unwrap().is_seeded());
}

#[derive(Clone, Debug)]
enum Step {
    Take(usize),
    Settle { pick: usize, outcome: u8 },
    Die,
    PutBack,
    Again,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1_usize..4).prop_map(Step::Take),
        6 => (0_usize..8, 0_u8..8).prop_map(|(pick, outcome)| Step::Settle { pick, outcome }),
        1 => Just(Step::Die),
        1 => Just(Step::PutBack),
        1 => Just(Step::Again),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is taken, settled and killed: no page is lost, none that was settled is asked for twice in
    /// a crawl, and what is searchable is what the rows say.
    #[test]
    fn no_page_is_lost_and_none_asked_for_twice(steps in prop::collection::vec(step(), 1..60)) {
        let dir = TempDir::new().unwrap();
        let store = laws::open(dir.path());
        let rules = CrawlRules { pages_max: 9, ..CrawlRules::default() };
        let site = add(&store, rules);
        let key = site.key;
        let mut crawl = site.crawl_key();
        let mut lease = store.adopt_site(key).unwrap().unwrap();
        let mut known = BTreeSet::from([page("/")]);
        let mut settled_now = BTreeSet::new();
        let mut in_hand: BTreeMap<Url, QueuedPage> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Take(limit) => {
                    for taken in take(&store, crawl, limit) {
                        prop_assert!(!settled_now.contains(&taken.url), "{taken:?} again");
                        prop_assert!(in_hand.insert(taken.url.clone(), taken).is_none());
                    }
                }
                Step::Settle { pick, outcome } => {
                    let Some(url) = in_hand.keys().nth(pick % in_hand.len().max(1)).cloned() else {
                        continue;
                    };
                    let depth = in_hand.remove(&url).unwrap().depth;
                    let links = [format!("{depth}{pick}/"), format!("x{pick}")];
                    let links: Vec<&str> = links.iter().map(String::as_str).collect();
                    let (verdict, has_links) = match outcome {
                        0 => (Verdict::Gone { reason: "404".into() }, false),
                        1 => (Verdict::Failed { reason: "cut".into(), retry_at: None }, false),
                        2 => (Verdict::Failed { reason: "cut".into(), retry_at: Some(1) }, false),
                        3 => {
                            let reason = "noindex".to_owned();
                            (Verdict::Skipped { reason, is_outdated: true }, true)
                        }
                        _ => (text(&url, &format!("{url} {outcome}")), true),
                    };
                    let is_over = outcome != 2;
                    let links = if has_links { links.as_slice() } else { &[] };
                    known.extend(links.iter().map(|link| page(link)));
                    settle(&store, crawl, &[settled(&url, verdict, links)]);
                    if is_over {
                        settled_now.insert(url);
                    }
                }
                Step::Die => {
                    drop(lease);
                    in_hand.clear();
                    lease = store.adopt_site(key).unwrap().unwrap();
                }
                Step::PutBack => {
                    store.put_back_pages(key).unwrap();
                    in_hand.clear();
                }
                Step::Again => {
                    store.put_back_pages(key).unwrap();
                    in_hand.clear();
                    settled_now.clear();
                    crawl = again(&store, key);
                }
            }
            check_counters(&store);
            let (pages, total) = store.pages(key, &PageFilter::default(), 0..1_000).unwrap();
            prop_assert_eq!(total as usize, known.len());
            for row in &pages {
                prop_assert!(known.contains(&row.url));
                prop_assert_eq!(row.state == PageState::Fetching, in_hand.contains_key(&row.url));
                let is_over = !matches!(row.state, PageState::Queued | PageState::Fetching);
                prop_assert_eq!(is_over, settled_now.contains(&row.url), "{:?}", row);
            }
            // Whoever is next is as near to the start as anybody who waits.
            let waiting = pages.iter().filter(|row| row.state == PageState::Queued);
            let nearest = waiting.map(|row| row.depth).min();
            if let [first] = take(&store, crawl, 1).as_slice() {
                prop_assert!(Some(first.depth) == nearest || total > 9, "{first:?} {nearest:?}");
                in_hand.insert(first.url.clone(), first.clone());
            }
        }
        drop(lease);
    }
}
