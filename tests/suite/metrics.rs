//! What the engine says of its own work, through the library and over HTTP.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use lodestone::config::{Config, Settings};
use lodestone::engine::{Endpoint, Engine, SearchMode, SearchRequest};

/// What a server on this machine answers to a request with these headers: status and body.
fn ask(address: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    (status.unwrap_or_else(|| panic!("{answer}")), body.to_owned())
}

fn get(address: SocketAddr, host: &str) -> (u16, String) {
    ask(address, &format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
}

async fn search(engine: &Engine, query: &str) {
    let request = SearchRequest { mode: SearchMode::Keyword, ..SearchRequest::new(query) };
    engine.search(request).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_are_timed_by_stage_and_told_on_this_machine_alone() {
    let data = tempfile::tempdir().unwrap();
    let config = Config::new(data.path().to_owned());
    let engine = Engine::open(config.clone()).unwrap();
    assert_eq!(engine.metrics_endpoint(), Endpoint::Off, "off unless asked for");
    for _ in 0..3 {
        search(&engine, "an unlikely question").await;
    }
    let metrics = engine.metrics().await.unwrap();
    assert_eq!((metrics.search.total.count, metrics.search.words.count), (3, 3));
    assert_eq!(metrics.search.embed.count, 0, "by words alone");
    assert!(metrics.search.total.p95_ms >= metrics.search.total.p50_ms);
    assert!(metrics.memory.resident_bytes.is_none_or(|bytes| bytes > 1 << 20));
    assert!(metrics.disk.data_bytes > 0);

    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let Endpoint::Listening { address } = engine.tell_metrics(Some(any)).await.unwrap() else {
        panic!("it does not listen")
    };
    let (status, text) = get(address, &address.to_string());
    assert_eq!(status, 200);
    assert!(text.contains("lodestone_search_seconds_count{stage=\"total\"} 3\n"), "{text}");
    assert!(!text.contains("unlikely"), "no query is told");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("lodestone_") && value.parse::<f64>().is_ok(), "{line}");
    }
    // A page of the web that had its name led to this machine asks by that name.
    assert_eq!(get(address, "evil.test").0, 403);
    assert_eq!(get(address, "evil.test:80").0, 403);
    assert_eq!(ask(address, "GET /metrics HTTP/1.0\r\n\r\n").0, 400);
    assert_eq!(ask(address, "POST /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n").0, 405);
    assert_eq!(Settings::load(data.path()).unwrap().metrics_address, Some(any));

    let everyone = "0.0.0.0:0".parse().unwrap();
    let refused = engine.tell_metrics(Some(everyone)).await.unwrap_err().to_string();
    assert!(refused.contains("loopback"), "{refused}");
    assert_eq!(engine.tell_metrics(None).await.unwrap(), Endpoint::Off);
    assert_eq!(Settings::load(data.path()).unwrap().metrics_address, None);
    engine.close().await;
}
