use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use url::Url;

use super::*;
use crate::crawler::resolver::Looking;
use crate::crawler::web::{Answer, Says, Web, html, redirect, status};
use crate::data::{CrawlRules, Reach, Site};

const MB: usize = 1 << 20;

/// Short, so that what is never answered is given up soon; long beside what an answer takes.
fn limits() -> FetchLimits {
    FetchLimits {
        connect_max: Duration::from_secs(5),
        silence_max: Duration::from_millis(400),
        request_max: Duration::from_secs(2),
        sent_bytes_max: 2 * MB,
        body_bytes_max: 2 * MB,
        redirects_max: 4,
        wait_max: Duration::from_secs(5),
        rest_first: Duration::from_millis(1),
        retry_first: Duration::from_secs(30),
    }
}

fn rules(reach: Reach) -> CrawlRules {
    CrawlRules { reach, delay_ms: 0, ..CrawlRules::default() }
}

fn scope_with(start: &str, rules: CrawlRules) -> Scope {
    Scope::new(&Site { start: Url::parse(start).unwrap(), rules }).unwrap()
}

fn scope(web: &Web) -> Scope {
    scope_with(&web.url("/"), rules(Reach::Origin))
}

/// Every name ending in `.private` is this machine, every other is nowhere.
#[derive(Debug)]
struct Names;

impl Lookup for Names {
    fn addresses<'a>(&'a self, host: &'a str) -> Looking<'a> {
        Box::pin(async move {
            if host.ends_with(".private") {
                Ok(vec!["127.0.0.1".parse().unwrap()])
            } else {
                Err(io::ErrorKind::NotFound.into())
            }
        })
    }
}

fn fetcher() -> Fetcher {
    Fetcher::with_lookup(limits(), Arc::new(Names)).unwrap()
}

async fn fetch(web: &Web, path: &str) -> Fetched {
    let url = Url::parse(&web.url(path)).unwrap();
    fetcher().fetch(FetchRequest::new(&url, &scope(web), 1)).await
}

fn page(outcome: Fetched) -> FetchedPage {
    match outcome {
        Fetched::Page(page) => *page,
        other => panic!("no page: {other:?}"),
    }
}

fn refusal(outcome: Fetched) -> RefusedBecause {
    match outcome {
        Fetched::Refused { because, .. } => because,
        other => panic!("not refused: {other:?}"),
    }
}

fn failure(outcome: Fetched) -> (String, Duration) {
    match outcome {
        Fetched::Failed { reason, retry_after, .. } => (reason, retry_after),
        other => panic!("not failed: {other:?}"),
    }
}

#[tokio::test]
async fn a_page_comes_with_all_that_is_said_of_it() {
    let answer = Answer::new(200)
        .header("content-type", "text/html; charset=ISO-8859-1")
        .header("etag", "\"v1\"")
        .header("last-modified", "Fri, 02 Jan 1970 00:00:00 GMT")
        .header("content-language", "de, en")
        .header("x-robots-tag", "nofollow")
        .header("link", "</real>; rel=\"canonical\"")
        .body(b"gr\xfc\xdfe".to_vec());
    let web = Web::of_pages(&[("/a?b=1", Says::Answer(answer))]);
    let page = page(fetch(&web, "/a?b=1&utm_source=x#part").await);
    assert_eq!(page.url.as_str(), web.url("/a?b=1"));
    assert_eq!((page.body.as_slice(), page.sent_bytes), (b"gr\xfc\xdfe".as_slice(), 5));
    assert_eq!(page.content_type.as_deref(), Some("text/html"));
    assert_eq!(page.charset.as_deref(), Some("iso-8859-1"));
    assert_eq!(page.language.as_deref(), Some("de"));
    assert_eq!(page.etag.as_deref(), Some("\"v1\""));
    assert_eq!(page.modified, Some(86_400));
    assert!(page.x_robots.nofollow && !page.x_robots.noindex && page.redirects.is_empty());
    assert_eq!(page.canonical.map(String::from), Some(web.url("/real")));
    let asked = web.asked();
    assert_eq!(web.asked_paths(), ["/robots.txt", "/a?b=1"]);
    let agent = &asked[1].headers["user-agent"];
    assert!(agent.starts_with("Lodestone/") && agent.contains("(+https://"), "{agent}");
    assert!(!asked[1].headers.contains_key("cookie") && !asked[1].headers.contains_key("referer"));
}

