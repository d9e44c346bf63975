//! Tokens a second, milliseconds a query, fidelity and peak memory of all-MiniLM-L6-v2 on the CPU: ours on
//! each instruction set, beside the `BertModel` of candle-transformers.
//!
//! Every row is a process of its own, so that its memory is its own:
//!
//! * `cargo bench --bench embedding` runs all rows and prints the table;
//! * `-- --rows` prints the names of the rows;
//! * with `LODESTONE_BENCH_ROW` it runs one and prints a line of JSON (`scripts/bench-peers` does);
//!   `LODESTONE_BENCH_TEXTS` names a JSON array of texts to embed, whose tokenizing is then part of the
//!   time, `LODESTONE_BENCH_QUERY` is the query, `LODESTONE_BENCH_VECTORS` a file for the vectors,
//!   `LODESTONE_BENCH_THREADS` the number of threads.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::env;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use lodestone::config::{DeviceChoice, ModelFiles};
use lodestone::data::{Embedding, TokenBatch};
use lodestone::gpu::{EncoderModel, Lane, Model, ModelLoader};
use lodestone::inference::EmbeddingModel;
use lodestone::platform::{SIMD_VARIABLE, Simd};
use lodestone::tokenization::Tokenizer;
use serde::{Deserialize, Serialize};

static WEIGHTS: &[u8] = include_bytes!("../assets/models/all-MiniLM-L6-v2/model.safetensors");
static CONFIG: &str = include_str!("../assets/models/all-MiniLM-L6-v2/config.json");

const PEER: &str = "candle-transformers";
const TOKENS_MAX: usize = 256;

/// Tokens of a batch: some of the scheduler's steps of 40 ms.
const BATCH_TOKENS: usize = 2_048;

/// Times that the texts are embedded after the first; the fastest counts.
const ROUNDS: usize = 3;
const QUERIES: usize = 300;

#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    row: String,
    tokens_per_second: f64,
    query_ms: f64,
    peak_bytes: u64,
}

fn main() {
    if env::args().any(|argument| argument == "--rows") {
        return rows().for_each(|row| println!("{row}"));
    }
    let Ok(row) = env::var("LODESTONE_BENCH_ROW") else { return table() };
    let input = Input::from_environment();
    let (measured, vectors) =
        if row == PEER { run_peer(&row, &input) } else { run_ours(&row, &input) };
    if let Ok(path) = env::var("LODESTONE_BENCH_VECTORS") {
        std::fs::write(path, serde_json::to_vec(&vectors).expect("JSON")).expect("a file");
    }
    println!("{}", serde_json::to_string(&measured).expect("JSON"));
}

/// Sets of this processor, and the peer.
fn rows() -> impl Iterator<Item = &'static str> {
    let sets = Simd::ALL.into_iter().filter(|simd| simd.is_available()).map(Simd::name);
    sets.chain([PEER])
}

fn table() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |row: &str| -> (Measured, Vec<Vec<f32>>) {
        let file = folder.path().join(row);
        let output = Command::new(env::current_exe().expect("this program"))
            .env("LODESTONE_BENCH_ROW", row)
            .env("LODESTONE_BENCH_VECTORS", &file)
            .output()
            .expect("the row runs");
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        let line = lines.lines().last().unwrap_or_else(|| panic!("{row}: {errors}"));
        let vectors = std::fs::read(file).expect("vectors");
        let vectors = serde_json::from_slice(&vectors).expect("vectors");
        (serde_json::from_str(line).expect("what was measured"), vectors)
    };
    let (peer, reference) = run(PEER);
    println!("| row | tokens/s | one query, ms | cosine, min | mean | peak memory, MB |");
    println!("|---|---|---|---|---|---|");
    let measured = rows().filter(|row| *row != PEER).map(run);
    for (row, vectors) in measured.chain([(peer, reference.clone())]) {
        let cosine = |(a, b): (&Vec<f32>, &Vec<f32>)| -> f64 {
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let cosines: Vec<f64> = vectors.iter().zip(&reference).map(cosine).collect();
        let least = cosines.iter().copied().fold(1.0, f64::min);
        let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
        let Measured { row, tokens_per_second, query_ms, peak_bytes } = row;
        let peak = peak_bytes / 1_000_000;
        println!(
            "| {row} | {tokens_per_second:.0} | {query_ms:.2} | {least:.6} | {mean:.6} | {peak} |"
        );
    }
}

