//! all-MiniLM-L6-v2, part of the binary: the loader maps it, nothing is copied at start, and a binary
//! that was copied elsewhere still has its model.

/// Puts the bytes on a cache line, as typed reads of the tensors need; `include_bytes!` alone promises
/// no alignment.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

static WEIGHTS: &Aligned<[u8]> =
    &Aligned(*include_bytes!("../../assets/models/all-MiniLM-L6-v2/model.safetensors"));

pub(super) const NAME: &str = "all-MiniLM-L6-v2";

/// The bytes of a file beside the weights.
pub(super) fn file(name: &str) -> Option<&'static [u8]> {
    macro_rules! bundled {
        ($file:literal) => {
            include_bytes!(concat!("../../assets/models/all-MiniLM-L6-v2/", $file)).as_slice()
        };
    }
    Some(match name {
        "config.json" => bundled!("config.json"),
        "tokenizer.json" => bundled!("tokenizer.json"),
        "sentence_bert_config.json" => bundled!("sentence_bert_config.json"),
        "1_Pooling/config.json" => bundled!("1_Pooling/config.json"),
        "self-test.json" => bundled!("self-test.json"),
        _ => return None,
    })
}

pub(super) fn weights() -> &'static [u8] {
    &WEIGHTS.0
}
