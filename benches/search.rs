//! End-to-end search: from the typed words to hits with marks and reasons, idle and while files are being
//! indexed, and from a cold start.
//!
//! ```text
//! cargo bench --bench search -- FOLDER [MORE]
//! ```
//!
//! Indexes FOLDER, asks, then indexes MORE and asks meanwhile, some fifteen times a second. Questions are the first
//! words of passages here and there, as many as `QUESTIONS`, each asked once. `LODESTONE_SEARCH_HOME` keeps
//! the data directory, which is indexed once; `LODESTONE_SEARCH_MODEL` is the folder of another model.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use lodestone::config::{Config, ModelFiles};
use lodestone::engine::{Engine, Job, JobOutcome, SearchMode, SearchRequest};

const QUESTIONS: usize = 500;
const WORDS: usize = 8;
/// Between searches while files are indexed.
const PAUSE: Duration = Duration::from_millis(50);

fn main() {
    // `cargo bench` passes `--bench`.
    let mut folders = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let Some(folder) = folders.next() else {
        println!("usage: cargo bench --bench search -- FOLDER [MORE]");
        return;
    };
    let (folder, more) = (PathBuf::from(folder), folders.next().map(PathBuf::from));
    let scratch = tempfile::tempdir().expect("a folder");
    let home = std::env::var_os("LODESTONE_SEARCH_HOME")
        .map_or_else(|| scratch.path().to_owned(), PathBuf::from);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let mut config = Config::new(home);
    if let Some(model) = std::env::var_os("LODESTONE_SEARCH_MODEL") {
        config.model = ModelFiles::Folder(model.into());
    }
    runtime.expect("a runtime").block_on(measure(config, folder, more));
}

async fn measure(config: Config, folder: PathBuf, more: Option<PathBuf>) {
    let engine = Engine::open(config.clone()).expect("the data directory");
    finish(engine.index(vec![folder])).await;
    let status = engine.status().await.expect("a status");
    println!(
        "{} documents, {} passages, {:.1} MB on disk; {}",
        status.documents,
        status.passages,
        status.bytes as f64 / 1e6,
        status.device
    );
    let questions = questions(&engine).await;
    ask(&engine, &questions[..20]).await;
    println!("| when | searches | p50, ms | p95 | p99 | longest |");
    println!("|---|---|---|---|---|---|");
    row("idle", &mut ask(&engine, &questions).await);
    let phrases: Vec<_> = questions.iter().map(|question| with_phrase(question)).collect();
    row("idle, with a phrase", &mut ask(&engine, &phrases).await);
    let begun: Vec<_> = questions.iter().map(|question| begun(question)).collect();
    row("idle, while typing", &mut ask_typing(&engine, &begun).await);
    if let Some(more) = more {
        let job = tokio::spawn(finish(engine.index(vec![more])));
        let mut times = Vec::new();
        for question in questions.iter().cycle() {
            if job.is_finished() {
                break;
            }
            times.append(&mut ask(&engine, std::slice::from_ref(question)).await);
            tokio::time::sleep(PAUSE).await;
        }
        row("while indexing", &mut times);
    }
    engine.close().await;
    drop(engine);
    println!();
    for mode in [SearchMode::Keyword, SearchMode::Semantic] {
        println!(
            "from opening to the first answer, {}: {:.0} ms",
            mode.name(),
            start(&config, mode).await
        );
    }
}

/// Milliseconds from opening the data directory to an answer with hits.
async fn start(config: &Config, mode: SearchMode) -> f64 {
    let started = Instant::now();
    let engine = Engine::open(config.clone()).expect("the data directory");
    loop {
        let request = SearchRequest { mode, ..SearchRequest::new("ownership of memory") };
        match engine.search(request).await {
            Ok(answer) if !answer.hits.is_empty() => return started.elapsed().as_secs_f64() * 1e3,
            // The model is still loading.
            _ => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

async fn finish(job: Job) {
    match job.outcome().await {
        JobOutcome::Failed { reason } => panic!("{reason}"),
        outcome => println!("{outcome:?}"),
    }
}

/// The first words of passages, evenly over the library.
async fn questions(engine: &Engine) -> Vec<String> {
    let library = engine.library().await.expect("a library");
    let mut questions = Vec::new();
    for entry in library.iter().step_by((library.len() / QUESTIONS).max(1)).take(QUESTIONS) {
        let view = engine.document(entry.id).await.expect("the store").expect("a document");
        let middle = view.passages.get(view.passages.len() / 2);
        let text = middle.map_or("", |(range, _)| &view.text[range.start..range.end]);
        // Without what the search box takes for operators: those are measured apart.
        let plain = text.replace(['"', '-', ':'], " ");
        questions.push(plain.split_whitespace().take(WORDS).collect::<Vec<_>>().join(" "));
    }
    questions.retain(|question| !question.is_empty());
    questions
}

/// Its first two words are to stand together.
fn with_phrase(question: &str) -> String {
    let words: Vec<_> = question.split(' ').collect();
    let (phrase, rest) = words.split_at(words.len().min(2));
    format!("\"{}\" {}", phrase.join(" "), rest.join(" "))
}

/// Its last word is not complete yet.
fn begun(question: &str) -> String {
    let mut begun = question.to_owned();
    begun.truncate(question.char_indices().nth_back(1).map_or(0, |(at, _)| at));
    begun
}

/// Milliseconds of each search.
async fn ask(engine: &Engine, questions: &[String]) -> Vec<f64> {
    times(engine, questions.iter().map(SearchRequest::new)).await
}

async fn ask_typing(engine: &Engine, questions: &[String]) -> Vec<f64> {
    let typing = |question| SearchRequest { typing: true, ..SearchRequest::new(question) };
    times(engine, questions.iter().map(typing)).await
}

async fn times(engine: &Engine, requests: impl Iterator<Item = SearchRequest>) -> Vec<f64> {
    let mut times = Vec::new();
    for request in requests {
        let started = Instant::now();
        let answer = engine.search(request).await.expect("an answer");
        times.push(started.elapsed().as_secs_f64() * 1e3);
        assert_eq!(answer.mode, SearchMode::Hybrid, "the model is loaded");
    }
    times
}

fn row(when: &str, times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    let quantile = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let [p50, p95, p99, longest] = [0.5, 0.95, 0.99, 1.0].map(quantile);
    println!("| {when} | {} | {p50:.1} | {p95:.1} | {p99:.1} | {longest:.1} |", times.len());
}
