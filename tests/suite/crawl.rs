//! Web sites, from a server of our own to what a search finds.

mod book;
mod command;
mod inside;
mod kill;
mod rules;
mod trouble;
mod upkeep;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use lodestone::config::{Config, ModelFiles};
use lodestone::data::{CrawlRules, Reach};
use lodestone::engine::{
    CrawlEnd, CrawlReport, Engine, Job, JobOutcome, PageFilter, PageState, PageView, SearchRequest,
    SiteId, SiteState,
};
use tempfile::TempDir;

use crate::tiny_model;
use crate::web::{Answer, Asked, Says, Web, html, redirect, status};

/// A page with some text of its own, and links.
fn page(about: &str, links: &[&str]) -> Says {
    html(&source(about, links))
}

fn source(about: &str, links: &[&str]) -> String {
    let links: Vec<_> = links.iter().map(|to| format!("<li><a href=\"{to}\">{to}</a>")).collect();
    let links = links.concat();
    format!(
        "<!doctype html><html lang=en><title>On {about}</title><body><main><h1>On {about}</h1>\
         <p>This page tells all there is to know about {about}, from where it comes to what it is \
         good for. Whoever has read it knows {about} as well as anybody does.</p>\
         <ul>{links}</ul></main></body></html>"
    )
}

/// As fast as the server answers.
fn rules() -> CrawlRules {
    CrawlRules { reach: Reach::Origin, delay_ms: 0, ..CrawlRules::default() }
}

struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn config(&self) -> Config {
        // This program reads no pages.
        let reader_program = Some(env!("CARGO_BIN_EXE_lode").into());
        Config { reader_program, ..Config::new(self.dir.path().to_owned()) }
    }

    fn open(&self) -> Engine {
        Engine::open(self.config()).unwrap()
    }

    /// With a model that costs nothing, where meaning is not what is tested.
    fn open_tiny(&self) -> Engine {
        let model = ModelFiles::Folder(tiny_model::write(self.dir.path(), "tiny", 3));
        Engine::open(Config { model, ..self.config() }).unwrap()
    }

    fn open_to_stay(&self) -> Engine {
        Engine::open(Config { keeps_up: true, ..self.config() }).unwrap()
    }
}

async fn report(job: Job) -> CrawlReport {
    match job.outcome().await {
        JobOutcome::Crawled(report) => report,
        other => panic!("{other:?}"),
    }
}

async fn crawl(engine: &Engine, web: &Web, rules: CrawlRules) -> CrawlReport {
    report(engine.add_site(&web.url("/"), rules).await.unwrap()).await
}

async fn only_site(engine: &Engine) -> (SiteId, SiteState) {
    let sites = engine.sites().await.unwrap();
    assert_eq!(sites.len(), 1, "{sites:?}");
    (sites[0].id, sites[0].state.clone())
}

async fn pages(engine: &Engine) -> BTreeMap<String, PageView> {
    let (site, _) = only_site(engine).await;
    let list = engine.pages(site, PageFilter::default(), 0..10_000).await.unwrap();
    let path = |page: &PageView| match page.url.query() {
        Some(query) => format!("{}?{query}", page.url.path()),
        None => page.url.path().to_owned(),
    };
    list.pages.into_iter().map(|page| (path(&page), page)).collect()
}

/// Paths of the pages that a search finds.
async fn found(engine: &Engine, query: &str) -> BTreeSet<String> {
    let request = SearchRequest { limit: 1_000, ..SearchRequest::new(query) };
    let response = engine.search(request).await.unwrap();
    let path = |source: &lodestone::data::Source| match source {
        lodestone::data::Source::Web(url) => url.path().to_owned(),
        lodestone::data::Source::File(path) => panic!("{}", path.display()),
    };
    response.hits.iter().map(|hit| path(&hit.document.source)).collect()
}

/// How often each page was asked for, without the files for crawlers.
fn asked(web: &Web) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for path in web.asked_paths() {
        let is_for_crawlers = path == "/robots.txt" || path.rsplit('.').next() == Some("xml");
        if !is_for_crawlers {
            *asked.entry(path).or_default() += 1;
        }
    }
    asked
}

