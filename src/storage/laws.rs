//! What holds for any store, whatever was done to it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use half::f16;
use proptest::prelude::*;
use tempfile::TempDir;
use url::Url;

use super::*;
use crate::data::{
    ChangeNumber, Chunk, ChunkKey, ContentHash, Document, DocumentId, EmbeddedDocument, Embedding,
    Locator, LocatorMap, MediaType, Source, TextLayout,
};

const DIM: usize = 3;

pub(super) fn model(name: &str) -> EmbeddingModel {
    EmbeddingModel { name: name.to_owned(), dim: DIM }
}

impl Store {
    /// Stores a document with its vectors of the model in use.
    pub(crate) fn commit_document(
        &self,
        document: &EmbeddedDocument,
        indexed_at: i64,
    ) -> Result<ChangeNumber, StorageError> {
        let in_use = self.model()?.map_or_else(|| model("none"), |stored| stored.model);
        self.commit_documents(&in_use, std::slice::from_ref(document), indexed_at)
    }

    fn key_in_use(&self) -> ModelKey {
        self.model().unwrap().unwrap().key
    }

    /// With its passages for the model in use.
    fn document_now(&self, id: DocumentId) -> Option<StoredDocument> {
        self.document(id, self.key_in_use()).unwrap()
    }
}

pub(super) fn open(dir: &Path) -> Store {
    let store = Store::open(dir).unwrap();
    store.choose_model(&model("words")).unwrap();
    store
}

pub(super) fn fresh() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    (dir, store)
}

pub(super) fn file(path: &str) -> Source {
    Source::File(PathBuf::from(path))
}

/// Every line is a passage, and its vector counts its letters.
pub(super) fn document(source: &Source, text: &str) -> EmbeddedDocument {
    let mut locators = LocatorMap::default();
    locators.push(0, Locator::Heading { path: vec!["Top".into()], anchor: None, line: None });
    let mut chunks = Vec::new();
    let mut embeddings = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        let length = line.len() as f32;
        embeddings.push(Embedding::normalized(vec![length, 1.0, 1.0 / length]).unwrap());
        chunks.push(Chunk {
            locator: locators.locate(&range, Some(1)),
            tokens: range.clone(),
            range,
        });
    }
    let document = Document {
        id: DocumentId::of(source),
        source: source.clone(),
        media_type: MediaType::Markdown,
        title: format!("On {}", source.name()),
        text: text.to_owned(),
        layout: TextLayout::JavaScript,
        has_lines: true,
        locators,
        content_hash: ContentHash::of(text.as_bytes()),
        bytes: text.len() as u64,
        modified: Some(text.len() as i64),
    };
    EmbeddedDocument { document, chunks, embeddings, inputs: Vec::new() }
}

fn halves(embeddings: &[Embedding]) -> Vec<f16> {
    embeddings.iter().flat_map(Embedding::as_slice).map(|v| f16::from_f32(*v)).collect()
}

fn check_holds(store: &Store, expected: &EmbeddedDocument) {
    let id = expected.document.id;
    let stored = store.document_now(id).unwrap();
    assert_eq!(stored.document, expected.document);
    assert_eq!(stored.chunks, expected.chunks);
    let vectors = store.vectors_of(id, store.key_in_use()).unwrap().unwrap();
    assert_eq!(vectors, halves(&expected.embeddings));
    let fingerprint = store.fingerprint(&expected.document.source).unwrap();
    assert_eq!(fingerprint, Some(expected.document.content_hash));
    let keys: Vec<_> = (0..=expected.chunks.len() as u32)
        .map(|ordinal| ChunkKey { document: id, ordinal })
        .collect();
    let passages = store.passages(&keys, store.key_in_use()).unwrap();
    let texts: Vec<_> = passages.iter().map(|passage| passage.text.as_str()).collect();
    let ranges = expected.chunks.iter().map(|chunk| chunk.range.clone());
    assert_eq!(texts, ranges.map(|range| &expected.document.text[range]).collect::<Vec<_>>());
}

