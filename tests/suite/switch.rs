//! From one embedding model to another, with searches all the while.

use std::fs;
use std::path::Path;

use lodestone::config::{BUNDLED_MODEL, Config, ModelFiles, Settings};
use lodestone::engine::{
    Engine, EngineEvent, Job, JobOutcome, ModelState, SearchMode, SearchRequest,
};
use tempfile::TempDir;

use crate::tiny_model;

const BREAD: &str = "Knead the dough for ten minutes and bake it until the crust is brown.";
const ROSES: &str = "Prune the roses in early spring.";
const TINY: &str = "tiny";

/// A folder of files, a data directory, and a small model that is known there.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new(files: usize) -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(place.dir.path().join("files")).unwrap();
        place.write("bread.txt", BREAD);
        for at in 1..files {
            let prose = "Rivers carry sand and silt from the mountains to the sea. ".repeat(20);
            place.write(&format!("river-{at:03}.txt"), &format!("River {at}.\n\n{prose}"));
        }
        let folder = tiny_model::write(place.dir.path(), TINY, 7);
        let data_dir = place.dir.path().join("data");
        Settings::update(&data_dir, |settings| settings.model_folders.push(folder)).unwrap();
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path("files").join(name), text).unwrap();
    }

    fn config(&self) -> Config {
        Config::load(self.path("data")).unwrap()
    }

    fn open(&self) -> Engine {
        Engine::open(self.config()).unwrap()
    }
}

async fn index(engine: &Engine, path: &Path) {
    let outcome = engine.index(vec![path.to_owned()]).outcome().await;
    assert!(matches!(outcome, JobOutcome::Done(_)), "{outcome:?}");
}

/// The name of the first file, and whether it was found by meaning.
async fn first(engine: &Engine, query: &str, mode: SearchMode) -> (String, bool) {
    let request = SearchRequest { mode, ..SearchRequest::new(query) };
    let response = engine.search(request).await.unwrap();
    let hit = response.hits.first().expect("a search found nothing");
    assert_eq!(hit.passage.text.trim(), query, "a passage of another cut");
    (hit.document.source.name(), hit.why.semantic.is_some())
}

/// Asks by meaning alone until the job has ended.
async fn search_until_done(engine: &Engine, job: Job) -> (JobOutcome, usize) {
    let mut searches = 0;
    let mut outcome = std::pin::pin!(job.outcome());
    loop {
        tokio::select! {
            biased;
            outcome = &mut outcome => return (outcome, searches),
            found = first(engine, BREAD, SearchMode::Semantic) => {
                assert_eq!(found, ("bread.txt".to_owned(), true));
                searches += 1;
            }
        }
    }
}

fn is_using(state: &ModelState, name: &str) -> bool {
    matches!(state, ModelState::Ready { model, .. } if model == name)
}

