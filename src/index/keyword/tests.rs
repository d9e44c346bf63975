use std::collections::HashMap;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::data::{Candidate, ChangeNumber, ChunkKey};
use crate::index::PassageFilter;

fn open(dir: &TempDir) -> KeywordIndex {
    KeywordIndex::open_or_rebuild(&dir.path().join("keywords")).unwrap().0
}

fn progress(reached: u64) -> IndexProgress {
    IndexProgress { store: "s".to_owned(), reached: ChangeNumber(reached), model: Some(1) }
}

fn upsert(update: &KeywordUpdate<'_>, id: u64, title: &str, passages: &[&str]) {
    let passages: Vec<_> =
        passages.iter().map(|body| KeywordPassage { headings: &[], body }).collect();
    let id = DocumentId::from_stored(id);
    update.upsert(&KeywordDocument { id, title, passages: &passages }).unwrap();
}

/// Documents 1, 2, ... with these titles and passages.
fn index_of(documents: &[(&str, &[&str])]) -> (TempDir, KeywordIndex) {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir);
    let update = index.update().unwrap();
    for (n, (title, passages)) in documents.iter().enumerate() {
        upsert(&update, n as u64 + 1, title, passages);
    }
    update.commit(&progress(1)).unwrap();
    (dir, index)
}

fn words(query: &str) -> KeywordQuery {
    KeywordQuery {
        terms: query.split_whitespace().map(str::to_owned).collect(),
        ..KeywordQuery::default()
    }
}

fn key(document: u64, ordinal: u32) -> ChunkKey {
    ChunkKey { document: DocumentId::from_stored(document), ordinal }
}

fn find(index: &KeywordIndex, query: &KeywordQuery) -> Vec<(u64, u32)> {
    let index = index.snapshot().unwrap();
    let prepared = index.prepare(query).unwrap();
    let filter = index.narrow(&prepared, PassageFilter::all()).unwrap();
    let found = index.search(&prepared, &filter, 10).unwrap();
    found.iter().map(|found| (found.chunk.document.get(), found.chunk.ordinal)).collect()
}

fn marks(index: &KeywordIndex, query: &KeywordQuery, text: &str) -> Vec<Mark> {
    let prepared = index.snapshot().unwrap().prepare(query).unwrap();
    Marker::new(&prepared).marks(text)
}

#[test]
fn words_are_found_by_stem_and_the_passage_is_named() {
    let (_dir, index) = index_of(&[
        ("Pets", &["cats sleep all day", "a dog was running"]),
        ("Plants", &["roses are red"]),
    ]);
    assert_eq!(find(&index, &words("run")), [(1, 1)]);
    assert_eq!(find(&index, &words("CAT rose")), [(2, 0), (1, 0)]);
    assert_eq!(find(&index, &words("plants")), [(2, 0)]);
    assert!(find(&index, &words("zebra")).is_empty());
    assert!(find(&index, &words("")).is_empty());
    assert_eq!(index.snapshot().unwrap().len(), 3);
}

#[test]
fn rarer_words_count_more_and_ties_go_by_key() {
    let (_dir, index) = index_of(&[
        ("", &["common words here"]),
        ("", &["common words here", "common words rare"]),
        ("", &["common words here"]),
    ]);
    assert_eq!(find(&index, &words("common rare")), [(2, 1), (1, 0), (2, 0), (3, 0)]);
}

#[test]
fn identifiers_are_found_whole_and_by_parts() {
    let (_dir, index) = index_of(&[
        ("", &["fn read_to_string(path)", "the string that I read"]),
        ("", &["struct HttpRequest"]),
    ]);
    assert_eq!(find(&index, &words("read_to_string"))[0], (1, 0));
    assert_eq!(find(&index, &words("readToString"))[0], (1, 0));
    assert_eq!(find(&index, &words("request")), [(2, 0)]);
    assert_eq!(find(&index, &words("httprequest")), [(2, 0)]);
}

