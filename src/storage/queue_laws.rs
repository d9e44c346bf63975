//! What holds for the queue and for vectors that are used again.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::laws::{document, file, fresh, model};
use super::*;
use crate::data::{ContentHash, DocumentId, EmbeddedDocument, InputHash, Source};

fn queued(source: &Source, place: i64) -> QueuedFile {
    let (bytes, modified, stamp) = (3, Some(7), Some(7_000));
    let source = source.clone();
    QueuedFile { source, bytes, modified, stamp, place, attempts: 0, generation: 0 }
}

fn run(store: &Store) -> (RunKey, RunLease) {
    store.begin_run(&[PathBuf::from("/")], None, 1).unwrap()
}

fn stamp(QueuedFile { source, modified, stamp, generation, .. }: &QueuedFile) -> SourceStamp {
    let (source, modified, stamp) = (source.clone(), *modified, *stamp);
    SourceStamp { source, modified, stamp, readers: 1, generation: *generation, is_current: true }
}

fn with_inputs(source: &Source, text: &str) -> EmbeddedDocument {
    let mut embedded = document(source, text);
    let lines = text.split_inclusive('\n');
    embedded.inputs = lines.map(|line| InputHash::of(&[], &[line.len() as u32])).collect();
    embedded
}

/// Stores what was read of files that were taken.
fn settle(store: &Store, run: RunKey, read: &[(&QueuedFile, &str)]) -> u64 {
    let stamps: Vec<_> = read.iter().map(|(file, _)| stamp(file)).collect();
    let documents: Vec<_> =
        read.iter().map(|(file, text)| with_inputs(&file.source, text)).collect();
    let documents = documents.as_slice();
    let settled =
        Settled { run: Some(run), documents, outdated: &[], skipped: &[], stamps: &stamps };
    store.settle(&model("words"), &settled, 1).unwrap()
}

fn is_on_queue(store: &Store, source: &Source) -> bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM queue WHERE source = ?1)";
    store.read(|connection| connection.query_row(sql, [source.key()], |row| row.get(0))).unwrap()
}

fn counted_new(store: &Store) -> u64 {
    let sql = "SELECT count(DISTINCT source) FROM queue WHERE is_new";
    store.read(|connection| connection.query_row(sql, [], |row| record::count(row, 0))).unwrap()
}

fn names(taken: &[QueuedFile]) -> Vec<String> {
    taken.iter().map(|file| file.source.name()).collect()
}

#[test]
fn files_come_in_their_order_and_once() {
    let (_dir, store) = fresh();
    let (run, _lease) = run(&store);
    let files = [("/b", 1), ("/c", 0), ("/a", 1)].map(|(path, place)| queued(&file(path), place));
    assert_eq!(store.enqueue(run, &files, 1).unwrap(), Some(vec![]));
    assert_eq!(names(&store.take(run, 2).unwrap()), ["c", "a"]);
    let counts = store.queue_counts().unwrap();
    assert_eq!((counts.queued, counts.extracting, counts.new), (1, 2, 3));
    let taken = store.take(run, 9).unwrap();
    assert_eq!(names(&taken), ["b"]);
    assert_eq!(names(&store.take(run, 9).unwrap()), [""; 0]);
    settle(&store, run, &[(&taken[0], "one")]);
    assert_eq!(store.queue_counts().unwrap().extracting, 2);
    store.end_run(run).unwrap();
    assert_eq!(store.queue_counts().unwrap(), QueueCounts::default());
    assert_eq!(store.runs().unwrap(), []);
}

