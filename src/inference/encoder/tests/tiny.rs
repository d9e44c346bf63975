//! Every kind of encoder on random weights, beside an implementation in PyTorch that shares nothing with
//! ours (`scripts/make-tiny-goldens.py`).

use std::path::PathBuf;

use safetensors::SafeTensors;

use super::*;

/// Rows are compared before they are normalized; their components are about 1.
const TOLERANCE: f32 = 3e-5;

struct Tiny {
    ids: Vec<u32>,
    /// What the first so many ids give.
    rows: Vec<(usize, Vec<f32>)>,
    weights: PathBuf,
    config: EncoderConfig,
}

impl Tiny {
    fn read(name: &str, config: EncoderConfig) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/goldens/tiny-{name}.safetensors"));
        let bytes = std::fs::read(&path).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let data = |name: &str| file.tensor(name).unwrap().data().to_vec();
        let words = |name: &str| data(name).as_chunks::<4>().0.to_vec();
        let lengths = words("golden.lengths").into_iter().map(i32::from_le_bytes);
        let values: Vec<f32> = words("golden.rows").into_iter().map(f32::from_le_bytes).collect();
        let rows = values.chunks(config.width).map(<[f32]>::to_vec);
        let rows = lengths.map(|length| length as usize).zip(rows).collect();
        let ids = data("golden.ids").into_iter().map(u32::from).collect();
        Self { ids, rows, weights: path, config }
    }

    fn load(&self, backend: CandleBackend) -> Encoder<CandleBackend> {
        let backend = Mutex::new(Some(backend));
        let open = Arc::new(move |_| Ok(backend.lock().unwrap().take().unwrap()));
        let weights = Arc::new(Weights::map(&self.weights).unwrap());
        let loader = EncoderLoader::new(weights, self.config.clone(), Precision::F32, open);
        finish(loader.stage(LANE).unwrap()).0
    }

    /// One sequence at a time.
    fn check_each(&self, mut encoder: Encoder<CandleBackend>) {
        for (length, want) in &self.rows {
            let got = encoder.pooled(&batch(&[self.ids[..*length].to_vec()])).unwrap().remove(0);
            assert_close(&got, want, &format!("{length} tokens"));
        }
    }

    /// All of at most `tokens_max` tokens in one batch.
    fn check_together(&self, mut encoder: Encoder<CandleBackend>, tokens_max: usize) {
        let rows: Vec<_> = self.rows.iter().filter(|(length, _)| *length <= tokens_max).collect();
        let sequences: Vec<_> =
            rows.iter().map(|(length, _)| self.ids[..*length].to_vec()).collect();
        let got = encoder.pooled(&batch(&sequences)).unwrap();
        for ((length, want), got) in rows.into_iter().zip(&got) {
            assert_close(got, want, &format!("{length} tokens among others"));
        }
    }
}

#[track_caller]
fn assert_close(got: &[f32], want: &[f32], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst <= TOLERANCE, "{what}: {worst}\n{got:?}\n{want:?}");
}

fn bert(positions: Positions, pooling: Pooling, token_types: usize) -> EncoderConfig {
    EncoderConfig {
        vocabulary: 64,
        width: 32,
        layers: 2,
        heads: 4,
        inner: 64,
        feed_forward: FeedForward::Gelu,
        positions,
        token_types,
        norm_epsilon: 1e-12,
        tokens_max: 64,
        pooling,
    }
}

fn jina_4_heads() -> Tiny {
    let config = EncoderConfig {
        inner: 48,
        feed_forward: FeedForward::Geglu,
        tokens_max: 8_192,
        ..bert(Positions::Alibi, Pooling::Mean, 2)
    };
    Tiny::read("jina-4-heads", config)
}

fn jina_6_heads() -> Tiny {
    let config = EncoderConfig { width: 24, heads: 6, inner: 40, ..jina_4_heads().config };
    Tiny::read("jina-6-heads", config)
}

fn bge() -> Tiny {
    Tiny::read("bge", bert(Positions::Learned { rows: 64, first: 0 }, Pooling::Cls, 2))
}

fn xlm_roberta() -> Tiny {
    Tiny::read("xlm-roberta", bert(Positions::Learned { rows: 66, first: 2 }, Pooling::Mean, 1))
}

fn cpu() -> CandleBackend {
    CandleBackend::cpu(2).unwrap()
}

fn padded() -> CandleBackend {
    CandleBackend::cpu_padded(2).unwrap()
}

#[test]
fn jina_bert_agrees_at_every_length_to_beyond_a_tile() {
    for tiny in [jina_4_heads(), jina_6_heads()] {
        tiny.check_each(tiny.load(cpu()));
    }
}

#[test]
fn jina_bert_agrees_in_a_batch() {
    for tiny in [jina_4_heads(), jina_6_heads()] {
        tiny.check_together(tiny.load(cpu()), 600);
    }
}

#[test]
fn bert_with_cls_pooling_agrees() {
    bge().check_each(bge().load(cpu()));
    bge().check_together(bge().load(cpu()), 64);
}

#[test]
fn xlm_roberta_agrees() {
    xlm_roberta().check_each(xlm_roberta().load(cpu()));
    xlm_roberta().check_together(xlm_roberta().load(cpu()), 64);
}

#[test]
fn every_kind_agrees_as_a_gpu_sees_a_batch() {
    for tiny in [jina_6_heads(), bge(), xlm_roberta()] {
        tiny.check_together(tiny.load(padded()), 300);
        tiny.check_each(tiny.load(padded()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Neither the other sequences of a batch nor the way in which a device sees them changes a row.
    #[test]
    fn packing_and_padding_are_exact(
        lengths in prop::collection::vec(1..80_usize, 1..8),
        start in 0..200_usize,
    ) {
        thread_local! {
            static ENCODERS: std::cell::RefCell<[Encoder<CandleBackend>; 2]> =
                std::cell::RefCell::new([cpu(), padded()].map(|on| jina_4_heads().load(on)));
        }
        let ids = jina_4_heads().ids;
        let sequences: Vec<_> =
            lengths.iter().map(|length| ids[start..start + length].to_vec()).collect();
        ENCODERS.with_borrow_mut(|[each, padded]| {
            let singles: Vec<_> = sequences
                .iter()
                .map(|ids| each.pooled(&batch(std::slice::from_ref(ids))).unwrap().remove(0))
                .collect();
            for encoder in [each, padded] {
                let together = encoder.pooled(&batch(&sequences)).unwrap();
                for (a, b) in together.iter().flatten().zip(singles.iter().flatten()) {
                    prop_assert!((a - b).abs() <= TOLERANCE, "{a} {b}");
                }
            }
            Ok(())
        })?;
    }

    /// ALiBi is symmetric: read backwards, a sequence has the same mean.
    #[test]
    fn a_sequence_read_backwards_has_the_same_mean(length in 1..300_usize, start in 0..200_usize) {
        thread_local! {
            static ENCODER: std::cell::RefCell<Encoder<CandleBackend>> =
                std::cell::RefCell::new(jina_6_heads().load(cpu()));
        }
        let ids = jina_6_heads().ids[start..start + length].to_vec();
        let backwards = ids.iter().rev().copied().collect();
        let rows = ENCODER.with_borrow_mut(|encoder| encoder.pooled(&batch(&[ids, backwards])));
        let rows = rows.unwrap();
        for (a, b) in rows[0].iter().zip(&rows[1]) {
            prop_assert!((a - b).abs() <= TOLERANCE, "{a} {b}");
        }
    }
}
