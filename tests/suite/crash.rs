//! A process that is killed at any moment leaves an index that is consistent and can be finished.

use std::process::Stdio;

use crate::corpus::{self, FIRST_WORD, LAST_WORD};
use crate::lode::Lode;
use crate::process::{Process, wait_for};

const DOCUMENTS: usize = 40;
const WORDS: usize = 350;
const KILLS: usize = 3;

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
