//! Whole encoders beside the CPU.

use std::path::PathBuf;

use serde::Deserialize;

use super::*;
use crate::data::Embedding;
use crate::gpu::{EncoderModel, Lane, Model, ModelLoader as _};
use crate::inference::backend::cpu::{CpuBackend, Plain};
use crate::inference::{
    Encoder, EncoderConfig, EncoderLoader, FeedForward, Positions, Weights, bundled,
};

const LANE: Lane = Lane { index: 0, lanes: 1 };

pub(super) fn minilm() -> EncoderConfig {
    EncoderConfig {
        vocabulary: 30_522,
        width: 384,
        layers: 6,
        heads: 12,
        inner: 1_536,
        feed_forward: FeedForward::Gelu,
        positions: Positions::Learned { rows: 512, first: 0 },
        token_types: 2,
        norm_epsilon: 1e-12,
        tokens_max: 256,
        pooling: Pooling::Mean,
    }
}

fn jina() -> EncoderConfig {
    EncoderConfig {
        vocabulary: 64,
        width: 32,
        layers: 2,
        heads: 4,
        inner: 48,
        feed_forward: FeedForward::Geglu,
        positions: Positions::Alibi,
        tokens_max: 8_192,
        ..minilm()
    }
}

pub(super) fn minilm_weights() -> Weights {
    Weights::embedded("bundled", bundled::weights())
}

fn tiny(name: &str) -> Weights {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/goldens/tiny-{name}.safetensors"));
    Weights::map(&path).unwrap()
}

pub(super) fn load<B>(
    weights: Weights,
    config: EncoderConfig,
    precision: Precision,
    open: impl Fn() -> Result<B, BackendError> + Send + Sync + 'static,
) -> Box<dyn EncoderModel>
where
    B: Backend<Table: Send, Matrix: Send, Vector: Send> + Send + 'static,
{
    let open = Arc::new(move |_| open());
    let loader = EncoderLoader::new(Arc::new(weights), config, precision, open);
    let mut upload = loader.prepare(LANE).unwrap();
    loop {
        match upload.step().unwrap() {
            None => {}
            Some(Model::Encoder(encoder)) => return encoder,
            Some(Model::Decoder(_)) => unreachable!("an encoder was loaded"),
        }
    }
}

pub(super) fn on_cpu(weights: Weights, config: EncoderConfig) -> Box<dyn EncoderModel> {
    load(weights, config, Precision::F32, || CpuBackend::<Plain>::new(2))
}

fn on_gpu(tier: Tier, weights: Weights, config: EncoderConfig) -> Box<dyn EncoderModel> {
    let precision = match tier.activations() {
        Numbers::F32 => Precision::F32,
        Numbers::F16 => Precision::F16,
    };
    load(weights, config, precision, move || WgpuBackend::with_tier(&GPU, tier, DEPTH))
}

#[derive(Deserialize)]
struct Goldens {
    cases: Vec<Golden>,
}

#[derive(Deserialize)]
struct Golden {
    ids: Vec<u32>,
    embedding: Vec<f32>,
}

fn goldens() -> Vec<Golden> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/minilm.json");
    let mut goldens: Goldens = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    // Longer ones take software too long.
    goldens.cases.retain(|golden| golden.ids.len() <= 24);
    goldens.cases
}

pub(super) fn batch<'a>(sequences: impl IntoIterator<Item = &'a [u32]>) -> TokenBatch {
    let mut batch = TokenBatch::default();
    sequences.into_iter().for_each(|ids| batch.push(ids));
    batch
}

#[track_caller]
fn assert_agree(tier: Tier, got: &[Embedding], want: &[Embedding]) {
    let cosine_min = match tier.activations() {
        Numbers::F32 => 0.999_9,
        Numbers::F16 => 0.999,
    };
    assert_eq!(got.len(), want.len());
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        let cosine = got.cosine(want);
        assert!(cosine >= cosine_min, "{tier}, {at}: cosine {cosine}");
    }
}

