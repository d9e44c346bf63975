//! A language model small enough for a unit test to write, with random weights.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};

pub const WIDTH: usize = 32;
pub const HEADS: usize = 4;
pub const KV_HEADS: usize = 2;
pub const HEAD_WIDTH: usize = 8;
pub const INNER: usize = 64;
pub const LAYERS: usize = 2;
pub const CONTEXT: usize = 96;

/// Ends an answer.
pub const END: u32 = 2;

pub struct TinyModel {
    pub metadata: BTreeMap<String, Value>,
    pub tensors: BTreeMap<String, QTensor>,
}

impl TinyModel {
    /// A Llama whose tokenizer knows bytes, some merges of "hello world" and the tokens of ChatML.
    pub fn byte_level() -> Self {
        let control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"].map(str::to_owned);
        let merges = ["h e", "l l", "he ll", "hell o", "Ġ w"];
        let joined = merges.iter().map(|merge| merge.replace(' ', ""));
        let mut alphabet: Vec<_> = super::tokenizer::byte_level_alphabet().into_keys().collect();
        alphabet.sort_unstable();
        let bytes = alphabet.iter().map(char::to_string);
        let tokens: Vec<String> = control.into_iter().chain(bytes).chain(joined).collect();
        let types = (0..tokens.len()).map(|id| if id < 3 { 3 } else { 1 }).collect();
        let mut model = Self::llama(tokens, types);
        model.set("tokenizer.ggml.model", text("gpt2"));
        model.set("tokenizer.ggml.pre", text("smollm"));
        model.set("tokenizer.ggml.merges", Value::Array(merges.map(text).to_vec()));
        model.set("tokenizer.ggml.bos_token_id", Value::U32(1));
        model.set("tokenizer.ggml.eos_token_id", Value::U32(END));
        model
    }

    /// A Llama whose tokenizer is of SentencePiece's kind.
    pub fn sentence_piece() -> Self {
        let mut pieces = vec![("<unk>", 2, 0.0), ("<s>", 3, 0.0), ("</s>", 3, 0.0)];
        let bytes: Vec<String> = (0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>")).collect();
        pieces.extend(bytes.iter().map(|byte| (byte.as_str(), 6, 0.0)));
        let words = [
            "\u{2581}he",
            "he",
            "ll",
            "llo",
            "\u{2581}hello",
            "\u{2581}w",
            "or",
            "\u{2581}wor",
            "wo",
            "ow",
        ];
        pieces.extend((1..).zip(words).map(|(rank, word)| (word, 1, -(rank as f32))));
        let letters = ["\u{2581}", "h", "e", "l", "o", "w", "r", "d"];
        pieces.extend((20..).zip(letters).map(|(rank, letter)| (letter, 1, -(rank as f32))));
        let tokens = pieces.iter().map(|(token, ..)| (*token).to_owned()).collect();
        let mut model = Self::llama(tokens, pieces.iter().map(|(_, kind, _)| *kind).collect());
        let scores = pieces.iter().map(|(.., score)| Value::F32(*score)).collect();
        model.set("tokenizer.ggml.model", text("llama"));
        model.set("tokenizer.ggml.scores", Value::Array(scores));
        model.set("tokenizer.ggml.bos_token_id", Value::U32(1));
        model.set("tokenizer.ggml.eos_token_id", Value::U32(2));
        model
    }

    fn llama(tokens: Vec<String>, types: Vec<i32>) -> Self {
        let mut model = Self { metadata: BTreeMap::new(), tensors: BTreeMap::new() };
        model.add_weights(tokens.len());
        model.set("general.architecture", text("llama"));
        for (key, count) in [
            ("llama.context_length", CONTEXT),
            ("llama.embedding_length", WIDTH),
            ("llama.block_count", LAYERS),
            ("llama.feed_forward_length", INNER),
            ("llama.attention.head_count", HEADS),
            ("llama.attention.head_count_kv", KV_HEADS),
            ("llama.rope.dimension_count", HEAD_WIDTH),
        ] {
            model.set(key, Value::U32(count as u32));
        }
        model.set("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5));
        model.set("llama.rope.freq_base", Value::F32(10_000.0));
        let tokens = tokens.into_iter().map(Value::String).collect();
        let types = types.into_iter().map(Value::I32).collect();
        model.set("tokenizer.ggml.tokens", Value::Array(tokens));
        model.set("tokenizer.ggml.token_type", Value::Array(types));
        let template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n\
                        {% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
        model.set("tokenizer.chat_template", text(template));
        model
    }

    fn add_weights(&mut self, vocabulary: usize) {
        let kv_width = KV_HEADS * HEAD_WIDTH;
        self.add_matrix("token_embd", vocabulary, WIDTH);
        self.add_norm("output_norm");
        for at in 0..LAYERS {
            let mut matrix = |name: &str, rows, columns| {
                self.add_matrix(&format!("blk.{at}.{name}"), rows, columns);
            };
            matrix("attn_q", WIDTH, WIDTH);
            matrix("attn_k", kv_width, WIDTH);
            matrix("attn_v", kv_width, WIDTH);
            matrix("attn_output", WIDTH, WIDTH);
            matrix("ffn_gate", INNER, WIDTH);
            matrix("ffn_up", INNER, WIDTH);
            matrix("ffn_down", WIDTH, INNER);
            self.add_norm(&format!("blk.{at}.attn_norm"));
            self.add_norm(&format!("blk.{at}.ffn_norm"));
        }
    }

    fn add_matrix(&mut self, name: &str, rows: usize, columns: usize) {
        // Large enough that answers differ, and quantized as real files are.
        let values = random(name, rows * columns).map(|value| 0.6 * value).collect();
        let tensor = Tensor::from_vec(values, (rows, columns), &Device::Cpu).unwrap();
        self.add(name, &tensor, GgmlDType::Q8_0);
    }

    fn add_norm(&mut self, name: &str) {
        let values = random(name, WIDTH).map(|value| 1.0 + 0.2 * value).collect();
        self.add(name, &Tensor::from_vec(values, WIDTH, &Device::Cpu).unwrap(), GgmlDType::F32);
    }

    fn add(&mut self, name: &str, tensor: &Tensor, dtype: GgmlDType) {
        let tensor = QTensor::quantize(tensor, dtype).unwrap();
        self.tensors.insert(format!("{name}.weight"), tensor);
    }

    pub fn set(&mut self, key: &str, value: Value) {
        self.metadata.insert(key.to_owned(), value);
    }

    pub fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("tiny.gguf");
        let metadata: Vec<_> = self.metadata.iter().map(|(k, v)| (k.as_str(), v)).collect();
        let tensors: Vec<_> = self.tensors.iter().map(|(k, v)| (k.as_str(), v)).collect();
        gguf_file::write(&mut File::create(&path).unwrap(), &metadata, &tensors).unwrap();
        path
    }
}

pub fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// Values between -1 and 1, the same for the same name (xorshift64*, Vigna 2016).
fn random(name: &str, count: usize) -> impl Iterator<Item = f32> {
    let mut state = name.bytes().fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (0..count).map(move |_| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let bits = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40;
        bits as f32 / (1_u64 << 23) as f32 - 1.0
    })
}
