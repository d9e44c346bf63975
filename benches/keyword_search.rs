//! Search by words at scale, step by step: analyzing the query, the best hundred passages, and the scores of
//! a hundred passages that meaning found.
//!
//! ```text
//! cargo bench --bench keyword_search -- CORPUS.jsonl [TYPED…]
//! ```
//!
//! Lines have `title` and `text`, as in BEIR collections (`../shared/data/cosqa/corpus.jsonl`); a text is one
//! passage. Asked are the first words of texts here and there, or what is typed behind the file.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::hint::black_box;
use std::time::Instant;

use lodestone::data::{ChangeNumber, ChunkKey, DocumentId};
use lodestone::index::{
    IndexProgress, KeywordDocument, KeywordIndex, KeywordPassage, KeywordQuery, PassageFilter,
};
use serde::Deserialize;

const CANDIDATES: usize = 100;
const QUESTIONS: usize = 300;
const WORDS: usize = 8;

#[derive(Deserialize)]
struct Text {
    title: String,
    text: String,
}

fn main() {
    // `cargo bench` passes `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let Some(corpus) = arguments.next() else {
        println!("usage: cargo bench --bench keyword_search -- CORPUS.jsonl [TYPED…]");
        return;
    };
    let typed: Vec<String> = arguments.collect();
    let corpus = std::fs::read_to_string(corpus).expect("the corpus");
    let texts: Vec<Text> =
        corpus.lines().map(|line| serde_json::from_str(line).expect("a text")).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let (index, _) = KeywordIndex::open_or_rebuild(folder.path()).expect("an index");
    fill(&index, &texts);
    let snapshot = index.snapshot().expect("a snapshot");
    let words = |text: &Text| -> Vec<String> {
        text.text.split_whitespace().take(WORDS).map(str::to_owned).collect()
    };
    let questions: Vec<Vec<String>> = if typed.is_empty() {
        texts.iter().step_by((texts.len() / QUESTIONS).max(1)).map(words).collect()
    } else {
        typed.iter().map(|typed| typed.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let mut steps = [const { Vec::new() }; 3];
    for (at, terms) in questions.into_iter().enumerate() {
        let query = KeywordQuery { terms, ..KeywordQuery::default() };
        let others: Vec<ChunkKey> = (0..CANDIDATES)
            .map(|n| ChunkKey {
                document: document((at * 7_919 + n * 101) % texts.len()),
                ordinal: 0,
            })
            .collect();
        let started = Instant::now();
        let prepared = snapshot.prepare(&query).expect("the index");
        let prepared_at = Instant::now();
        let all = PassageFilter::all();
        black_box(snapshot.search(&prepared, &all, CANDIDATES).expect("the index"));
        let searched_at = Instant::now();
        black_box(snapshot.score(&prepared, &others).expect("the index"));
        steps[0].push(prepared_at - started);
        steps[1].push(searched_at - prepared_at);
        steps[2].push(searched_at.elapsed());
    }
    println!("| step | p50, ms | p95 | p99 |");
    println!("|---|---|---|---|");
    for (name, times) in ["analyze", "best hundred", "score a hundred"].into_iter().zip(&mut steps)
    {
        times.sort_unstable();
        let ms =
            |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        println!("| {name} | {:.2} | {:.2} | {:.2} |", ms(0.5), ms(0.95), ms(0.99));
    }
}

fn fill(index: &KeywordIndex, texts: &[Text]) {
    let started = Instant::now();
    let update = index.update().expect("a writer");
    for (at, Text { title, text }) in texts.iter().enumerate() {
        let passages = [KeywordPassage { headings: &[], body: text }];
        let document = KeywordDocument { id: document(at), title, passages: &passages };
        update.upsert(&document).expect("room");
    }
    let reached = ChangeNumber(texts.len() as u64);
    let progress = IndexProgress { store: "bench".to_owned(), reached, model: Some(1) };
    update.commit(&progress).expect("room");
    println!("{} passages in {:.1} s", texts.len(), started.elapsed().as_secs_f64());
}

/// Documents are numbered as hashes are: evenly, and not in the order of the texts.
fn document(at: usize) -> DocumentId {
    DocumentId::from_stored((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1)
}
