//! A real site: the Rust book, as the toolchain has it.

use std::path::{Path, PathBuf};
use std::process::Command;

use scraper::{Html, Selector};
use url::Url;

use super::*;

/// The folder with the book; fails where it is missing, since who asks for this test wants it run.
fn documentation() -> PathBuf {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let root = String::from_utf8(output.stdout).unwrap();
    let html = Path::new(root.trim()).join("share/doc/rust/html");
    assert!(html.join("book").is_dir(), "rustup component add rust-docs");
    html
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html",
        "css" => "text/css",
        "js" => "text/javascript",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        _ => "application/octet-stream",
    }
}

fn file_of(root: &Path, path: &str) -> PathBuf {
    let path = path.split('?').next().unwrap_or_default().trim_start_matches('/');
    let file = root.join(path);
    if path.ends_with('/') { file.join("index.html") } else { file }
}

/// The pages that links lead to below `/book/`, with their samples of code.
fn linked(root: &Path) -> BTreeMap<String, Vec<String>> {
    let links = Selector::parse("a[href], area[href], iframe[src]").unwrap();
    let samples = Selector::parse("pre code").unwrap();
    let base = Url::parse("http://book.test/book/").unwrap();
    let (mut found, mut to_read) = (BTreeMap::new(), vec![base.clone()]);
    let mut seen = BTreeSet::from([base.clone()]);
    while let Some(url) = to_read.pop() {
        let Ok(text) = std::fs::read_to_string(file_of(root, url.path())) else { continue };
        if kind(url.path()) != "text/html" && !url.path().ends_with('/') {
            continue;
        }
        // As those see it who run no scripts.
        let page = Html::parse_document(&text.replace("<noscript>", "").replace("</noscript>", ""));
        for link in page.select(&links) {
            let place = link.value().attr("href").or(link.value().attr("src"));
            let Ok(mut target) = url.join(place.unwrap()) else { continue };
            target.set_fragment(None);
            target.set_query(None);
            if target.as_str().starts_with(base.as_str()) && seen.insert(target.clone()) {
                to_read.push(target);
            }
        }
        let code = page.select(&samples).map(|sample| sample.text().collect()).collect();
        found.insert(url.path().to_owned(), code);
    }
    found
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[tokio::test]
#[ignore = "a hundred pages of the toolchain's documentation, which has to be installed"]
async fn the_rust_book_is_found_whole_and_searched_meanwhile() {
    let root = documentation();
    let linked = linked(&root);
    assert!(linked.len() > 100, "{}", linked.len());
    let served = root.clone();
    let web = Web::start(move |asked| match std::fs::read(file_of(&served, &asked.path)) {
        Ok(body) if asked.path.starts_with("/book/") => {
            let path = if asked.path.ends_with('/') { "index.html" } else { asked.path.as_str() };
            Says::Answer(Answer::new(200).header("content-type", kind(path)).body(body))
        }
        _ => status(404),
    });
    let place = Place::new();
    let engine = place.open_tiny();
    let fast = CrawlRules { delay_ms: 0, connections_max: 8, ..CrawlRules::default() };
    let job = engine.add_site(&web.url("/book/"), fast).await.unwrap();

    let crawl = tokio::spawn(report(job));
    let mut early = 0;
    while !crawl.is_finished() && early < 20 {
        early = found(&engine, "rust").await.len();
    }
    assert!(early >= 20 && !crawl.is_finished(), "{early} pages were searchable before the end");
    let report = crawl.await.unwrap();
    assert_eq!(report.end, CrawlEnd::Done, "{:?}", report.failed);
    let fetched: BTreeSet<String> = asked(&web).into_keys().collect();
    assert_eq!(fetched, linked.keys().cloned().collect::<BTreeSet<_>>());
    assert_none_twice(&web);
    assert!(report.failed.is_empty(), "{:?}", report.failed);

    let known = pages(&engine).await;
    let (mut samples, mut lost) = (0, Vec::new());
    for entry in engine.library().await.unwrap() {
        let lodestone::data::Source::Web(url) = &entry.source else { continue };
        let text = engine.document(entry.id).await.unwrap().unwrap().text;
        let text = squeezed(&text);
        for sample in &linked[url.path()] {
            samples += 1;
            if !text.contains(&squeezed(sample)) {
                lost.push(format!("{}: {sample}", url.path()));
            }
        }
    }
    assert!(samples > 500 && lost.is_empty(), "{} of {samples}: {lost:#?}", lost.len());
    let accounted = known.values().filter(|page| page.is_searchable).count() as u64;
    assert_eq!(accounted, report.pages);
    engine.close().await;
}
