//! The real command line on a data directory of its own.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

#[derive(Debug)]
pub struct Lode {
    data_dir: PathBuf,
}

impl Lode {
    pub fn new(data_dir: &Path) -> Self {
        Self { data_dir: data_dir.to_owned() }
    }

    pub fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lode"));
        command.args(args).arg("--data-dir").arg(&self.data_dir).stdin(Stdio::null());
        command
    }

    /// Runs to the end and reads its one JSON value; panics unless it ended well.
    pub fn json(&self, args: &[impl AsRef<OsStr>]) -> Value {
        let output = self.command(args).arg("--json").output().expect("lode starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let args: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
        assert!(output.status.success(), "lode {args:?}: {}\n{stderr}", output.status);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("lode {args:?} printed no JSON value: {error}\n{stderr}")
        })
    }

    /// Documents that are searchable at this moment.
    pub fn documents(&self) -> u64 {
        let status = self.json(&["status"]);
        status["documents"].as_u64().unwrap_or_else(|| panic!("no count of documents in {status}"))
    }

    /// Names of the files with a passage that has this word.
    pub fn files_with(&self, word: &str) -> BTreeSet<String> {
        let found = self.json(&["search", word, "--mode", "keyword", "-n", "1000"]);
        let hits = found["hits"].as_array().unwrap_or_else(|| panic!("no hits in {found}"));
        let source = |hit: &Value| hit["document"]["source"].as_str().map(file_name);
        hits.iter().map(|hit| source(hit).unwrap_or_else(|| panic!("no source in {hit}"))).collect()
    }
}

fn file_name(source: &str) -> String {
    source.rsplit(['/', '\\']).next().unwrap_or(source).to_owned()
}
