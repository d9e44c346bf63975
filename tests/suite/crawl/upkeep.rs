//! Crawls that are stopped, go on, and begin by themselves.

use std::future::Future;

use lodestone::engine::EngineEvent;
use tokio::sync::broadcast::Receiver;

use super::*;
use crate::process::PATIENCE;

const PAGES: usize = 24;

/// A page that leads to all others.
fn many() -> Pages {
    let paths: Vec<String> = (0..PAGES).map(|n| format!("/{n}.html")).collect();
    let links: Vec<&str> = paths.iter().map(String::as_str).collect();
    let server = Pages::of(&[("/", page("everything", &links))]);
    for path in &paths {
        server.set(path, page(&format!("number {path}"), &["/"]));
    }
    server
}

async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(PATIENCE, future).await;
    waited.unwrap_or_else(|_| panic!("waited {PATIENCE:?} for {what}"))
}

/// Waits until a crawl has so many pages.
async fn until_done(events: &mut Receiver<EngineEvent>, pages: u64) {
    loop {
        if let Ok(EngineEvent::CrawlProgress { figures, .. }) = events.recv().await
            && figures.done >= pages
        {
            return;
        }
    }
}

async fn until_crawled(events: &mut Receiver<EngineEvent>) -> CrawlReport {
    loop {
        if let Ok(EngineEvent::JobFinished { outcome: JobOutcome::Crawled(report), .. }) =
            events.recv().await
        {
            return report;
        }
    }
}

/// A slow crawl that has just begun.
async fn crawling(place: &Place, web: &Web) -> (Engine, Job) {
    let engine = place.open();
    engine.wait_for_model().await;
    let mut events = engine.events();
    let slow = CrawlRules { delay_ms: 150, ..rules() };
    let job = engine.add_site(&web.url("/"), slow).await.unwrap();
    in_time("the first pages", until_done(&mut events, 3)).await;
    (engine, job)
}

#[tokio::test]
async fn a_paused_site_stays_paused_and_goes_on_where_it_was() {
    let web = many().serve();
    let place = Place::new();
    let (engine, job) = crawling(&place, &web).await;
    let (site, state) = only_site(&engine).await;
    assert!(matches!(state, SiteState::Crawling { figures: Some(_) }), "{state:?}");
    engine.pause_site(site).await.unwrap();
    assert_eq!(report(job).await.end, CrawlEnd::Paused);
    engine.close().await;
    drop(engine);
    let before = asked(&web).len();
    assert!(before < PAGES, "it was over before it could be paused: add pages");

    // Also for those who stay.
    let engine = place.open_to_stay();
    assert_eq!(only_site(&engine).await.1, SiteState::Paused);
    let job = engine.resume_site(site).await.unwrap().unwrap();
    let whole = report(job).await;
    assert_eq!((whole.end, whole.pages), (CrawlEnd::Done, PAGES as u64 + 1));
    assert_none_twice(&web);
    assert!(engine.resume_site(site).await.unwrap().is_none());
    engine.close().await;
}

#[tokio::test]
async fn a_crawl_that_was_interrupted_goes_on_with_whoever_stays() {
    let web = many().serve();
    let place = Place::new();
    let (engine, job) = crawling(&place, &web).await;
    job.cancel();
    assert_eq!(report(job).await.end, CrawlEnd::Interrupted);
    let state = only_site(&engine).await.1;
    assert!(matches!(state, SiteState::Waiting { reason: None, .. }), "{state:?}");
    engine.close().await;
    drop(engine);

    let engine = place.open_to_stay();
    let mut events = engine.events();
    engine.wait_for_model().await;
    let whole = in_time("the rest", until_crawled(&mut events)).await;
    assert_eq!((whole.end, whole.pages), (CrawlEnd::Done, PAGES as u64 + 1));
    engine.close().await;
}

#[tokio::test]
async fn a_site_is_crawled_again_when_its_time_has_come() {
    let web = Pages::of(&[("/", page("everything", &[]))]).serve();
    let place = Place::new();
    let engine = place.open_to_stay();
    let mut events = engine.events();
    let often = CrawlRules { recrawl_after_s: Some(1), ..rules() };
    let first = crawl(&engine, &web, often).await;
    assert_eq!(first.pages, 1);
    let first = in_time("the first crawl", until_crawled(&mut events)).await;
    let second = in_time("the second crawl", until_crawled(&mut events)).await;
    assert_eq!((first.pages, second.pages, second.unchanged), (1, 0, 1));
    engine.close().await;
}

#[tokio::test]
async fn a_host_that_is_away_loses_nothing() {
    let place = Place::new();
    let engine = place.open();
    let server = many();
    let web = server.serve();
    let address = web.address();
    crawl(&engine, &web, rules()).await;
    engine.close().await;
    drop((engine, web));

    // One that knows nothing of the host, as after a restart.
    let engine = place.open();
    let away = engine.add_site(&format!("http://{address}/"), rules()).await.unwrap();
    let away = report(away).await;
    let CrawlEnd::Later { reason, .. } = &away.end else { panic!("{away:?}") };
    assert!(!reason.is_empty());
    assert_eq!(engine.status().await.unwrap().documents, PAGES as u64 + 1);
    let state = only_site(&engine).await.1;
    let SiteState::Waiting { reason: Some(_), at: Some(_) } = state else { panic!("{state:?}") };
    engine.close().await;
    drop(engine);

    let web = Web::start_at(address, move |asked| server.say(asked));
    let engine = place.open();
    let back = crawl(&engine, &web, rules()).await;
    assert_eq!(back.end, CrawlEnd::Done, "{back:?}");
    assert_eq!(back.unchanged, PAGES as u64 + 1, "{back:?}");
    engine.close().await;
}