#[test]
fn what_looks_as_it_did_is_not_queued() {
    let (_dir, store) = fresh();
    let (run, _lease) = run(&store);
    let (a, b) = (file("/a"), file("/b"));
    store.enqueue(run, &[queued(&a, 0), queued(&b, 0)], 1).unwrap();
    let taken = store.take(run, 9).unwrap();
    let documents = [document(&a, "abc")];
    let hash = Some(documents[0].document.content_hash);
    let skipped = [SkippedSource {
        source: b.clone(),
        reason: "binary".to_owned(),
        stamp: Some(FileStamp { bytes: 3, modified: Some(7), content_hash: hash }),
        attempts: 0,
    }];
    let stamps = [stamp(&taken[0]), SourceStamp { is_current: false, ..stamp(&taken[1]) }];
    let (run_of, outdated) = (Some(run), &[][..]);
    let settled = Settled {
        run: run_of,
        documents: &documents,
        outdated,
        skipped: &skipped,
        stamps: &stamps,
    };
    store.settle(&model("words"), &settled, 1).unwrap();

    assert_eq!(store.documents().unwrap()[0].modified, Some(7), "of when it was last looked at");
    let again = |file: QueuedFile, readers| store.enqueue(run, &[file], readers).unwrap().unwrap();
    assert_eq!(again(queued(&a, 0), 1), [Settlement::Unchanged { bytes: 3 }]);
    assert!(matches!(again(queued(&b, 0), 1).as_slice(), [Settlement::Skipped { .. }]));
    // Touched, of another size, or still young enough to be written unseen.
    for changed in [
        QueuedFile { stamp: Some(8_000), ..queued(&a, 0) },
        QueuedFile { bytes: 4, ..queued(&a, 0) },
        QueuedFile { stamp: None, ..queued(&a, 0) },
    ] {
        assert_eq!(again(changed.clone(), 1), [], "{changed:?}");
    }
    // Readers that read more.
    assert_eq!(again(queued(&a, 0), 2), []);
    assert_eq!(again(queued(&b, 0), 2), []);
    let content = documents[0].document.content_hash;
    assert!(store.holds(&a, content, 1).unwrap());
    assert!(!store.holds(&a, content, 2).unwrap());
    assert!(!store.holds(&a, ContentHash::of(b"other"), 1).unwrap());
    store.unstamp(&[PathBuf::from("/b")]).unwrap();
    assert_eq!(again(queued(&b, 0), 1), []);
    // What is to be indexed again is read, whatever it looks like.
    assert_eq!(again(queued(&a, 0), 1), [Settlement::Unchanged { bytes: 3 }]);
    store.unstamp(&[PathBuf::from("/a")]).unwrap();
    assert_eq!(again(queued(&a, 0), 1), []);
    assert!(!store.holds(&a, content, 1).unwrap());
}

#[test]
fn what_a_dead_process_had_in_hand_comes_last_and_a_suspect_alone() {
    let (_dir, store) = fresh();
    let (run, lease) = run(&store);
    store.enqueue(run, &[queued(&file("/a"), 0), queued(&file("/b"), 5)], 1).unwrap();
    assert_eq!(names(&store.take(run, 1).unwrap()), ["a"]);
    drop(lease);
    let lease = store.adopt_run(run).unwrap().unwrap();
    assert_eq!(names(&store.take(run, 9).unwrap()), ["b", "a"]);
    drop(lease);
    for _ in 0..2 {
        drop(store.adopt_run(run).unwrap().unwrap());
        store.take(run, 9).unwrap();
    }
    drop(store.adopt_run(run).unwrap().unwrap());
    store.enqueue(run, &[queued(&file("/c"), 9_999_999)], 1).unwrap();
    let alone = store.take(run, 9).unwrap();
    assert_eq!((alone.len(), alone[0].attempts), (1, 3), "{alone:?}");
}

#[test]
fn a_process_that_ends_in_order_makes_nobody_a_suspect() {
    let (_dir, store) = fresh();
    let (run, _lease) = run(&store);
    store.enqueue(run, &[queued(&file("/a"), 0)], 1).unwrap();
    for _ in 0..9 {
        assert_eq!(store.take(run, 9).unwrap()[0].attempts, 0);
        store.put_back(run).unwrap();
    }
}

#[test]
fn a_document_that_gets_on_is_no_suspect() {
    let (_dir, store) = fresh();
    let (run, mut lease) = run(&store);
    let a = file("/a");
    store.enqueue(run, &[queued(&a, 0)], 1).unwrap();
    for _ in 0..9 {
        let taken = store.take(run, 9).unwrap();
        assert!(taken[0].attempts < SUSPECT_ATTEMPTS, "{taken:?}");
        store.note_embedded(run, &a).unwrap();
        drop(lease);
        lease = store.adopt_run(run).unwrap().unwrap();
    }
    drop(lease);
}

#[test]
fn one_process_at_a_time_has_a_run() {
    let (dir, store) = fresh();
    let other = Store::open(dir.path()).unwrap();
    let (run, lease) = run(&store);
    assert!(other.adopt_run(run).unwrap().is_none());
    drop(lease);
    let lease = other.adopt_run(run).unwrap();
    assert!(lease.is_some());
    other.end_run(run).unwrap();
    drop(lease);
    // Whoever listed the runs before it ended.
    assert!(store.adopt_run(run).unwrap().is_none());
    assert!(!store.run_path(run).exists());
}

