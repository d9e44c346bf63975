//! Servers that are slow, lie, break off, go away and come back.

use std::time::{Duration, Instant};

use lodestone::crawler::{FetchLimits, Fetcher};

use super::*;
use crate::process::{PATIENCE, wait_for};

/// As the real ones, in less time and with smaller pages.
fn limits() -> FetchLimits {
    FetchLimits {
        silence_max: Duration::from_millis(400),
        request_max: Duration::from_secs(2),
        sent_bytes_max: 1 << 20,
        body_bytes_max: 2 << 20,
        rest_first: Duration::from_millis(2),
        retry_first: Duration::from_millis(20),
        ..FetchLimits::default()
    }
}

fn open(place: &Place) -> Engine {
    let engine = place.open_tiny();
    let fetcher = Fetcher::new(limits()).unwrap();
    assert!(engine.fetch_by(fetcher, Duration::from_millis(500)));
    engine
}

/// Says the first of these, then the second, and so on; the last for good.
fn in_turn(says: Vec<Says>) -> impl Fn() -> Says + Send + Sync {
    let left = Mutex::new(says);
    move || {
        let mut left = left.lock().unwrap();
        if left.len() > 1 { left.remove(0) } else { left[0].clone() }
    }
}

fn whole(about: &str) -> Says {
    page(about, &[])
}

/// A body that breaks off in the middle.
fn broken(about: &str) -> Says {
    let body = source(about, &[]);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{}",
        body.len(),
        &body[..body.len() / 2]
    );
    Says::Raw(head.into_bytes())
}

#[tokio::test]
async fn trouble_that_passes_is_waited_for_and_what_does_not_is_told() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n".to_vec();
    let long = [head.as_slice(), b"content-length: 5000\r\n\r\n<p>slow"].concat();
    let chunks = [head.as_slice(), b"transfer-encoding: chunked\r\n\r\n"].concat();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).into_bytes();
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut bomb, &vec![b' '; 8 << 20]).unwrap();
    let bomb = Answer::new(200)
        .header("content-type", "text/html")
        .header("content-encoding", "gzip")
        .body(bomb.finish().unwrap());
    let huge = b"HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n".to_vec();
    let busy = Says::Answer(Answer::new(429).header("retry-after", "1"));

    let passes = [
        ("/broken", vec![broken("breaks"), whole("breaks")]),
        ("/cut", vec![Says::Raw(Vec::new()), Says::Raw(Vec::new()), whole("cuts")]),
        ("/busy", vec![busy, whole("patience")]),
        ("/down", vec![status(503), whole("uptime")]),
        ("/ill", vec![status(500), status(502), whole("health")]),
    ];
    let stays = [
        ("/slow", Says::Stall(long.clone()), "in time"),
        ("/silent", Says::Stall(Vec::new()), "in time"),
        ("/drips", Says::Trickle(long, Duration::from_millis(100)), "in time"),
        ("/no-http", Says::Raw(b"220 mail.test ready\r\n".to_vec()), "HTTP"),
        ("/bomb", Says::Answer(bomb), "unpacks to more than 2 MB"),
        ("/endless", Says::Endless(chunks, chunk), "larger than 1 MB"),
        ("/huge", Says::Stall(huge), "larger than 1 MB"),
        ("/secret", status(401), "password"),
        ("/teapot", status(418), "418"),
    ];
    let mut links: Vec<&str> = passes.iter().map(|(path, _)| *path).collect();
    links.extend(stays.iter().map(|(path, ..)| *path));
    let mut scripts: BTreeMap<String, Box<dyn Fn() -> Says + Send + Sync>> = BTreeMap::new();
    scripts.insert("/".to_owned(), Box::new(in_turn(vec![page("everything", &links)])));
    for (path, says) in passes.clone() {
        scripts.insert(path.to_owned(), Box::new(in_turn(says)));
    }
    for (path, says, _) in stays.clone() {
        scripts.insert(path.to_owned(), Box::new(in_turn(vec![says])));
    }
    let web = Web::start(move |asked| match scripts.get(&asked.path) {
        Some(script) => script(),
        None => status(404),
    });

    let place = Place::new();
    let engine = open(&place);
    let report = crawl(&engine, &web, rules()).await;
    assert_eq!(report.end, CrawlEnd::Done, "{report:?}");
    let known = pages(&engine).await;
    for (path, says) in &passes {
        assert_eq!(known[*path].state, PageState::Indexed, "{:?}", known[*path]);
        assert_eq!(asked(&web)[*path], says.len(), "{path}");
    }
    for (path, _, why) in &stays {
        let reason = known[*path].reason.clone().unwrap_or_default();
        assert!(reason.contains(why), "{path}: {reason}");
    }
    let told = report.failed.len() + report.skipped.len();
    assert_eq!((report.pages, told), (passes.len() as u64 + 1, stays.len()), "{report:?}");
    // What will not change by itself is not asked for again.
    for path in ["/bomb", "/endless", "/huge", "/secret", "/teapot"] {
        assert_eq!(known[path].state, PageState::Skipped, "{:?}", known[path]);
        assert_eq!(asked(&web)[path], 1, "{path}");
    }
    engine.close().await;
}

