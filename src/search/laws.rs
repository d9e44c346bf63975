//! Search end to end on a store and indexes, with a closure in place of the model.

use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::data::{
    ChangeNumber, Chunk, ContentHash, Document, EmbeddedDocument, Embedding, Hit, Locator, Source,
};
use crate::index::KeywordOpening;
use crate::storage::{DocumentVersion, EmbeddingModel, NewVectors, Store, SwitchEnd};

const DIM: usize = 64;

/// Words that mean the same, for the model.
const SYNONYMS: [(&str, &str); 2] = [("kitten", "cat"), ("automobile", "car")];

/// The sum of one random direction for each word: texts that share words, or synonyms, are near.
fn embed(text: &str) -> Embedding {
    let mut sum = vec![1e-3_f32; DIM];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        let same = SYNONYMS.iter().find(|(name, _)| *name == word);
        let word = same.map_or(word, |(_, meaning)| meaning);
        let hash = ContentHash::of(word.as_bytes()).0;
        for (at, value) in sum.iter_mut().enumerate() {
            let sign = hash[at / 8 % 32] >> (at % 8) & 1;
            *value += if word.is_empty() { 0.0 } else { f32::from(sign) - 0.5 };
        }
    }
    Embedding::normalized(sum).unwrap()
}

/// The model knows every word.
fn vector(text: &str) -> QueryVector {
    QueryVector { embedding: embed(text), familiarity: 1.0 }
}

struct Desk {
    dir: TempDir,
    store: Store,
    indexes: Indexes,
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        store.choose_model(&model(PARAGRAPHS)).unwrap();
        let indexes = Indexes::open(dir.path()).unwrap();
        Self { dir, store, indexes }
    }

    /// Cut as the model in use does.
    fn put(&self, path: &str, text: &str) {
        let name = self.store.model().unwrap().unwrap().model.name;
        self.store.commit_document(&document_of(&name, path, text), 1).unwrap();
    }

    /// Makes the vectors of another model; the old one still answers.
    fn prepare_switch(&self, to: &str) {
        self.store.choose_model(&model(to)).unwrap();
        let missing = self.store.unembedded(None, 99).unwrap();
        let vectors: Vec<_> = missing
            .into_iter()
            .map(|id| {
                let DocumentVersion { document, change } =
                    self.store.document_version(id).unwrap().unwrap();
                let (chunks, embeddings) = cut(to, &document.text);
                NewVectors { document: id, change, chunks, embeddings, inputs: Vec::new() }
            })
            .collect();
        if !vectors.is_empty() {
            self.store.commit_embeddings(&model(to), &vectors).unwrap();
        }
    }

    fn with(documents: &[(&str, &str)]) -> Self {
        let desk = Self::new();
        for (path, text) in documents {
            desk.put(path, text);
        }
        desk.indexes.catch_up(&desk.store).unwrap();
        desk
    }

    fn ask(&self, request: &SearchRequest) -> SearchResponse {
        let query = Query::parse(&request.query, 0);
        let text = query.semantic_text();
        let vector = (!text.is_empty()).then(|| vector(&text));
        self.indexes.searcher(&self.store).search(request, &query, vector.as_ref()).unwrap()
    }

    fn search(&self, query: &str) -> SearchResponse {
        self.ask(&SearchRequest::new(query))
    }

    fn names(&self, query: &str) -> Vec<String> {
        names(&self.search(query).hits)
    }
}

fn names(hits: &[Hit]) -> Vec<String> {
    hits.iter().map(|hit| hit.document.source.name()).collect()
}

/// One model cuts a text into paragraphs, the other leaves it whole.
const PARAGRAPHS: &str = "paragraphs";
const WHOLE: &str = "whole";

fn model(name: &str) -> EmbeddingModel {
    EmbeddingModel { name: name.to_owned(), dim: DIM }
}

fn cut(model: &str, text: &str) -> (Vec<Chunk>, Vec<Embedding>) {
    let mut chunks = Vec::new();
    let mut start = 0;
    let separator = if model == WHOLE { "\0" } else { "\n\n" };
    for paragraph in text.split_inclusive(separator) {
        let range = start..start + paragraph.len();
        start = range.end;
        let locator = Some(Locator::Line { line: chunks.len() as u32 + 1 });
        chunks.push(Chunk { tokens: range.clone(), range, locator });
    }
    let embeddings = chunks.iter().map(|chunk| embed(&text[chunk.range.clone()])).collect();
    (chunks, embeddings)
}

