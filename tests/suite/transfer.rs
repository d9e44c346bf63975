//! The whole index as one file: from one data directory into another.

use std::fs;

use lodestone::config::Config;
use lodestone::engine::{Engine, JobEnd, JobOutcome};

use crate::lode::Lode;

const BREAD: &str = "Leave the loaf somewhere cool overnight so the yeast can work.\n";
const TIDES: &str = "High water comes about fifty minutes later each day.\n";

#[test]
fn an_index_moves_as_one_file_and_a_bad_one_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let [here, there, file] =
        ["here", "there", "index.lodestone"].map(|name| dir.path().join(name));
    for (name, text) in [("bread.txt", BREAD), ("tides.txt", TIDES)] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let (here, there) = (Lode::new(&here), Lode::new(&there));
    here.json(&["index".as_ref(), dir.path().join("bread.txt").as_os_str()]);
    there.json(&["index".as_ref(), dir.path().join("tides.txt").as_os_str()]);
    let exported = here.json(&["export".as_ref(), file.as_os_str()]);
    assert!(exported["bytes"].as_u64().unwrap() > 0, "{exported}");

    // What is there does not go unless that is said.
    let refused = there.command(&["import".as_ref(), file.as_os_str()]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
    let bad = dir.path().join("bad");
    fs::write(&bad, &fs::read(&file).unwrap()[..20_000]).unwrap();
    let import = |file| ["import".as_ref(), "--replace".as_ref(), file];
    let failed = there.command(&import(bad.as_os_str())).output().unwrap();
    assert_eq!(failed.status.code(), Some(3), "{}", String::from_utf8_lossy(&failed.stderr));
    assert_eq!(there.files_with("water").len(), 1, "nothing was lost");

    let imported = there.json(&import(file.as_os_str()));
    assert_eq!(imported["documents"], 1);
    assert_eq!(there.files_with("yeast").into_iter().collect::<Vec<_>>(), ["bread.txt"]);
    assert!(there.files_with("water").is_empty());
    let found = there.json(&["search", "how long does bread dough rest", "--mode", "semantic"]);
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cleared_index_is_empty_goes_on_and_remembers_what_was_done() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bread.txt");
    fs::write(&file, BREAD).unwrap();
    let engine = Engine::open(Config::new(dir.path().join("data"))).unwrap();
    let index = || engine.index(vec![file.clone()]).outcome();
    assert!(matches!(index().await, JobOutcome::Done(report) if report.indexed == 1));
    let history = engine.history(9).await.unwrap();
    assert_eq!((history[0].label.as_str(), history[0].documents), ("Indexing bread.txt", 1));

    assert!(matches!(engine.clear().outcome().await, JobOutcome::Cleared));
    let status = engine.status().await.unwrap();
    assert_eq!((status.documents, status.passages, status.roots.len()), (0, 0, 0));
    let labels = |history: Vec<lodestone::engine::EndedJob>| {
        history.into_iter().map(|job| (job.label, job.end)).collect::<Vec<_>>()
    };
    let cleared = ("Clearing the index".to_owned(), JobEnd::Done);
    assert_eq!(labels(engine.history(9).await.unwrap()), std::slice::from_ref(&cleared));

    assert!(matches!(index().await, JobOutcome::Done(report) if report.indexed == 1));
    engine.close().await;
    drop(engine);
    let again = Engine::open(Config::new(dir.path().join("data"))).unwrap();
    let indexed = ("Indexing bread.txt".to_owned(), JobEnd::Done);
    assert_eq!(labels(again.history(9).await.unwrap()), [indexed, cleared]);
    again.close().await;
}
