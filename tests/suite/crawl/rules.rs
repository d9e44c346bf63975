//! What a site asks for, what it is made of, and where it would go on without end.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use encoding_rs::WINDOWS_1251;
use flate2::Compression;
use flate2::write::GzEncoder;
use lodestone::search::SearchMode;

use super::*;

/// Paths of the pages with these words.
async fn holds(engine: &Engine, words: &str) -> BTreeSet<String> {
    let request =
        SearchRequest { limit: 1_000, mode: SearchMode::Keyword, ..SearchRequest::new(words) };
    let response = engine.search(request).await.unwrap();
    response.hits.iter().map(|hit| url_of(&hit.document.source)).collect()
}

fn url_of(source: &lodestone::data::Source) -> String {
    source.key().split_once("//").unwrap().1.split_once('/').unwrap().1.to_owned()
}

/// The text of the best passage with these words.
async fn passage(engine: &Engine, words: &str) -> String {
    let request = SearchRequest { mode: SearchMode::Keyword, ..SearchRequest::new(words) };
    let response = engine.search(request).await.unwrap();
    response.hits[0].passage.text.clone()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn typed(content_type: &str, body: impl Into<Vec<u8>>) -> Says {
    Says::Answer(Answer::new(200).header("content-type", content_type).body(body))
}

fn corpus(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/formats");
    std::fs::read(folder.join(name)).unwrap()
}

const CODE: &str = "fn main() {\n    let straw = \"damp\";\n    println!(\"{straw}\");\n}";

const ROBOTS: &str = "User-agent: another\nDisallow: /\n\n\
    User-agent: Lodestone\nDisallow: /closed/\nAllow: /closed/but-open\nCrawl-delay: 0.02\n\n\
    User-agent: *\nDisallow: /ours/\n\n\
    Sitemap: /index.xml.gz\n";

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one site, and what became of each of its pages")]
async fn robots_sitemaps_redirects_encodings_and_documents() {
    let other = Web::of_pages(&[("/", page("strangers", &[]))]);
    let index = "<sitemapindex><sitemap><loc>/pages.xml.gz</loc></sitemap>\
                 <sitemap><loc>/missing.xml</loc></sitemap></sitemapindex>";
    let map = format!(
        "<urlset><url><loc>/mapped</loc><lastmod>2020-01-01</lastmod></url>\
         <url><loc>/closed/mapped</loc></url><url><loc>{}</loc></url></urlset>",
        other.url("/mapped")
    );
    let cyrillic = |declared: &str, word: &str| {
        let page = format!(
            "<!doctype html>{declared}<title>Страна</title><main><p>Широка {word} моя родная, \
             много в ней лесов, полей и рек.</p></main>"
        );
        WINDOWS_1251.encode(&page).0.into_owned()
    };
    let with_mark = "\u{feff}<!doctype html><meta charset=shift_jis><p>В лесу родилась ёлочка.";
    let escaped = CODE.replace('<', "&lt;");
    let code = format!(
        "<!doctype html><title>Samples</title><main><p>How a sample looks in full:</p>\
         <pre><code class=language-rust>{escaped}</code></pre>\
         <table><tr><th>Bed<th>Water<tr><td>Straw<td>Seldom</table><ul><li>one reed<li>two reeds</ul>\
         </main>"
    );
    let links = [
        "/closed/door",
        "/closed/but-open",
        "/ours/page",
        "/away",
        "/moved",
        "/circle",
        "/header",
        "/meta",
        "/mark",
        "/handbook.pdf",
        "/handbook.docx",
        "/notes.md",
        "/code",
        "http://ann:secret@127.0.0.1/",
        "ftp://127.0.0.1/file.txt",
        "javascript:void(0)",
        "/film.mp4",
    ];
    let links: Vec<String> = links.iter().map(|link| (*link).to_owned()).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    let server = Pages::of(&[
        ("/robots.txt", typed("text/plain", ROBOTS)),
        ("/index.xml.gz", typed("application/gzip", gzip(index.as_bytes()))),
        ("/pages.xml.gz", typed("application/gzip", gzip(map.as_bytes()))),
        ("/", page("everything", &links)),
        ("/mapped", page("maps", &[])),
        ("/closed/door", page("doors", &[])),
        ("/closed/mapped", page("doors", &[])),
        ("/closed/but-open", page("windows", &[])),
        ("/ours/page", page("ours", &[])),
        ("/away", redirect(302, &other.url("/"))),
        ("/moved", redirect(301, "/moved-on")),
        ("/moved-on", redirect(308, "/here")),
        ("/here", page("arrivals", &[])),
        ("/circle", redirect(302, "/round")),
        ("/round", redirect(302, "/circle")),
        // The server is right and the page is not; then the other way round; then both are wrong.
        (
            "/header",
            typed("text/html; charset=windows-1251", cyrillic("<meta charset=koi8-r>", "степь")),
        ),
        ("/meta", typed("text/html", cyrillic("<meta charset=windows-1251>", "тайга"))),
        ("/mark", typed("text/html; charset=windows-1251", with_mark)),
        ("/handbook.pdf", typed("application/pdf", corpus("handbook.pdf"))),
        ("/handbook.docx", typed(word, corpus("handbook.docx"))),
        ("/notes.md", typed("text/markdown", "# Reeds\n\nCut the reeds in winter.\n")),
        ("/code", html(&code)),
    ]);
    let web = server.serve();
    let place = Place::new();
    let engine = place.open_tiny();
    let first = crawl(&engine, &web, rules()).await;
    assert_eq!(first.end, CrawlEnd::Done, "{first:?}");
    let known = pages(&engine).await;

    // robots.txt: the lines for this crawler hold, and only those.
    let asked_for = asked(&web);
    for path in ["/closed/door", "/closed/mapped"] {
        assert!(!asked_for.contains_key(path), "{path}");
        assert_eq!(known[path].state, PageState::Skipped);
        assert!(known[path].reason.as_ref().unwrap().contains("robots.txt"), "{:?}", known[path]);
    }
    for path in ["/closed/but-open", "/ours/page", "/mapped", "/here", "/code", "/notes.md"] {
        assert_eq!(known[path].state, PageState::Indexed, "{:?}", known[path]);
    }
    let findings = engine.sites().await.unwrap()[0].findings.clone().unwrap();
    assert_eq!(findings.crawl_delay_ms, Some(20), "{findings:?}");
    let mapped: Vec<_> = findings.sitemaps.iter().map(|map| (map.url.path(), map.pages)).collect();
    assert!(mapped.contains(&("/pages.xml.gz", 3)), "{findings:?}");
    let missing = findings.sitemaps.iter().find(|map| map.url.path() == "/missing.xml").unwrap();
    assert!(missing.trouble.is_some());
    assert_none_twice(&web);
    for asked in web.asked() {
        assert!(asked.headers["user-agent"].starts_with("Lodestone/"), "{asked:?}");
        assert!(!asked.headers.contains_key("cookie") && !asked.headers.contains_key("referer"));
    }

    // Redirects.
    assert!(other.asked().is_empty(), "{:?}", other.asked_paths());
    let reason = known["/away"].reason.clone().unwrap();
    assert!(reason.contains(&other.url("/")) && reason.contains("another"), "{reason}");
    assert_eq!(known["/moved"].target.as_ref().unwrap().path(), "/here");
    assert!(known["/circle"].reason.as_ref().unwrap().contains("circle"), "{:?}", known["/circle"]);
    assert!(!known.contains_key("/film.mp4"));

    // Encodings, documents, code, tables and lists.
    assert_eq!(holds(&engine, "степь").await, BTreeSet::from(["header".to_owned()]));
    assert_eq!(holds(&engine, "тайга").await, BTreeSet::from(["meta".to_owned()]));
    assert_eq!(holds(&engine, "ёлочка").await, BTreeSet::from(["mark".to_owned()]));
    let handbooks = BTreeSet::from(["handbook.docx".to_owned(), "handbook.pdf".to_owned()]);
    assert_eq!(holds(&engine, "ext:pdf").await, BTreeSet::from(["handbook.pdf".to_owned()]));
    let states: Vec<_> = handbooks.iter().map(|path| known[&format!("/{path}")].state).collect();
    assert_eq!(states, [PageState::Indexed; 2]);
    let sample = passage(&engine, "println straw").await;
    assert!(sample.contains(CODE), "{sample}");
    assert!(sample.contains("Seldom") && sample.contains("two reeds"), "{sample}");

    // What a sitemap says has not changed is not asked for, what forbids it is forgotten, and a page
    // that has moved is found where it is now.
    let noindex =
        source("windows", &[]).replace("<title>", "<meta name=robots content=none><title>");
    server.set("/closed/but-open", html(&noindex));
    server.set("/ours/page", redirect(301, "/theirs"));
    server.set("/theirs", page("ours", &[]));
    let before = web.asked().len();
    let second = crawl(&engine, &web, rules()).await;
    assert_eq!((second.end, second.pages), (CrawlEnd::Done, 1), "{:?}", second.failed);
    let again: BTreeSet<String> = web.asked_paths().split_off(before).into_iter().collect();
    assert!(again.contains("/code") && !again.contains("/mapped"), "{again:?}");
    assert_eq!(holds(&engine, "windows").await, BTreeSet::new());
    assert_eq!(holds(&engine, "\"On ours\"").await, BTreeSet::from(["theirs".to_owned()]));
    assert!(holds(&engine, "maps").await.contains("mapped"));
    engine.close().await;
}

#[tokio::test]
async fn the_delay_of_robots_txt_is_kept_and_requests_come_one_after_the_other() {
    const PAGES: u32 = 10;
    let delay = Duration::from_millis(60);
    let links: Vec<String> = (1..PAGES).map(|n| format!("/{n}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let server = Pages::of(&[
        ("/robots.txt", typed("text/plain", "User-agent: *\nCrawl-delay: 0.06\n")),
        ("/", page("everything", &links)),
    ]);
    for path in &links {
        server.set(path, page(path, &[]));
    }
    let web = server.serve();
    let place = Place::new();
    let engine = place.open_tiny();
    let report = crawl(&engine, &web, rules()).await;
    assert_eq!(report.pages, u64::from(PAGES));
    let at: Vec<_> = web.asked().iter().map(|asked| asked.at).collect();
    // Each on its way for a different time, so it is their sum that tells.
    assert!(at[at.len() - 1] - at[0] >= delay * PAGES, "{:?}", at[at.len() - 1] - at[0]);
    engine.close().await;
}

#[tokio::test]
async fn unchanged_since_a_date_is_not_read_again() {
    const DATE: &str = "Wed, 01 Jan 2020 00:00:00 GMT";
    let web = Web::start(|asked| match asked.path.as_str() {
        "/" if asked.headers.get("if-modified-since").is_some_and(|date| date == DATE) => {
            status(304)
        }
        "/" => Says::Answer(
            Answer::new(200)
                .header("content-type", "text/html")
                .header("last-modified", DATE)
                .body(source("dates", &[])),
        ),
        _ => status(404),
    });
    let place = Place::new();
    let engine = place.open_tiny();
    assert_eq!(crawl(&engine, &web, rules()).await.pages, 1);
    let again = crawl(&engine, &web, rules()).await;
    assert_eq!((again.pages, again.unchanged), (0, 1), "{again:?}");
    assert_eq!(pages(&engine).await["/"].status, Some(304));
    assert!(holds(&engine, "dates").await.contains(""));
    engine.close().await;
}

#[tokio::test]
async fn patterns_say_what_is_fetched() {
    let docs = ["/docs/new/a", "/docs/new/a/b", "/docs/old/c", "/blog/d", "/docs/new/print/e"];
    let server = Pages::of(&[("/docs/", page("everything", &docs))]);
    for path in docs {
        server.set(path, page(path, &["/docs/new/f"]));
    }
    server.set("/docs/new/f", page("f", &["/docs/deep"]));
    server.set("/docs/deep", page("depths", &[]));
    let web = server.serve();
    let place = Place::new();
    let engine = place.open_tiny();
    let rules = CrawlRules {
        include: vec!["/docs/**".to_owned()],
        exclude: vec!["/docs/old/**".to_owned(), "/**/print/*".to_owned()],
        depth_max: 2,
        ..rules()
    };
    let report = report(engine.add_site(&web.url("/docs/"), rules).await.unwrap()).await;
    assert_eq!(report.end, CrawlEnd::Done);
    let fetched: BTreeSet<String> = asked(&web).into_keys().collect();
    let expected = ["/docs/", "/docs/new/a", "/docs/new/a/b", "/docs/new/f"];
    assert_eq!(fetched, expected.map(str::to_owned).into());
    for wrong in ["http://ann:secret@127.0.0.1/", "ftp://127.0.0.1/", "javascript:alert(1)"] {
        assert!(engine.add_site(wrong, super::rules()).await.is_err(), "{wrong}");
    }
    engine.close().await;
}

/// Each day leads to the next thirty, each folder into itself, each filter to one more.
fn maze(asked: &Asked) -> Says {
    let linked = |links: &[String]| {
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        html(
            &source("mazes", &links)
                .replace("<title>", "<meta name=robots content=noindex><title>"),
        )
    };
    let day = |number: usize| {
        let (year, month, day) = (2000 + number / 336, number / 28 % 12 + 1, number % 28 + 1);
        format!("/calendar/{year}-{month:02}-{day:02}")
    };
    let path = asked.path.as_str();
    if path == "/" {
        linked(&[day(0), "/deep/".to_owned(), "/shop?a=1".to_owned()])
    } else if let Some(date) = path.strip_prefix("/calendar/") {
        let parts: Vec<usize> = date.split('-').map(|part| part.parse().unwrap()).collect();
        let number = (parts[0] - 2000) * 336 + (parts[1] - 1) * 28 + parts[2] - 1;
        linked(&(number + 1..=number + 30).map(day).collect::<Vec<_>>())
    } else if path.starts_with("/deep/") {
        linked(&["again/".to_owned(), "left/right/".to_owned()])
    } else if let Some(query) = path.strip_prefix("/shop?") {
        linked(&('b'..='z').map(|name| format!("/shop?{query}&{name}=1")).collect::<Vec<_>>())
    } else {
        status(404)
    }
}

#[tokio::test]
async fn a_maze_without_end_ends() {
    let web = Web::start(maze);
    let place = Place::new();
    let engine = place.open_tiny();
    let report = crawl(&engine, &web, CrawlRules { depth_max: 100, ..rules() }).await;
    assert_eq!(report.end, CrawlEnd::Done);
    let below = |folder: &str| asked(&web).keys().filter(|path| path.starts_with(folder)).count();
    assert_eq!(below("/calendar/"), 366);
    assert_eq!(below("/shop?"), 24);
    let deep = below("/deep/");
    assert!((5..200).contains(&deep), "{deep}");
    engine.close().await;
}
