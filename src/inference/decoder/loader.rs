use std::panic::{AssertUnwindSafe, catch_unwind};

use candle_core::Device;
use tracing::warn;

use super::DecoderConfig;
use super::cache::KvCache;
use super::llama::{Layer, Llama};
use super::session::{Decoder, Placement, model_error};
use super::weights::{HostEnds, HostLayer};
use crate::config::DeviceChoice;
use crate::gpu::{DeviceKind, Lane, Model, ModelError, ModelLoader, ModelUpload};
use crate::inference::backend::candle::CandleBackend;
use crate::inference::device;
use crate::inference::gguf::GgufFile;

/// Reads the weights on a thread of its own and uploads them a layer at a time, to the best device
/// that opens, has room and computes right numbers.
#[derive(Debug)]
pub(super) struct LanguageModelLoader {
    pub gguf: GgufFile,
    pub config: DecoderConfig,
    pub choice: DeviceChoice,
    /// Of the CPU; shared by all lanes.
    pub threads: usize,
}

impl ModelLoader for LanguageModelLoader {
    fn prepare(&self, lane: Lane) -> Result<Box<dyn ModelUpload>, ModelError> {
        let ends = HostEnds::read(&self.gguf, &self.config).map_err(ModelError::new)?;
        let layers = (0..self.config.layers)
            .map(|at| HostLayer::read(&self.gguf, &self.config, at))
            .collect::<Result<Vec<_>, _>>()
            .map_err(ModelError::new)?;
        let built: Vec<DeviceKind> = CandleBackend::kinds().collect();
        let (kinds, notice) = match self.choice {
            DeviceChoice::Wgpu => {
                let (kinds, _) = device::order(DeviceChoice::Auto, &built);
                (kinds, Some("language models do not run on wgpu".to_owned()))
            }
            choice => device::order(choice, &built),
        };
        let mut upload = Upload {
            config: self.config.clone(),
            memory_bytes: ends.bytes() + layers.iter().map(HostLayer::bytes).sum::<u64>(),
            ends,
            layers,
            kinds,
            lane,
            threads: (self.threads / lane.lanes).max(1),
            notices: notice.into_iter().collect(),
            expected: None,
            opened: None,
        };
        if upload.kinds.len() > 1 {
            upload.expected = Some(upload.self_test_on_cpu().map_err(|e| model_error(&e))?);
        }
        Ok(Box::new(upload))
    }
}

struct Upload {
    config: DecoderConfig,
    ends: HostEnds,
    layers: Vec<HostLayer>,
    memory_bytes: u64,
    /// Devices to try, best first.
    kinds: Vec<DeviceKind>,
    lane: Lane,
    threads: usize,
    notices: Vec<String>,
    /// What the CPU makes of the self-test; none when only the CPU is tried.
    expected: Option<Vec<f32>>,
    /// The device whose turn it is, with the layers that it has.
    opened: Option<(CandleBackend, Vec<Layer>)>,
}

impl ModelUpload for Upload {
    fn step(&mut self) -> Result<Option<Model>, ModelError> {
        // A driver that is not there makes some libraries panic.
        let step = catch_unwind(AssertUnwindSafe(|| self.step_on(self.kinds[0])));
        match step.unwrap_or_else(|_panic| Err(ModelError::new("it crashed"))) {
            Err(error) if self.kinds.len() > 1 => {
                let name = device::name(self.kinds.remove(0));
                warn!(device = name, %error, "the device is not used");
                self.notices.push(format!("{name} is not used: {error}"));
                self.opened = None;
                Ok(None)
            }
            result => result,
        }
    }
}

impl Upload {
    fn step_on(&mut self, kind: DeviceKind) -> Result<Option<Model>, ModelError> {
        let Some((backend, uploaded)) = &mut self.opened else {
            let backend = CandleBackend::open(kind, self.lane.index, self.threads)?;
            self.opened = Some((backend, Vec::with_capacity(self.layers.len())));
            return Ok(None);
        };
        let device = backend.candle_device();
        if let Some(layer) = self.layers.get(uploaded.len()) {
            uploaded.push(layer.upload(device).map_err(|e| model_error(&e))?);
            return Ok(None);
        }
        let layers = std::mem::take(uploaded);
        let llama = self.ends.join(&self.config, layers, device).map_err(|e| model_error(&e))?;
        if let (Some(expected), false) = (&self.expected, kind == DeviceKind::Cpu) {
            let got = self_test(&llama).map_err(|e| model_error(&e))?;
            check(expected, &got)?;
        }
        let Some((backend, _)) = self.opened.take() else { return Ok(None) };
        let placement = Placement { backend, notices: std::mem::take(&mut self.notices) };
        Ok(Some(Model::Decoder(Box::new(Decoder::new(llama, placement, self.memory_bytes)))))
    }

    fn self_test_on_cpu(&self) -> candle_core::Result<Vec<f32>> {
        let layers = self.layers.iter().map(|layer| layer.upload(&Device::Cpu));
        let layers = layers.collect::<candle_core::Result<_>>()?;
        self_test(&self.ends.join(&self.config, layers, &Device::Cpu)?)
    }
}

/// Scores of what follows a few tokens, read together and alone, as a prompt and an answer are.
fn self_test(llama: &Llama) -> candle_core::Result<Vec<f32>> {
    let id = |at: usize| (at * 7_919 % llama.config.vocabulary) as u32;
    let mut cache = KvCache::new(&llama.config, &llama.device);
    llama.read(&[id(1), id(2), id(3)], &mut cache)?;
    llama.logits(&llama.read(&[id(4)], &mut cache)?)
}

/// Devices quantize activations in their own ways, so scores agree in direction and not to the digit.
const COSINE_MIN: f64 = 0.99;

pub(super) fn check(expected: &[f32], got: &[f32]) -> Result<(), ModelError> {
    let dot = |a: &[f32], b: &[f32]| {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>()
    };
    let cosine = dot(expected, got) / (dot(expected, expected) * dot(got, got)).sqrt();
    // Not a number is no pass either.
    if expected.len() == got.len() && cosine >= COSINE_MIN {
        return Ok(());
    }
    Err(ModelError::new(format!(
        "it computes wrong numbers: cosine {cosine:.4} to the CPU, at least {COSINE_MIN} is right"
    )))
}