#[derive(Clone, Debug)]
enum Step {
    Commit { sources: Vec<u8>, text: String },
    Remove { sources: Vec<u8> },
    Look,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let sources = || proptest::collection::vec(0_u8..6, 1..3);
    prop_oneof![
        4 => (sources(), "[a-z\n\u{0}é🦀]{0,24}")
            .prop_map(|(sources, text)| Step::Commit { sources, text }),
        3 => sources().prop_map(|sources| Step::Remove { sources }),
        2 => Just(Step::Look),
        1 => Just(Step::Reopen),
    ]
}

/// What an index would hold that does as [`Changes`] says.
#[derive(Default)]
struct Replica {
    documents: BTreeMap<DocumentId, ContentHash>,
    reached: ChangeNumber,
}

impl Replica {
    fn catch_up(&mut self, store: &Store) {
        let changes = store.changes_since(self.reached).unwrap();
        if changes.from_scratch {
            self.documents.clear();
        }
        for id in changes.removed {
            self.documents.remove(&id);
        }
        for id in changes.upserted {
            let hash = store.document_now(id).unwrap().document.content_hash;
            self.documents.insert(id, hash);
        }
        self.reached = changes.reached;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn store_and_change_log_agree_with_what_was_done(
        steps in proptest::collection::vec(step(), 1..24),
    ) {
        let dir = tempfile::tempdir().unwrap();
        // A log of two removals: replicas are often behind it and have to start from scratch.
        let reopen = || {
            let store = Store::open_with(dir.path(), Duration::from_secs(1), 2).unwrap();
            store.choose_model(&model("words")).unwrap();
            store
        };
        let mut store = reopen();
        let mut truth: BTreeMap<DocumentId, EmbeddedDocument> = BTreeMap::new();
        let (mut eager, mut lazy) = (Replica::default(), Replica::default());
        for step in steps {
            let before = store.change_number().unwrap();
            match step {
                Step::Commit { mut sources, text } => {
                    sources.dedup();
                    let documents: Vec<_> =
                        sources.iter().map(|n| document(&file(&format!("/d/{n}.md")), &text)).collect();
                    let change = store.commit_documents(&model("words"), &documents, 7).unwrap();
                    prop_assert!(change > before);
                    truth.extend(documents.into_iter().map(|d| (d.document.id, d)));
                }
                Step::Remove { sources } => {
                    let sources: Vec<_> =
                        sources.iter().map(|n| file(&format!("/d/{n}.md"))).collect();
                    let gone = sources.iter().filter(|s| truth.remove(&DocumentId::of(s)).is_some());
                    let gone = gone.count() as u64;
                    prop_assert_eq!(store.remove(&sources).unwrap(), gone);
                    prop_assert_eq!(store.change_number().unwrap() > before, gone > 0);
                }
                Step::Look => lazy.catch_up(&store),
                Step::Reopen => store = reopen(),
            }
            eager.catch_up(&store);
        }
        lazy.catch_up(&store);
        let hashes: BTreeMap<_, _> =
            truth.iter().map(|(id, d)| (*id, d.document.content_hash)).collect();
        prop_assert_eq!(&eager.documents, &hashes);
        prop_assert_eq!(&lazy.documents, &hashes);
        for expected in truth.values() {
            check_holds(&store, expected);
        }
        let mut streamed = BTreeMap::new();
        let reached = store.for_each_vectors(store.key_in_use(), |id, rows| { streamed.insert(id, rows.to_vec()); });
        prop_assert_eq!(reached.unwrap(), store.change_number().unwrap());
        let vectors: BTreeMap<_, _> =
            truth.iter().map(|(id, d)| (*id, halves(&d.embeddings))).collect();
        prop_assert_eq!(streamed, vectors);
        let counts = store.counts().unwrap();
        prop_assert_eq!(counts.documents, truth.len() as u64);
        let passages: usize = truth.values().map(|d| d.chunks.len()).sum();
        prop_assert_eq!(counts.passages, passages as u64);
        prop_assert!(store.check().unwrap().is_empty());
    }
}

#[test]
fn two_stores_on_one_file_see_each_other() {
    let (dir, one) = fresh();
    let two = open(dir.path());
    let source = file("/a.md");
    one.commit_document(&document(&source, "one\n"), 1).unwrap();
    check_holds(&two, &document(&source, "one\n"));
    two.commit_document(&document(&source, "two\nlines\n"), 2).unwrap();
    check_holds(&one, &document(&source, "two\nlines\n"));
    assert_eq!(one.change_number().unwrap(), two.change_number().unwrap());
    assert_eq!(one.id().unwrap(), two.id().unwrap());
}

#[test]
fn many_may_open_and_write_a_new_store_at_once() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for n in 0..6 {
            let dir = dir.path();
            scope.spawn(move || {
                let store = open(dir);
                store.commit_document(&document(&file(&format!("/{n}.md")), "text"), 1).unwrap();
            });
        }
    });
    assert_eq!(open(dir.path()).counts().unwrap().documents, 6);
}

