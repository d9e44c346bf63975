//! `lode crawl` and what the other commands make of its pages.

use serde_json::Value;

use super::*;

fn urls(hits: &Value) -> BTreeSet<String> {
    let source = |hit: &Value| hit["document"]["source"].as_str().unwrap().to_owned();
    hits["hits"].as_array().unwrap().iter().map(source).collect()
}

#[test]
fn a_site_is_crawled_searched_and_removed_by_commands() {
    let server = Pages::of(&[
        ("/docs/", page("everything", &["a", "b", "old/c", "/elsewhere", "closed"])),
        ("/docs/a", page("apples", &["deep"])),
        ("/docs/b", page("berries", &[])),
        ("/docs/deep", page("depths", &["deeper"])),
        ("/docs/deeper", page("abysses", &[])),
        ("/docs/old/c", page("cherries", &[])),
        ("/elsewhere", page("other things", &[])),
        ("/docs/closed", status(403)),
    ]);
    let web = server.serve();
    let data = tempfile::tempdir().unwrap();
    let lode = tiny_model::lode(data.path());
    let start = web.url("/docs/");
    let rules =
        ["--delay-ms", "0", "--connections", "8", "--depth", "2", "--exclude", "/docs/old/*"];
    let crawl: Vec<&str> = ["crawl", start.as_str()].into_iter().chain(rules).collect();
    let output = lode.command(&crawl).arg("--json").output().unwrap();
    // Not all could be read, which a script is to know.
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["end"], &report["pages"]), (&"done".into(), &4.into()), "{report}");
    let skipped = &report["skipped"][0];
    assert_eq!(skipped["url"], web.url("/docs/closed"));
    assert!(skipped["reason"].as_str().unwrap().contains("403"), "{report}");
    let expected: BTreeSet<String> =
        ["/docs/", "/docs/a", "/docs/b", "/docs/deep", "/docs/closed"].map(str::to_owned).into();
    assert_eq!(asked(&web).into_keys().collect::<BTreeSet<_>>(), expected);

    let search = |query: &str| urls(&lode.json(&["search", query, "--mode", "keyword"]));
    assert_eq!(search("berries"), BTreeSet::from([web.url("/docs/b")]));
    assert_eq!(search("site:127.0.0.1 anybody").len(), 4);
    assert_eq!(search("site:example.org anybody").len(), 0);

    // One page, and then all by the host; a page that was removed stays so.
    let page = web.url("/docs/b");
    assert_eq!(lode.json(&["remove", page.as_str()])["removed"], 1);
    assert_eq!(search("berries"), BTreeSet::new());
    let again = lode.command(&["crawl", start.as_str()]).arg("--json").output().unwrap();
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&again["pages"], &again["unchanged"]), (&0.into(), &3.into()), "{again}");
    assert_eq!(search("berries"), BTreeSet::new());
    assert_eq!(lode.json(&["remove", "127.0.0.1"])["removed"], 3);
    assert_eq!(search("anybody"), BTreeSet::new());
    let status = lode.json(&["status"]);
    assert_eq!((&status["documents"], &status["sources"]), (&0.into(), &0.into()), "{status}");
    assert_eq!(status["sites"].as_array().unwrap().len(), 0);
}