#[test]
fn phrases_are_required_and_exclusions_cover_the_document() {
    let (_dir, index) = index_of(&[
        ("", &["shared state concurrency", "state shared"]),
        ("", &["shared state is hard", "mutexes poison"]),
        ("Shared state", &["nothing here"]),
    ]);
    let phrase =
        |phrase: &str| KeywordQuery { phrases: vec![phrase.to_owned()], ..KeywordQuery::default() };
    let mut found = find(&index, &phrase("shared states"));
    found.sort_unstable();
    assert_eq!(found, [(1, 0), (2, 0), (3, 0)]);
    assert!(find(&index, &phrase("state is shared")).is_empty());
    assert_eq!(find(&index, &phrase("concurrency")), [(1, 0)]);
    let query = KeywordQuery {
        terms: vec!["state".into()],
        excluded: vec!["poison".into(), "state concurrency".into()],
        ..KeywordQuery::default()
    };
    assert_eq!(find(&index, &query), [(3, 0)]);
}

#[test]
fn the_last_word_may_be_a_beginning() {
    let (_dir, index) = index_of(&[("", &["concurrent programs", "they were running"])]);
    let typing = |query| KeywordQuery { prefix_last: true, ..words(query) };
    assert_eq!(find(&index, &typing("conc")), [(1, 0)]);
    assert_eq!(find(&index, &typing("programs conc")), [(1, 0)]);
    assert_eq!(find(&index, &typing("runnin")), [(1, 1)]);
    assert!(find(&index, &words("conc")).is_empty());
    assert!(find(&index, &typing("c")).is_empty());
    let marks = marks(&index, &typing("conc"), "so concurrent");
    assert_eq!(marks, [Mark { range: 3..13, term: 0 }]);
}

#[test]
fn a_match_says_which_words_it_holds() {
    let (_dir, index) = index_of(&[("Threads", &["send values over channels"])]);
    let query = KeywordQuery {
        phrases: vec!["over channels".into()],
        ..words("how Sending thread_channel threads zebra")
    };
    let index = index.snapshot().unwrap();
    let prepared = index.prepare(&query).unwrap();
    let terms = index.terms_held(&prepared, &[key(1, 0)]).unwrap();
    let expected = ["Sending", "thread_channel", "threads", "over channels"];
    assert_eq!(terms[&key(1, 0)], expected);
    assert_eq!(prepared.terms().count(), prepared.weights().count());
}

#[test]
fn marks_show_words_and_phrases_of_the_query() {
    let (_dir, index) = index_of(&[("", &["x"])]);
    let query = KeywordQuery { phrases: vec!["be happy".into()], ..words("don't café runs") };
    let text = "Running CAFÉ: be sad, be happy_now; read to be.";
    let marks: Vec<_> =
        marks(&index, &query, text).into_iter().map(|m| (&text[m.range], m.term)).collect();
    assert_eq!(marks, [("Running", 2), ("CAFÉ", 1), ("be happy", 3)]);
}

#[test]
fn chinese_is_found_by_its_words() {
    let (_dir, index) = index_of(&[("", &["我喜欢日本语言", "今天天气很好"])]);
    assert_eq!(find(&index, &words("日本")), [(1, 0)]);
    assert_eq!(find(&index, &words("天气")), [(1, 1)]);
}

#[test]
fn thai_is_found_by_its_words() {
    let (_dir, index) = index_of(&[("", &["ภาษาไทยเป็นภาษาที่สวยงาม", "วันนี้อากาศดี"])]);
    assert_eq!(find(&index, &words("อากาศ")), [(1, 1)]);
    assert_eq!(find(&index, &words("ภาษา")), [(1, 0)]);
    let marks = marks(&index, &words("ไทย"), "ภาษาไทย");
    assert_eq!(marks, [Mark { range: 12..21, term: 0 }]);
}

#[test]
fn each_document_is_stemmed_in_its_own_language() {
    let german = "Die Häuser sind mit Schnee bedeckt und die Straßen nicht geräumt.";
    let french = "Les chevaux courent dans la forêt et ils ne sont pas fatigués par la course.";
    let english = "The universities were running out of money, and nobody knew what to do.";
    let (_dir, index) = index_of(&[("", &[german]), ("", &[french]), ("", &[english])]);
    for (query, document) in [
        ("Haus", 1),
        ("geräumte", 1),
        ("geraumte", 1),
        ("strasse", 1),
        ("fatigué", 2),
        ("courses", 2),
        ("university", 3),
    ] {
        assert_eq!(find(&index, &words(query)), [(document, 0)], "{query}");
    }
    let phrase = KeywordQuery { phrases: vec!["mit Schnee".into()], ..KeywordQuery::default() };
    assert_eq!(find(&index, &phrase), [(1, 0)]);
    // "wie" and "die" ask nothing in German.
    assert_eq!(find(&index, &words("wie die Straße räumen")), [(1, 0)]);
    let marks = marks(&index, &words("haus"), german);
    assert_eq!(marks, [Mark { range: 4..11, term: 0 }]);
}

