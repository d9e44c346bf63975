//! The library from end to end, with the bundled model on real files.

use std::fs;
use std::path::{Path, PathBuf};

use lodestone::config::{Config, Limits, ModelFiles};
use lodestone::engine::{
    Engine, EngineEvent, IngestReport, JobOutcome, ModelState, SearchMode, SearchRequest,
};
use tempfile::TempDir;

/// A data directory and a folder of files beside it.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("files")).unwrap();
        Self { dir }
    }

    /// One file, indexed, and closed again.
    async fn with_bread() -> Self {
        let place = Self::new();
        place.write("bread.txt", BREAD);
        let engine = place.open();
        index(&engine, &place.files()).await;
        engine.close().await;
        place
    }

    fn files(&self) -> PathBuf {
        self.dir.path().join("files")
    }

    fn config(&self) -> Config {
        Config::new(self.dir.path().join("data"))
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.files().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn open(&self) -> Engine {
        Engine::open(self.config()).unwrap()
    }
}

async fn index(engine: &Engine, path: &Path) -> IngestReport {
    match engine.index(vec![path.to_owned()]).outcome().await {
        JobOutcome::Done(report) => report,
        other => panic!("{other:?}"),
    }
}

/// File names of the hits, best first.
async fn search(engine: &Engine, query: &str, mode: SearchMode) -> Vec<String> {
    let mut request = SearchRequest::new(query);
    request.mode = mode;
    let response = engine.search(request).await.unwrap();
    response.hits.iter().map(|hit| hit.document.source.name()).collect()
}

const OWNERSHIP: &str = "# Shared ownership\n\nSeveral threads may hold the same value through \
    an atomically reference-counted pointer. The last one that lets go frees it.\n";
const BREAD: &str = "Knead the dough for ten minutes, let it rise overnight, and bake it until \
    the crust is brown.\n";

