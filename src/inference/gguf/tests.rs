use candle_core::quantized::gguf_file::Value;
use proptest::prelude::*;

use super::fixture::{TinyModel, text};
use super::*;
use crate::config::DeviceChoice;

fn written(model: &TinyModel) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = model.write(folder.path());
    (folder, path)
}

fn tokenizer(model: &TinyModel) -> Result<GgufTokenizer, GgufError> {
    let (_folder, path) = written(model);
    GgufTokenizer::read(&GgufFile::open(&path)?)
}

fn texts(tokenizer: &GgufTokenizer, ids: &[u32]) -> Vec<String> {
    let text = |id: &u32| String::from_utf8_lossy(tokenizer.bytes(*id)).into_owned();
    ids.iter().map(text).collect()
}

#[test]
fn byte_level_merges_words_and_knows_control_tokens() {
    let tokenizer = tokenizer(&TinyModel::byte_level()).unwrap();
    assert_eq!(tokenizer.kind(), TokenizerKind::ByteLevel);
    let ids = tokenizer.encode("<|im_start|>hello world<|im_end|>").unwrap();
    assert_eq!(texts(&tokenizer, &ids), ["", "hello", " w", "o", "r", "l", "d", ""]);
    assert_eq!((ids[0], ids[7]), (1, 2));
    assert_eq!(tokenizer.ends(), [0, 2]);
    assert_eq!((tokenizer.bos_text(), tokenizer.eos_text()), ("<|im_start|>", "<|im_end|>"));
}

#[test]
fn sentence_piece_marks_spaces_and_falls_back_to_bytes() {
    let tokenizer = tokenizer(&TinyModel::sentence_piece()).unwrap();
    assert_eq!(tokenizer.kind(), TokenizerKind::SentencePiece);
    assert!(tokenizer.adds_space());
    let ids = tokenizer.encode("hello worldé").unwrap();
    assert_eq!(ids[0], 1, "a text begins with the token for that");
    let words = texts(&tokenizer, &ids[1..5]);
    assert_eq!(words, [" hello", " wor", "l", "d"]);
    let bytes: Vec<u8> = ids[5..].iter().flat_map(|id| tokenizer.bytes(*id)).copied().collect();
    assert_eq!(bytes, "é".as_bytes());
    // "wo" has a better score than "ow".
    assert_eq!(texts(&tokenizer, &tokenizer.encode("owo").unwrap()), ["", " ", "o", "wo"]);
    assert_eq!(tokenizer.encode("<s>hello").unwrap().iter().filter(|id| **id == 1).count(), 1);
}

#[test]
fn kinds_that_are_not_supported_are_named() {
    for (key, got) in [("tokenizer.ggml.model", "rwkv"), ("tokenizer.ggml.pre", "tekken")] {
        let mut model = TinyModel::byte_level();
        model.set(key, text(got));
        let message = tokenizer(&model).unwrap_err().to_string();
        assert!(message.contains(key) && message.contains(got), "{message}");
    }
}

#[test]
fn a_tokenizer_that_contradicts_itself_is_damaged() {
    let damage: [fn(&mut TinyModel); 4] = [
        |model| model.set("tokenizer.ggml.merges", Value::Array(vec![text("h xyz")])),
        |model| model.set("tokenizer.ggml.merges", Value::Array(vec![text("he")])),
        |model| model.set("tokenizer.ggml.token_type", Value::Array(vec![Value::I32(1)])),
        |model| model.set("tokenizer.ggml.token_type", Value::Array(vec![text("1")])),
    ];
    for damage in damage {
        let mut model = TinyModel::byte_level();
        damage(&mut model);
        let error = tokenizer(&model).unwrap_err();
        assert!(matches!(error, GgufError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("tiny.gguf"), "{error}");
    }
}

#[test]
fn what_is_no_gguf_is_told_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.gguf");
    let missing = GgufFile::open(&path).unwrap_err().to_string();
    assert!(missing.contains("notes.gguf cannot be read"), "{missing}");
    std::fs::write(&path, "# Notes\nNothing to see here.\n").unwrap();
    let wrong = GgufFile::open(&path).unwrap_err().to_string();
    assert!(wrong.contains("notes.gguf is damaged"), "{wrong}");
}

/// An alignment of zero would be divided by.
#[test]
fn a_header_that_contradicts_itself_is_an_error() {
    let mut model = TinyModel::byte_level();
    model.set("general.alignment", Value::U32(0));
    let (_folder, path) = written(&model);
    assert!(matches!(GgufFile::open(&path), Err(GgufError::Damaged { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Wherever a download broke off, the file is refused or its tensors are whole.
    #[test]
    fn a_truncated_file_is_an_error(share in 0.0..1.0_f64) {
        let model = TinyModel::byte_level();
        let (_folder, path) = written(&model);
        let bytes = std::fs::read(&path).unwrap();
        // The last tensor is followed by less than 32 bytes of padding.
        let kept = ((bytes.len() - 32) as f64 * share) as usize;
        std::fs::write(&path, &bytes[..kept]).unwrap();
        let error = GgufFile::open(&path).unwrap_err();
        prop_assert!(error.to_string().contains("tiny.gguf"), "{error}");
    }

    /// Lengths, counts and types that are wrong lead to errors, not to panics or gigabytes.
    #[test]
    fn a_damaged_header_is_survived(
        share in 0.0..0.3_f64,
        damage in prop::collection::vec(any::<u8>(), 1..9),
    ) {
        let (_folder, path) = written(&TinyModel::byte_level());
        let mut bytes = std::fs::read(&path).unwrap();
        let at = (bytes.len() as f64 * share) as usize;
        bytes[at..at + damage.len()].copy_from_slice(&damage);
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(model) = crate::inference::LanguageModel::open(&path) {
            let lane = crate::gpu::Lane { index: 0, lanes: 1 };
            let _ = model.into_loader(DeviceChoice::Cpu, 1).prepare(lane);
        }
    }

    /// Bytes of the tokens of a text are the text, whatever it is.
    #[test]
    fn byte_level_tokens_are_the_text(text in "(hello| world|[ \n0-9é世🦀']|\\PC){0,12}") {
        let tokenizer = tokenizer(&TinyModel::byte_level()).unwrap();
        let ids = tokenizer.encode(&text).unwrap();
        let bytes: Vec<u8> = ids.iter().flat_map(|id| tokenizer.bytes(*id)).copied().collect();
        prop_assert_eq!(String::from_utf8(bytes).unwrap(), text);
    }
}