#[tokio::test]
async fn redirects_are_followed_in_scope_and_recorded() {
    let web = Web::of_pages(&[
        ("/a", redirect(301, "/b?utm_source=x#f")),
        ("/b?utm_source=x", redirect(308, "c")),
        ("/c", html("here")),
    ]);
    let page = page(fetch(&web, "/a").await);
    assert_eq!(page.url.as_str(), web.url("/c"));
    let redirects: Vec<_> = page.redirects.into_iter().map(String::from).collect();
    assert_eq!(redirects, [web.url("/a"), web.url("/b")]);
}

#[tokio::test]
async fn redirects_out_of_scope_are_refused_and_never_asked_for() {
    let elsewhere = Web::of_pages(&[("/x", html("elsewhere"))]);
    let target = elsewhere.url("/x");
    let web = Web::of_pages(&[
        ("/out", redirect(302, &target)),
        ("/ftp", redirect(302, "ftp://example.org/")),
        ("/file", redirect(302, "file:///etc/passwd")),
        ("/password", redirect(302, "http://ann:secret@example.org/")),
        ("/nowhere", redirect(302, "http://")),
        ("/without", status(302)),
    ]);
    for (path, words) in [
        ("/out", "127.0.0.1 is another site"),
        ("/ftp", "ftp: addresses cannot be crawled"),
        ("/file", "file: addresses cannot be crawled"),
        ("/password", "is given with a user name or password"),
        ("/nowhere", "no address that can be read"),
        ("/without", "no address that can be read"),
    ] {
        let said = refusal(fetch(&web, path).await).to_string();
        assert!(said.contains(words) && !said.contains("secret"), "{path}: {said}");
    }
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn circles_and_long_chains_of_redirects_end() {
    let web = Web::start(|asked| match asked.path.strip_prefix("/chain/") {
        Some(number) => {
            redirect(302, &format!("/chain/{}", number.parse::<u32>().unwrap_or(0) + 1))
        }
        None if asked.path == "/circle" => redirect(302, "/round"),
        None if asked.path == "/round" => redirect(302, "/circle"),
        None if asked.path == "/self" => redirect(302, "/self"),
        None => status(404),
    });
    assert_eq!(refusal(fetch(&web, "/circle").await), RefusedBecause::RedirectLoop);
    assert_eq!(refusal(fetch(&web, "/self").await), RefusedBecause::RedirectLoop);
    let too_many = RefusedBecause::TooManyRedirects { redirects_max: 4 };
    assert_eq!(refusal(fetch(&web, "/chain/0").await), too_many);
    let chain = web.asked_paths().iter().filter(|path| path.starts_with("/chain")).count();
    assert_eq!(chain, 5);
}

/// A server's own order of parameters is not the canonical one, and it insists.
#[tokio::test]
async fn a_redirect_between_two_forms_of_one_address_is_no_circle() {
    let web = Web::of_pages(&[
        ("/?a=1&b=2", redirect(302, "/?b=2&a=1")),
        ("/?b=2&a=1", html("insisted")),
    ]);
    let page = page(fetch(&web, "/?b=2&a=1").await);
    assert_eq!((page.body.as_slice(), page.url.query()), (b"insisted".as_slice(), Some("a=1&b=2")));
}

#[tokio::test]
async fn private_addresses_are_refused_unless_typed() {
    let victim = Web::of_pages(&[("/", html("secret"))]);
    let port = victim.address().port();
    let mut scripts: Vec<(String, Says)> = Vec::new();
    let hosts = [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "169.254.169.254",
        "100.64.0.1",
        "10.0.0.1",
        "[fe80::1]",
        "x.private",
    ];
    for (number, host) in hosts.iter().enumerate() {
        scripts.push((format!("/{number}"), redirect(302, &format!("http://{host}:{port}/"))));
    }
    let pages: Vec<_> = scripts.iter().map(|(path, says)| (path.as_str(), says.clone())).collect();
    let web = Web::of_pages(&pages);
    // The site is typed as a name, so that 127.0.0.1 is not; every host below `*.private` is in scope.
    let start = format!("http://site.private:{}/", web.address().port());
    let reach = Reach::Hosts(vec!["*.private".to_owned()]);
    let scope = scope_with(&start, rules(reach));
    let fetcher = fetcher();
    for (number, host) in hosts.iter().enumerate() {
        let url = Url::parse(&start).unwrap().join(&format!("/{number}")).unwrap();
        let outcome = fetcher.fetch(FetchRequest::new(&url, &scope, 1)).await;
        let RefusedBecause::Redirect { because, .. } = refusal(outcome) else {
            panic!("{host}");
        };
        assert!(matches!(*because, RefusedBecause::PrivateAddress { .. }), "{host}: {because}");
    }
    assert!(victim.asked().is_empty());
    let typed = scope_with(&victim.url("/"), rules(Reach::Origin));
    let url = Url::parse(&victim.url("/")).unwrap();
    page(fetcher.fetch(FetchRequest::new(&url, &typed, 0)).await);
    // What one site may reach is closed to another: the connection that is still open is not used.
    let outcome = fetcher.fetch(FetchRequest::new(&url, &scope, 0)).await;
    assert!(matches!(refusal(outcome), RefusedBecause::PrivateAddress { .. }));
}

#[tokio::test]
async fn robots_txt_may_not_lead_to_a_private_address_either() {
    let victim = Web::of_pages(&[("/robots.txt", html("secret"))]);
    let target = victim.url("/robots.txt");
    let web = Web::start(move |asked| match asked.path.as_str() {
        "/robots.txt" => redirect(302, &target),
        _ => html("a page"),
    });
    let start = format!("http://site.private:{}/", web.address().port());
    let scope = scope_with(&start, rules(Reach::Origin));
    let url = Url::parse(&start).unwrap();
    let outcome = fetcher().fetch(FetchRequest::new(&url, &scope, 0)).await;
    assert_eq!(refusal(outcome), RefusedBecause::Robots);
    assert!(victim.asked().is_empty());
}

#[tokio::test]
async fn robots_txt_is_asked_once_and_obeyed_on_every_hop() {
    let robots = Answer::new(200).body("User-agent: lodestone\nDisallow: /no\n");
    let web = Web::of_pages(&[
        ("/robots.txt", Says::Answer(robots)),
        ("/yes", html("yes")),
        ("/to-no", redirect(302, "/no")),
        ("/no", html("no")),
    ]);
    let (fetcher, scope) = (fetcher(), scope(&web));
    let fetch = async |path: &str| {
        let url = Url::parse(&web.url(path)).unwrap();
        fetcher.fetch(FetchRequest::new(&url, &scope, 1)).await
    };
    let (first, second) = tokio::join!(fetch("/yes"), fetch("/yes"));
    page(first);
    page(second);
    assert_eq!(refusal(fetch("/no").await), RefusedBecause::Robots);
    let said = refusal(fetch("/to-no").await).to_string();
    assert!(said.contains("/no, where its robots.txt asks"), "{said}");
    let asked = web.asked_paths();
    assert_eq!(asked.iter().filter(|path| *path == "/robots.txt").count(), 1);
    assert!(!asked.contains(&"/no".to_owned()));
}

#[tokio::test]
async fn without_robots_txt_all_is_allowed_and_with_a_broken_one_nothing_yet() {
    for code in [401, 403, 404, 410] {
        let web = Web::start(move |asked| match asked.path.as_str() {
            "/robots.txt" => status(code),
            _ => html("a"),
        });
        page(fetch(&web, "/a").await);
    }
    for code in [500, 503, 429] {
        let web = Web::start(move |asked| match asked.path.as_str() {
            "/robots.txt" => status(code),
            _ => html("a"),
        });
        let (reason, _) = failure(fetch(&web, "/a").await);
        assert!(reason.starts_with("its robots.txt cannot be read now"), "{reason}");
        assert_eq!(web.asked_paths(), ["/robots.txt"]);
    }
}

#[tokio::test]
async fn a_page_that_did_not_change_is_not_sent_again() {
    let web = Web::start(|asked| match asked.headers.get("if-none-match") {
        _ if asked.path == "/robots.txt" => status(404),
        Some(tag) if tag == "\"v1\"" => Says::Answer(Answer::new(304).header("etag", "\"v1\"")),
        _ => html("new"),
    });
    let url = Url::parse(&web.url("/a")).unwrap();
    let (fetcher, scope) = (fetcher(), scope(&web));
    let mut request = FetchRequest::new(&url, &scope, 1);
    request.etag = Some("\"v1\"");
    request.last_modified = Some("Fri, 02 Jan 1970 00:00:00 GMT");
    let outcome = fetcher.fetch(request).await;
    assert!(
        matches!(&outcome, Fetched::NotModified { etag: Some(tag), .. } if tag == "\"v1\""),
        "{outcome:?}"
    );
    let asked = web.asked().pop().unwrap();
    assert_eq!(asked.headers["if-modified-since"], "Fri, 02 Jan 1970 00:00:00 GMT");
    request.etag = Some("\"v0\"");
    assert_eq!(page(fetcher.fetch(request).await).body, b"new");
}

#[tokio::test]
async fn every_status_has_its_meaning() {
    let web = Web::start(|asked| status(asked.path.trim_start_matches('/').parse().unwrap_or(404)));
    for code in [404_u16, 410] {
        assert_eq!(fetch(&web, &format!("/{code}")).await, Fetched::Gone { status: code });
    }
    for code in [401_u16, 402, 403, 406, 451, 204, 206, 300, 304] {
        let said = refusal(fetch(&web, &format!("/{code}")).await).to_string();
        assert!(said.contains(&code.to_string()), "{said}");
    }
    for code in [408_u16, 500, 502, 504, 522] {
        let (reason, retry_after) = failure(fetch(&web, &format!("/{code}")).await);
        assert!(reason.contains(&code.to_string()), "{reason}");
        assert_eq!(retry_after, Duration::from_secs(30));
    }
}

#[tokio::test]
async fn a_page_that_fails_again_is_left_alone_longer() {
    let web = Web::of_pages(&[("/a", status(500))]);
    let url = Url::parse(&web.url("/a")).unwrap();
    let (fetcher, scope) = (fetcher(), scope(&web));
    for (attempts, seconds) in [(0, 30), (1, 120), (2, 480), (40, 6 * 3600)] {
        let request = FetchRequest { attempts, ..FetchRequest::new(&url, &scope, 1) };
        assert_eq!(failure(fetcher.fetch(request).await).1, Duration::from_secs(seconds));
    }
}

#[tokio::test]
async fn a_host_that_asks_for_patience_is_left_alone() {
    let in_two_minutes = std::time::SystemTime::now() + Duration::from_mins(2);
    let date = httpdate::fmt_http_date(in_two_minutes);
    for (code, header, seconds) in
        [(429, "90".to_owned(), 89..=90), (503, date, 115..=120), (429, String::new(), 30..=30)]
    {
        let web = Web::start(move |asked| match asked.path.as_str() {
            "/robots.txt" => status(404),
            _ => Says::Answer(Answer::new(code).header("retry-after", &header)),
        });
        let (fetcher, scope) = (fetcher(), scope(&web));
        let url = Url::parse(&web.url("/a")).unwrap();
        let (_, after) = failure(fetcher.fetch(FetchRequest::new(&url, &scope, 1)).await);
        assert!(seconds.contains(&after.as_secs()), "{after:?}");
        if after > Duration::from_secs(30) {
            let outcome = fetcher.fetch(FetchRequest::new(&url, &scope, 1)).await;
            assert!(matches!(outcome, Fetched::Later { .. }), "{outcome:?}");
            assert_eq!(web.asked_paths(), ["/robots.txt", "/a"]);
        }
    }
}

#[tokio::test]
async fn slow_and_silent_servers_are_given_up() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 1000\r\n\r\nbegin";
    let web = Web::of_pages(&[
        ("/silent", Says::Stall(Vec::new())),
        ("/in-head", Says::Stall(b"HTTP/1.1 200 OK\r\ncontent-".to_vec())),
        ("/in-body", Says::Stall(head.as_bytes().to_vec())),
        ("/trickle", Says::Trickle(head.as_bytes().to_vec(), Duration::from_millis(50))),
    ]);
    let started = Instant::now();
    let fetch = async |path: &str| {
        let url = Url::parse(&web.url(path)).unwrap();
        let limits = FetchLimits { connect_max: Duration::from_millis(100), ..limits() };
        let fetcher = Fetcher::with_lookup(limits, Arc::new(Names)).unwrap();
        fetcher.fetch(FetchRequest::new(&url, &scope(&web), 1)).await
    };
    for path in ["/silent", "/in-head", "/in-body", "/trickle"] {
        let (reason, _) = failure(fetch(path).await);
        assert!(reason.contains("does not answer in time"), "{path}: {reason}");
    }
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

#[tokio::test]
async fn endless_bodies_and_heads_are_cut() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let piece = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let web = Web::of_pages(&[
        ("/chunks", Says::Endless(chunked.into(), piece.into_bytes())),
        ("/to-close", Says::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 1 << 16])),
        ("/head", Says::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"x-a: bcd\r\n".repeat(100))),
        ("/one-header", Says::Endless(b"HTTP/1.1 200 OK\r\nx-a: ".to_vec(), vec![b'b'; 1 << 12])),
        ("/status", Says::Endless(b"HTTP/1.1 200 ".to_vec(), vec![b'b'; 1 << 12])),
        (
            "/announced",
            Says::Stall(b"HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n".to_vec()),
        ),
    ]);
    let too_large = RefusedBecause::TooLarge { mb_max: 2 };
    for path in ["/chunks", "/to-close", "/announced"] {
        assert_eq!(refusal(fetch(&web, path).await), too_large, "{path}");
    }
    for path in ["/head", "/one-header", "/status"] {
        let (reason, _) = failure(fetch(&web, path).await);
        assert!(
            reason.contains("a head without end") || reason.contains("does not speak HTTP"),
            "{path}: {reason}"
        );
    }
}

