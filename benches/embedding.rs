//! Tokens a second and milliseconds a query of our encoder, beside the `BertModel` of candle-transformers on
//! the same weights, which needs padded batches.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::time::{Duration, Instant};

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lodestone::config::{DeviceChoice, ModelFiles};
use lodestone::data::TokenBatch;
use lodestone::gpu::{EncoderModel, Lane, Model, ModelLoader};
use lodestone::inference::EmbeddingModel;

static WEIGHTS: &[u8] = include_bytes!("../assets/models/all-MiniLM-L6-v2/model.safetensors");
static CONFIG: &str = include_str!("../assets/models/all-MiniLM-L6-v2/config.json");

/// Sequences whose lengths vary as chunks of prose do, 194 tokens on average.
fn sequences() -> Vec<Vec<u32>> {
    let lengths = [256, 250, 243, 231, 220, 207, 190, 176, 160, 140, 131, 124];
    let id = |at: usize, seed: usize| 1_000 + ((at * 7_919 + seed * 104_729) % 28_000) as u32;
    lengths.iter().enumerate().map(|(seed, n)| (0..*n).map(|at| id(at, seed)).collect()).collect()
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
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

fn embedding(c: &mut Criterion) {
    let files = EmbeddingModel::open(&ModelFiles::Bundled).expect("the bundled model is whole");
    let choice = DeviceChoice::from_environment().expect("a device's name");
    let loader = files.into_loader(choice, threads()).expect("the self-test is tokenized");
    let mut model = load(&*loader);
    let sequences = sequences();
    let mut batch = TokenBatch::default();
    for sequence in &sequences {
        batch.push(sequence);
    }
    let query: Vec<u32> = sequences[0][..12].to_vec();
    let mut one = TokenBatch::default();
    one.push(&query);

    let mut group = c.benchmark_group("embed");
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    group.throughput(Throughput::Elements(batch.tokens() as u64));
    group.bench_function("lodestone, candle backend, packed", |b| {
        b.iter(|| model.embed(&batch).expect("embeds"));
    });
    group.bench_function("peer: candle-transformers, padded", |b| {
        let config: Config = serde_json::from_str(CONFIG).expect("config");
        let builder = VarBuilder::from_slice_safetensors(WEIGHTS, DType::F32, &Device::Cpu);
        let bert = BertModel::load(builder.expect("weights"), &config).expect("loads");
        b.iter(|| padded_forward(&bert, &sequences).expect("embeds"));
    });
    group.bench_function("peer: candle's GELU alone, of all six layers", |b| {
        let rows = Tensor::randn(0.0_f32, 1.0, (batch.tokens(), 1_536), &Device::Cpu);
        let rows = rows.expect("rows");
        b.iter(|| (0..6).map(|_| rows.gelu_erf().expect("gelu").dims().len()).sum::<usize>());
    });
    group.throughput(Throughput::Elements(query.len() as u64));
    group.bench_function("lodestone, one query of 12 tokens", |b| {
        b.iter(|| model.embed(&one).expect("embeds"));
    });
    group.finish();

    let started = Instant::now();
    model.embed(&batch).expect("embeds");
    let tokens_per_second = batch.tokens() as f64 / started.elapsed().as_secs_f64();
    println!("all-MiniLM-L6-v2 on {}: {tokens_per_second:.0} tokens/s", model.info().device.name);
}

fn padded_forward(bert: &BertModel, sequences: &[Vec<u32>]) -> candle_core::Result<Vec<f32>> {
    let width = sequences.iter().map(Vec::len).max().unwrap_or(0);
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
    pooled.flatten_all()?.to_vec1()
}

criterion_group!(benches, embedding);
criterion_main!(benches);
