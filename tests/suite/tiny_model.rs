//! An embedding model of a few kilobytes beside the bundled tokenizer: random, so it knows nothing, but
//! the same text has the same vector.

use std::fs;
use std::path::{Path, PathBuf};

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use crate::lode::Lode;

const VOCABULARY: usize = 30_522;
const WIDTH: usize = 32;
const INNER: usize = 64;
const POSITIONS: usize = 512;

const CONFIG: &str = r#"{"model_type": "bert", "vocab_size": 30522, "hidden_size": 32,
    "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
    "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
    "hidden_act": "gelu"}"#;

/// A command line that uses the model: where the model is not what is tested.
pub fn lode(data: &Path) -> Lode {
    let lode = Lode::new(data);
    let folder = write(data, "tiny", 3);
    lode.json(&["models".as_ref(), "add".as_ref(), folder.as_os_str()]);
    lode.json(&["models", "use", "tiny"]);
    lode
}

/// Writes the model into `parent/name`; another `seed` gives other weights.
pub fn write(parent: &Path, name: &str, seed: u32) -> PathBuf {
    let folder = parent.join(name);
    fs::create_dir_all(&folder).unwrap();
    let tokenizer = "assets/models/all-MiniLM-L6-v2/tokenizer.json";
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(tokenizer), folder.join("tokenizer.json"))
        .unwrap();
    fs::write(folder.join("config.json"), CONFIG).unwrap();
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![VOCABULARY, WIDTH]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![POSITIONS, WIDTH]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, WIDTH]),
    ];
    let mut layer = |name: &str, outputs: usize, inputs: Option<usize>| {
        let weight = inputs.map_or(vec![outputs], |inputs| vec![outputs, inputs]);
        shapes.push((format!("{name}.weight"), weight));
        shapes.push((format!("{name}.bias"), vec![outputs]));
    };
    layer("embeddings.LayerNorm", WIDTH, None);
    for part in ["self.query", "self.key", "self.value", "output.dense"] {
        layer(&format!("encoder.layer.0.attention.{part}"), WIDTH, Some(WIDTH));
    }
    layer("encoder.layer.0.attention.output.LayerNorm", WIDTH, None);
    layer("encoder.layer.0.intermediate.dense", INNER, Some(WIDTH));
    layer("encoder.layer.0.output.dense", WIDTH, Some(INNER));
    layer("encoder.layer.0.output.LayerNorm", WIDTH, None);

    let mut state = seed;
    let data: Vec<(String, Vec<usize>, Vec<u8>)> = shapes
        .into_iter()
        .map(|(name, shape)| {
            let is_gain = name.ends_with("LayerNorm.weight");
            let values = (0..shape.iter().product()).flat_map(|_| {
                // Numerical Recipes' generator: even numbers are enough here.
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let value = (state >> 8) as f32 / (1 << 24) as f32 - 0.5;
                (if is_gain { 1.0_f32 } else { value }).to_le_bytes()
            });
            let bytes = values.collect();
            (name, shape, bytes)
        })
        .collect();
    let views = data.iter().map(|(name, shape, bytes)| {
        (name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap())
    });
    safetensors::serialize_to_file(views, None, &folder.join("model.safetensors")).unwrap();
    folder
}