#[tokio::test]
async fn bombs_are_refused_and_sound_packings_unpacked() {
    let zeros = vec![0; 8 * MB];
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| compress_to_vec(bytes, CompressionLevel::Fastest);
    let packed = |encoding: &str, body: Vec<u8>| {
        let answer = Answer::new(200).header("content-encoding", encoding);
        Says::Answer(answer.header("content-type", "text/plain").body(body))
    };
    let brotli = {
        let mut encoder = brotli::CompressorWriter::new(Vec::new(), 1 << 16, 5, 22);
        io::Write::write_all(&mut encoder, &zeros).unwrap();
        encoder.into_inner()
    };
    let hello = [0x0b, 0x02, 0x80, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x03].to_vec();
    let web = Web::of_pages(&[
        ("/gzip-bomb", packed("gzip", gzip(&zeros))),
        ("/zstd-bomb", packed("zstd", zstd(&zeros))),
        ("/br-bomb", packed("br", brotli)),
        ("/twice", packed("gzip, gzip", gzip(&gzip(&zeros)))),
        ("/gzip", packed("gzip", gzip(b"hello"))),
        ("/zstd", packed("zstd", zstd(b"hello"))),
        ("/br", packed("br", hello)),
        ("/cut", packed("gzip", gzip(b"hello")[..12].to_vec())),
        ("/lie", packed("br", b"<html>not packed".to_vec())),
        ("/unknown", packed("lzma", b"x".to_vec())),
    ]);
    for path in ["/gzip-bomb", "/zstd-bomb", "/br-bomb", "/twice"] {
        let expands = RefusedBecause::Expands { mb_max: 2 };
        assert_eq!(refusal(fetch(&web, path).await), expands, "{path}");
    }
    for path in ["/gzip", "/zstd", "/br"] {
        let page = page(fetch(&web, path).await);
        assert_eq!(page.body, b"hello", "{path}");
        assert!(page.sent_bytes > 0);
    }
    for path in ["/cut", "/lie"] {
        let damaged = refusal(fetch(&web, path).await);
        assert!(matches!(damaged, RefusedBecause::Damaged { .. }), "{path}: {damaged}");
    }
    let unknown = refusal(fetch(&web, "/unknown").await);
    assert!(matches!(unknown, RefusedBecause::Encoding { .. }), "{unknown}");
    assert!(web.asked().iter().all(|asked| asked.headers["accept-encoding"] == "gzip, br, zstd"));
}