#[tokio::test(flavor = "multi_thread")]
async fn a5_searches_go_on_through_a_switch_of_the_model() {
    let place = Place::new(30);
    let engine = place.open();
    index(&engine, &place.path("files")).await;
    assert!(is_using(&engine.model_state(), BUNDLED_MODEL));

    let job = engine.use_model(TINY.to_owned()).await.unwrap();
    // What is dropped meanwhile is found at once, and is not forgotten by the switch.
    place.write("roses.txt", ROSES);
    index(&engine, &place.path("files").join("roses.txt")).await;
    assert_eq!(first(&engine, ROSES, SearchMode::Hybrid).await.0, "roses.txt");
    let (outcome, searches) = search_until_done(&engine, job).await;
    let JobOutcome::Switched { model, report } = outcome else { panic!("{outcome:?}") };
    assert_eq!((model.as_str(), report.skipped.len()), (TINY, 0));
    assert!(is_using(&engine.model_state(), TINY), "{:?}", engine.model_state());
    for text in [BREAD, ROSES] {
        assert!(first(&engine, text, SearchMode::Semantic).await.1);
    }
    assert_eq!(engine.embed(vec![BREAD.to_owned()]).await.unwrap().dim, 32);

    // Back again, into the larger one: it takes longer, so that searches fall into it.
    let job = engine.use_model(BUNDLED_MODEL.to_owned()).await.unwrap();
    let (outcome, more) = search_until_done(&engine, job).await;
    assert!(
        matches!(&outcome, JobOutcome::Switched { report, .. } if report.indexed == 31),
        "{outcome:?}"
    );
    assert!(searches + more > 0);
    assert!(first(&engine, ROSES, SearchMode::Semantic).await.1);
    let diagnosis = engine.diagnose(true).await.unwrap();
    assert!(diagnosis.ok, "{diagnosis:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_switch_keeps_the_old_model_and_goes_on_at_the_next_start() {
    let place = Place::new(60);
    let config = Config { model: ModelFiles::Folder(place.path(TINY)), ..place.config() };
    let engine = Engine::open(config.clone()).unwrap();
    index(&engine, &place.path("files")).await;

    let mut events = engine.events();
    let job = engine.use_model(BUNDLED_MODEL.to_owned()).await.unwrap();
    let done = loop {
        if let EngineEvent::JobProgress { progress, .. } = events.recv().await.unwrap()
            && progress.files_done > 0
        {
            break progress.files_done;
        }
    };
    job.cancel();
    let outcome = job.outcome().await;
    assert!(matches!(outcome, JobOutcome::SwitchPaused { .. }), "{outcome:?}: add files");
    assert!(is_using(&engine.model_state(), TINY));
    assert!(first(&engine, BREAD, SearchMode::Semantic).await.1);
    engine.close().await;
    drop(engine);

    let engine = place.open();
    let mut events = engine.events();
    let report = loop {
        if let EngineEvent::JobFinished { outcome, .. } = events.recv().await.unwrap() {
            match outcome {
                JobOutcome::Switched { report, .. } => break report,
                other => panic!("{other:?}"),
            }
        }
    };
    assert!(report.indexed <= 60 - done, "{done} of 60 were done before: {report:?}");
    assert!(is_using(&engine.model_state(), BUNDLED_MODEL));
    assert!(first(&engine, BREAD, SearchMode::Semantic).await.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_files_of_the_old_model_words_answer_until_the_new_one_is_ready() {
    let place = Place::new(1);
    let tiny = ModelFiles::Folder(place.path(TINY));
    let engine = Engine::open(Config { model: tiny.clone(), ..place.config() }).unwrap();
    index(&engine, &place.path("files")).await;
    engine.close().await;
    drop(engine);
    fs::remove_dir_all(place.path(TINY)).unwrap();

    let alone = Config { switches_model: false, ..place.config() };
    let engine = Engine::open(alone).unwrap();
    let ModelState::Failed { model, reason } = engine.wait_for_model().await else { panic!() };
    assert_eq!(model, TINY);
    assert!(reason.contains("config.json"), "{reason}");
    assert_eq!(first(&engine, BREAD, SearchMode::Hybrid).await, ("bread.txt".to_owned(), false));
    engine.close().await;
    drop(engine);

    let engine = place.open();
    let mut events = engine.events();
    while !is_using(&engine.model_state(), BUNDLED_MODEL) {
        assert_eq!(first(&engine, BREAD, SearchMode::Hybrid).await.0, "bread.txt");
        events.recv().await.unwrap();
    }
    assert!(first(&engine, BREAD, SearchMode::Semantic).await.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_process_changes_over_as_well() {
    let place = Place::new(3);
    let (window, command) = (place.open(), place.open());
    index(&command, &place.path("files")).await;
    let mut events = window.events();
    let job = command.use_model(TINY.to_owned()).await.unwrap();
    let outcome = job.outcome().await;
    assert!(matches!(outcome, JobOutcome::Switched { .. }), "{outcome:?}");
    while !is_using(&window.model_state(), TINY) {
        events.recv().await.unwrap();
    }
    assert_eq!(first(&window, BREAD, SearchMode::Semantic).await, ("bread.txt".to_owned(), true));
    assert_eq!(window.embed(vec![BREAD.to_owned()]).await.unwrap().dim, 32);
}
