//! Ctrl-C while indexing: the run ends in order, keeps what it has, and can be taken up again.

use std::process::{Command, Stdio};

use crate::corpus;
use crate::lode::Lode;
use crate::process::wait_for;

const DOCUMENTS: usize = 160;
const WORDS: usize = 40;

#[test]
fn interrupted_it_keeps_what_it_has_and_says_so() {
    let files = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    corpus::write_documents(files.path(), DOCUMENTS, WORDS);
    let lode = Lode::new(data.path());
    let index = ["index".as_ref(), files.path().as_os_str()];

    let mut command = lode.command(&index);
    command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped());
    let indexing = command.spawn().unwrap();
    wait_for("the first document", || {
        let status = lode.command(&["status", "--json"]).output().unwrap();
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).ok()?;
        (status["documents"].as_u64()? > 0).then_some(())
    });
    let sent = Command::new("kill").args(["-INT", &indexing.id().to_string()]).status().unwrap();
    assert!(sent.success(), "indexing was over before it could be interrupted: add documents");

    let output = indexing.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("what was indexed stays"), "{errors}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let indexed = report["indexed"].as_u64().unwrap();
    assert!(0 < indexed && indexed < DOCUMENTS as u64, "{report}");
    assert_eq!(lode.documents(), indexed);

    let finished = lode.json(&index);
    assert_eq!(finished["unchanged"], indexed, "{finished}");
    assert_eq!(lode.documents(), DOCUMENTS as u64);
}
