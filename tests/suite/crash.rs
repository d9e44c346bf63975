//! A process that is killed at any moment leaves an index that is consistent and can be finished.

mod random;

use std::process::Stdio;

use lodestone::config::BUNDLED_MODEL;

use crate::corpus::{self, FIRST_WORD, LAST_WORD};
use crate::lode::Lode;
use crate::process::{Process, wait_for};
use crate::tiny_model;

const DOCUMENTS: usize = 40;
const WORDS: usize = 350;
const KILLS: usize = 3;
const BREAD: &str = "Knead the dough and bake it until the crust is brown.";

#[test]
fn killed_while_indexing_it_is_consistent_and_goes_on() {
    let files = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    corpus::write_documents(files.path(), DOCUMENTS, WORDS);
    let lode = Lode::new(data.path());
    let index = ["index".as_ref(), files.path().as_os_str()];

    let mut before = 0;
    let mut killed_in_the_middle = 0;
    for _ in 0..KILLS {
        let mut indexing = Process::start(lode.command(&index).stderr(Stdio::null()));
        // Asking from a second process also shows that readers need not wait for the writer. The
        // one that writes makes the data directory, so a first question may come too early.
        wait_for("the next document", || {
            (indexing.has_ended() || has_more_than(&lode, before)).then_some(())
        });
        indexing.kill();

        let whole = lode.files_with(FIRST_WORD);
        assert_eq!(whole, lode.files_with(LAST_WORD), "a document is visible in part");
        assert_eq!(whole.len() as u64, lode.documents());
        let checked = lode.json(&["doctor"]);
        assert_eq!(checked["ok"], true, "{checked}");

        let now = lode.documents();
        assert!(now >= before, "{before} documents were acknowledged, {now} are left");
        killed_in_the_middle += usize::from(before < now && now < DOCUMENTS as u64);
        before = now;
    }
    assert!(killed_in_the_middle > 0, "indexing was over before it could be killed: add documents");

    let finished = lode.json(&index);
    assert_eq!(finished["unchanged"], before, "what was committed is not done again: {finished}");
    assert_eq!(finished["indexed"], DOCUMENTS as u64 - before, "{finished}");
    assert_eq!(lode.files_with(FIRST_WORD).len(), DOCUMENTS);
    assert_eq!(lode.files_with(LAST_WORD).len(), DOCUMENTS);
}

fn has_more_than(lode: &Lode, documents: u64) -> bool {
    let output = lode.command(&["status", "--json"]).output().expect("lode starts");
    serde_json::from_slice::<serde_json::Value>(&output.stdout)
        .is_ok_and(|status| status["documents"].as_u64() > Some(documents))
}

#[test]
fn killed_in_a_switch_of_the_model_it_answers_and_goes_on() {
    let files = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    corpus::write_documents(files.path(), DOCUMENTS, WORDS);
    let models = tempfile::tempdir().unwrap();
    let lode = Lode::new(data.path());
    // From a model that costs nothing to one that takes its time.
    let tiny = tiny_model::write(models.path(), "tiny", 3);
    lode.json(&["models".as_ref(), "add".as_ref(), tiny.as_os_str()]);
    let used = lode.json(&["models", "use", "tiny"]);
    assert_eq!(model(&used, "tiny")["state"], "in_use", "{used}");
    // One passage by any model, so that even a random one finds it by its own words.
    std::fs::write(files.path().join("bread.txt"), BREAD).unwrap();
    lode.json(&["index".as_ref(), files.path().as_os_str()]);
    let documents = lode.documents();
    let check_search = || {
        let found = lode.json(&["search", BREAD, "--mode", "semantic", "-n", "1"]);
        assert_eq!(found["hits"][0]["passage"]["text"], BREAD, "{found}");
        assert_eq!(lode.documents(), documents);
    };

    let percent = || {
        let entry = model(&lode.json(&["models"]), BUNDLED_MODEL);
        (entry["state"] == "pending").then(|| entry["percent"].as_u64().unwrap())
    };
    let mut before = None;
    let mut killed_in_the_middle = 0;
    for _ in 0..KILLS {
        let mut switching = lode.command(&["models", "use", BUNDLED_MODEL]);
        let mut switching = Process::start(switching.stderr(Stdio::null()));
        wait_for("the next documents", || {
            (switching.has_ended() || percent() > before).then_some(())
        });
        switching.kill();

        let now = percent();
        assert!(now.is_none() || now >= before, "{before:?} percent were kept, {now:?} are left");
        killed_in_the_middle += usize::from(now > before);
        before = now.or(before);
        check_search();
    }
    assert!(
        killed_in_the_middle > 0,
        "the switch was over before it could be killed: add documents"
    );

    let used = lode.json(&["models", "use", BUNDLED_MODEL]);
    assert_eq!(model(&used, BUNDLED_MODEL)["state"], "in_use", "{used}");
    check_search();
    let checked = lode.json(&["doctor", "--recall"]);
    assert_eq!(checked["ok"], true, "{checked}");
    lode.json(&["models", "remove", "tiny"]);
    assert!(tiny.join("config.json").is_file(), "a folder that was added was deleted");
    let refused = lode.command(&["models", "remove", BUNDLED_MODEL]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

fn model(models: &serde_json::Value, name: &str) -> serde_json::Value {
    let mut entries = models.as_array().unwrap().iter();
    entries.find(|entry| entry["name"] == name).unwrap_or_else(|| panic!("{models}")).clone()
}