#[test]
fn a_writer_waits_and_then_says_that_another_process_writes() {
    let (dir, store) = fresh();
    let impatient = Store::open_with(dir.path(), Duration::from_millis(1), 2).unwrap();
    let source = file("/a.md");
    let error = store
        .write(|_| Ok(impatient.commit_document(&document(&source, "text"), 1).unwrap_err()))
        .unwrap();
    assert!(matches!(error, StorageError::Busy { .. }), "{error}");
    assert!(impatient.document_now(DocumentId::of(&source)).is_none());
    impatient.commit_document(&document(&source, "text"), 1).unwrap();
}

#[test]
fn readers_keep_their_snapshot_and_never_wait_for_a_writer() {
    let (_dir, store) = fresh();
    let source = file("/a.md");
    store.commit_document(&document(&source, "old"), 1).unwrap();
    store
        .write(|transaction| {
            transaction.execute("DELETE FROM documents", [])?;
            check_holds(&store, &document(&source, "old"));
            Ok(())
        })
        .unwrap();
    assert_eq!(store.counts().unwrap(), Counts::default());
}

#[test]
fn a_full_disk_keeps_the_old_version() {
    let (_dir, store) = fresh();
    let source = file("/a.md");
    store.commit_document(&document(&source, "old"), 1).unwrap();
    let pages: i64 = store
        .write(|transaction| transaction.query_row("PRAGMA page_count", [], |row| row.get(0)))
        .unwrap();
    store.writer.lock().unwrap().pragma_update(None, "max_page_count", pages + 4).unwrap();
    let error = store.commit_document(&document(&source, &"long ".repeat(99_999)), 2).unwrap_err();
    assert!(matches!(error, StorageError::Full { .. }), "{error}");
    check_holds(&store, &document(&source, "old"));
    store.commit_document(&document(&source, "new"), 3).unwrap();
    check_holds(&store, &document(&source, "new"));
}

#[test]
fn a_damaged_file_is_named_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE_NAME);
    fs::write(&path, "no database at all, only words".repeat(400)).unwrap();
    let error = Store::open(dir.path()).unwrap_err();
    assert!(matches!(error, StorageError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(FILE_NAME), "{error}");
    assert!(fs::read(&path).unwrap().starts_with(b"no database"));
}

#[test]
fn damage_inside_is_found_by_the_check() {
    let (dir, store) = fresh();
    let path = store.path().to_owned();
    let long = "words of a document\n".repeat(20_000);
    store.commit_document(&document(&file("/a.md"), &long), 1).unwrap();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0xA5);
    fs::write(&path, bytes).unwrap();
    let found = Store::open(dir.path()).and_then(|store| store.check());
    assert!(!matches!(found, Ok(ref lines) if lines.is_empty()), "{found:?}");
}

