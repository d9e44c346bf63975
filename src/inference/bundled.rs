//! all-MiniLM-L6-v2, part of the binary: the loader maps it, nothing is copied at start, and a binary
//! that was copied elsewhere still has its model.

/// Puts the bytes on a cache line, as typed reads of the tensors need; `include_bytes!` alone promises
/// no alignment.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

static WEIGHTS: &Aligned<[u8]> =
    &Aligned(*include_bytes!("../../assets/models/all-MiniLM-L6-v2/model.safetensors"));

pub(super) const NAME: &str = "all-MiniLM-L6-v2";
pub(super) static CONFIG: &[u8] =
    include_bytes!("../../assets/models/all-MiniLM-L6-v2/config.json");
pub(super) static TOKENIZER: &[u8] =
    include_bytes!("../../assets/models/all-MiniLM-L6-v2/tokenizer.json");
pub(super) static LENGTH: &[u8] =
    include_bytes!("../../assets/models/all-MiniLM-L6-v2/sentence_bert_config.json");
pub(super) static POOLING: &[u8] =
    include_bytes!("../../assets/models/all-MiniLM-L6-v2/1_Pooling/config.json");

pub(super) fn weights() -> &'static [u8] {
    &WEIGHTS.0
}
