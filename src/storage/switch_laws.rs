//! What holds for a store on its way from one embedding model to another.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use half::f16;
use proptest::prelude::*;
use rusqlite::Connection;

use super::*;
use crate::data::{Chunk, ChunkKey, Document, DocumentId, EmbeddedDocument, Embedding, Source};

const MODELS: [(&str, usize); 3] = [("letters", 2), ("words", 3), ("lines", 2)];

fn model(n: usize) -> EmbeddingModel {
    EmbeddingModel { name: MODELS[n].0.to_owned(), dim: MODELS[n].1 }
}

fn source(n: u8) -> Source {
    Source::File(format!("/{n}").into())
}

/// Model 0 cuts after every 2 bytes, model 1 after 3, model 2 after 4; texts are ASCII.
fn cut(text: &str, n: usize) -> (Vec<Chunk>, Vec<Embedding>) {
    let width = n + 2;
    let chunk = |start: usize| {
        let range = start..(start + width).min(text.len());
        Chunk { tokens: range.clone(), range, locator: None }
    };
    let chunks: Vec<_> = (0..text.len()).step_by(width).map(chunk).collect();
    let vector = |chunk: &Chunk| {
        let mut values = vec![1.0 + n as f32; MODELS[n].1];
        values[0] = f32::from(text.as_bytes()[chunk.range.start]);
        Embedding::normalized(values).unwrap()
    };
    let embeddings = chunks.iter().map(vector).collect();
    (chunks, embeddings)
}

fn embedded(at: u8, text: &str, n: usize) -> EmbeddedDocument {
    let document = Document::plain(source(at), String::new(), text.to_owned());
    let (chunks, embeddings) = cut(text, n);
    EmbeddedDocument { document, chunks, embeddings, inputs: Vec::new() }
}

fn new_vectors(version: &DocumentVersion, n: usize) -> NewVectors {
    let (chunks, embeddings) = cut(&version.document.text, n);
    NewVectors {
        document: version.document.id,
        change: version.change,
        chunks,
        embeddings,
        inputs: Vec::new(),
    }
}

fn open(dir: &Path) -> Store {
    Store::open_with(dir, Duration::from_secs(1), 2).unwrap()
}

/// Every document is found, cut and embedded as model `n` does.
fn check_answers(store: &Store, n: usize, texts: &BTreeMap<u8, String>) {
    let in_use = store.model().unwrap().unwrap();
    assert_eq!(in_use.model, model(n));
    let mut tokens = 0;
    let mut passages = 0;
    for (at, text) in texts {
        let (chunks, embeddings) = cut(text, n);
        let id = DocumentId::of(&source(*at));
        let stored = store.document(id, in_use.key).unwrap().unwrap();
        assert_eq!((&stored.document.text, &stored.chunks), (text, &chunks));
        let halves: Vec<f16> =
            embeddings.iter().flat_map(Embedding::as_slice).map(|v| f16::from_f32(*v)).collect();
        assert_eq!(store.vectors_of(id, in_use.key).unwrap(), Some(halves));
        let keys: Vec<_> =
            (0..chunks.len() as u32).map(|ordinal| ChunkKey { document: id, ordinal }).collect();
        let found = store.passages(&keys, in_use.key).unwrap();
        let expected = chunks.iter().map(|chunk| &text[chunk.range.clone()]);
        assert!(found.iter().map(|passage| passage.text.as_str()).eq(expected));
        tokens += text.len() as u64;
        passages += chunks.len() as u64;
    }
    let counts = store.counts().unwrap();
    assert_eq!(
        (counts.documents, counts.passages, counts.tokens),
        (texts.len() as u64, passages, tokens)
    );
    assert_eq!(store.documents().unwrap().len(), texts.len());
    let listed: u64 = store.documents().unwrap().iter().map(|summary| summary.passages).sum();
    assert_eq!(listed, passages);
    let mut streamed = 0;
    store.for_each_vectors(in_use.key, |_, rows| streamed += rows.len()).unwrap();
    assert_eq!(streamed as u64, passages * MODELS[n].1 as u64);
}

