//! Watched folders, from the engine that a window has open.

use std::fs;
use std::path::PathBuf;
#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lodestone::config::{Config, Settings};
use lodestone::engine::{
    Engine, EngineEvent, Job, JobOutcome, Pace, RootState, SearchMode, SearchRequest, Status,
};
use tempfile::TempDir;

use crate::process::PATIENCE;

/// How soon an edit is to be found.
const FOUND_WITHIN: Duration = Duration::from_secs(2);

struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("files")).unwrap();
        Self { dir }
    }

    /// Paused, with the one file on the queue.
    async fn open_with_one_file_waiting(&self) -> (Engine, Job) {
        let engine = Engine::open(self.config()).unwrap();
        engine.pause(true).await.unwrap();
        let job = engine.index(vec![self.files()]);
        until(&engine, |status| status.queue.counts.queued == 1).await;
        (engine, job)
    }

    fn files(&self) -> PathBuf {
        self.dir.path().join("files").canonicalize().unwrap()
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.files().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn config(&self) -> Config {
        Config { keeps_up: true, ..Config::new(self.dir.path().join("data")) }
    }

    /// With its files indexed and watched.
    async fn open(&self) -> Engine {
        let engine = Engine::open(self.config()).unwrap();
        let outcome = engine.index(vec![self.files()]).outcome().await;
        assert!(matches!(outcome, JobOutcome::Done(_)), "{outcome:?}");
        let watched =
            |status: &Status| status.roots[0].state == RootState::Watched && status.queue.runs == 0;
        until(&engine, watched).await;
        engine
    }
}

/// Looks at the status again and again, and panics when what is waited for does not come.
async fn until(engine: &Engine, is_so: impl Fn(&Status) -> bool) -> Status {
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    let end = Instant::now() + PATIENCE;
    loop {
        let status = engine.status().await.unwrap();
        if is_so(&status) {
            return status;
        }
        assert!(Instant::now() < end, "{status:?}");
        tick.tick().await;
    }
}

async fn found(engine: &Engine, word: &str) -> Vec<String> {
    let mut request = SearchRequest::new(word);
    request.mode = SearchMode::Keyword;
    let response = engine.search(request).await.unwrap();
    response.hits.iter().map(|hit| hit.document.source.name()).collect()
}