#[tokio::test]
async fn a_connection_that_drops_is_trouble_that_may_pass() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n";
    let web = Web::of_pages(&[
        ("/in-body", Says::Raw(format!("{head}content-length: 100\r\n\r\nhalf").into_bytes())),
        (
            "/in-chunks",
            Says::Raw(
                format!("{head}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n").into_bytes(),
            ),
        ),
        ("/in-head", Says::Raw(head.into())),
        ("/at-once", Says::Raw(Vec::new())),
        ("/not-http", Says::Raw(b"220 mail.test ESMTP\r\n".to_vec())),
    ]);
    for path in ["/in-body", "/in-chunks", "/in-head", "/at-once"] {
        let (reason, retry_after) = failure(fetch(&web, path).await);
        assert!(reason.contains("broke off") || reason.contains("broke the"), "{path}: {reason}");
        assert_eq!(retry_after, Duration::from_secs(30));
    }
    let (reason, _) = failure(fetch(&web, "/not-http").await);
    assert!(reason.contains("does not speak HTTP"), "{reason}");
}

#[tokio::test]
async fn a_server_that_comes_back_is_asked_again() {
    let first = Web::of_pages(&[("/a", Says::Raw(Vec::new()))]);
    let (fetcher, scope) = (fetcher(), scope(&first));
    let url = Url::parse(&first.url("/a")).unwrap();
    let address = first.address();
    failure(fetcher.fetch(FetchRequest::new(&url, &scope, 1)).await);
    drop(first);
    let (reason, _) = failure(fetcher.fetch(FetchRequest::new(&url, &scope, 1)).await);
    assert!(reason.contains("no server answers") || reason.contains("broke"), "{reason}");
    let _second = Web::start_at(address, |asked| match asked.path.as_str() {
        "/a" => html("back"),
        _ => status(404),
    });
    assert_eq!(page(fetcher.fetch(FetchRequest::new(&url, &scope, 1)).await).body, b"back");
}