/// What is embedded.
struct Input {
    tokenizer: Arc<Tokenizer>,
    /// None: the sequences come from nowhere.
    texts: Vec<String>,
    sequences: Vec<Vec<u32>>,
    query: Vec<u32>,
}

impl Input {
    fn from_environment() -> Self {
        let tokenizer = EmbeddingModel::open(&ModelFiles::Bundled).expect("the model").tokenizer;
        let texts: Vec<String> = env::var("LODESTONE_BENCH_TEXTS").map_or_else(
            |_| Vec::new(),
            |path| {
                let texts = std::fs::read(path).expect("the texts");
                serde_json::from_slice(&texts).expect("an array of texts")
            },
        );
        let sequences = if texts.is_empty() { invented() } else { tokenized(&tokenizer, &texts) };
        let query = env::var("LODESTONE_BENCH_QUERY");
        let query = query.unwrap_or_else(|_| "how do I share ownership between threads".to_owned());
        let query = tokenizer.encode_query(&query, TOKENS_MAX).expect("tokens");
        Self { tokenizer, texts, sequences, query }
    }

    /// Does what has to be done before texts can be embedded.
    fn tokenize(&self) {
        std::hint::black_box(tokenized(&self.tokenizer, &self.texts));
    }
}

fn tokenized(tokenizer: &Tokenizer, texts: &[String]) -> Vec<Vec<u32>> {
    let tokens = |text: &String| tokenizer.encode_passage(text, TOKENS_MAX).expect("tokens");
    texts.iter().map(tokens).collect()
}

/// Sequences whose lengths vary as chunks of prose do, 194 on average.
fn invented() -> Vec<Vec<u32>> {
    let lengths = [256, 250, 243, 231, 220, 207, 190, 176, 160, 140, 131, 124];
    let id = |at: usize, seed: usize| 1_000 + ((at * 7_919 + seed * 104_729) % 28_000) as u32;
    let sequence = |seed: usize| -> Vec<u32> {
        (0..lengths[seed % lengths.len()]).map(|at| id(at, seed)).collect()
    };
    (0..120).map(sequence).collect()
}

fn threads() -> usize {
    let asked = env::var("LODESTONE_BENCH_THREADS").ok().and_then(|count| count.parse().ok());
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn run_ours(row: &str, input: &Input) -> (Measured, Vec<Vec<f32>>) {
    // SAFETY: no other thread runs yet.
    unsafe { env::set_var(SIMD_VARIABLE, row) }
    let files = EmbeddingModel::open(&ModelFiles::Bundled).expect("the bundled model is whole");
    let loader = files.into_loader(DeviceChoice::Cpu, threads()).expect("the self-test is read");
    let mut model = load(&*loader);
    assert!(model.info().device.name.ends_with(row), "{row} is not what runs");
    let batches = batches(&input.sequences);
    let mut embed = |batch: &TokenBatch| -> Vec<Embedding> { model.embed(batch).expect("embeds") };
    let vectors = batches.iter().flat_map(&mut embed).map(|v| v.as_slice().to_vec()).collect();
    let tokens_per_second = fastest(input, || {
        for batch in &batches {
            embed(batch);
        }
    });
    let mut query = TokenBatch::default();
    query.push(&input.query);
    let query_ms = median_ms(|| drop(embed(&query)));
    (measured(row, tokens_per_second, query_ms), vectors)
}

fn load(loader: &dyn ModelLoader) -> Box<dyn EncoderModel> {
    let mut upload =
        loader.prepare(Lane { index: 0, lanes: 1 }).expect("the bundled model is whole");
    loop {
        match upload.step().expect("the device has room") {
            Some(Model::Encoder(model)) => return model,
            Some(Model::Decoder(_)) => panic!("the bundled model is an encoder"),
            None => {}
        }
    }
}

fn batches(sequences: &[Vec<u32>]) -> Vec<TokenBatch> {
    let mut batches = vec![TokenBatch::default()];
    for sequence in sequences {
        let last = batches.len() - 1;
        if batches[last].tokens() + sequence.len() > BATCH_TOKENS {
            batches.push(TokenBatch::default());
        }
        let last = batches.len() - 1;
        batches[last].push(sequence);
    }
    batches
}

/// Tokens a second of the fastest round.
fn fastest(input: &Input, mut embed_all: impl FnMut()) -> f64 {
    let tokens: usize = input.sequences.iter().map(Vec::len).sum();
    let mut round = || {
        let started = Instant::now();
        input.tokenize();
        embed_all();
        started.elapsed().as_secs_f64()
    };
    let seconds = (0..ROUNDS).map(|_| round()).fold(f64::MAX, f64::min);
    tokens as f64 / seconds
}

fn median_ms(mut query: impl FnMut()) -> f64 {
    let mut once = || {
        let started = Instant::now();
        query();
        started.elapsed().as_secs_f64() * 1e3
    };
    let mut ms: Vec<f64> = (0..QUERIES).map(|_| once()).collect();
    ms.sort_by(f64::total_cmp);
    ms[QUERIES / 2]
}

fn measured(row: &str, tokens_per_second: f64, query_ms: f64) -> Measured {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<u64>().ok());
    let peak_bytes = kilobytes.unwrap_or(0) * 1_024;
    Measured { row: row.to_owned(), tokens_per_second, query_ms, peak_bytes }
}

