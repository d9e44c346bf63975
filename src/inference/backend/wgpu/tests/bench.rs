//! What a real GPU makes of it: `scripts/bench-gpu` runs this, and it is no part of the ordinary tests.
//!
//! Everything is printed as it comes, so that a run that is cut off has said what it knew.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::encoders::{batch, load_on, minilm, minilm_weights, on_cpu};
use super::*;
use crate::gpu::EncoderModel as _;
use crate::inference::Encoder;
use crate::inference::backend::wgpu::kernels::plain::Rows;
use crate::inference::backend::wgpu::tier::MatrixSize;

/// Rows of a product in the tables: a piece of a long batch, and a query.
fn rows() -> [usize; 2] {
    [8_192 / shrink(), 16]
}

/// By how much less is computed, to try the bench itself out on a slow device.
fn shrink() -> usize {
    std::env::var("LODESTONE_BENCH_SHRINK").ok().and_then(|by| by.parse().ok()).unwrap_or(1)
}

/// Outputs and inputs of the products of all-MiniLM-L6-v2, and what follows them.
const PRODUCTS: [(usize, usize, RowEnd); 4] = [
    (1_152, 384, RowEnd::Plain),
    (384, 384, RowEnd::Residual),
    (1_536, 384, RowEnd::Gelu),
    (384, 1_536, RowEnd::Residual),
];

const QUERY_TOKENS: usize = 12;

#[test]
#[ignore = "measures a real GPU; scripts/bench-gpu runs it"]
fn bench_gpu() {
    let gpu = Gpu::open_unchecked(&AdapterChoice::from_environment()).unwrap();
    let limits = gpu.limits();
    println!("adapter: {} through {}", gpu.name(), gpu.backend());
    println!("tiers: {}", gpu.tiers().iter().map(Tier::to_string).collect::<Vec<_>>().join(", "));
    println!(
        "workgroup memory {} KB, binding {} MB, timestamps {}",
        limits.max_compute_workgroup_storage_size >> 10,
        limits.max_storage_buffer_binding_size >> 20,
        gpu.has_timestamps(),
    );
    println!("\n== self-test of every tier");
    let mut sound = Vec::new();
    for &tier in gpu.tiers() {
        let began = Instant::now();
        let outcome = WgpuBackend::with_tier(&gpu, tier, DEPTH)
            .and_then(|mut backend| self_test::run(&mut backend));
        match outcome {
            Ok(()) => sound.push(tier),
            Err(ref error) => println!("{tier}: {error}"),
        }
        println!(
            "{tier}: {} in {:?}",
            if outcome.is_ok() { "right" } else { "WRONG" },
            began.elapsed()
        );
    }
    for &tier in &sound {
        println!("\n== MiniLM with {tier}");
        correctness(&gpu, tier);
        queries(&gpu, tier);
        throughput(&gpu, tier);
        operations(&gpu, tier);
    }
    println!("\n== products, TFLOP/s");
    for &tier in &sound {
        products(&gpu, tier);
    }
}

fn ids(count: usize, seed: usize) -> Vec<u32> {
    (0..count).map(|at| 1_000 + ((at + 1) * (seed + 7) * 7_919 % 28_000) as u32).collect()
}

fn encoder(gpu: &Arc<Gpu>, tier: Tier) -> Encoder<WgpuBackend> {
    let gpu = Arc::clone(gpu);
    let open = move || WgpuBackend::with_tier(&gpu, tier, DEPTH);
    load_on(minilm_weights(), minilm(), Precision::F16, open)
}