#[tokio::test]
async fn hosts_that_are_not_there_and_tls_that_is_none_are_explained() {
    let fetcher = fetcher();
    let reason = async |start: &str| {
        let scope = scope_with(start, rules(Reach::Origin));
        let url = Url::parse(start).unwrap();
        failure(fetcher.fetch(FetchRequest::new(&url, &scope, 0)).await).0
    };
    assert!(reason("http://nowhere.test/").await.contains("there is no host nowhere.test"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Answers without having understood anything, as servers do.
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = io::Read::read_to_end(&mut stream, &mut Vec::new());
    });
    let said = reason(&format!("https://{address}/")).await;
    answering.join().unwrap();
    assert!(said.contains("does not speak TLS") && said.contains("http://"), "{said}");
}

#[tokio::test]
async fn what_holds_no_text_is_not_even_read() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\n\r\n";
    let web = Web::of_pages(&[("/film", Says::Endless(head.into(), vec![0; 1 << 16]))]);
    let said = refusal(fetch(&web, "/film").await).to_string();
    assert_eq!(said, "it is a film, which holds no text to search");
}

#[tokio::test]
async fn a_host_is_asked_at_the_pace_of_its_robots_txt_and_by_few_at_once() {
    let robots = Answer::new(200).body("User-agent: *\nCrawl-delay: 0.2\n");
    let web = Web::start(move |asked| match asked.path.as_str() {
        "/robots.txt" => Says::Answer(robots.clone()),
        _ => html("a"),
    });
    let (fetcher, scope) = (fetcher(), scope(&web));
    let urls: Vec<_> = (0..4).map(|n| Url::parse(&web.url(&format!("/{n}"))).unwrap()).collect();
    let all = urls.iter().map(|url| fetcher.fetch(FetchRequest::new(url, &scope, 1)));
    for outcome in futures_util::future::join_all(all).await {
        page(outcome);
    }
    let asked = web.asked();
    for pair in asked[1..].windows(2) {
        let between = pair[1].at - pair[0].at;
        assert!(between >= Duration::from_millis(150), "{between:?}");
    }
}