/// Candle's own encoder on the same weights, in batches of 8 of similar length, as it needs padding.
fn run_peer(row: &str, input: &Input) -> (Measured, Vec<Vec<f32>>) {
    let config: Config = serde_json::from_str(CONFIG).expect("config");
    let builder = VarBuilder::from_slice_safetensors(WEIGHTS, DType::F32, &Device::Cpu);
    let bert = BertModel::load(builder.expect("weights"), &config).expect("loads");
    let sequences = &input.sequences;
    let mut order: Vec<usize> = (0..sequences.len()).collect();
    order.sort_by_key(|at| sequences[*at].len());
    let groups: Vec<Vec<&[u32]>> = order
        .chunks(8)
        .map(|group| group.iter().map(|at| sequences[*at].as_slice()).collect())
        .collect();
    let embed = |group: &Vec<&[u32]>| padded_forward(&bert, group).expect("embeds");
    let mut vectors = vec![Vec::new(); sequences.len()];
    for (at, vector) in order.iter().zip(groups.iter().flat_map(embed)) {
        vectors[*at] = vector;
    }
    let tokens_per_second = fastest(input, || {
        for group in &groups {
            embed(group);
        }
    });
    let query = vec![input.query.as_slice()];
    let query_ms = median_ms(|| drop(embed(&query)));
    (measured(row, tokens_per_second, query_ms), vectors)
}

fn padded_forward(bert: &BertModel, sequences: &[&[u32]]) -> candle_core::Result<Vec<Vec<f32>>> {
    let width = sequences.iter().map(|sequence| sequence.len()).max().unwrap_or(0);
    let padded = |pick: &dyn Fn(&[u32], usize) -> u32| -> candle_core::Result<Tensor> {
        let rows: Vec<u32> =
            sequences.iter().flat_map(|s| (0..width).map(|at| pick(s, at))).collect();
        Tensor::from_vec(rows, (sequences.len(), width), &Device::Cpu)
    };
    let ids = padded(&|s, at| s.get(at).copied().unwrap_or(0))?;
    let mask = padded(&|s, at| u32::from(at < s.len()))?;
    let rows = bert.forward(&ids, &ids.zeros_like()?, Some(&mask))?;
    let weights = mask.to_dtype(DType::F32)?.unsqueeze(2)?;
    let pooled = rows.broadcast_mul(&weights)?.sum(1)?.broadcast_div(&weights.sum(1)?)?;
    let length = pooled.sqr()?.sum_keepdim(1)?.sqrt()?;
    pooled.broadcast_div(&length)?.to_vec2()
}