fn correctness(gpu: &Arc<Gpu>, tier: Tier) {
    let sequences: Vec<_> = [3, 12, 31, 64, 65, 128, 200, 256]
        .iter()
        .enumerate()
        .filter(|(_, count)| **count * shrink() <= 512)
        .map(|(seed, count)| ids(*count, seed))
        .collect();
    let batch = batch(sequences.iter().map(Vec::as_slice));
    let want = on_cpu(minilm_weights(), minilm()).embed(&batch).unwrap();
    let got = encoder(gpu, tier).embed(&batch).unwrap();
    let least = got.iter().zip(&want).map(|(a, b)| a.cosine(b)).fold(1.0, f32::min);
    println!("least cosine with the CPU in f32: {least}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn queries(gpu: &Arc<Gpu>, tier: Tier) {
    let mut encoder = encoder(gpu, tier);
    let query = ids(QUERY_TOKENS, 3);
    let batch = batch([&query[..]]);
    (0..20).for_each(|_| drop(encoder.embed(&batch).unwrap()));
    let time = |encoder: &mut Encoder<WgpuBackend>| {
        let began = Instant::now();
        encoder.embed(&batch).unwrap();
        began.elapsed()
    };
    let wall = median((0..200).map(|_| time(&mut encoder)).collect());
    encoder.backend().stream().profile(true);
    for _ in 0..50 {
        time(&mut encoder);
    }
    let finished = encoder.backend().stream().flush().unwrap();
    let device: Vec<_> = finished.iter().filter_map(|completion| completion.device).collect();
    let device = if device.is_empty() { Duration::ZERO } else { median(device) };
    println!("query of {QUERY_TOKENS} tokens: {wall:?}, of it on the device {device:?} (p50)");
}

fn throughput(gpu: &Arc<Gpu>, tier: Tier) {
    // So many that a few pieces are always on their way: what embeds files hands over as much.
    let sequences: Vec<_> = (0..640 / shrink()).map(|seed| ids(192, seed)).collect();
    let batch = batch(sequences.iter().map(Vec::as_slice));
    for piece in [2_048, 4_096, 8_192, 16_384].map(|piece| piece / shrink()) {
        for profiles in [false, true] {
            let mut encoder = encoder(gpu, tier);
            encoder.backend().batch_tokens_max = piece;
            encoder.embed(&batch).unwrap();
            encoder.embed(&batch).unwrap();
            encoder.backend().stream().profile(profiles);
            encoder.backend().stream().flush().unwrap();
            let (mut rounds, mut busy) = (0, Duration::ZERO);
            let before = encoder.backend().counters();
            let began = Instant::now();
            while rounds < 2 || began.elapsed() < Duration::from_millis(800) && rounds < 200 {
                encoder.embed(&batch).unwrap();
                let finished = encoder.backend().stream().collect().unwrap();
                busy +=
                    finished.iter().filter_map(|completion| completion.device).sum::<Duration>();
                rounds += 1;
            }
            let seconds = began.elapsed().as_secs_f64();
            let after = encoder.backend().counters();
            let tokens = (rounds * batch.tokens()) as f64 / seconds;
            if profiles {
                println!(
                    "  with timestamps: {tokens:.0} tokens/s, device busy {:.0} %",
                    100.0 * busy.as_secs_f64() / seconds
                );
            } else {
                println!(
                    "from tokens, pieces of {piece}: {tokens:.0} tokens/s; in flight {}, waits inside a \
                     forward {}, buffers made {}, bind groups made {}",
                    after.in_flight_max,
                    after.waits_while_recording,
                    after.buffers - before.buffers,
                    after.bind_groups - before.bind_groups,
                );
            }
        }
    }
}

/// Each operation of a forward in a submission of its own.
fn operations(gpu: &Arc<Gpu>, tier: Tier) {
    let mut encoder = encoder(gpu, tier);
    let sequences: Vec<_> = (0..42_usize.div_ceil(shrink())).map(|seed| ids(192, seed)).collect();
    let batch = batch(sequences.iter().map(Vec::as_slice));
    encoder.backend().batch_tokens_max = 8_192;
    (0..3).for_each(|_| drop(encoder.embed(&batch).unwrap()));
    let stream = encoder.backend().stream();
    stream.profile(true);
    stream.set_mode(Mode::Latency);
    stream.flush().unwrap();
    encoder.embed(&batch).unwrap();
    let kept = encoder.backend().stream().collect().unwrap();
    let names = ["qkv", "attention", "attended+norm", "up", "down+norm"];
    let mut sums = [Duration::ZERO; 5];
    let device: Vec<_> = kept.iter().filter_map(|completion| completion.device).collect();
    if device.len() < 31 {
        return println!("operations: no timestamps");
    }
    for (at, time) in device[1..31].iter().enumerate() {
        sums[at % 5] += *time;
    }
    let total: Duration = device.iter().sum();
    println!("of {} tokens, on the device: all {total:?}, embed {:?}", batch.tokens(), device[0]);
    for (name, sum) in names.iter().zip(sums) {
        println!("  {name:<14} {:.0} µs a layer", sum.as_secs_f64() * 1e6 / 6.0);
    }
}

/// Those that there is workgroup memory for: a driver may hang on a larger one.
fn tiles(size: MatrixSize, memory: u32) -> Vec<Tile> {
    let tile = Tile::for_rows(size, 1_000, memory);
    let of = |down, across, row_tiles, wides, step| Tile {
        subgroups_down: down,
        subgroups_across: across,
        row_tiles,
        wides,
        step,
        ..tile
    };
    let tiles = match size {
        MatrixSize::Eight => vec![tile],
        MatrixSize::Sixteen => vec![
            tile,
            Tile::for_rows(size, 1, memory),
            of(4, 2, 2, 1, 8),
            of(4, 2, 2, 1, 16),
            of(2, 2, 4, 2, 8),
            of(2, 2, 4, 2, 16),
            of(2, 4, 4, 1, 8),
            of(2, 2, 2, 2, 8),
            of(2, 2, 2, 2, 16),
            of(2, 2, 2, 1, 16),
            of(1, 2, 2, 1, 16),
            of(1, 1, 1, 1, 8),
            of(1, 1, 1, 1, 16),
            of(1, 2, 1, 1, 16),
        ],
    };
    tiles.into_iter().filter(|tile| tile.bytes() <= memory).collect()
}

fn products(gpu: &Arc<Gpu>, tier: Tier) {
    let programs = |end| {
        let product = Product { bias: true, end };
        let plain = (Program::Gemm { product, weights: Numbers::F16 }, 64, 64, String::new());
        match tier {
            Tier::Cooperative(size) => {
                let of = |tile: Tile| {
                    let program = Program::CooperativeGemm { product, tile };
                    (program, tile.rows(), tile.outputs(), format!("{tile:?}"))
                };
                let memory = gpu.limits().max_compute_workgroup_storage_size;
                tiles(size, memory).into_iter().map(of).collect::<Vec<_>>()
            }
            Tier::Base | Tier::Subgroup => vec![plain],
        }
    };
    for at in 0..programs(RowEnd::Plain).len() {
        println!("{tier} {}", programs(RowEnd::Plain)[at].3);
        for rows in rows() {
            let mut line = format!("  {rows} rows:");
            for (outputs, inputs, end) in PRODUCTS {
                let (program, tile_rows, tile_outputs, _) = &programs(end)[at];
                let grid = [
                    (outputs as u32).div_ceil(*tile_outputs),
                    (rows as u32).div_ceil(*tile_rows),
                    1,
                ];
                match product(gpu, tier, *program, [rows, outputs, inputs], grid) {
                    Ok(time) => {
                        let operations = 2.0 * (rows * outputs * inputs) as f64;
                        let speed = operations / time.as_secs_f64() / 1e12;
                        let micros = time.as_secs_f64() * 1e6;
                        let _ = write!(line, " {outputs}×{inputs} {speed:.1} ({micros:.1} µs)");
                    }
                    Err(error) => drop(write!(line, " {error}")),
                }
            }
            println!("{line}");
        }
    }
}

/// Device time of one product among many.
fn product(
    gpu: &Arc<Gpu>,
    tier: Tier,
    program: Program,
    [rows, outputs, inputs]: [usize; 3],
    grid: [u32; 3],
) -> Result<Duration, BackendError> {
    const TIMES: u32 = 20;
    let mut backend = WgpuBackend::with_tier(gpu, tier, DEPTH)?;
    let numbers = backend.numbers();
    let values = |count: usize| (0..count).map(|at| (at % 17) as f32 / 64.0).collect::<Vec<_>>();
    let block = |count: usize| gpu.filled("bench", &tensor::to_bytes(&values(count), numbers));
    let (x, residual) = (block(rows * inputs)?, block(rows * outputs)?);
    let weight = Rows::new(inputs, values(outputs * inputs));
    let weight = Matrix::new(gpu, &weight, Numbers::F16, false)?;
    let bias = Vector::new(gpu, &values(outputs))?;
    let y = gpu.buffer("bench", 4 * (rows * outputs) as u64, wgpu::BufferUsages::STORAGE, false)?;
    let blocks = [&x, &weight.block, &bias.block, &residual, &y].map(Some);
    let scalars = [rows, outputs / 4, inputs / 4].map(|count| count as u32);
    backend.stream.profile(true);
    let mut times = Vec::new();
    for _ in 0..3 {
        for _ in 0..TIMES {
            backend.record(program, &blocks, &scalars, grid)?;
        }
        let finished = backend.stream.flush()?;
        times.extend(finished.iter().map(|c| c.device.unwrap_or(c.elapsed)));
    }
    gpu.check()?;
    Ok(times.into_iter().min().unwrap_or_default() / TIMES)
}