#[test]
fn what_is_rare_in_one_language_only_is_no_rare_word() {
    let english = "The information on the board is not what we were told by the others.";
    let german =
        "Die Information an der Tafel ist nicht die, von der wir mit euch gesprochen haben.";
    let mut documents: Vec<(&str, &[&str])> = vec![("", std::slice::from_ref(&german))];
    let short = ["The information that we have, and no other information."];
    documents.push(("", &short));
    documents.extend(std::iter::repeat_n(("", std::slice::from_ref(&english)), 20));
    let (_dir, index) = index_of(&documents);
    let found = find(&index, &words("information"));
    assert_eq!(found[0], (2, 0), "the one in German is not the best");
}

#[test]
fn a_word_that_nothing_holds_is_taken_for_its_neighbor() {
    let (_dir, index) = index_of(&[
        ("", &["receive a message over the channel"]),
        ("", &["the threshold of 1024 bytes", "a channel that is closed"]),
    ]);
    assert_eq!(find(&index, &words("recieve")), [(1, 0)]);
    assert_eq!(find(&index, &words("treshhold")), [(2, 0)]);
    assert_eq!(find(&index, &words("chanel mesage"))[0], (1, 0));
    // What is there as typed is never taken for anything else, and a number is no slip.
    assert_eq!(find(&index, &words("closed")), [(2, 1)]);
    assert!(find(&index, &words("1034")).is_empty());
    assert!(find(&index, &words("oven")).is_empty(), "a short word is one of its own");
    assert!(find(&index, &words("xhannel")).is_empty(), "the first letter is another");
    let marks = marks(&index, &words("recieve"), "receiving");
    assert_eq!(marks, [Mark { range: 0..9, term: 0 }]);
    let index = index.snapshot().unwrap();
    let prepared = index.prepare(&words("recieve")).unwrap();
    let terms = index.terms_held(&prepared, &[key(1, 0)]).unwrap();
    assert_eq!(terms[&key(1, 0)], ["recieve"]);
}

#[test]
fn filters_are_applied_before_the_best_are_taken() {
    let (_dir, index) = index_of(&[("", &["word word word"]), ("", &["word and more text"])]);
    let index = index.snapshot().unwrap();
    let prepared = index.prepare(&words("word")).unwrap();
    let only = PassageFilter::only([DocumentId::from_stored(2)]);
    let found = index.search(&prepared, &only, 1).unwrap();
    assert_eq!(found[0].chunk, key(2, 0));
}

#[test]
fn an_update_is_seen_when_committed_and_by_every_reader() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (open(&dir), open(&dir));
    assert_eq!(one.progress().unwrap(), None);
    let before = one.snapshot().unwrap();
    let update = one.update().unwrap();
    upsert(&update, 1, "", &["old words"]);
    assert!(matches!(two.update(), Err(KeywordIndexError::Busy { .. })));
    drop(update);
    let update = two.update().unwrap();
    upsert(&update, 1, "", &["new words"]);
    update.commit(&progress(7)).unwrap();
    assert_eq!(one.progress().unwrap(), Some(progress(7)));
    assert_eq!(before.len(), 0, "a snapshot saw what came after it");
    assert_eq!(find(&one, &words("new")), [(1, 0)]);
    assert!(find(&one, &words("old")).is_empty());
    let update = one.update().unwrap();
    update.clear().unwrap();
    update.commit(&progress(0)).unwrap();
    assert!(one.snapshot().unwrap().is_empty());
}