#[derive(Clone, Debug)]
enum Step {
    /// With the model `model`, in use or not.
    Commit {
        at: u8,
        text: String,
        model: usize,
    },
    Remove(u8),
    Choose(usize),
    /// Reads up to so many documents that lack vectors, as a process that embeds them does.
    Read(usize),
    /// Adds the vectors of what was read, for `model`.
    Add(usize),
    Finish,
    Abandon,
    Sweep,
    /// A process ends at any moment and another starts.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u8..5, "[a-z]{0,9}", 0_usize..3)
            .prop_map(|(at, text, model)| Step::Commit { at, text, model }),
        2 => (0_u8..5).prop_map(Step::Remove),
        2 => (0_usize..3).prop_map(Step::Choose),
        4 => (1_usize..4).prop_map(Step::Read),
        4 => (0_usize..3).prop_map(Step::Add),
        3 => Just(Step::Finish),
        1 => Just(Step::Abandon),
        1 => Just(Step::Sweep),
        1 => Just(Step::Reopen),
    ]
}

/// What the store should hold, as plainly as it can be said.
#[derive(Default)]
struct Plain {
    texts: BTreeMap<u8, String>,
    in_use: usize,
    pending: Option<usize>,
    /// Documents with vectors of each model.
    has: [BTreeSet<u8>; 3],
}

impl Plain {
    fn missing(&self, n: usize) -> usize {
        self.texts.len() - self.has[n].len()
    }

    fn choose(&mut self, n: usize) -> ModelUse {
        self.pending = None;
        match self.missing(n) {
            _ if n == self.in_use => ModelUse::InUse,
            0 => {
                self.in_use = n;
                ModelUse::InUse
            }
            missing => {
                self.pending = Some(n);
                ModelUse::Pending { missing: missing as u64 }
            }
        }
    }

