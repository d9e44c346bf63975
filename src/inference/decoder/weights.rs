use std::sync::Arc;

use candle_core::quantized::{QMatMul, QStorage, QTensor};
use candle_core::{Device, Tensor};

use super::DecoderConfig;
use super::llama::{Layer, Llama};
use super::rope::Rope;
use crate::inference::gguf::{GgufError, GgufFile};

/// The tensors of a layer in main memory, as they are quantized.
pub(super) struct HostLayer {
    attention_norm: Arc<QTensor>,
    q: Arc<QTensor>,
    k: Arc<QTensor>,
    v: Arc<QTensor>,
    attended: Arc<QTensor>,
    inner_norm: Arc<QTensor>,
    gate: Arc<QTensor>,
    up: Arc<QTensor>,
    down: Arc<QTensor>,
}

/// The tensors outside the layers.
pub(super) struct HostEnds {
    pub embedding: Arc<QTensor>,
    pub norm: Arc<QTensor>,
    /// `None`: the embedding serves for both.
    pub output: Option<Arc<QTensor>>,
    pub rope_factors: Option<Vec<f32>>,
}

impl HostLayer {
    pub fn read(gguf: &GgufFile, config: &DecoderConfig, at: usize) -> Result<Self, GgufError> {
        let DecoderConfig { width, inner, heads, kv_heads, head_width, .. } = *config;
        let tensor = |name: &str, shape: &[usize]| {
            gguf.tensor(&format!("blk.{at}.{name}.weight"), shape).map(Arc::new)
        };
        Ok(Self {
            attention_norm: tensor("attn_norm", &[width])?,
            q: tensor("attn_q", &[heads * head_width, width])?,
            k: tensor("attn_k", &[kv_heads * head_width, width])?,
            v: tensor("attn_v", &[kv_heads * head_width, width])?,
            attended: tensor("attn_output", &[width, heads * head_width])?,
            inner_norm: tensor("ffn_norm", &[width])?,
            gate: tensor("ffn_gate", &[inner, width])?,
            up: tensor("ffn_up", &[inner, width])?,
            down: tensor("ffn_down", &[width, inner])?,
        })
    }

    pub fn bytes(&self) -> u64 {
        let norms = [&self.attention_norm, &self.inner_norm];
        let attention = [&self.q, &self.k, &self.v, &self.attended];
        let inner = [&self.gate, &self.up, &self.down];
        let tensors = norms.into_iter().chain(attention).chain(inner);
        tensors.map(|tensor| tensor.storage_size_in_bytes() as u64).sum()
    }

    pub fn upload(&self, device: &Device) -> candle_core::Result<Layer> {
        let matrix = |tensor| QMatMul::from_arc(uploaded(tensor, device)?);
        Ok(Layer {
            attention_norm: vector(&self.attention_norm, device)?,
            q: matrix(&self.q)?,
            k: matrix(&self.k)?,
            v: matrix(&self.v)?,
            attended: matrix(&self.attended)?,
            inner_norm: vector(&self.inner_norm, device)?,
            gate: matrix(&self.gate)?,
            up: matrix(&self.up)?,
            down: matrix(&self.down)?,
        })
    }
}

impl HostEnds {
    pub fn read(gguf: &GgufFile, config: &DecoderConfig) -> Result<Self, GgufError> {
        let DecoderConfig { vocabulary, width, head_width, .. } = *config;
        let optional = |name: &str, shape: &[usize]| {
            gguf.has_tensor(name).then(|| gguf.tensor(name, shape).map(Arc::new)).transpose()
        };
        let factors = optional("rope_freqs.weight", &[head_width / 2])?;
        let read = |factors: Arc<QTensor>| factors.dequantize(&Device::Cpu)?.to_vec1();
        let factors = factors.map(read).transpose().map_err(|e| gguf.damaged(e.to_string()))?;
        Ok(Self {
            embedding: Arc::new(gguf.tensor("token_embd.weight", &[vocabulary, width])?),
            norm: Arc::new(gguf.tensor("output_norm.weight", &[width])?),
            output: optional("output.weight", &[vocabulary, width])?,
            rope_factors: factors,
        })
    }

    pub fn bytes(&self) -> u64 {
        let tensors = [&self.embedding, &self.norm].into_iter().chain(&self.output);
        tensors.map(|tensor| tensor.storage_size_in_bytes() as u64).sum()
    }

    /// Puts the model together around layers that are on the device.
    pub fn join(
        &self,
        config: &DecoderConfig,
        layers: Vec<Layer>,
        device: &Device,
    ) -> candle_core::Result<Llama> {
        let embedding = uploaded(&self.embedding, device)?;
        let output = match &self.output {
            Some(output) => uploaded(output, device)?,
            None => Arc::clone(&embedding),
        };
        Ok(Llama {
            config: config.clone(),
            device: device.clone(),
            rope: Rope::new(config, self.rope_factors.as_deref()),
            embedding,
            layers,
            norm: vector(&self.norm, device)?,
            output: QMatMul::from_arc(output)?,
        })
    }
}

fn uploaded(tensor: &Arc<QTensor>, device: &Device) -> candle_core::Result<Arc<QTensor>> {
    if device.is_cpu() {
        return Ok(Arc::clone(tensor));
    }
    let storage = QStorage::from_data(tensor.data()?, device, tensor.dtype())?;
    Ok(Arc::new(QTensor::new(storage, tensor.shape().clone())?))
}

fn vector(tensor: &QTensor, device: &Device) -> candle_core::Result<Tensor> {
    tensor.dequantize(device)
}
