use std::path::PathBuf;

use candle_core::quantized::gguf_file::{Content, Value};
use candle_core::{Device, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;
use proptest::prelude::*;

use super::*;
use crate::gpu::{DecoderModel, Generation, GenerationStep, Lane, Model, Sampling};
use crate::inference::gguf::fixture::{CONTEXT, TinyModel, text};

fn written(model: &TinyModel) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = model.write(folder.path());
    (folder, path)
}

fn load(path: &Path) -> Box<dyn DecoderModel> {
    let model = LanguageModel::open(path).unwrap();
    let mut upload =
        model.into_loader(DeviceChoice::Cpu, 1).prepare(Lane { index: 0, lanes: 1 }).unwrap();
    loop {
        match upload.step().unwrap() {
            Some(Model::Decoder(decoder)) => return decoder,
            Some(other) => panic!("{other:?}"),
            None => {}
        }
    }
}

fn tiny() -> Box<dyn DecoderModel> {
    let (_folder, path) = written(&TinyModel::byte_level());
    load(&path)
}

/// What scores tokens, without the sampling around it.
fn forward_pass(path: &Path) -> llama::Llama {
    let gguf = GgufFile::open(path).unwrap();
    let config = DecoderConfig::read(&gguf).unwrap();
    let ends = weights::HostEnds::read(&gguf, &config).unwrap();
    let layer = |at| weights::HostLayer::read(&gguf, &config, at).unwrap();
    let device = Device::Cpu;
    let layers = (0..config.layers).map(|at| layer(at).upload(&device).unwrap()).collect();
    ends.join(&config, layers, &device).unwrap()
}

/// The next `count` tokens, with the prompt read in chunks of the given lengths, over and over.
fn continued(session: &mut dyn Generation, chunks: &[usize], count: usize) -> Vec<u32> {
    let (mut tokens, mut chunks) = (Vec::new(), chunks.iter().cycle());
    while tokens.len() < count {
        match session.step(*chunks.next().unwrap()).unwrap() {
            GenerationStep::Read { tokens } => assert!(tokens > 0),
            GenerationStep::Token(token) => tokens.push(token),
        }
    }
    tokens
}

fn sampled(seed: u64) -> Sampling {
    Sampling { temperature: 1.5, top_k: Some(40), top_p: Some(0.95), repeat_penalty: 1.1, seed }
}

/// Ours and candle's forward pass are two writings of one model.
#[test]
fn logits_are_those_of_candle() {
    let (_folder, path) = written(&TinyModel::byte_level());
    let mut file = std::fs::File::open(&path).unwrap();
    let content = Content::read(&mut file).unwrap();
    let mut candle = ModelWeights::from_gguf(content, &mut file, &Device::Cpu).unwrap();

    let llama = forward_pass(&path);
    let (config, device) = (llama.config.clone(), Device::Cpu);
    let mut cache = cache::KvCache::new(&config, &device);
    let ids: Vec<u32> = (0..60).map(|at| at * 37 % config.vocabulary as u32).collect();
    let mut start = 0;
    for count in [1, 7, 1, 30, 21] {
        let chunk = &ids[start..start + count];
        let input = Tensor::new(chunk, &device).unwrap().unsqueeze(0).unwrap();
        let want: Vec<f32> =
            candle.forward(&input, start).unwrap().flatten_all().unwrap().to_vec1().unwrap();
        let rows = llama.read(chunk, &mut cache).unwrap();
        let got = llama.logits(&rows).unwrap();
        let spread = want.iter().fold(0.0_f32, |most, logit| most.max(logit.abs()));
        let is_close = want.iter().zip(&got).all(|(a, b)| (a - b).abs() < 1e-4 * spread);
        assert!(spread > 1.0 && is_close, "{start}: {got:?} for {want:?}");
        start += count;
    }
}

#[test]
fn greedy_is_the_limit_of_a_small_temperature() {
    let mut model = tiny();
    let mut tokens = |sampling| {
        let mut session = model.start(vec![5, 90, 17], sampling).unwrap();
        continued(&mut *session, &[8], 20)
    };
    let greedy = tokens(Sampling::greedy());
    let cold = Sampling { temperature: 1e-4, seed: 3, ..Sampling::greedy() };
    assert_eq!(tokens(cold), greedy);
    assert_eq!(tokens(Sampling { temperature: 9.0, top_k: Some(1), ..Sampling::greedy() }), greedy);
    assert_ne!(tokens(sampled(1)), tokens(sampled(2)));
    // The tokens that greed repeats are those that a penalty is for.
    let penalized = tokens(Sampling { repeat_penalty: 5.0, ..Sampling::greedy() });
    let distinct = |tokens: &[u32]| tokens.iter().collect::<std::collections::HashSet<_>>().len();
    assert!(distinct(&penalized) > distinct(&greedy), "{penalized:?} {greedy:?}");
}