fn document(path: &str, text: &str) -> EmbeddedDocument {
    document_of(PARAGRAPHS, path, text)
}

fn document_of(model: &str, path: &str, text: &str) -> EmbeddedDocument {
    let source = Source::File(PathBuf::from(path));
    let (chunks, embeddings) = cut(model, text);
    let document = Document::plain(source, String::new(), text.to_owned());
    let modified = i64::try_from(text.len() * 86_400).ok();
    let document = Document { modified, ..document };
    EmbeddedDocument { document, chunks, embeddings, inputs: Vec::new() }
}

fn slice(hit: &Hit, range: crate::data::TextRange) -> &str {
    &hit.passage.text[range.start..range.end]
}

#[test]
fn meaning_and_words_find_one_passage_each_and_say_why() {
    let desk = Desk::with(&[
        ("/pets.txt", "A dog barks.\n\nThe cat sleeps. It is warm. No mice."),
        ("/cars.txt", "Each car has wheels."),
    ]);
    let response = desk.search("kitten sleeping");
    let hit = &response.hits[0];
    assert_eq!((hit.rank, hit.document.source.name().as_str()), (1, "pets.txt"));
    assert!(hit.passage.text.starts_with("The cat"), "{hit:?}");
    assert_eq!(hit.passage.locator, Some(Locator::Line { line: 2 }));
    let matches: Vec<_> = hit.passage.matches.iter().map(|range| slice(hit, *range)).collect();
    assert_eq!(matches, ["sleeps"]);
    assert_eq!(hit.passage.sentence.map(|range| slice(hit, range)), Some("The cat sleeps."));
    assert_eq!(hit.why.keyword.as_ref().unwrap().terms, ["sleeping"]);
    assert_eq!(hit.why.semantic.as_ref().unwrap().rank, Some(1));
    let (semantic, keyword) = (hit.why.semantic.as_ref(), hit.why.keyword.as_ref());
    let evidence = semantic.unwrap().evidence + keyword.unwrap().evidence;
    assert!((hit.score - evidence).abs() < 1e-4, "{hit:?}");
    assert_eq!(response.coverage, Coverage { indexed: 2, known: 2 });

    let by_words =
        desk.ask(&SearchRequest { mode: SearchMode::Keyword, ..SearchRequest::new("kitten") });
    assert!(by_words.hits.is_empty());
    let by_meaning =
        desk.ask(&SearchRequest { mode: SearchMode::Semantic, ..SearchRequest::new("kitten") });
    assert_eq!(names(&by_meaning.hits)[0], "pets.txt");
    assert_eq!(by_meaning.hits[0].passage.sentence, None);
}

#[test]
fn a_document_is_shown_once_with_its_other_passages() {
    let desk =
        Desk::with(&[("/a.txt", "red fox\n\nblue fox\n\nno match here"), ("/b.txt", "grey fox")]);
    let response = desk.search("fox");
    let of_a = response.hits.iter().find(|hit| hit.document.source.name() == "a.txt").unwrap();
    let more: Vec<_> = of_a.more.iter().map(|passage| passage.text.trim()).collect();
    assert_eq!((response.hits.len(), of_a.passage.text.trim()), (2, "red fox"));
    assert_eq!(more[0], "blue fox");
}