/// Documents of five passages, each a commit of its own, so many that the next would merge segments.
fn index_of_many_segments() -> (TempDir, KeywordIndex, Vec<ChunkKey>) {
    let subjects = ["harbor", "compiler", "read_to_string", "Glass", "rain"];
    let verbs = ["sleeps", "runs over the harbor", "breaks the glass", "is read as a string"];
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir);
    let mut keys = Vec::new();
    for id in 1_usize..=14 {
        let passages: Vec<String> = (0..5)
            .map(|n| {
                format!("The {} {} ", subjects[(id + n) % 5], verbs[(id * n) % 4]).repeat(n + 1)
            })
            .collect();
        let passages: Vec<_> = passages.iter().map(String::as_str).collect();
        let update = index.update().unwrap();
        upsert(&update, id as u64, subjects[id % 5], &passages);
        update.commit(&progress(id as u64)).unwrap();
        keys.extend((0..5).map(|ordinal| key(id as u64, ordinal)));
    }
    (dir, index, keys)
}

fn many_queries() -> Vec<KeywordQuery> {
    vec![
        words("harbor"),
        words("rain glass harbor zebra"),
        words("read_to_string readString string"),
        words("compilr"),
        KeywordQuery { prefix_last: true, ..words("glass ha") },
        KeywordQuery { phrases: vec!["over the harbor".into()], ..words("compiler runs") },
    ]
}

fn search(index: &KeywordIndex, query: &KeywordQuery, limit: usize) -> Vec<Candidate> {
    let index = index.snapshot().unwrap();
    index.search(&index.prepare(query).unwrap(), &PassageFilter::all(), limit).unwrap()
}

fn assert_alike(some: &[Candidate], others: &[Candidate], query: &KeywordQuery) {
    let mut others: HashMap<_, _> = others.iter().map(|other| (other.chunk, other.score)).collect();
    for Candidate { chunk, score } in some {
        let other = others.remove(chunk).unwrap_or_default();
        assert!((score - other).abs() <= 1e-5 * score, "{query:?} {chunk:?}: {score} and {other}");
    }
    assert!(others.is_empty(), "{query:?}: {others:?}");
}

#[test]
fn named_passages_have_the_scores_that_they_are_found_with() {
    let (_dir, index, keys) = index_of_many_segments();
    let snapshot = index.snapshot().unwrap();
    for query in many_queries() {
        let found = search(&index, &query, keys.len());
        assert!(!found.is_empty(), "{query:?}");
        let named = snapshot.score(&snapshot.prepare(&query).unwrap(), &keys).unwrap();
        assert_alike(&found, &named, &query);
    }
}

#[test]
fn adding_up_finds_what_skipping_blocks_finds() {
    let (_dir, index, keys) = index_of_many_segments();
    let snapshot = index.snapshot().unwrap();
    for query in many_queries() {
        let prepared = snapshot.prepare(&query).unwrap();
        let by_blocks = snapshot.search_by_blocks(&prepared, &PassageFilter::all(), keys.len());
        assert_alike(&by_blocks.unwrap(), &search(&index, &query, keys.len()), &query);
    }
}

#[test]
fn the_best_of_many_segments_are_the_best_of_all() {
    let (_dir, index, keys) = index_of_many_segments();
    for query in many_queries() {
        let all = search(&index, &query, keys.len());
        for limit in [1, 3, 10] {
            let best = search(&index, &query, limit);
            assert_eq!(best.len(), limit.min(all.len()));
            // Of passages with one score either may come first: scores are added up in another order
            // where blocks are skipped.
            for (Candidate { chunk, score }, other) in best.iter().zip(&all) {
                let known = all.iter().find(|known| known.chunk == *chunk).unwrap();
                for expected in [known.score, other.score] {
                    assert!((score - expected).abs() <= 1e-5 * score, "{query:?} {chunk:?}");
                }
            }
        }
    }
}

#[test]
fn settling_leaves_few_segments_and_changes_no_answer() {
    let (_dir, index, keys) = index_of_many_segments();
    let before = index.snapshot().unwrap();
    let answers: Vec<_> = many_queries().iter().map(|q| search(&index, q, keys.len())).collect();
    let files = |index: &KeywordIndex| index.index.searchable_segment_ids().unwrap().len();
    assert!(files(&index) > 4);
    let update = index.update().unwrap();
    assert!(matches!(index.settle(), Err(KeywordIndexError::Busy { .. })));
    drop(update);
    assert!(index.settle().unwrap());
    assert_eq!(files(&index), 1);
    assert!(!index.settle().unwrap(), "there is nothing left to do");
    let after = index.snapshot().unwrap();
    assert_eq!((after.len(), after.progress()), (before.len(), before.progress()));
    for (query, answer) in many_queries().iter().zip(answers) {
        assert_alike(&search(&index, query, keys.len()), &answer, query);
        let prepared = before.prepare(query).unwrap();
        let old = before.search(&prepared, &PassageFilter::all(), keys.len()).unwrap();
        assert_alike(&old, &answer, query);
    }
}

