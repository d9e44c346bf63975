//! `lode chat`.

use std::path::PathBuf;

use crate::lode::Lode;

fn model() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    let path = cache.unwrap_or_else(home).join("lodestone/test-models");
    path.join("SmolLM2-135M-Instruct.Q4_1.gguf")
}

#[test]
#[ignore = "needs the language model that scripts/test fetches"]
fn smollm_answers_a_question_piece_by_piece() {
    let dir = tempfile::tempdir().unwrap();
    let lode = Lode::new(dir.path());
    let (model, system) = (model(), "You are a helpful assistant.");
    let model = model.to_str().unwrap();
    let ask = |more: &[&str]| {
        let question =
            ["chat", "--model", model, "--system", system, "What is the capital of France?"];
        let output = lode.command(&[&question, more].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = ask(&[]);
    assert!(text.contains("Paris") && text.ends_with('\n'), "{text}");
    let lines: Vec<serde_json::Value> =
        ask(&["--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (end, pieces) = lines.split_last().unwrap();
    assert!(pieces.len() > 3, "{lines:?}");
    let joined: String = pieces.iter().map(|piece| piece["text"].as_str().unwrap()).collect();
    assert_eq!(joined + "\n", text);
    assert_eq!(end["finish"], "stop");
    let cut = ask(&["--json", "--tokens-max", "2"]);
    assert!(cut.contains("\"finish\":\"length\"") && cut.contains("\"tokens\":2"), "{cut}");
}

#[test]
fn a_file_that_is_no_language_model_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let lode = Lode::new(&dir.path().join("data"));
    let path = dir.path().join("notes.gguf");
    std::fs::write(&path, "these are notes").unwrap();
    let output = lode.command(&["chat", "--model", path.to_str().unwrap(), "Hi"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("notes.gguf is damaged") && error.lines().count() == 1, "{error}");
}