#[test]
fn qualifiers_narrow_what_both_lists_may_find() {
    let desk = Desk::with(&[
        ("/notes/a.md", "shared state"),
        ("/notes/b.rs", "shared state and more"),
        ("/other/c.md", "shared state, once more"),
    ]);
    assert_eq!(desk.names("shared state ext:md in:notes"), ["a.md"]);
    assert_eq!(desk.names("shared state -ext:md"), ["b.rs"]);
    assert_eq!(desk.names("shared -once ext:md"), ["a.md"]);
    assert_eq!(desk.names(r#""state and more""#), ["b.rs"]);
    assert_eq!(desk.names(r#"shared -"state and""#).len(), 2);
    assert!(desk.names("shared ext:pdf").is_empty());
}

#[test]
fn qualifiers_alone_list_the_newest_and_nothing_finds_nothing() {
    let desk = Desk::with(&[("/a.md", "short"), ("/b.md", "rather longer"), ("/c.txt", "x")]);
    assert_eq!(desk.names("ext:md"), ["b.md", "a.md"]);
    assert_eq!(desk.names("ext:md -short"), ["b.md"]);
    assert_eq!(desk.names("-short"), ["b.md", "c.txt"]);
    for nothing in ["", "  ", "type:"] {
        assert!(desk.search(nothing).hits.is_empty());
    }
}

#[test]
fn what_is_far_and_holds_no_word_is_weaker() {
    let desk = Desk::with(&[("/a.txt", "cat"), ("/b.txt", "quantum flux harmonics")]);
    let response = desk.search("kitten");
    assert_eq!((names(&response.hits), response.weaker), (vec!["a.txt".to_owned()], 1));
    let all =
        desk.ask(&SearchRequest { weaker: WeakerHits::Among, ..SearchRequest::new("kitten") });
    assert_eq!((all.hits.len(), all.weaker), (2, 0));
}

#[test]
fn weaker_hits_follow_the_others_where_they_are_asked_for() {
    let desk = Desk::with(&[
        ("/a.txt", "cat"),
        ("/b.txt", "quantum flux harmonics"),
        ("/c.txt", "the cat and the kitten"),
        ("/d.txt", "parliament voted on fishing quotas"),
    ]);
    let behind = SearchRequest { weaker: WeakerHits::Behind, ..SearchRequest::new("kitten") };
    let response = desk.ask(&behind);
    let shown: Vec<_> = response.hits.iter().map(|hit| (hit.rank, hit.is_weak)).collect();
    assert_eq!(shown, [(1, false), (2, false), (3, true), (4, true)]);
    assert_eq!(response.weaker, 2);
    assert_eq!(names(&response.hits[..2]), desk.names("kitten"));
    let few = desk.ask(&SearchRequest { limit: 1, ..behind });
    assert_eq!(few.hits.iter().map(|hit| hit.is_weak).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn facets_count_all_that_the_answer_was_chosen_from() {
    let texts: Vec<String> = (0..9).map(|n| format!("the cat number{n} sat")).collect();
    let mut desk_of: Vec<(String, &str)> = Vec::new();
    for (n, text) in texts.iter().enumerate() {
        let folder = if n < 6 { "/h/one" } else { "/h/two" };
        desk_of.push((format!("{folder}/{n}.txt"), text));
    }
    let documents: Vec<_> = desk_of.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let desk = Desk::with(&documents);
    let request = SearchRequest { limit: 2, ..SearchRequest::new("cat") };
    let facets_of = |response: &SearchResponse| {
        Facets::of(&desk.store, response.considered.clone(), 0).unwrap()
    };
    let response = desk.ask(&request);
    assert_eq!(response.hits.len(), 2);
    let facets = facets_of(&response);
    let folders: Vec<_> = facets.folders.iter().map(|f| (f.value.as_str(), f.documents)).collect();
    assert_eq!((facets.documents, folders), (9, vec![("/h/one", 6), ("/h/two", 3)]));
    let narrowed = desk
        .ask(&SearchRequest { query: toggled(&request.query, "in", "/h/two"), ..request.clone() });
    assert_eq!(facets_of(&narrowed).documents, 3);
    let listed = desk.ask(&SearchRequest { query: "ext:txt".to_owned(), ..request });
    assert_eq!((listed.hits.len(), facets_of(&listed).documents), (2, 9));
}

#[test]
fn what_is_like_a_passage_is_near_it_and_of_another_document() {
    let desk = Desk::with(&[
        ("/a.txt", "the cat sleeps\n\nparliament voted on quotas"),
        ("/b.txt", "the kitten sleeps"),
        ("/c.txt", "quantum flux harmonics"),
        ("/d.md", "cat sleeps"),
    ]);
    let like = |query: &str, ordinal| {
        let hit = desk.search("cat sleeps").hits.into_iter();
        let a = hit.map(|hit| hit.document).find(|d| d.source.name() == "a.txt").unwrap();
        let like = Some(crate::data::ChunkKey { document: a.id, ordinal });
        let weaker = WeakerHits::Among;
        let request = SearchRequest { weaker, like, ..SearchRequest::new(query) };
        let query = Query::parse(query, 0);
        let searcher = desk.indexes.searcher(&desk.store);
        let vector = searcher.vector_of(request.like.unwrap()).unwrap();
        searcher.search(&request, &query, vector.as_ref()).unwrap()
    };
    let near = like("", 0);
    assert_eq!(names(&near.hits), ["b.txt", "d.md", "c.txt"]);
    assert!(near.hits.iter().all(|hit| hit.why.keyword.is_none() && hit.why.semantic.is_some()));
    assert_eq!(names(&like("ext:md", 0).hits), ["d.md"]);
    assert!(like("", 9).hits.is_empty(), "a passage that has gone is like nothing");
}

#[test]
fn copies_and_versions_fold_into_the_first() {
    let text = "The cat sleeps on the warm roof of the old car, and nobody wakes it before the rain. \
        When it comes the cat goes in by the kitchen window and finds the place behind the stove.";
    let version = text.replace("warm", "cold");
    let desk = Desk::with(&[
        ("/a.txt", text),
        ("/b.txt", text),
        ("/c.txt", version.as_str()),
        ("/d.txt", "A cat that is awake."),
    ]);
    let request = SearchRequest {
        limit: 2,
        fold_duplicates: true,
        ..SearchRequest::new("cat on a warm roof")
    };
    let folded = desk.ask(&request).hits;
    assert_eq!((folded.len(), folded[1].rank), (2, 2));
    let (first, other) = match folded.as_slice() {
        [first, other] if other.also.is_empty() => (first, other),
        [other, first] => (first, other),
        _ => panic!("{folded:?}"),
    };
    assert_eq!(other.document.source.name(), "d.txt");
    let mut together: Vec<_> = first.also.iter().map(|d| d.source.name()).collect();
    together.push(first.document.source.name());
    together.sort_unstable();
    assert_eq!(together, ["a.txt", "b.txt", "c.txt"]);
    let all = desk.ask(&SearchRequest { fold_duplicates: false, limit: 9, ..request }).hits;
    assert!(all.len() == 4 && all.iter().all(|hit| hit.also.is_empty()), "{all:?}");
}

/// A window asks for what is in sight first, and for the rest behind it.
#[test]
fn a_short_answer_is_the_beginning_of_a_long_one() {
    let animals = ["cat", "dog", "fox", "owl", "hen"];
    // Each twice, so that some fold, and of different lengths, so that they rank.
    let texts: Vec<(String, String)> = (0..10)
        .map(|n| {
            (
                format!("/{n}.txt"),
                format!("A cat{}.", format!(" {}", animals[n / 2]).repeat(n / 2 * 3)),
            )
        })
        .collect();
    let documents: Vec<_> =
        texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let desk = Desk::with(&documents);
    for fold_duplicates in [true, false] {
        let ask = |limit| {
            desk.ask(&SearchRequest { limit, fold_duplicates, ..SearchRequest::new("kitten cat") })
        };
        let whole = ask(30);
        assert_eq!((whole.hits.len(), whole.is_cut), (if fold_duplicates { 5 } else { 10 }, false));
        for limit in 1..=whole.hits.len() {
            let short = ask(limit);
            let passages = |answer: &SearchResponse| {
                answer.hits.iter().take(limit).map(|hit| hit.passage.clone()).collect::<Vec<_>>()
            };
            assert_eq!((short.hits.len(), passages(&short)), (limit, passages(&whole)));
            assert_eq!(short.considered, whole.considered);
            if limit < whole.hits.len() {
                assert!(short.is_cut, "{limit} of {}", whole.hits.len());
            }
        }
    }
}

#[test]
fn what_one_index_found_the_other_is_asked_about() {
    // More passages than a list holds are nearer to the query than the one that holds its rare word.
    let near: Vec<String> = (0..140).map(|n| format!("/near/{n}.txt")).collect();
    let mut documents: Vec<(&str, &str)> =
        near.iter().map(|path| (path.as_str(), "cat cat cat")).collect();
    documents.push(("/far.txt", "zebra quagga okapi tapir ocelot kudu eland cat"));
    let desk = Desk::with(&documents);
    let hit = desk.search("kitten zebra").hits.swap_remove(0);
    assert_eq!(hit.document.source.name(), "far.txt");
    let semantic = hit.why.semantic.unwrap();
    assert_eq!(semantic.rank, None);
    let expected = embed("kitten zebra").cosine(&embed(documents[140].1));
    assert!((semantic.score - expected).abs() < 2e-3, "{semantic:?}");
}

#[test]
fn without_a_vector_a_hybrid_question_is_answered_by_words() {
    let desk = Desk::with(&[("/a.txt", "cat")]);
    let request = SearchRequest::new("cats");
    let query = Query::parse(&request.query, 0);
    let searcher = desk.indexes.searcher(&desk.store);
    let response = searcher.search(&request, &query, None).unwrap();
    assert_eq!((response.mode, response.hits.len()), (SearchMode::Keyword, 1));
    let embedding = Embedding::normalized(vec![1.0]).unwrap();
    let other_model = QueryVector { embedding, familiarity: 1.0 };
    assert!(searcher.search(&request, &query, Some(&other_model)).is_err());
}

#[test]
fn the_word_being_typed_is_a_beginning_until_a_space_follows() {
    let desk = Desk::with(&[("/a.txt", "concurrency is hard")]);
    let typing = |query: &str| {
        let mode = SearchMode::Keyword;
        desk.ask(&SearchRequest { typing: true, mode, ..SearchRequest::new(query) }).hits.len()
    };
    assert_eq!((typing("conc"), typing("conc "), typing("hard")), (1, 0, 1));
}

#[test]
fn a_document_that_went_since_the_index_looked_is_not_shown() {
    let desk = Desk::with(&[("/a.txt", "cat one"), ("/b.txt", "cat two")]);
    desk.store.remove(&[Source::File("/a.txt".into())]).unwrap();
    let response = desk.search("cat");
    assert_eq!((names(&response.hits), response.hits[0].rank), (vec!["b.txt".to_owned()], 1));
}

#[test]
fn a_second_process_sees_what_the_first_wrote() {
    let desk = Desk::with(&[("/a.txt", "cat")]);
    let store = Store::open(desk.dir.path()).unwrap();
    let second = Desk { indexes: Indexes::open(desk.dir.path()).unwrap(), store, dir: desk.dir };
    assert_eq!(second.indexes.opening(), &KeywordOpening::Existing);
    second.indexes.catch_up(&second.store).unwrap();
    desk.store.commit_document(&document("/b.txt", "cat and dog"), 1).unwrap();

    // While the first writes the keyword index the second does without, and later has both.
    let writing = desk.indexes.keywords().update().unwrap();
    let caught_up = second.indexes.catch_up(&second.store).unwrap();
    assert_eq!(caught_up, CaughtUp { changed: true, keywords_busy: true });
    assert_eq!(second.search("dog").hits[0].why.keyword, None);
    drop(writing);
    desk.indexes.catch_up(&desk.store).unwrap();
    let caught_up = second.indexes.catch_up(&second.store).unwrap();
    assert_eq!(caught_up, CaughtUp { changed: true, keywords_busy: false });
    assert!(second.search("dog").hits[0].why.keyword.is_some());
    let caught_up = second.indexes.catch_up(&second.store).unwrap();
    assert_eq!(caught_up, CaughtUp { changed: false, keywords_busy: false });
}

#[test]
fn another_store_is_derived_anew() {
    let desk = Desk::with(&[("/a.txt", "cat"), ("/b.txt", "dog")]);
    let Desk { dir, store, indexes } = desk;
    drop((store, indexes));
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(dir.path().join(format!("store.sqlite3{suffix}")));
    }
    let store = Store::open(dir.path()).unwrap();
    store.choose_model(&model(PARAGRAPHS)).unwrap();
    let desk = Desk { indexes: Indexes::open(dir.path()).unwrap(), store, dir };
    desk.put("/c.txt", "mouse");
    desk.indexes.catch_up(&desk.store).unwrap();
    assert_eq!(desk.indexes.keywords().snapshot().unwrap().len(), 1);
    assert_eq!(desk.names("mouse"), ["c.txt"]);
}

/// A passage as each of the two models cuts it.
const BEFORE: &str = "A dog barks.";
const AFTER: &str = "The cat sleeps.\n\nA dog barks.";

#[test]
fn a_switch_of_the_model_is_seen_in_one_moment() {
    let desk = Desk::with(&[("/a.txt", "The cat sleeps.\n\nA dog barks."), ("/b.txt", "A bird.")]);
    let store = Store::open(desk.dir.path()).unwrap();
    let second = Desk { indexes: Indexes::open(desk.dir.path()).unwrap(), store, dir: desk.dir };
    second.indexes.catch_up(&second.store).unwrap();
    let desk = Desk { dir: tempfile::tempdir().unwrap(), ..desk };
    let text = |desk: &Desk| {
        let hit = desk.search("dog").hits.remove(0);
        assert!(hit.why.keyword.is_some() && hit.why.semantic.is_some(), "{hit:?}");
        hit.passage.text
    };
    let check = |desk: &Desk, expected: &str, when: &str| {
        assert_eq!(text(desk), expected, "{when}");
    };

    desk.prepare_switch(WHOLE);
    desk.indexes.catch_up(&desk.store).unwrap();
    check(&desk, BEFORE, "the new vectors are there");
    assert_eq!(desk.store.finish_switch().unwrap(), SwitchEnd::Done);
    check(&desk, BEFORE, "the indexes have not followed");
    let refused = desk.indexes.catch_up_if(&desk.store, |_| false).unwrap();
    assert!(!refused.changed);
    check(&desk, BEFORE, "the new model is not loaded");
    let writing = second.indexes.keywords().update().unwrap();
    let busy = desk.indexes.catch_up(&desk.store).unwrap();
    assert_eq!(busy, CaughtUp { changed: false, keywords_busy: true });
    check(&desk, BEFORE, "the words are still those of the old model");
    drop(writing);
    assert!(desk.indexes.catch_up(&desk.store).unwrap().changed);
    check(&desk, AFTER, "both indexes are there");

    // The other process has not looked yet, so what it answers with is not swept.
    assert_eq!(desk.store.sweep().unwrap(), 0);
    check(&second, BEFORE, "in a process that has not followed");
    assert!(second.indexes.catch_up(&second.store).unwrap().changed);
    check(&second, AFTER, "in a process that has followed");
    assert_eq!(desk.store.sweep().unwrap(), 2);
    check(&second, AFTER, "the old vectors are gone");
}

#[derive(Clone, Debug)]
enum Step {
    Switch(bool),
    Put(u8, String),
    Remove(u8),
    CatchUp,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// After any history, indexes that followed it, sooner or later, and indexes that are made at its
    /// end answer alike, and from documents that are there.
    #[test]
    fn indexes_that_followed_answer_like_fresh_ones(
        steps in proptest::collection::vec(prop_oneof![
            4 => (0_u8..5, "(cat|dog|car)( (cat|dog|bird|automobile)){0,4}(\n\n(dog|car) one)?")
                .prop_map(|(n, text)| Step::Put(n, text)),
            2 => (0_u8..5).prop_map(Step::Remove),
            2 => Just(Step::CatchUp),
            2 => proptest::bool::ANY.prop_map(Step::Switch),
        ], 1..16),
    ) {
        let desk = Desk::new();
        let mut present = std::collections::BTreeMap::new();
        for step in steps {
            match step {
                Step::Put(n, text) => {
                    let path = format!("/{n}.txt");
                    desk.put(&path, &text);
                    present.insert(path, text);
                }
                Step::Remove(n) => {
                    let path = format!("/{n}.txt");
                    desk.store.remove(&[Source::File(PathBuf::from(&path))]).unwrap();
                    present.remove(&path);
                }
                Step::CatchUp => { desk.indexes.catch_up(&desk.store).unwrap(); }
                Step::Switch(whole) => {
                    desk.prepare_switch(if whole { WHOLE } else { PARAGRAPHS });
                    desk.store.finish_switch().unwrap();
                    desk.store.sweep().unwrap();
                }
            }
        }
        desk.indexes.catch_up(&desk.store).unwrap();
        prop_assert_eq!(desk.indexes.snapshot().vectors().reached(), desk.store.change_number().unwrap());
        let ids = |mode| -> Vec<(String, String)> {
            let request = SearchRequest { mode, weaker: WeakerHits::Among, ..SearchRequest::new("cat automobile") };
            let hits = desk.ask(&request).hits;
            hits.iter().map(|hit| (hit.document.source.to_string(), hit.passage.text.clone())).collect()
        };
        let semantic = ids(SearchMode::Semantic);
        prop_assert_eq!(semantic.len(), present.len());
        for (path, passage) in &semantic {
            prop_assert!(present[path].contains(passage.as_str()));
        }
        let holding = present.values().filter(|t| t.contains("cat") || t.contains("automobile"));
        prop_assert_eq!(ids(SearchMode::Keyword).len(), holding.count());

        let elsewhere = tempfile::tempdir().unwrap();
        let fresh = Indexes::open(elsewhere.path()).unwrap();
        fresh.catch_up(&desk.store).unwrap();
        let fresh = fresh.snapshot();
        let fresh_vectors = fresh.vectors();
        let query = embed("cat automobile");
        let all = crate::index::PassageFilter::all();
        prop_assert_eq!(
            fresh_vectors.search(&query, &all, 50).unwrap(),
            desk.indexes.snapshot().vectors().search(&query, &all, 50).unwrap()
        );
        prop_assert_eq!(fresh.keywords().len(), desk.indexes.keywords().snapshot().unwrap().len());
        prop_assert!(fresh_vectors.reached() > ChangeNumber(0));
    }
}
