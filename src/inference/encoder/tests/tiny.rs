//! Every kind of encoder on random weights, beside an implementation in PyTorch that shares nothing with
//! ours (`scripts/make-tiny-goldens.py`).

use std::path::PathBuf;

use safetensors::SafeTensors;

use super::*;

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

    fn load(&self, on: On) -> Box<dyn Forward> {
        on.load(Weights::map(&self.weights).unwrap(), self.config.clone())
    }

    /// One sequence at a time, of each `every`th length and all short ones.
    fn check_each(&self, on: On, every: usize) {
        let mut encoder = self.load(on);
        for (at, (length, want)) in self.rows.iter().enumerate() {
            if at % every == 0 || *length <= 40 {
                let got = encoder.pooled(&batch(&[self.ids[..*length].to_vec()])).remove(0);
                assert_close(&got, want, on, &format!("{length} tokens"));
            }
        }
    }

    /// All of at most `tokens_max` tokens in one batch.
    fn check_together(&self, on: On, tokens_max: usize) {
        let rows: Vec<_> = self.rows.iter().filter(|(length, _)| *length <= tokens_max).collect();
        let sequences: Vec<_> =
            rows.iter().map(|(length, _)| self.ids[..*length].to_vec()).collect();
        let got = self.load(on).pooled(&batch(&sequences));
        for ((length, want), got) in rows.into_iter().zip(&got) {
            assert_close(got, want, on, &format!("{length} tokens among others"));
        }
    }
}

/// Rows are compared before they are normalized; their components are about 1.
#[track_caller]
fn assert_close(got: &[f32], want: &[f32], on: On, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let is_close = got.iter().zip(want).all(|(a, b)| (a - b).abs() <= on.tolerance());
    assert!(is_close, "{on:?}, {what}\n{got:?}\n{want:?}");
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

const PADDED: On = On::LikeGpu(Precision::F32);

/// Reference and best set at every length; other sets at some.
#[test]
fn jina_bert_agrees_at_every_length_to_beyond_a_tile() {
    for tiny in [jina_4_heads(), jina_6_heads()] {
        for on in On::all() {
            let best = on == On::Cpu(Simd::detect());
            tiny.check_each(on, if best { 1 } else { 29 });
        }
    }
}

#[test]
fn jina_bert_agrees_in_a_batch() {
    for tiny in [jina_4_heads(), jina_6_heads()] {
        On::all().for_each(|on| tiny.check_together(on, 300));
    }
}

#[test]
fn bert_with_cls_pooling_agrees() {
    for on in On::all() {
        bge().check_each(on, 1);
        bge().check_together(on, 64);
    }
}

#[test]
fn xlm_roberta_agrees() {
    for on in On::all() {
        xlm_roberta().check_each(on, 1);
        xlm_roberta().check_together(on, 64);
    }
}

#[test]
fn every_kind_agrees_as_a_gpu_sees_a_batch() {
    for tiny in [jina_6_heads(), bge(), xlm_roberta()] {
        tiny.check_together(PADDED, 300);
        tiny.check_each(PADDED, 1);
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
            static ENCODERS: std::cell::RefCell<Vec<Box<dyn Forward>>> = std::cell::RefCell::new(
                [On::Candle, PADDED, On::Cpu(Simd::Plain)].map(|on| jina_4_heads().load(on)).into(),
            );
        }
        let ids = jina_4_heads().ids;
        let sequences: Vec<_> =
            lengths.iter().map(|length| ids[start..start + length].to_vec()).collect();
        ENCODERS.with_borrow_mut(|encoders| {
            let single = |ids| encoders[0].pooled(&batch(std::slice::from_ref(ids))).remove(0);
            let singles: Vec<_> = sequences.iter().map(single).collect();
            for encoder in encoders {
                let together = encoder.pooled(&batch(&sequences));
                for (a, b) in together.iter().flatten().zip(singles.iter().flatten()) {
                    prop_assert!((a - b).abs() <= On::Candle.tolerance(), "{a} {b}");
                }
            }
            Ok(())
        })?;
    }

    /// ALiBi is symmetric: read backwards, a sequence has the same mean.
    #[test]
    fn a_sequence_read_backwards_has_the_same_mean(length in 1..300_usize, start in 0..200_usize) {
        thread_local! {
            static ENCODER: std::cell::RefCell<Box<dyn Forward>> =
                std::cell::RefCell::new(jina_6_heads().load(On::Cpu(Simd::Plain)));
        }
        let ids = jina_6_heads().ids[start..start + length].to_vec();
        let backwards = ids.iter().rev().copied().collect();
        let rows = ENCODER.with_borrow_mut(|encoder| encoder.pooled(&batch(&[ids, backwards])));
        for (a, b) in rows[0].iter().zip(&rows[1]) {
            prop_assert!((a - b).abs() <= On::Candle.tolerance(), "{a} {b}");
        }
    }
}