#[test]
fn files_of_others_and_of_the_future_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE_NAME);
    let foreign = Connection::open(&path).unwrap();
    foreign.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    drop(foreign);
    assert!(matches!(Store::open(dir.path()), Err(StorageError::Foreign { .. })));

    let (dir, store) = fresh();
    store.writer.lock().unwrap().pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    let error = Store::open(dir.path()).unwrap_err();
    assert!(matches!(error, StorageError::Newer { found: 99, .. }), "{error}");
}

#[test]
fn a_folder_holds_what_is_below_it_and_nothing_else() {
    let (_dir, store) = fresh();
    let inside = ["/a/b/c.md", "/a/b/d e/ü.md", "/a/b"].map(file);
    let outside = ["/a/bc", "/a/b.md", "/a/b-/c.md", "/A/b/c.md", "/a"].map(file);
    let web = Source::Web(Url::parse("https://example.org/a/b/c").unwrap());
    for source in inside.iter().chain(&outside).chain([&web]) {
        store.commit_document(&document(source, "text"), 1).unwrap();
    }
    let mut found = store.sources_under(Path::new("/a/b")).unwrap();
    found.sort();
    let mut expected = inside.to_vec();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(store.sources_under(Path::new("/")).unwrap().len(), 8);
    assert_eq!(store.sources_under(Path::new("/a/b/")).unwrap().len(), 3);
}

#[test]
fn conditions_narrow_by_what_is_known_of_a_document() {
    let (_dir, store) = fresh();
    let page = |url| Source::Web(Url::parse(url).unwrap());
    let sources = [
        file("/home/Notes/a.md"),
        file("/home/notes old/b.TXT"),
        file("/home/notes/c.rs"),
        page("https://docs.example.org/guide"),
        page("https://badexample.org/guide"),
    ];
    for (n, source) in sources.iter().enumerate() {
        let mut embedded = document(source, "text");
        embedded.document.modified = (n != 1).then_some(n as i64 * 10);
        if n == 2 {
            embedded.document.media_type = MediaType::Code;
        }
        store.commit_document(&embedded, 1).unwrap();
    }
    let check = |conditions: &[(bool, Requirement)], expected: &[usize]| {
        let conditions: Vec<_> = conditions
            .iter()
            .map(|(negated, requirement)| Condition {
                requirement: requirement.clone(),
                negated: *negated,
            })
            .collect();
        let mut ids: Vec<_> = expected.iter().map(|n| DocumentId::of(&sources[*n])).collect();
        ids.sort();
        assert_eq!(store.documents_matching(&conditions).unwrap(), ids, "{conditions:?}");
    };
    let ext = |name: &str| Requirement::Extension(name.to_owned());
    let kind = |name: &str| Requirement::Type(name.to_owned());
    let containing = |part: &str| Requirement::In(Place::Containing(part.to_owned()));
    let site = |host: &str| Requirement::Site(host.to_owned());
    check(&[], &[0, 1, 2, 3, 4]);
    check(&[(false, kind("code"))], &[2]);
    check(&[(false, kind("rs")), (false, kind("txt"))], &[1, 2]);
    check(&[(false, ext("txt"))], &[1]);
    check(&[(false, ext("txt")), (false, ext("md"))], &[0, 1]);
    check(&[(true, ext("txt")), (true, ext("md"))], &[2, 3, 4]);
    check(&[(false, containing("notes OLD"))], &[1]);
    check(&[(false, Requirement::In(Place::Under("/home/notes".into())))], &[2]);
    check(&[(false, site("example.org"))], &[3]);
    check(&[(true, site("example.org"))], &[0, 1, 2, 4]);
    check(&[(false, Requirement::Since(10)), (false, Requirement::Before(40))], &[2, 3]);
    check(&[(true, Requirement::Since(20))], &[0, 1]);
    check(&[(false, ext("md")), (false, site("example.org"))], &[]);
    let newest: Vec<_> = [4, 3].iter().map(|n| DocumentId::of(&sources[*n])).collect();
    assert_eq!(store.newest_matching(&[], 2).unwrap(), newest);
}