#[test]
fn minilm_agrees_with_the_cpu_and_with_sentence_transformers() {
    let goldens = goldens();
    let batch = batch(goldens.iter().map(|golden| &golden.ids[..]));
    let cpu = on_cpu(minilm_weights(), minilm()).embed(&batch).unwrap();
    let golden: Vec<_> = goldens
        .into_iter()
        .map(|golden| Embedding::normalized(golden.embedding).unwrap())
        .collect();
    for tier in tiers() {
        let got = on_gpu(tier, minilm_weights(), minilm()).embed(&batch).unwrap();
        assert_agree(tier, &got, &cpu);
        assert_agree(tier, &got, &golden);
    }
}

#[test]
fn a_tiny_jina_bert_agrees_with_the_cpu_at_every_kind_of_length() {
    for (name, config) in [
        ("jina-4-heads", jina()),
        ("jina-6-heads", EncoderConfig { width: 24, heads: 6, inner: 40, ..jina() }),
    ] {
        let ids: Vec<u32> = (0..400).map(|at| (at * 13 % 61) as u32).collect();
        let lengths = [1, 2, 31, 32, 33, 63, 64, 65, 127, 129, 300];
        let batch = batch(lengths.iter().map(|length| &ids[..*length]));
        let cpu = on_cpu(tiny(name), config.clone()).embed(&batch).unwrap();
        for tier in tiers() {
            let got = on_gpu(tier, tiny(name), config.clone()).embed(&batch).unwrap();
            assert_agree(tier, &got, &cpu);
        }
    }
}

/// With the kernels of the base tier a device without f16 reads packed f16 weights.
#[test]
fn weights_in_f16_serve_activations_in_f32() {
    let ids: Vec<u32> = (0..70).collect::<Vec<_>>().iter().map(|at| at % 61).collect();
    let batch = batch([&ids[..]]);
    let cpu = on_cpu(tiny("jina-4-heads"), jina()).embed(&batch).unwrap();
    let open = || WgpuBackend::with_tier(&GPU, Tier::Base, DEPTH);
    let mut encoder = load(tiny("jina-4-heads"), jina(), Precision::F16, open);
    let got = encoder.embed(&batch).unwrap();
    assert!(got[0].cosine(&cpu[0]) > 0.9999);
}

#[test]
fn an_encoder_of_cls_pooling_and_moved_positions_agrees() {
    let config = EncoderConfig {
        inner: 64,
        feed_forward: FeedForward::Gelu,
        positions: Positions::Learned { rows: 66, first: 2 },
        token_types: 1,
        tokens_max: 64,
        pooling: Pooling::Cls,
        ..jina()
    };
    let ids: Vec<u32> = (0..64).map(|at| (at * 5 % 61) as u32).collect();
    let batch = batch([&ids[..], &ids[..3], &ids[..1]]);
    let cpu = on_cpu(tiny("xlm-roberta"), config.clone()).embed(&batch).unwrap();
    for tier in tiers() {
        let got = on_gpu(tier, tiny("xlm-roberta"), config.clone()).embed(&batch).unwrap();
        assert_agree(tier, &got, &cpu);
    }
}

/// What the model says of itself names the device and how it computes.
#[test]
fn the_device_and_its_tier_are_named() {
    let encoder = on_gpu(Tier::Subgroup, tiny("jina-4-heads"), jina());
    let info = encoder.info();
    assert_eq!(info.device.kind, DeviceKind::Wgpu);
    let name = &info.device.name;
    assert!(
        name.contains("llvmpipe") && name.ends_with("(vulkan), subgroup kernels in f16"),
        "{name}"
    );
    assert!(info.notices.is_empty());
}

/// An encoder that can be asked what its device has done.
pub(super) fn load_on(
    weights: Weights,
    config: EncoderConfig,
    precision: Precision,
    open: impl Fn() -> Result<WgpuBackend, BackendError> + Send + Sync + 'static,
) -> Encoder<WgpuBackend> {
    let open = Arc::new(move |_| open());
    EncoderLoader::new(Arc::new(weights), config, precision, open).load(LANE).unwrap()
}

/// An encoder on a device of its own, so that what is counted is its work alone.
pub(super) fn jina_with_counters() -> Encoder<WgpuBackend> {
    let gpu = Gpu::open(&AdapterChoice::Software).unwrap();
    let open = move || WgpuBackend::with_tier(&gpu, Tier::Subgroup, DEPTH);
    load_on(tiny("jina-4-heads"), jina(), Precision::F16, open)
}

pub(super) const JINA_LAYERS: u64 = 2;