async fn until_found(engine: &Engine, word: &str, expected: &[&str]) -> Duration {
    let started = Instant::now();
    let mut events = engine.events();
    while found(engine, word).await != expected {
        let next = tokio::time::timeout(PATIENCE, events.recv()).await;
        assert!(next.is_ok(), "{word} is not found");
    }
    started.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_in_a_watched_folder_is_found_within_two_seconds() {
    let place = Place::new();
    place.write("a.md", "# A\n\nBefore the edit.\n");
    let engine = place.open().await;
    place.write("a.md", "# A\n\nA pangolin after the edit.\n");
    let took = until_found(&engine, "pangolin", &["a.md"]).await;
    println!("an edit was found after {took:?}");
    assert!(took < FOUND_WITHIN, "{took:?}");

    place.write("new/deep/b.md", "# B\n\nA quokka.\n");
    until_found(&engine, "quokka", &["b.md"]).await;
    fs::rename(place.files().join("new"), place.files().join("old")).unwrap();
    until_found(&engine, "in:old quokka", &["b.md"]).await;
    until_found(&engine, "in:new quokka", &[]).await;
    fs::remove_file(place.files().join("a.md")).unwrap();
    until_found(&engine, "pangolin", &[]).await;
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_out_stays_out_when_it_changes() {
    let place = Place::new();
    place.write(".gitignore", "build/\n");
    place.write("a.md", "one\n");
    let engine = place.open().await;
    place.write("build/b.md", "A wombat.\n");
    place.write("node_modules/c.md", "A wombat.\n");
    place.write("~$d.md", "A wombat.\n");
    place.write("e.md", "A wombat.\n");
    until_found(&engine, "wombat", &["e.md"]).await;
    let status = engine.status().await.unwrap();
    assert_eq!((status.documents, status.skipped.len()), (2, 0), "{status:?}");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_not_there_is_offline_and_nothing_of_it_is_forgotten() {
    let place = Place::new();
    place.write("a.md", "A numbat.\n");
    let engine = place.open().await;
    let away = place.dir.path().join("away");
    fs::rename(place.files(), &away).unwrap();
    let files = place.dir.path().join("files");
    until(&engine, |status| status.roots[0].state == RootState::Offline).await;
    assert_eq!(found(&engine, "numbat").await, ["a.md"]);
    let JobOutcome::Done(report) = engine.index(vec![files.clone()]).outcome().await else {
        panic!()
    };
    assert_eq!((report.removed, report.skipped.len()), (0, 1), "{report:?}");
    assert!(report.skipped[0].reason.starts_with("offline"), "{report:?}");
    assert_eq!(engine.status().await.unwrap().skipped.len(), 0);

    // What changed meanwhile is seen when it is back.
    fs::write(away.join("b.md"), "A quoll.\n").unwrap();
    fs::rename(&away, &files).unwrap();
    until(&engine, |status| status.roots[0].state == RootState::Watched).await;
    until_found(&engine, "quoll", &["b.md"]).await;
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_goes_on_at_the_next_start_without_being_asked() {
    let place = Place::new();
    for at in 0..40 {
        let prose = "Rivers carry sand and silt from the mountains down to the sea. ".repeat(30);
        place.write(&format!("river-{at:02}.txt"), &format!("River number {at}.\n\n{prose}"));
    }
    let engine = Engine::open(place.config()).unwrap();
    let mut events = engine.events();
    let job = engine.index(vec![place.files()]);
    while !matches!(events.recv().await.unwrap(), EngineEvent::IndexChanged { documents: 1.., .. })
    {
    }
    engine.close().await;
    let JobOutcome::Cancelled(report) = job.outcome().await else { panic!("was not cut short") };
    assert!(report.indexed < 40, "the run was over before it could be closed: add files");
    drop(engine);

    let engine = Engine::open(place.config()).unwrap();
    until(&engine, |status| status.documents == 40 && status.queue.runs == 0).await;
    // One that a person cancels is not gone on with.
    place.write("more.md", "more\n");
    let job = engine.index(vec![place.files()]);
    job.cancel();
    job.outcome().await;
    until(&engine, |status| status.queue.runs == 0).await;
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_it_is_paused_nothing_is_begun_also_after_a_restart() {
    let place = Place::new();
    let engine = place.open().await;
    engine.pause(true).await.unwrap();
    place.write("a.md", "A bilby.\n");
    let waiting = |status: &Status| status.queue.counts.queued == 1;
    let status = until(&engine, waiting).await;
    assert_eq!((status.queue.pace, status.documents, status.sources), (Pace::Paused, 0, 1));
    let coverage = engine.search(SearchRequest::new("bilby")).await.unwrap().coverage;
    assert_eq!((coverage.indexed, coverage.known), (0, 1));
    engine.close().await;
    drop(engine);
    let engine = Engine::open(place.config()).unwrap();
    until(&engine, waiting).await;
    engine.pause(false).await.unwrap();
    until_found(&engine, "bilby", &["a.md"]).await;
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exclusions_and_watching_are_a_persons_choice() {
    let place = Place::new();
    place.write("a.md", "A potoroo.\n");
    let engine = place.open().await;
    let data = place.config().data_dir;
    Settings::update(&data, |settings| settings.exclusions = vec!["*.secret".into()]).unwrap();
    place.write("b.secret", "A potoroo.\n");
    place.write("c.md", "A potoroo.\n");
    until(&engine, |status| status.documents == 2).await;
    assert_eq!(engine.status().await.unwrap().exclusions, ["*.secret"]);
    assert!(engine.watch(place.files(), false).await.unwrap());
    until(&engine, |status| status.roots[0].state == RootState::Unwatched).await;
    assert!(!engine.watch(place.files().join("unknown"), false).await.unwrap());
    engine.close().await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn trying_again_follows_no_link_out_of_a_folder() {
    let place = Place::new();
    let outside = place.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.md"), "A bettong.\n").unwrap();
    std::os::unix::fs::symlink(&outside, place.files().join("out")).unwrap();
    std::os::unix::fs::symlink(outside.join("a.md"), place.files().join("a.md")).unwrap();
    let engine = place.open().await;
    assert_eq!(engine.status().await.unwrap().skipped.len(), 2);
    let outcome = engine.retry(None).await.unwrap().outcome().await;
    assert!(matches!(outcome, JobOutcome::Done(_)), "{outcome:?}");
    assert_eq!(found(&engine, "bettong").await, [""; 0]);
    assert_eq!(engine.status().await.unwrap().skipped.len(), 2);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_removed_while_it_waits_does_not_come_back() {
    let place = Place::new();
    place.write("a.md", "A bettong.\n");
    let (engine, job) = place.open_with_one_file_waiting().await;
    let report = engine.remove(vec![place.files().display().to_string()]).await.unwrap();
    assert_eq!(report.unknown, [""; 0]);
    engine.pause(false).await.unwrap();
    let outcome = job.outcome().await;
    assert!(matches!(outcome, JobOutcome::Cancelled(_)), "{outcome:?}");
    let status = until(&engine, |status| status.queue.runs == 0).await;
    assert_eq!((status.documents, status.sources, status.roots.len()), (0, 0, 0), "{status:?}");
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_removed_below_a_folder_stays_out_until_it_is_named() {
    let place = Place::new();
    place.write("a.md", "A bettong.\n");
    place.write("sub/b.md", "A bettong.\n");
    let sub = place.files().join("sub");
    let engine = place.open().await;
    engine.remove(vec![sub.display().to_string()]).await.unwrap();
    engine.close().await;
    drop(engine);
    place.write("c.md", "A quokka.\n");
    let engine = Engine::open(place.config()).unwrap();
    until_found(&engine, "quokka", &["c.md"]).await;
    until(&engine, |status| status.queue.runs == 0).await;
    assert_eq!(found(&engine, "bettong").await, ["a.md"]);
    engine.index(vec![sub]).outcome().await;
    assert_eq!(found(&engine, "bettong in:sub").await, ["b.md"]);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_was_away_while_its_run_was_taken_up_is_looked_through_when_it_is_back() {
    let place = Place::new();
    place.write("a.md", "A bettong.\n");
    let (engine, job) = place.open_with_one_file_waiting().await;
    let (files, away) = (place.files(), place.dir.path().join("away"));
    engine.close().await;
    job.outcome().await;
    drop(engine);
    Settings::update(&place.config().data_dir, |settings| settings.paused = false).unwrap();
    fs::rename(&files, &away).unwrap();

    let engine = Engine::open(place.config()).unwrap();
    let is_over =
        |status: &Status| status.queue.runs == 0 && status.roots[0].state == RootState::Offline;
    until(&engine, is_over).await;
    fs::rename(&away, &files).unwrap();
    until_found(&engine, "bettong", &["a.md"]).await;
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_exclusion_takes_what_it_covers_out_of_the_index() {
    let place = Place::new();
    place.write("a.md", "A bettong.\n");
    place.write("drafts/b.md", "A bettong.\n");
    let engine = place.open().await;
    assert_eq!(engine.status().await.unwrap().documents, 2);
    let data = place.config().data_dir;
    Settings::update(&data, |settings| settings.exclusions = vec!["drafts/".into()]).unwrap();
    until(&engine, |status| status.documents == 1).await;
    Settings::update(&data, |settings| settings.exclusions.clear()).unwrap();
    until(&engine, |status| status.documents == 2).await;
    engine.close().await;
}

/// A file system in memory that is mounted at a folder; `None` where this user may mount none.
#[cfg(target_os = "linux")]
struct Disk(PathBuf);

#[cfg(target_os = "linux")]
impl Disk {
    fn mount(at: PathBuf) -> Option<Self> {
        fs::create_dir_all(&at).unwrap();
        let mount = ["-t", "tmpfs", "none"].map(std::ffi::OsStr::new);
        let mounted = Command::new("mount").args(mount).arg(&at).stderr(Stdio::null()).status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(at))
    }
}

#[cfg(target_os = "linux")]
impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, as what is watched may be busy.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_unplugged_below_a_folder_takes_nothing_out_of_the_index() {
    let place = Place::new();
    place.write("a.md", "A bettong.\n");
    let usb = place.files().join("usb");
    let Some(disk) = Disk::mount(usb.clone()) else {
        println!("not run: this user may mount nothing");
        return;
    };
    place.write("usb/b.md", "A bettong.\n");
    let engine = place.open().await;
    until(&engine, |status| status.documents == 2 && status.queue.runs == 0).await;
    drop(disk);
    let outcome = engine.index(vec![place.files()]).outcome().await;
    assert!(matches!(&outcome, JobOutcome::Done(report) if report.removed == 0), "{outcome:?}");
    assert_eq!(engine.status().await.unwrap().documents, 2);
    // It is seen that the disk is away before it comes back.
    place.write("c.md", "A quokka.\n");
    until_found(&engine, "quokka", &["c.md"]).await;
    let _disk = Disk::mount(usb).unwrap();
    place.write("usb/d.md", "A quoll.\n");
    until_found(&engine, "quoll", &["d.md"]).await;
    place.write("usb/e.md", "A numbat.\n");
    until_found(&engine, "numbat", &["e.md"]).await;
    engine.close().await;
}