#[tokio::test]
async fn a_host_that_asks_for_patience_is_not_asked_meanwhile() {
    let links: Vec<String> = (0..5).map(|n| format!("/{n}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let server = Pages::of(&[("/", page("everything", &links))]);
    for path in &links {
        server.set(path, whole(path));
    }
    let is_first = Mutex::new(true);
    let pages = server.clone();
    let web = Web::start(move |asked| {
        if asked.path == "/2" && std::mem::take(&mut *is_first.lock().unwrap()) {
            return Says::Answer(Answer::new(429).header("retry-after", "2"));
        }
        pages.say(asked)
    });
    let place = Place::new();
    let engine = open(&place);
    let report = crawl(&engine, &web, CrawlRules { connections_max: 1, ..rules() }).await;
    assert_eq!((report.end, report.pages), (CrawlEnd::Done, 6), "{:?}", report.failed);
    let asked = web.asked();
    let told = asked.iter().position(|asked| asked.path == "/2").unwrap();
    let waited = asked[told + 1].at - asked[told].at;
    // The timer of the client began a moment after the server had written its answer.
    assert!(waited >= Duration::from_millis(1_990), "{waited:?}");
    assert_eq!(super::asked(&web)["/2"], 2);
    engine.close().await;
}

/// Every page is there, and leads to those after it.
fn chain(pages: usize) -> Pages {
    let server = Pages::default();
    for n in 0..pages {
        let links: Vec<String> =
            (n + 1..(n + 5).min(pages)).map(|next| format!("/{next}")).collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        let path = if n == 0 { "/".to_owned() } else { format!("/{n}") };
        server.set(&path, page(&format!("link number {n}"), &links));
    }
    server
}

#[tokio::test]
async fn a_server_that_dies_in_the_middle_and_comes_back_loses_nothing() {
    const PAGES: usize = 40;
    let server = chain(PAGES);
    let web = server.serve();
    let address = web.address();
    let place = Place::new();
    let engine = open(&place);
    let typed = web.url("/");
    let slow = CrawlRules { delay_ms: 20, ..rules() };
    let job = engine.add_site(&typed, slow.clone()).await.unwrap();
    let dies = move || wait_for("some pages", || (web.asked().len() > 12).then_some(()));
    tokio::task::spawn_blocking(dies).await.unwrap();
    let away = report(job).await;
    let CrawlEnd::Later { reason, .. } = &away.end else { panic!("{away:?}") };
    assert!(reason.contains("127.0.0.1"), "{reason}");
    assert!(away.failed.is_empty(), "silence of a host is no page's fault: {:?}", away.failed);
    let kept: BTreeSet<String> = pages(&engine)
        .await
        .into_iter()
        .filter_map(|(path, page)| page.is_searchable.then_some(path))
        .collect();
    assert!(!kept.is_empty() && kept.len() < PAGES);
    // Nor when nobody is there once more.
    let away = report(engine.add_site(&typed, slow.clone()).await.unwrap()).await;
    assert!(matches!(away.end, CrawlEnd::Later { .. }), "{away:?}");
    assert_eq!(engine.status().await.unwrap().documents, kept.len() as u64);
    assert!(found(&engine, "link number").await.is_superset(&kept));

    let pages_of = server.clone();
    let began = Instant::now();
    while std::net::TcpListener::bind(address).is_err() {
        assert!(began.elapsed() < PATIENCE, "the port is not free again");
        tokio::task::yield_now().await;
    }
    let web = Web::start_at(address, move |asked| pages_of.say(asked));
    let back = report(engine.add_site(&typed, slow).await.unwrap()).await;
    assert_eq!((back.end, back.pages), (CrawlEnd::Done, PAGES as u64), "{:?}", back.failed);
    assert_none_twice(&web);
    let asked_again: Vec<_> = asked(&web).into_keys().filter(|path| kept.contains(path)).collect();
    assert!(asked_again.is_empty(), "{asked_again:?}");
    engine.close().await;
}

#[tokio::test]
async fn pages_that_never_answer_do_not_keep_a_crawl_from_its_end() {
    let silent: Vec<String> = (0..6).map(|n| format!("/silent/{n}")).collect();
    let links: Vec<&str> = silent.iter().map(String::as_str).collect();
    let server = Pages::of(&[("/", page("everything", &links)), ("/robots.txt", status(404))]);
    for path in &links {
        server.set(path, Says::Stall(Vec::new()));
    }
    let web = server.serve();
    let place = Place::new();
    let engine = open(&place);
    let crawled = crawl(&engine, &web, rules());
    let report = tokio::time::timeout(PATIENCE, crawled).await.expect("a crawl that ends");
    assert_eq!(report.end, CrawlEnd::Done, "{report:?}");
    assert_eq!((report.pages, report.failed.len()), (1, links.len()), "{report:?}");
    engine.close().await;
}
