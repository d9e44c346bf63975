//! How the vector index follows a store, with a graph.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Indexes, VECTORS};
use crate::data::{Chunk, ContentHash, Document, EmbeddedDocument, Embedding, Source};
use crate::index::{PassageFilter, VectorParts};
use crate::storage::{EmbeddingModel, Store};

const DIM: usize = 3;

/// A graph is made of so many passages.
const PASSAGES: u64 = 40;

struct Desk {
    dir: TempDir,
    store: Store,
    indexes: Indexes,
}

fn model() -> EmbeddingModel {
    EmbeddingModel { name: "fake".to_owned(), dim: DIM }
}

fn embedding(n: u64) -> Embedding {
    let angle = n as f32 * 0.1;
    Embedding::normalized(vec![angle.cos(), angle.sin(), 0.3]).unwrap()
}

fn document(n: u64) -> EmbeddedDocument {
    let source = Source::File(format!("/{n}").into());
    let document = Document::plain(source, String::new(), "a".to_owned());
    let document = Document { content_hash: ContentHash::of(&n.to_le_bytes()), ..document };
    let chunks = vec![Chunk { range: 0..1, tokens: 0..1, locator: None }];
    EmbeddedDocument { document, chunks, embeddings: vec![embedding(n)], inputs: Vec::new() }
}

fn open(dir: &Path) -> (Store, Indexes) {
    let store = Store::open(dir).unwrap();
    let indexes = Indexes::open(dir).unwrap().with_graph_from(PASSAGES as usize);
    (store, indexes)
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (store, indexes) = open(dir.path());
        store.choose_model(&model()).unwrap();
        let desk = Self { dir, store, indexes };
        desk.put(0..PASSAGES);
        desk
    }

    fn put(&self, numbers: std::ops::Range<u64>) {
        let documents: Vec<_> = numbers.map(document).collect();
        self.store.commit_documents(&model(), &documents, 0).unwrap();
    }

    fn catch_up(&self) {
        self.indexes.catch_up(&self.store).unwrap();
    }

    fn settle(&self) {
        self.indexes.settle(&|| false);
    }

    fn reopened(self) -> Self {
        let Self { dir, store, indexes } = self;
        drop((store, indexes));
        let (store, indexes) = open(dir.path());
        Self { dir, store, indexes }
    }

    fn parts(&self) -> VectorParts {
        self.indexes.snapshot().vector_index().parts()
    }

    fn graph_file(&self) -> PathBuf {
        let files = fs::read_dir(self.dir.path().join(VECTORS)).unwrap();
        let mut files = files.map(|entry| entry.unwrap().path());
        files.find(|path| path.extension().is_some()).expect("a graph was made")
    }

    /// Every document is found, first of all by its own vector.
    fn assert_finds(&self, numbers: std::ops::Range<u64>) {
        let snapshot = self.indexes.snapshot();
        let count = numbers.end - numbers.start;
        assert_eq!(snapshot.vectors().len() as u64, count);
        for n in numbers {
            let found =
                snapshot.vectors().search(&embedding(n), &PassageFilter::all(), 100).unwrap();
            assert_eq!(found[0].chunk.document, document(n).document.id);
            assert_eq!(found.len() as u64, count.min(100));
        }
    }
}

#[test]
fn a_graph_is_made_beside_searches_and_kept() {
    let desk = Desk::new();
    desk.catch_up();
    desk.assert_finds(0..PASSAGES);
    desk.settle();
    assert_eq!((desk.parts().settled, desk.parts().recent), (40, 0));
    desk.assert_finds(0..PASSAGES);
    // What comes after is scanned, also after a start, which reads only that.
    desk.put(PASSAGES..PASSAGES + 3);
    let desk = desk.reopened();
    desk.catch_up();
    assert_eq!((desk.parts().settled, desk.parts().recent), (40, 3));
    desk.assert_finds(0..PASSAGES + 3);
    desk.store.remove(&[document(0).document.source]).unwrap();
    desk.catch_up();
    assert_eq!((desk.parts().dead, desk.parts().recent), (1, 3));
    desk.assert_finds(1..PASSAGES + 3);
    assert_eq!(desk.indexes.vector_trouble(), None);
}

#[test]
fn a_file_that_cannot_be_opened_is_made_anew_and_searches_go_on() {
    let desk = Desk::new();
    desk.catch_up();
    desk.settle();
    let file = desk.graph_file();
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let desk = desk.reopened();
    desk.catch_up();
    desk.assert_finds(0..PASSAGES);
    let trouble = desk.indexes.vector_trouble().expect("it is told");
    assert!(trouble.contains("bytes long"), "{trouble}");
    desk.settle();
    assert_eq!(desk.parts().settled, 40);
    assert!(fs::read(desk.graph_file()).unwrap() == whole, "made as it was");
}

#[test]
fn a_file_that_is_damaged_inside_is_found_out_and_made_anew() {
    let desk = Desk::new();
    desk.catch_up();
    desk.settle();
    let file = desk.graph_file();
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    let last = damaged.len() - 5_000;
    damaged[last] ^= 1;
    fs::write(&file, &damaged).unwrap();
    let desk = desk.reopened();
    desk.catch_up();
    assert_eq!(desk.parts().settled, 40, "opened without reading it");
    desk.settle();
    assert!(desk.indexes.snapshot().vector_index().is_damaged());
    // The next look, which the application takes every second.
    desk.catch_up();
    assert_eq!(desk.indexes.vector_trouble().as_deref(), Some("its file was damaged"));
    desk.assert_finds(0..PASSAGES);
    desk.settle();
    desk.assert_finds(0..PASSAGES);
    assert!(fs::read(desk.graph_file()).unwrap() == whole, "made as it was");
}

#[test]
fn a_second_process_takes_the_graph_that_the_first_made() {
    let desk = Desk::new();
    let (store, indexes) = open(desk.dir.path());
    let second = Desk { dir: tempfile::tempdir().unwrap(), store, indexes };
    desk.catch_up();
    desk.settle();
    second.catch_up();
    assert_eq!((second.parts().settled, second.parts().recent), (40, 0));
    second.assert_finds(0..PASSAGES);
}

#[test]
fn a_file_of_a_later_state_than_the_store_is_not_used() {
    let desk = Desk::new();
    desk.store.remove(&[document(0).document.source]).unwrap();
    let older = tempfile::tempdir().unwrap();
    desk.put(0..PASSAGES);
    let Desk { dir, store, indexes } = desk;
    drop((store, indexes));
    // A copy of the whole folder is taken, then more comes, then the store alone is put back.
    let copy = older.path().join("store.sqlite3");
    fs::copy(dir.path().join("store.sqlite3"), &copy).unwrap();
    let (store, indexes) = open(dir.path());
    let desk = Desk { dir, store, indexes };
    desk.put(PASSAGES..PASSAGES + 20);
    desk.catch_up();
    desk.settle();
    assert_eq!(desk.parts().settled, 60);
    let Desk { dir, store, indexes } = desk;
    drop((store, indexes));
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(dir.path().join(format!("store.sqlite3{suffix}")));
    }
    fs::copy(copy, dir.path().join("store.sqlite3")).unwrap();
    let (store, indexes) = open(dir.path());
    let desk = Desk { dir, store, indexes };
    desk.catch_up();
    desk.assert_finds(0..PASSAGES);
}
