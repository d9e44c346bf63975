//! Sites that would have the crawler look into the network it runs in.

use std::net::IpAddr;
use std::time::Duration;

use lodestone::crawler::{FetchLimits, Fetcher, Looking, Lookup};

use super::*;

/// All names lead to this machine.
#[derive(Debug, Default)]
struct Names {
    asked: Arc<Mutex<BTreeSet<String>>>,
}

impl Lookup for Names {
    fn addresses<'a>(&'a self, host: &'a str) -> Looking<'a> {
        self.asked.lock().unwrap().insert(host.to_owned());
        Box::pin(async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) })
    }
}

#[tokio::test]
async fn no_site_reaches_what_only_this_machine_should() {
    let victim = Web::of_pages(&[("/", page("secrets", &[])), ("/secret", page("secrets", &[]))]);
    let port = victim.address().port();
    let inside = |host: &str| format!("http://{host}:{port}/secret");
    let links = [
        inside("linked.inside.test"),
        inside("localhost"),
        inside("[::ffff:127.0.0.1]"),
        inside("0x7f.1"),
        "/jump/0".to_owned(),
        "/jump/1".to_owned(),
        "/jump/2".to_owned(),
        "/refresh".to_owned(),
        "/honest".to_owned(),
    ];
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let refresh =
        format!("<meta http-equiv=refresh content=\"0; url={}\">", inside("refreshed.inside.test"));
    let robots = format!("User-agent: *\nSitemap: {}\n", inside("mapped.inside.test"));
    let web = Pages::of(&[
        ("/robots.txt", Says::Answer(Answer::new(200).body(robots))),
        ("/", page("everything", &links)),
        ("/jump/0", redirect(302, &inside("jumped.inside.test"))),
        ("/jump/1", redirect(302, &format!("http://169.254.169.254:{port}/latest/meta-data/"))),
        ("/jump/2", redirect(302, "/jump/3")),
        ("/jump/3", redirect(302, &inside("twice.inside.test"))),
        ("/refresh", html(&refresh)),
        ("/honest", page("honesty", &[])),
    ])
    .serve();

    let place = Place::new();
    let engine = place.open_tiny();
    let names = Names::default();
    let looked_up = Arc::clone(&names.asked);
    let fetcher = Fetcher::with_lookup(FetchLimits::default(), Arc::new(names)).unwrap();
    assert!(engine.fetch_by(fetcher, Duration::from_secs(30)));
    // The name that a person typed may be of this machine, and those that a star lets in may not.
    let typed = format!("http://site.home.test:{}/", web.address().port());
    let reach = Reach::Hosts(vec!["*.inside.test".to_owned()]);
    let rules = CrawlRules { reach, ..rules() };
    let reach_of_all = report(engine.add_site(&typed, rules).await.unwrap()).await;
    assert_eq!(reach_of_all.end, CrawlEnd::Done, "{reach_of_all:?}");
    assert!(victim.asked().is_empty(), "{:?}", victim.asked_paths());
    assert_eq!(reach_of_all.pages, 2, "{reach_of_all:?}");

    let refused: BTreeMap<String, String> = reach_of_all
        .skipped
        .into_iter()
        .map(|page| (page.url.split('/').skip(2).collect::<Vec<_>>().join("/"), page.reason))
        .collect();
    let own = web.address().port();
    for page in [
        format!("linked.inside.test:{port}/secret"),
        format!("refreshed.inside.test:{port}/secret"),
        format!("site.home.test:{own}/jump/0"),
        format!("site.home.test:{own}/jump/2"),
    ] {
        let reason = refused.get(&page).unwrap_or_else(|| panic!("{page}: {refused:?}"));
        assert!(reason.contains("private address (127.0.0.1)"), "{page}: {reason}");
    }
    assert!(refused.contains_key(&format!("site.home.test:{own}/jump/1")), "{refused:?}");
    let looked_up = looked_up.lock().unwrap().clone();
    assert!(
        looked_up.contains("jumped.inside.test"),
        "the names were not even asked: {looked_up:?}"
    );
    let site = only_site(&engine).await.0;
    let maps = engine.sites().await.unwrap()[0].findings.clone().unwrap().sitemaps;
    assert!(maps[0].trouble.as_ref().unwrap().contains("private"), "{maps:?}");
    engine.remove_site(site).await.unwrap();

    // Whoever types it means it.
    let meant = crawl(&engine, &victim, super::rules()).await;
    assert_eq!((meant.end, meant.pages), (CrawlEnd::Done, 1));
    assert_eq!(found(&engine, "secrets").await, BTreeSet::from(["/".to_owned()]));
    engine.close().await;
}