#[test]
fn a_file_belongs_to_the_run_that_queued_it_last() {
    let (_dir, store) = fresh();
    let ((old, _a), (new, _b)) = (run(&store), run(&store));
    let a = file("/a");
    store.enqueue(old, &[queued(&a, 0)], 1).unwrap();
    let before = store.take(old, 1).unwrap();
    store.enqueue(new, &[queued(&a, 0)], 1).unwrap();
    // Read before the file was queued once more, so it may be the older version.
    settle(&store, old, &[(&before[0], "old")]);
    assert_eq!((store.queued_new().unwrap(), counted_new(&store)), (1, 1));
    assert_eq!(store.counts().unwrap().documents, 0);
    let after = store.take(new, 1).unwrap();
    settle(&store, new, &[(&after[0], "new")]);
    assert_eq!(store.counts().unwrap().documents, 1);
    assert_eq!(store.queued_new().unwrap(), 0);
    store.enqueue(old, &[queued(&file("/b"), 0)], 1).unwrap();
    store.end_run(old).unwrap();
    assert_eq!((store.queued_new().unwrap(), store.run_count().unwrap()), (0, 1));
}

#[test]
fn what_is_removed_is_not_indexed_by_a_run_that_was_begun_before() {
    let (_dir, store) = fresh();
    store.add_root(Path::new("/r"), false).unwrap();
    store.add_root(Path::new("/r/sub/inner"), false).unwrap();
    let begin = |paths: &[&str]| {
        let paths: Vec<_> = paths.iter().map(PathBuf::from).collect();
        store.begin_run(&paths, None, 1).unwrap()
    };
    let ((whole, _a), (both, _b), (sub, _c)) =
        (begin(&["/r"]), begin(&["/r/sub", "/s"]), begin(&["/r/sub/inner"]));
    let (a, b, s) = (file("/r/a"), file("/r/sub/b"), file("/s/c"));
    let all = [&a, &b, &s].map(|source| queued(source, 0));
    store.enqueue(whole, &all[..2], 1).unwrap();
    let taken = store.take(whole, 9).unwrap();
    assert_eq!(store.remove_under(Path::new("/r/sub")).unwrap(), Some(0));
    settle(&store, whole, &[(&taken[0], "a"), (&taken[1], "b")]);
    assert_eq!(store.sources_under(Path::new("/")).unwrap(), [a]);

    assert_eq!(store.enqueue(sub, &all[1..2], 1).unwrap(), None);
    assert!(!store.is_open(sub).unwrap() && store.is_open(both).unwrap());
    let removed = Settlement::Removed { bytes: 3 };
    assert_eq!(store.enqueue(both, &all[1..], 1).unwrap(), Some(vec![removed.clone()]));
    assert_eq!(store.enqueue(whole, &all[1..2], 1).unwrap(), Some(vec![removed]));
    let skipped = SkippedSource { source: b, reason: "link".into(), stamp: None, attempts: 0 };
    store.pass_over(whole, std::slice::from_ref(&skipped)).unwrap();
    assert_eq!(store.skipped().unwrap(), []);
    let roots = store.roots().unwrap();
    assert_eq!(roots.iter().map(|root| root.path.as_path()).collect::<Vec<_>>(), [Path::new("/r")]);

    // Until it is named, itself or a folder above it.
    store.add_root(Path::new("/r"), false).unwrap();
    assert_eq!(store.enqueue(whole, &all[1..2], 1).unwrap(), Some(vec![]));
}

fn known(store: &Store, of: &Source, lengths: &[u32]) -> Vec<bool> {
    let inputs: Vec<_> = lengths.iter().map(|length| InputHash::of(&[], &[*length])).collect();
    let known = store.known_vectors(&model("words"), DocumentId::of(of), &inputs).unwrap();
    known.iter().map(Option::is_some).collect()
}

#[test]
fn vectors_are_found_by_what_the_encoder_got() {
    let (_dir, store) = fresh();
    let (a, b) = (file("/a"), file("/b"));
    let stored = with_inputs(&a, "1\n22\n333\n");
    store.commit_document(&stored, 1).unwrap();
    // By its own document and by any other.
    assert_eq!(known(&store, &a, &[4, 9, 2]), [true, false, true]);
    assert_eq!(known(&store, &b, &[4, 9, 2]), [true, false, true]);
    let found =
        store.known_vectors(&model("words"), DocumentId::of(&b), &[stored.inputs[1]]).unwrap();
    let half = |value: f32| half::f16::from_f32(value).to_f32();
    let expected: Vec<f32> = stored.embeddings[1].as_slice().iter().map(|v| half(*v)).collect();
    assert_eq!(found[0].as_ref().unwrap().as_slice(), expected);
    // Not of another model, and not when they have gone.
    let other = model("pictures");
    assert_eq!(
        store.known_vectors(&other, DocumentId::of(&a), &stored.inputs).unwrap(),
        [None, None, None]
    );
    store.remove(std::slice::from_ref(&a)).unwrap();
    assert_eq!(known(&store, &a, &[4]), [false]);
}