#[tokio::test(flavor = "multi_thread")]
async fn files_are_found_by_meaning_and_by_words_and_kept_up_to_date() {
    let place = Place::new();
    place.write("rust/ownership.md", OWNERSHIP);
    place.write("bröt #1?.txt", BREAD);
    place.write("latin.txt", b"Ein Caf\xe9 mit gro\xdfer Terrasse.\n");
    place.write("pixel.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    place.write("empty.txt", "");
    let engine = place.open();

    let first = index(&engine, &place.files()).await;
    assert_eq!((first.indexed, first.unchanged, first.removed), (3, 0, 0), "{first:?}");
    let reasons: Vec<_> = first.skipped.iter().map(|s| s.reason.as_str()).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert_eq!(reasons[0], "the file is empty");
    let query = "how do I let two workers use one object";
    assert_eq!(search(&engine, query, SearchMode::Hybrid).await[0], "ownership.md");
    assert_eq!(search(&engine, "terrasse café", SearchMode::Keyword).await, ["latin.txt"]);
    assert_eq!(search(&engine, "yeast oven", SearchMode::Semantic).await[0], "bröt #1?.txt");

    let again = index(&engine, &place.files()).await;
    assert_eq!((again.indexed, again.unchanged), (0, 3), "{again:?}");

    place.write("rust/ownership.md", "# Gardening\n\nPrune the roses in early spring.\n");
    fs::remove_file(place.files().join("latin.txt")).unwrap();
    let changed = index(&engine, &place.files()).await;
    assert_eq!((changed.indexed, changed.unchanged, changed.removed), (1, 1, 1), "{changed:?}");
    assert_eq!(search(&engine, "atomically", SearchMode::Keyword).await, [""; 0]);
    assert_eq!(search(&engine, "roses", SearchMode::Keyword).await, ["ownership.md"]);
    assert_eq!(search(&engine, "café", SearchMode::Keyword).await, [""; 0]);

    // A file that stops being text is out of date and goes; its ledger line says why.
    place.write("rust/ownership.md", b"\x7fELF\0\0\0\0");
    let binary = index(&engine, &place.files()).await;
    assert_eq!((binary.indexed, binary.removed), (0, 1), "{binary:?}");
    assert_eq!(search(&engine, "roses", SearchMode::Keyword).await, [""; 0]);

    let status = engine.status().await.unwrap();
    assert_eq!((status.documents, status.sources), (1, 4), "{status:?}");
    // A file that was skipped leaves the ledger when it goes.
    fs::remove_file(place.files().join("empty.txt")).unwrap();
    index(&engine, &place.files()).await;
    assert_eq!(engine.status().await.unwrap().sources, 3);
    let forgotten = engine.remove(vec![place.files().display().to_string()]).await.unwrap();
    assert_eq!(forgotten.removed, 1);
    let status = engine.status().await.unwrap();
    assert_eq!((status.documents, status.sources, status.roots.len()), (0, 0, 0), "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_indexed_is_there_after_a_restart() {
    let place = Place::new();
    place.write("ownership.md", OWNERSHIP);
    let engine = place.open();
    index(&engine, &place.files()).await;
    engine.close().await;
    drop(engine);
    let engine = place.open();
    let hits = engine.search(SearchRequest::new("threads hold the same value")).await.unwrap().hits;
    assert_eq!(hits[0].passage.locator.as_ref().unwrap().to_string(), "§ Shared ownership");
    let view = engine.document(hits[0].document.id).await.unwrap().unwrap();
    assert_eq!(view.text, OWNERSHIP);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_a_data_directory() {
    let place = Place::new();
    place.write("bread.txt", BREAD);
    let (window, command) = (place.open(), place.open());
    window.wait_for_model().await;
    let mut events = window.events();
    index(&command, &place.files()).await;
    while search(&window, "dough", SearchMode::Keyword).await.is_empty() {
        while !matches!(events.recv().await.unwrap(), EngineEvent::IndexChanged { .. }) {}
    }
    assert_eq!(search(&window, "crust of a loaf", SearchMode::Semantic).await, ["bread.txt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_answered_while_files_are_indexed_and_a_cancelled_run_keeps_what_it_has() {
    let place = Place::new();
    place.write("a-bread.txt", BREAD);
    for at in 0..60 {
        let prose = "Rivers carry sand and silt from the mountains down to the sea. ".repeat(30);
        place.write(&format!("river-{at:03}.txt"), format!("River number {at}.\n\n{prose}"));
    }
    let engine = place.open();
    engine.wait_for_model().await;
    let mut events = engine.events();
    let job = engine.index(vec![place.files()]);
    while search(&engine, "bake a loaf", SearchMode::Semantic).await.is_empty() {
        events.recv().await.unwrap();
    }
    job.cancel();
    let JobOutcome::Cancelled(report) = job.outcome().await else { panic!("was not cancelled") };
    assert!(report.indexed < 61, "the run was over before it could be cancelled: add files");
    let kept = engine.status().await.unwrap().documents;
    assert!(kept > 0);
    let rest = index(&engine, &place.files()).await;
    assert_eq!((rest.indexed + rest.unchanged, rest.unchanged), (61, kept));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_store_is_named_and_left_as_it_is() {
    let place = Place::new();
    let data = place.config().data_dir;
    fs::create_dir(&data).unwrap();
    let file = data.join("store.sqlite3");
    fs::write(&file, "this is no database, however long one looks at it").unwrap();
    let error = Engine::open(place.config()).unwrap_err().to_string();
    assert!(error.contains("store.sqlite3") && error.contains("move the file away"), "{error}");
    assert!(fs::read_to_string(&file).unwrap().starts_with("this is no database"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_keyword_index_is_rebuilt_from_the_store() {
    let place = Place::with_bread().await;
    fs::write(place.config().data_dir.join("keywords/meta.json"), "{").unwrap();
    let engine = place.open();
    assert_eq!(search(&engine, "dough", SearchMode::Keyword).await, ["bread.txt"]);
    let notices = engine.status().await.unwrap().notices;
    assert!(notices[0].starts_with("the keyword index was rebuilt"), "{notices:?}");
    assert!(engine.diagnose(true).await.unwrap().ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_words_still_answer() {
    let place = Place::new();
    place.write("bread.txt", BREAD);
    let folder = crate::tiny_model::write(place.dir.path(), "gone", 1);
    let config = Config { model: ModelFiles::Folder(folder.clone()), ..place.config() };
    let engine = Engine::open(config.clone()).unwrap();
    index(&engine, &place.files()).await;
    engine.close().await;
    drop(engine);
    fs::remove_dir_all(&folder).unwrap();
    let engine = Engine::open(config).unwrap();
    let ModelState::Failed { reason, .. } = engine.wait_for_model().await else { panic!("loaded") };
    assert!(reason.contains("gone") && reason.contains("config.json"), "{reason}");
    assert_eq!(search(&engine, "dough", SearchMode::Hybrid).await, ["bread.txt"]);
    let mut semantic = SearchRequest::new("dough");
    semantic.mode = SearchMode::Semantic;
    let error = engine.search(semantic).await.unwrap_err().to_string();
    assert!(error.starts_with("the embedding model is not available"), "{error}");
    let JobOutcome::Failed { reason } = engine.index(vec![place.files()]).outcome().await else {
        panic!("indexed without a model")
    };
    assert!(reason.contains("gone"), "{reason}");
    assert!(!engine.diagnose(true).await.unwrap().ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_ends_the_run_and_loses_nothing() {
    let place = Place::with_bread().await;
    place.write("ownership.md", OWNERSHIP);
    let limits = Limits { disk_free_bytes_min: u64::MAX, ..Limits::default() };
    let engine = Engine::open(Config { limits, ..place.config() }).unwrap();
    let JobOutcome::Failed { reason } = engine.index(vec![place.files()]).outcome().await else {
        panic!("wrote to a full disk")
    };
    assert!(reason.contains("MB are free") && reason.contains("run again"), "{reason}");
    assert_eq!(search(&engine, "dough", SearchMode::Keyword).await, ["bread.txt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_and_single_texts_give_the_same_vectors() {
    let place = Place::new();
    let engine = place.open();
    let texts = [OWNERSHIP, BREAD, "one", ""].map(str::to_owned).to_vec();
    let together = engine.embed(texts.clone()).await.unwrap();
    assert_eq!((together.rows.len(), together.dim), (4, 384));
    for (text, row) in texts.into_iter().zip(&together.rows) {
        let single = engine.embed(vec![text]).await.unwrap();
        let pairs = single.rows[0].as_slice().iter().zip(row.as_slice());
        pairs.for_each(|(a, b)| assert!((a - b).abs() <= 1e-5, "{a} {b}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn starred_answers_tell_how_well_search_finds_them() {
    let place = Place::new();
    place.write("ownership.md", OWNERSHIP);
    place.write("bread.txt", BREAD);
    let engine = place.open();
    index(&engine, &place.files()).await;
    assert_eq!(engine.measure_golden().await.unwrap(), None);

    let star = |query: &str, name: &str| {
        let source = place.files().join(name).to_string_lossy().into_owned();
        engine.star_named(query.to_owned(), source, true)
    };
    let query = "how do I let two workers use one object";
    assert!(star(query, "ownership.md").await.unwrap());
    assert!(!star(query, "ownership.md").await.unwrap());
    let measured = engine.measure_golden().await.unwrap().unwrap();
    assert_eq!((measured.queries, measured.stars, measured.passages), (1, 1, 2));
    assert!((measured.recall_at_10 - 1.0).abs() < 1e-9 && (measured.mrr_at_10 - 1.0).abs() < 1e-9);
    assert_eq!(measured.ann_gap_at_10, Some(0.0));
    assert_eq!(measured.model, "all-MiniLM-L6-v2");
    assert!(star(query, "nowhere.md").await.is_err());

    // An answer that nothing leads to is half of what is to be found.
    assert!(star("\"no such words\" ext:txt", "bread.txt").await.unwrap());
    let second = engine.measure_golden().await.unwrap().unwrap();
    assert!((second.recall_at_10 - 0.5).abs() < 1e-9, "{second:?}");
    let golden = engine.golden_set().await.unwrap();
    assert_eq!((golden.stars.len(), golden.measurements), (2, vec![second, measured]));
}