#[test]
fn what_cannot_be_stored_is_refused_whole() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let good = document(&file("/a.md"), "a\nb");
    assert!(matches!(store.commit_document(&good, 1), Err(StorageError::NoModel { .. })));
    store.choose_model(&model("words")).unwrap();
    let mut short = good.clone();
    short.embeddings.pop();
    let mut narrow = document(&file("/b.md"), "a\nb");
    narrow.embeddings[1] = Embedding::normalized(vec![1.0]).unwrap();
    let error = store.commit_document(&short, 1).unwrap_err();
    assert!(matches!(error, StorageError::VectorCount { chunks: 2, embeddings: 1, .. }), "{error}");
    let error = store.commit_documents(&model("words"), &[good, narrow], 1).unwrap_err();
    assert!(matches!(error, StorageError::Dimension { expected: DIM, found: 1, .. }), "{error}");
    assert_eq!(store.counts().unwrap().documents, 0);
}

#[test]
fn roots_and_skipped_sources_are_remembered() {
    let (_dir, store) = fresh();
    for path in ["/z", "/a b", "/z"] {
        store.add_root(Path::new(path), false).unwrap();
    }
    let paths: Vec<_> = store.roots().unwrap().into_iter().map(|root| root.path).collect();
    assert_eq!(paths, [Path::new("/a b"), Path::new("/z")]);
    assert_eq!(store.remove_under(Path::new("/z")).unwrap(), Some(0));
    assert_eq!(store.remove_under(Path::new("/z")).unwrap(), None);

    let skipped = |path, reason: &str| SkippedSource {
        source: file(path),
        reason: reason.to_owned(),
        stamp: Some(FileStamp { bytes: 3, modified: None, content_hash: None }),
        attempts: 0,
    };
    let passing = SkippedSource { stamp: None, ..skipped("/c", "locked") };
    store.set_skipped(&[skipped("/b", "binary"), passing.clone()]).unwrap();
    store.set_skipped(&[skipped("/b", "too large")]).unwrap();
    assert_eq!(store.skipped().unwrap(), [skipped("/b", "too large"), passing]);
    assert_eq!(store.counts().unwrap().skipped, 2);
    assert_eq!(store.sources_under(Path::new("/")).unwrap(), [file("/b"), file("/c")]);
    assert_eq!(store.sources_under(Path::new("/b")).unwrap(), [file("/b")]);
    store.commit_document(&document(&file("/b"), "now text"), 1).unwrap();
    assert!(store.skipped().unwrap().iter().all(|skipped| skipped.source != file("/b")));
    store.remove(&[file("/c")]).unwrap();
    assert_eq!(store.counts().unwrap().skipped, 0);
}

#[test]
fn what_came_back_meanwhile_is_not_removed() {
    let (_dir, store) = fresh();
    let sources: Vec<_> = (0..200).map(|at| file(&format!("/{at:03}"))).collect();
    for source in &sources {
        store.commit_document(&document(source, "a"), 1).unwrap();
    }
    let is_back = std::cell::Cell::new(false);
    let goes = |source: &Source| {
        is_back.set(is_back.get() || *source == sources[50]);
        !(is_back.get() && *source == sources[199])
    };
    assert_eq!(store.remove_if(&sources, goes).unwrap(), 199);
    assert_eq!(store.documents().unwrap()[0].source, sources[199]);
}

#[test]
fn removed_text_is_gone_from_the_files_and_they_shrink() {
    let (dir, store) = fresh();
    let secret = "quixotic-marmalade ".repeat(30_000);
    store.commit_document(&document(&file("/a.md"), &secret), 1).unwrap();
    store.commit_document(&document(&file("/b.md"), "stays"), 1).unwrap();
    assert!(store.bytes_on_disk() > 500_000);
    store.remove(&[file("/a.md")]).unwrap();
    // The tables alone take more than half of it.
    assert!(store.bytes_on_disk() < 400_000);
    for entry in fs::read_dir(dir.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(8).any(|window| window == b"quixotic"));
    }
}