    fn forget(&mut self, at: u8) {
        self.has.iter_mut().for_each(|has| {
            has.remove(&at);
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// At every moment every document answers with the model in use, and only finishing or choosing a
    /// model that no document lacks changes that model.
    #[test]
    fn a_switch_never_disturbs_what_answers(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut store = open(dir.path());
        prop_assert_eq!(store.choose_model(&model(0)).unwrap(), ModelUse::InUse);
        let mut plain = Plain::default();
        let mut read: Vec<DocumentVersion> = Vec::new();
        for step in steps {
            let before = (store.change_number().unwrap(), plain.in_use);
            let mut is_seen_by_indexes = false;
            match step {
                Step::Commit { at, text, model: n } => {
                    let documents = [embedded(at, &text, n)];
                    let committed = store.commit_documents(&model(n), &documents, 1);
                    if n == plain.in_use {
                        prop_assert!(committed.unwrap() > before.0);
                        plain.forget(at);
                        plain.has[n].insert(at);
                        plain.texts.insert(at, text);
                        is_seen_by_indexes = true;
                    } else {
                        let refused = matches!(committed, Err(StorageError::ModelChanged { .. }));
                        prop_assert!(refused);
                    }
                }
                Step::Remove(at) => {
                    let removed = store.remove(&[source(at)]).unwrap() > 0;
                    prop_assert_eq!(removed, plain.texts.remove(&at).is_some());
                    plain.forget(at);
                    is_seen_by_indexes = removed;
                }
                Step::Choose(n) => {
                    prop_assert_eq!(store.choose_model(&model(n)).unwrap(), plain.choose(n));
                }
                Step::Read(limit) => {
                    let ids = store.unembedded(None, limit).unwrap();
                    let missing = plain.pending.map_or(0, |n| plain.missing(n));
                    prop_assert_eq!(ids.len(), missing.min(limit));
                    let rest = store.unembedded(ids.last().copied(), 99).unwrap();
                    prop_assert_eq!(ids.is_empty() || ids.len() + rest.len() == missing, true);
                    let versions = ids.iter().map(|id| store.document_version(*id).unwrap());
                    read.extend(versions.flatten());
                }
                Step::Add(n) => {
                    let vectors: Vec<_> = read.iter().map(|v| new_vectors(v, n)).collect();
                    let added = store.commit_embeddings(&model(n), &vectors);
                    if plain.pending == Some(n) {
                        let has = plain.has[n].len();
                        for version in &read {
                            let current = store.document_version(version.document.id).unwrap();
                            let at = (0..5).find(|at| source(*at) == version.document.source).unwrap();
                            if current.as_ref() == Some(version) {
                                plain.has[n].insert(at);
                            }
                        }
                        prop_assert_eq!(added.unwrap(), (plain.has[n].len() - has) as u64);
                        read.clear();
                    } else {
                        let refused = matches!(added, Err(StorageError::NotPending { .. }));
                        prop_assert!(refused);
                    }
                }
                Step::Finish => {
                    let expected = match plain.pending {
                        None => SwitchEnd::NotSwitching,
                        Some(n) if plain.missing(n) > 0 => {
                            SwitchEnd::Missing(plain.missing(n) as u64)
                        }
                        Some(n) => {
                            plain.in_use = n;
                            plain.pending = None;
                            SwitchEnd::Done
                        }
                    };
                    prop_assert_eq!(store.finish_switch().unwrap(), expected);
                }
                Step::Abandon => {
                    let abandoned = store.abandon_switch().unwrap();
                    prop_assert_eq!(abandoned, plain.pending.take().is_some());
                }
                Step::Sweep => {
                    let unused: Vec<_> =
                        (0..3).filter(|n| *n != plain.in_use && plain.pending != Some(*n)).collect();
                    let rows: usize = unused.iter().map(|n| plain.has[*n].len()).sum();
                    prop_assert_eq!(store.sweep().unwrap(), rows as u64);
                    for n in unused {
                        plain.has[n].clear();
                    }
                }
                Step::Reopen => store = open(dir.path()),
            }
            check_answers(&store, plain.in_use, &plain.texts);
            let switched = plain.in_use != before.1;
            let now = store.change_number().unwrap();
            prop_assert_eq!(now > before.0, switched || is_seen_by_indexes);
            prop_assert!(!switched || store.changes_since(before.0).unwrap().from_scratch);
            let switch = store.switch().unwrap().map(|s| (s.to, s.embedded, s.documents));
            let expected = plain.pending.map(|n| {
                (model(n), plain.has[n].len() as u64, plain.texts.len() as u64)
            });
            prop_assert_eq!(switch, expected);
        }
        prop_assert!(store.check().unwrap().is_empty());
    }
}

#[test]
fn what_is_leased_by_anyone_is_not_swept() {
    let dir = tempfile::tempdir().unwrap();
    let (store, other) = (open(dir.path()), open(dir.path()));
    store.choose_model(&model(0)).unwrap();
    store.commit_document(&embedded(1, "abcdef", 0), 1).unwrap();
    let old = store.model().unwrap().unwrap().key;
    let lease = other.lease(old).unwrap();
    store.choose_model(&model(1)).unwrap();
    let id = DocumentId::of(&source(1));
    let version = store.document_version(id).unwrap().unwrap();
    store.commit_embeddings(&model(1), &[new_vectors(&version, 1)]).unwrap();
    assert_eq!(store.finish_switch().unwrap(), SwitchEnd::Done);
    assert_eq!(store.sweep().unwrap(), 0);
    assert!(other.vectors_of(id, old).unwrap().is_some());
    drop(lease);
    assert_eq!(store.sweep().unwrap(), 1);
    assert_eq!(other.vectors_of(id, old).unwrap(), None);
    check_answers(&store, 1, &BTreeMap::from([(1, "abcdef".to_owned())]));
}

#[test]
fn a_document_that_the_new_model_fails_on_is_found_by_words() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.choose_model(&model(0)).unwrap();
    store.commit_document(&embedded(1, "abcdef", 0), 1).unwrap();
    store.choose_model(&model(1)).unwrap();
    let id = DocumentId::of(&source(1));
    let version = store.document_version(id).unwrap().unwrap();
    let mut failed = new_vectors(&version, 1);
    failed.embeddings.pop();
    let error = store.commit_embeddings(&model(1), &[failed.clone()]).unwrap_err();
    assert!(matches!(error, StorageError::VectorCount { .. }), "{error}");
    failed.embeddings.clear();
    store.commit_embeddings(&model(1), &[failed]).unwrap();
    assert_eq!(store.finish_switch().unwrap(), SwitchEnd::Done);
    let key = store.model().unwrap().unwrap().key;
    assert_eq!(store.document(id, key).unwrap().unwrap().chunks.len(), 2);
    assert_eq!(store.vectors_of(id, key).unwrap(), Some(Vec::new()));
}

/// A file of format 1 with two documents, the second of them with vectors of a model that is no
/// longer in use.
fn write_version_1(path: &Path) {
    let old = Connection::open(path).unwrap();
    old.execute_batch(include_str!("schema/v1.sql")).unwrap();
    old.execute_batch(
        "PRAGMA application_id = 1280263237;
         PRAGMA user_version = 1;
         INSERT INTO models VALUES (1, 'lines', 2), (2, 'letters', 2);
         UPDATE state SET model = 2, change = 7;",
    )
    .unwrap();
    for (at, text, n, row) in [(1, "abcd", 0, 2), (2, "efghij", 2, 1)] {
        let EmbeddedDocument { document, chunks, embeddings, .. } = embedded(at, text, n);
        let id = document.id.get() as i64;
        old.execute(
            "INSERT INTO documents VALUES (?1, ?2, ?2, NULL, NULL, 'text', '\"plain\"', 1, '', ?3,
             4, NULL, 9, ?4, ?5, ?6, ?7)",
            rusqlite::params![
                id,
                document.source.key(),
                document.content_hash.0,
                text.len() as i64,
                chunks.len() as i64,
                row,
                i64::from(at),
            ],
        )
        .unwrap();
        let locators = serde_json::to_string(&document.locators).unwrap();
        old.execute("INSERT INTO bodies VALUES (?1, ?2, ?3)", (id, locators, text)).unwrap();
        for (ordinal, chunk) in chunks.iter().enumerate() {
            let (start, stop) = (chunk.range.start as i64, chunk.range.end as i64);
            old.execute(
                "INSERT INTO passages VALUES (?1, ?2, ?3, ?4, ?3, ?4, NULL)",
                (id, ordinal as i64, start, stop),
            )
            .unwrap();
        }
        old.execute("INSERT INTO vectors VALUES (?1, ?2)", (id, vectors::encode(&embeddings)))
            .unwrap();
    }
}

#[test]
fn a_file_of_version_1_keeps_its_data() {
    let dir = tempfile::tempdir().unwrap();
    write_version_1(&dir.path().join(FILE_NAME));
    let store = open(dir.path());
    let in_use = store.model().unwrap().unwrap();
    assert_eq!(in_use.model, model(0));
    assert_eq!(store.change_number().unwrap().0, 7);
    let counts = store.counts().unwrap();
    assert_eq!((counts.documents, counts.passages, counts.tokens), (2, 4, 10));

    let (current, stale) = (embedded(1, "abcd", 0), embedded(2, "efghij", 2));
    for expected in [&current, &stale] {
        let id = expected.document.id;
        let stored = store.document(id, in_use.key).unwrap().unwrap();
        assert_eq!(
            (&stored.document.text, &stored.chunks),
            (&expected.document.text, &expected.chunks)
        );
        assert_eq!(stored.indexed_at, 9);
    }
    let rows = |document: &EmbeddedDocument| store.vectors_of(document.document.id, in_use.key);
    assert_eq!(rows(&current).unwrap().unwrap().len(), 4);
    assert_eq!(rows(&stale).unwrap(), Some(Vec::new()), "another model's vectors were taken over");
    let hash = |document: &EmbeddedDocument| {
        let known = store.fingerprint(&document.document.source).unwrap();
        known == Some(document.document.content_hash)
    };
    assert!(hash(&current) && !hash(&stale), "what has no vectors has to be indexed again");

    // It goes on as any other.
    store.commit_document(&embedded(2, "efghij", 0), 1).unwrap();
    let texts = BTreeMap::from([(1, "abcd".to_owned()), (2, "efghij".to_owned())]);
    check_answers(&store, 0, &texts);
    assert!(store.check().unwrap().is_empty());
    drop(store);
    check_answers(&open(dir.path()), 0, &texts);
}