#[test]
fn what_cannot_be_sampled_or_read_is_refused() {
    let mut model = tiny();
    let greedy = Sampling::greedy;
    for (prompt, sampling, told) in [
        (vec![], greedy(), "no prompt"),
        (vec![9_999], greedy(), "token 9999"),
        (vec![5; CONTEXT], greedy(), "a prompt of 96 tokens"),
        (vec![5], Sampling { temperature: -1.0, ..greedy() }, "temperature of -1"),
        (vec![5], Sampling { temperature: f32::NAN, ..greedy() }, "temperature of NaN"),
        (vec![5], Sampling { top_k: Some(0), ..greedy() }, "top-k of 0"),
        (vec![5], Sampling { top_p: Some(1.5), ..greedy() }, "top-p of 1.5"),
        (vec![5], Sampling { repeat_penalty: 0.0, ..greedy() }, "repeat penalty of 0"),
    ] {
        let error = model.start(prompt, sampling).err().unwrap().to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn the_context_can_be_filled_to_its_last_token() {
    let mut model = tiny();
    let mut session = model.start(vec![5; CONTEXT - 3], Sampling::greedy()).unwrap();
    assert_eq!(continued(&mut *session, &[40], 3).len(), 3);
    let error = session.step(1).unwrap_err().to_string();
    assert!(error.contains("context of 96 tokens is full"), "{error}");
}

#[test]
fn what_is_no_llama_is_named() {
    for (key, value, told) in [
        ("general.architecture", text("mamba"), "mamba"),
        ("llama.rope.scaling.type", text("yarn"), "yarn"),
        ("llama.expert_count", Value::U32(8), "8"),
        ("llama.rope.dimension_count", Value::U32(4), "whole heads"),
        ("llama.attention.head_count_kv", Value::U32(3), "shape"),
        ("llama.attention.head_count", Value::U32(0), "shape"),
        ("llama.block_count", Value::U32(u32::MAX), "shape"),
        ("llama.context_length", text("long"), "no \"llama.context_length\""),
    ] {
        let mut model = TinyModel::byte_level();
        model.set(key, value);
        let (_folder, path) = written(&model);
        let message = LanguageModel::open(&path).unwrap_err().to_string();
        assert!(message.contains(told) && message.contains("tiny.gguf"), "{message}");
    }
}

#[test]
fn weights_that_are_missing_or_misshapen_are_named() {
    let mut model = TinyModel::byte_level();
    let norm = model.tensors.remove("blk.1.ffn_norm.weight").unwrap();
    let prepared = |model: &TinyModel| {
        let (_folder, path) = written(model);
        let loader = LanguageModel::open(&path).unwrap().into_loader(DeviceChoice::Cpu, 1);
        loader.prepare(Lane { index: 0, lanes: 1 }).err().unwrap().to_string()
    };
    let missing = prepared(&model);
    assert!(missing.contains("blk.1.ffn_norm.weight"), "{missing}");
    model.tensors.insert("blk.1.ffn_norm.weight".to_owned(), norm);
    let other = model.tensors.remove("blk.0.ffn_down.weight").unwrap();
    model.tensors.insert("blk.0.ffn_up.weight".to_owned(), other);
    let misshapen = prepared(&model);
    assert!(misshapen.contains("blk.0.ffn_up.weight has shape"), "{misshapen}");
}

/// Positions beyond those of the training are squeezed into it.
#[test]
fn linear_scaling_and_factors_slow_the_angles_down() {
    let (_folder, path) = written(&TinyModel::byte_level());
    let config = DecoderConfig::read(&GgufFile::open(&path).unwrap()).unwrap();
    let angles = |config: &DecoderConfig, factors: Option<&[f32]>, start| {
        let (cos, _) = rope::Rope::new(config, factors).angles(start, 1, &Device::Cpu).unwrap();
        cos.flatten_all().unwrap().to_vec1::<f32>().unwrap()
    };
    let scaled = DecoderConfig { rope_scale: 4.0, ..config.clone() };
    assert_eq!(angles(&scaled, None, 8), angles(&config, None, 2));
    let factors = vec![4.0; config.head_width / 2];
    assert_eq!(angles(&config, Some(&factors), 8), angles(&config, None, 2));
}

#[test]
fn a_device_that_computes_wrong_numbers_is_not_used() {
    let right = [1.0, -2.0, 3.0, 0.5];
    loader::check(&right, &[1.01, -1.98, 3.02, 0.5]).unwrap();
    for wrong in [&[1.0, 2.0, 3.0, 0.5][..], &[f32::NAN; 4], &[0.0; 4], &right[..3]] {
        let error = loader::check(&right, wrong).unwrap_err().to_string();
        assert!(error.contains("wrong numbers"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// An answer depends on its prompt, its sampling and its seed: not on how the prompt was cut into
    /// steps, nor on what runs between its steps.
    #[test]
    fn answers_do_not_depend_on_chunks_or_on_other_sessions(
        prompt in prop::collection::vec(0..260_u32, 1..60),
        other in prop::collection::vec(0..260_u32, 1..60),
        chunks in prop::collection::vec(1..20_usize, 1..6),
        seed in any::<u64>(),
        greedy in any::<bool>(),
    ) {
        let sampling = if greedy { Sampling::greedy() } else { sampled(seed) };
        let mut model = tiny();
        let mut alone = model.start(prompt.clone(), sampling.clone()).unwrap();
        let want = continued(&mut *alone, &[usize::MAX], 12);

        let mut ours = model.start(prompt.clone(), sampling.clone()).unwrap();
        prop_assert_eq!(&continued(&mut *ours, &chunks, 12), &want);

        let mut ours = model.start(prompt, sampling).unwrap();
        let mut theirs = model.start(other, sampled(!seed)).unwrap();
        let (mut got, mut chunks) = (Vec::new(), chunks.iter().cycle());
        while got.len() < want.len() {
            let chunk = *chunks.next().unwrap();
            if let GenerationStep::Token(token) = ours.step(chunk).unwrap() {
                got.push(token);
            }
            theirs.step(chunk).unwrap();
        }
        prop_assert_eq!(&got, &want);
    }
}

mod smollm;