#[test]
fn what_cannot_be_used_is_rebuilt_and_reported() {
    let check = |damage: &dyn Fn(&Path)| {
        let (dir, index) = index_of(&[("", &["words"])]);
        drop(index);
        let path = dir.path().join("keywords");
        damage(&path);
        let (index, opening) = KeywordIndex::open_or_rebuild(&path).unwrap();
        assert!(matches!(opening, KeywordOpening::Rebuilt { .. }), "{opening:?}");
        assert_eq!((index.snapshot().unwrap().len(), index.progress().unwrap()), (0, None));
        let update = index.update().unwrap();
        upsert(&update, 1, "", &["words"]);
        update.commit(&progress(1)).unwrap();
        assert_eq!(find(&index, &words("words")), [(1, 0)]);
        let (_, opening) = KeywordIndex::open_or_rebuild(&path).unwrap();
        assert_eq!(opening, KeywordOpening::Existing);
    };
    let segment_files = |path: &Path| -> Vec<PathBuf> {
        let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| file.extension().is_some_and(|e| e != "json" && e != "lock")).collect()
    };
    check(&|path| fs::write(path.join("meta.json"), "{").unwrap());
    check(&|path| {
        let meta = fs::read_to_string(path.join("meta.json")).unwrap();
        fs::write(path.join("meta.json"), meta.replace("\\\"format\\\":2", "\\\"format\\\":0"))
            .unwrap();
    });
    check(&|path| segment_files(path).iter().for_each(|file| fs::remove_file(file).unwrap()));
    check(&|path| segment_files(path).iter().for_each(|file| fs::write(file, "").unwrap()));
}

#[test]
fn damage_inside_a_file_is_found_by_the_check() {
    let (dir, index) = index_of(&[("", &["words"])]);
    assert!(index.check().unwrap().is_empty());
    drop(index);
    let path = dir.path().join("keywords");
    let store = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
    let postings = store.into_iter().find(|file| file.extension().is_some_and(|e| e == "idx"));
    let mut bytes = fs::read(postings.as_ref().unwrap()).unwrap();
    bytes[0] ^= 0xFF;
    fs::write(postings.unwrap(), bytes).unwrap();
    let (index, _) = KeywordIndex::open_or_rebuild(&path).unwrap();
    assert_eq!(index.check().unwrap().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// However documents come and go, the index holds those that are there.
    #[test]
    fn updates_in_any_order_leave_what_was_last_said(
        rounds in proptest::collection::vec(
            proptest::collection::vec((0_u64..6, proptest::option::of(0_usize..4)), 1..6), 1..4),
    ) {
        const WORDS: [&str; 4] = ["alpha", "beta", "gamma", "delta"];
        let dir = tempfile::tempdir().unwrap();
        let index = open(&dir);
        let mut truth = std::collections::BTreeMap::new();
        for (n, round) in rounds.into_iter().enumerate() {
            let update = index.update().unwrap();
            for (id, word) in round {
                if let Some(word) = word {
                    upsert(&update, id, "", &[WORDS[word]]);
                    truth.insert(id, word);
                } else {
                    update.remove(DocumentId::from_stored(id));
                    truth.remove(&id);
                }
            }
            update.commit(&progress(n as u64)).unwrap();
        }
        for (n, word) in WORDS.iter().enumerate() {
            let mut found = find(&index, &words(word));
            found.sort_unstable();
            let expected: Vec<_> =
                truth.iter().filter(|(_, word)| **word == n).map(|(id, _)| (*id, 0)).collect();
            prop_assert_eq!(found, expected);
        }
        prop_assert_eq!(index.snapshot().unwrap().len(), truth.len() as u64);
    }
}