#[test]
fn a_copy_has_the_vectors_of_what_it_is_a_copy_of() {
    let (_dir, store) = fresh();
    let stored = with_inputs(&file("/a"), "1\n22\n");
    store.commit_document(&stored, 1).unwrap();
    let copy = document(&file("/b"), "1\n22\n");
    let twin = |copy: &EmbeddedDocument| {
        store.twin(&model("words"), &copy.document, &copy.chunks).unwrap()
    };
    let found = twin(&copy).unwrap();
    assert_eq!((found.inputs, found.embeddings.len()), (stored.inputs.clone(), 2));
    let mut cut_otherwise = copy.clone();
    cut_otherwise.chunks[0].range.end += 1;
    assert_eq!(twin(&cut_otherwise), None);
    assert_eq!(twin(&document(&file("/c"), "1\n23\n")), None);
    assert_eq!(twin(&stored), None, "a document is no copy of itself");
}

#[test]
fn vectors_of_an_unfinished_document_are_kept_until_no_run_is_left() {
    let (_dir, store) = fresh();
    let (run, _lease) = run(&store);
    let made = with_inputs(&file("/a"), "1\n22\n");
    let pairs: Vec<_> = made.inputs.iter().copied().zip(made.embeddings).collect();
    store.keep_vectors(&model("words"), &pairs[..1]).unwrap();
    assert_eq!(known(&store, &file("/a"), &[2, 3]), [true, false]);
    // A switch of the model has no run, and may be in the middle of a long document.
    store.commit_document(&document(&file("/z"), "z"), 1).unwrap();
    store.choose_model(&model("pictures")).unwrap();
    let (other, _other) = self::run(&store);
    store.end_run(other).unwrap();
    store.end_run(run).unwrap();
    assert_eq!(known(&store, &file("/a"), &[2, 3]), [true, false]);
    store.choose_model(&model("words")).unwrap();
    let (last, _last) = self::run(&store);
    store.end_run(last).unwrap();
    assert_eq!(known(&store, &file("/a"), &[2, 3]), [false, false]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is taken, stored, edited and killed: a file is on the queue, or it is stored as it is now.
    #[test]
    fn no_file_is_lost(steps in prop::collection::vec((0_u8..5, 1_usize..4), 1..40)) {
        let dir = TempDir::new().unwrap();
        let store = laws::open(dir.path());
        let (run, mut lease) = run(&store);
        let mut files: Vec<_> = (0..6).map(|n| queued(&file(&format!("/{n}")), n)).collect();
        store.enqueue(run, &files, 1).unwrap();
        let text = |file: &QueuedFile| format!("{:?}", file.stamp);
        let mut taken: Vec<QueuedFile> = Vec::new();
        for (step, many) in steps {
            match step {
                0 => taken.extend(store.take(run, many).unwrap()),
                1 => {
                    let read: Vec<_> = taken.drain(..many.min(taken.len())).collect();
                    let texts: Vec<_> = read.iter().map(text).collect();
                    let read: Vec<_> = read.iter().zip(texts.iter().map(String::as_str)).collect();
                    settle(&store, run, &read);
                }
                2 => {
                    drop(lease);
                    taken.clear();
                    lease = store.adopt_run(run).unwrap().unwrap();
                }
                3 => {
                    store.put_back(run).unwrap();
                    taken.clear();
                }
                // An edit, which is listed while a version before it may be in hand.
                _ => {
                    files[many].stamp = files[many].stamp.map(|stamp| stamp + 1);
                    store.enqueue(run, &files[many..=many], 1).unwrap();
                }
            }
            let counts = store.queue_counts().unwrap();
            prop_assert_eq!(counts.new, counted_new(&store));
            prop_assert!(counts.extracting <= taken.len() as u64);
            for file in &files {
                let stored = store.fingerprint(&file.source).unwrap();
                let is_stored = stored == Some(ContentHash::of(text(file).as_bytes()));
                prop_assert!(is_stored || is_on_queue(&store, &file.source), "{:?}", file);
            }
        }
        drop(lease);
    }
}