fn assert_none_twice(web: &Web) {
    let twice: Vec<_> = asked(web).into_iter().filter(|(_, times)| *times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// Paths that are told what to say while the server runs.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<BTreeMap<String, Says>>>);

impl Pages {
    fn of(pages: &[(&str, Says)]) -> Self {
        let new = Self::default();
        for (path, says) in pages {
            new.set(path, says.clone());
        }
        new
    }

    fn set(&self, path: &str, says: Says) {
        self.0.lock().unwrap().insert(path.to_owned(), says);
    }

    fn serve(&self) -> Web {
        let pages = self.clone();
        Web::start(move |asked| pages.say(asked))
    }

    /// With the tag of what is there, and as unchanged to whoever has it.
    fn say(&self, asked: &Asked) -> Says {
        let says = self.0.lock().unwrap().get(&asked.path).cloned();
        match says {
            Some(Says::Answer(answer)) if answer.status == 200 => {
                let tag = format!("\"{}\"", answer.body.iter().map(|b| u64::from(*b)).sum::<u64>());
                if asked.headers.get("if-none-match") == Some(&tag) {
                    return Says::Answer(Answer::new(304).header("etag", &tag));
                }
                Says::Answer(answer.header("etag", &tag))
            }
            Some(says) => says,
            None => status(404),
        }
    }
}

/// A site with something of every kind.
fn outspoken() -> Web {
    let named = "<link rel=canonical href=/canonical>";
    let noindex = "<meta name=robots content=noindex>";
    let nofollow = "<meta name=robots content=nofollow>";
    let with = |head: &str, about: &str, links: &[&str]| {
        html(&source(about, links).replace("<body>", &format!("{head}<body>")))
    };
    let from_start = [
        "/bread",
        "/bread?utm_source=mail",
        "/bread#crust",
        "/bread/print",
        "/old",
        "/named",
        "/hidden",
        "/dead-end",
        "/private/diary",
        "/missing",
        "/logo.png",
        "/note.txt",
        "/loop",
        "/out",
        "/image",
        "https://elsewhere.example/",
        "mailto:ann@example.org",
        "/header",
    ];
    Pages::of(&[
        ("/", page("everything", &from_start)),
        ("/bread", page("bread", &["/", "/deeper"])),
        ("/bread/print", page("bread", &["/", "/deeper"])),
        ("/old", redirect(301, "/new")),
        ("/new", page("novelties", &[])),
        ("/named", with(named, "names", &[])),
        ("/canonical", page("names", &[])),
        ("/hidden", with(noindex, "secrets", &["/behind-hidden"])),
        ("/behind-hidden", page("shadows", &[])),
        ("/dead-end", with(nofollow, "ends", &["/unreached"])),
        ("/unreached", page("nothing", &[])),
        ("/deeper", page("depths", &[])),
        ("/private/diary", page("diaries", &[])),
        ("/loop", redirect(302, "/loop")),
        ("/out", redirect(302, "http://elsewhere.example/")),
        ("/listed", page("lists", &[])),
        (
            "/note.txt",
            Says::Answer(
                Answer::new(200).header("content-type", "text/plain").body("A note about tides."),
            ),
        ),
        (
            "/image",
            Says::Answer(Answer::new(200).header("content-type", "image/png").body("\u{89}PNG")),
        ),
        (
            "/header",
            Says::Answer(
                Answer::new(200)
                    .header("content-type", "text/html")
                    .header("x-robots-tag", "noindex")
                    .body(source("headers", &[])),
            ),
        ),
        (
            "/robots.txt",
            Says::Answer(
                Answer::new(200).body("User-agent: *\nDisallow: /private/\nSitemap: /map.xml\n"),
            ),
        ),
        (
            "/map.xml",
            Says::Answer(Answer::new(200).body("<urlset><url><loc>/listed</loc></url></urlset>")),
        ),
    ])
    .serve()
}

#[tokio::test]
async fn what_a_site_says_is_heeded() {
    let web = outspoken();
    let place = Place::new();
    let engine = place.open();
    let report = crawl(&engine, &web, rules()).await;
    assert_eq!(report.end, CrawlEnd::Done, "{report:?}");
    let pages = pages(&engine).await;
    let states: BTreeMap<&str, PageState> =
        pages.iter().map(|(path, page)| (path.as_str(), page.state)).collect();
    let expected = BTreeMap::from([
        ("/", PageState::Indexed),
        ("/behind-hidden", PageState::Indexed),
        ("/bread", PageState::Indexed),
        ("/bread/print", PageState::Duplicate),
        ("/canonical", PageState::Indexed),
        ("/dead-end", PageState::Indexed),
        ("/deeper", PageState::Indexed),
        ("/header", PageState::Skipped),
        ("/hidden", PageState::Skipped),
        ("/image", PageState::Skipped),
        ("/listed", PageState::Indexed),
        ("/loop", PageState::Skipped),
        ("/missing", PageState::Gone),
        ("/named", PageState::Duplicate),
        ("/new", PageState::Indexed),
        ("/note.txt", PageState::Indexed),
        ("/old", PageState::Redirected),
        ("/out", PageState::Skipped),
        ("/private/diary", PageState::Skipped),
    ]);
    let copies = |path: &str| matches!(path, "/bread" | "/bread/print");
    for (path, state) in &expected {
        // Whichever of the two came first.
        assert!(copies(path) || states.get(path) == Some(state), "{path}: {:?}", pages.get(*path));
    }
    assert_eq!(states.len(), expected.len(), "{states:?}");
    assert_eq!(pages["/old"].target.as_ref().unwrap().path(), "/new");
    assert_eq!(pages["/deeper"].depth, 2);
    assert_eq!(report.pages, 9, "{report:?}");
    assert_eq!((report.copies, report.failed.len(), report.skipped.len()), (3, 1, 6), "{report:?}");
    assert_none_twice(&web);
    let never = ["/unreached", "/private/diary", "/logo.png"];
    assert!(never.iter().all(|path| !asked(&web).contains_key(*path)));

    // They are found by their words, and by their site.
    assert_eq!(found(&engine, "site:127.0.0.1 depths").await.first().unwrap(), "/deeper");
    assert_eq!(found(&engine, "site:elsewhere.example depths").await, BTreeSet::new());
    let sites = engine.sites().await.unwrap();
    assert_eq!((sites[0].searchable, &sites[0].state), (9, &SiteState::Done));
    let findings = sites[0].findings.clone().unwrap();
    assert_eq!(findings.sitemaps[0].pages, 1, "{findings:?}");
    let stands = engine.status().await.unwrap();
    assert_eq!((stands.documents, stands.sources), (9, 9 + 6));
    engine.close().await;
}

#[tokio::test]
async fn a_second_crawl_reads_what_has_changed() {
    let server = Pages::of(&[
        ("/", page("everything", &["/bread", "/tides", "/moon"])),
        ("/bread", page("bread", &[])),
        ("/tides", page("tides", &[])),
        ("/moon", page("the moon", &[])),
    ]);
    let web = server.serve();
    let place = Place::new();
    let engine = place.open();
    assert_eq!(crawl(&engine, &web, rules()).await.pages, 4);
    let again = crawl(&engine, &web, rules()).await;
    assert_eq!((again.pages, again.unchanged), (0, 4), "{again:?}");

    server.set("/bread", page("sourdough", &["/rye"]));
    server.set("/rye", page("rye", &[]));
    server.set("/tides", status(404));
    server.set("/moon", status(500));
    let changed = crawl(&engine, &web, rules()).await;
    assert_eq!((changed.pages, changed.unchanged), (2, 1), "{changed:?}");
    assert_eq!(changed.failed.len(), 2, "{changed:?}");
    assert_eq!(found(&engine, "sourdough").await.first().unwrap(), "/bread");
    // Missed once, and a server in trouble, are no reason to forget anything.
    assert!(found(&engine, "tides").await.contains("/tides"));
    server.set("/moon", page("the moon", &[]));
    for _ in 0..2 {
        crawl(&engine, &web, rules()).await;
    }
    let found = found(&engine, "\"as well as anybody does\"").await;
    assert!(!found.contains("/tides") && found.contains("/moon"), "{found:?}");
    engine.close().await;
}

#[tokio::test]
async fn rules_bound_a_crawl_and_new_ones_hold_at_once() {
    let links: Vec<String> = (0..30).map(|n| format!("/{n}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let server = Pages::of(&[("/", page("everything", &links))]);
    for path in &links {
        server.set(path, page(&format!("number{path}"), &["/deep"]));
    }
    server.set("/deep", page("depths", &[]));
    let web = server.serve();
    let place = Place::new();
    let engine = place.open();
    let few = crawl(&engine, &web, CrawlRules { pages_max: 7, ..rules() }).await;
    assert_eq!((few.pages, few.beyond), (7, 24 + 1), "{few:?}");
    assert_eq!(asked(&web).len(), 7);
    let flat = crawl(&engine, &web, CrawlRules { depth_max: 1, ..rules() }).await;
    assert_eq!((flat.pages + flat.unchanged, flat.beyond), (31, 0), "{flat:?}");
    let (site, _) = only_site(&engine).await;
    let narrow = CrawlRules { exclude: vec!["/1*".to_owned()], ..rules() };
    engine.set_rules(site, narrow).await.unwrap();
    let left = engine.status().await.unwrap().documents;
    assert_eq!(left, 31 - 11, "/1 and /10 to /19");
    let wrong = CrawlRules { include: vec!["[".to_owned()], ..rules() };
    assert!(engine.set_rules(site, wrong).await.is_err());

    // All of it goes with the site, by its host as well.
    let host = web.address().to_string();
    let removed = engine.remove(vec![host.clone(), "nowhere.example".to_owned()]).await.unwrap();
    assert_eq!((removed.removed, removed.unknown.len()), (20, 1));
    assert_eq!(engine.status().await.unwrap().sources, 0);
    assert!(engine.sites().await.unwrap().is_empty());
    engine.close().await;
}

#[tokio::test]
async fn a_page_that_fails_is_tried_again_in_the_same_crawl() {
    let server = Pages::of(&[("/", page("everything", &["/shy"])), ("/shy", status(500))]);
    let pages = server.clone();
    let times = Arc::new(Mutex::new(0));
    let web = Web::start(move |asked| {
        if asked.path == "/shy" {
            let mut times = times.lock().unwrap();
            *times += 1;
            if *times == 2 {
                pages.set("/shy", page("shyness", &[]));
            }
        }
        pages.say(asked)
    });
    let place = Place::new();
    let engine = place.open();
    let report = crawl(&engine, &web, rules()).await;
    assert_eq!((report.pages, report.failed.len()), (2, 0), "{report:?}");
    engine.close().await;
}
