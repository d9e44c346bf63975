//! The whole index as one file: from one data directory into another.

use std::fs;

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
