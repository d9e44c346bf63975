//! A crawl that is killed at any moment goes on: no page twice, none lost.

use std::process::Stdio;

use super::*;
use crate::lode::Lode;
use crate::process::{Process, wait_for};

const PAGES: usize = 60;
const KILLS: usize = 3;
/// On every page.
const WORD: &str = "anybody";

fn name(n: usize) -> String {
    format!("page-{n}.html")
}

/// Each page leads to three others, further and further from the start.
fn site() -> Web {
    let server = Pages::default();
    for n in 0..PAGES {
        let links: Vec<String> =
            (3 * n + 1..=3 * n + 3).filter(|to| *to < PAGES).map(name).collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        server.set(&format!("/{}", name(n)), page(&format!("number {n}"), &links));
    }
    server.serve()
}

#[test]
fn killed_in_the_middle_no_page_is_asked_for_twice_and_none_is_lost() {
    let web = site();
    let data = tempfile::tempdir().unwrap();
    let lode = Lode::new(data.path());
    let start = web.url("/page-0.html");
    let crawl = ["crawl", start.as_str(), "--reach", "origin", "--delay-ms", "40"];
    let mut acknowledged = BTreeSet::new();
    let mut killed_in_the_middle = 0;
    for _ in 0..KILLS {
        let mut crawling = Process::start(lode.command(&crawl).stderr(Stdio::null()));
        let before = acknowledged.len();
        wait_for("the next pages", || {
            (crawling.has_ended() || has_more_than(&lode, before)).then_some(())
        });
        crawling.kill();
        let now = lode.files_with(WORD);
        assert!(now.is_superset(&acknowledged), "what was acknowledged is lost");
        assert_eq!(now.len() as u64, lode.documents());
        killed_in_the_middle += usize::from(before < now.len() && now.len() < PAGES);
        acknowledged = now;

        // What was stored before the kill is not asked for after it.
        let asked_before = web.asked().len();
        let mut goes_on = Process::start(lode.command(&crawl).stderr(Stdio::null()));
        wait_for("pages after the kill", || {
            (goes_on.has_ended() || web.asked().len() > asked_before + 3).then_some(())
        });
        goes_on.kill();
        for path in web.asked_paths().split_off(asked_before) {
            assert!(!acknowledged.contains(path.trim_start_matches('/')), "{path} twice");
        }
        acknowledged = lode.files_with(WORD);
    }
    assert!(killed_in_the_middle > 0, "the crawl was over before it could be killed: add pages");

    let asked_before = web.asked().len();
    let finished = lode.json(&crawl);
    assert_eq!(finished["end"], "done", "{finished}");
    assert_eq!(finished["pages"], PAGES as u64, "{finished}");
    for path in web.asked_paths().split_off(asked_before) {
        assert!(!acknowledged.contains(path.trim_start_matches('/')), "{path} twice");
    }
    assert_eq!(lode.files_with(WORD), (0..PAGES).map(name).collect());
    assert_eq!(lode.json(&["doctor"])["ok"], true);

    let status = lode.json(&["status"]);
    assert_eq!(status["sites"][0]["state"], "done", "{status}");
    assert_eq!(status["sites"][0]["searchable"], PAGES as u64, "{status}");
    let again = lode.json(&crawl);
    assert_eq!((&again["pages"], &again["unchanged"]), (&0.into(), &(PAGES as u64).into()));
    let removed = lode.json(&["remove", start.as_str()]);
    assert_eq!(removed["removed"], PAGES as u64);
    assert_eq!(lode.json(&["status"])["sources"], 0);
}

fn has_more_than(lode: &Lode, documents: usize) -> bool {
    let output = lode.command(&["status", "--json"]).output().expect("lode starts");
    serde_json::from_slice::<serde_json::Value>(&output.stdout)
        .is_ok_and(|status| status["documents"].as_u64() > Some(documents as u64))
}