/// Bodies that never come hold their connection until they are given up, and the third waits for that.
#[tokio::test]
async fn no_more_connections_than_the_site_allows() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n";
    let pages = ["/1", "/2", "/3"].map(|path| (path, Says::Stall(head.into())));
    let web = Web::of_pages(&pages);
    let rules = CrawlRules { connections_max: 2, ..rules(Reach::Origin) };
    let scope = scope_with(&web.url("/"), rules);
    let fetcher = fetcher();
    let urls = pages.each_ref().map(|(path, _)| Url::parse(&web.url(path)).unwrap());
    let all = urls.iter().map(|url| fetcher.fetch(FetchRequest::new(url, &scope, 1)));
    for outcome in futures_util::future::join_all(all).await {
        failure(outcome);
    }
    let asked: Vec<_> = web.asked().iter().map(|asked| asked.at).collect();
    assert_eq!(asked.len(), 4);
    let waited = asked[3] - asked[1];
    assert!(waited >= limits().silence_max / 2, "{waited:?}");
}

#[tokio::test]
async fn sitemaps_are_found_followed_and_sifted() {
    let packed = {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let map = "<urlset><url><loc>/in/2</loc><lastmod>1970-01-02</lastmod></url></urlset>";
        io::Write::write_all(&mut encoder, map.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let text = |body: &str| Says::Answer(Answer::new(200).body(body));
    let web = Web::of_pages(&[
        ("/robots.txt", text("Sitemap: /index.xml\nSitemap: /missing.xml\nCrawl-delay: 0.01")),
        (
            "/index.xml",
            text(
                "<sitemapindex><sitemap><loc>/a.xml</loc></sitemap>\
                 <sitemap><loc>/index.xml</loc></sitemap>\
                 <sitemap><loc>/b.xml.gz</loc></sitemap></sitemapindex>",
            ),
        ),
        (
            "/a.xml",
            text(
                "<urlset><url><loc>/in/1?utm_source=x</loc></url><url><loc>/in/1</loc></url>\
                 <url><loc>https://elsewhere.test/</loc></url><url><loc>/out</loc></url></urlset>",
            ),
        ),
        ("/b.xml.gz", Says::Answer(Answer::new(200).body(packed))),
    ]);
    let scope = scope_with(&web.url("/in/"), rules(Reach::Prefix));
    let found = fetcher().sitemaps(&scope).await;
    let entries: Vec<_> =
        found.entries.iter().map(|entry| (entry.url.path(), entry.lastmod)).collect();
    assert_eq!(entries, [("/in/1", None), ("/in/2", Some(86_400))]);
    let files: Vec<_> = found.files.iter().map(|file| (file.url.path(), &file.pages)).collect();
    assert_eq!(files.len(), 4);
    assert_eq!(files[0], ("/index.xml", &Ok(0)));
    assert!(files[1].0 == "/missing.xml" && files[1].1.as_ref().unwrap_err().contains("404"));
    assert_eq!(files[2], ("/a.xml", &Ok(4)));
    assert_eq!((found.robots, found.is_guess, found.is_cut_off), (Ok(true), false, false));
    assert_eq!(found.crawl_delay, Some(Duration::from_millis(10)));
}

#[tokio::test]
async fn without_a_word_of_robots_txt_a_sitemap_is_looked_for_where_it_usually_is() {
    let map = "<urlset><url><loc>/1</loc></url></urlset>";
    let web = Web::of_pages(&[("/sitemap.xml", Says::Answer(Answer::new(200).body(map)))]);
    let found = fetcher().sitemaps(&scope(&web)).await;
    assert_eq!((found.entries.len(), found.is_guess, found.robots), (1, true, Ok(false)));
}
