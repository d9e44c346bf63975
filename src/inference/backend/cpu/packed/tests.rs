use proptest::prelude::*;

use super::super::kernel::tests::{noise, on_every_set};
use super::*;
use crate::platform::Simd;

fn bytes_of(numbers: &[f32], dtype: WeightType) -> Vec<u8> {
    let bytes = |x: &f32| match dtype {
        WeightType::F32 => x.to_le_bytes().to_vec(),
        WeightType::F16 => f16::from_f32(*x).to_le_bytes().to_vec(),
        WeightType::Bf16 => bf16::from_f32(*x).to_le_bytes().to_vec(),
    };
    numbers.iter().flat_map(bytes).collect()
}

fn no_file() -> Arc<Weights> {
    Arc::new(Weights::embedded("none", &[]))
}

fn packing_loses_nothing<K: Kernel>(parts: usize, outputs: usize, inputs: usize) {
    let weights = no_file();
    let numbers = noise(parts * outputs * inputs, 3);
    let bytes = bytes_of(&numbers, WeightType::F32);
    let part_bytes = outputs * inputs * 4;
    let views: Vec<_> = (0..parts)
        .map(|at| WeightView {
            shape: vec![outputs, inputs],
            dtype: WeightType::F32,
            bytes: &bytes[at * part_bytes..(at + 1) * part_bytes],
            weights: &weights,
        })
        .collect();
    let packed = PackedMatrix::<K>::pack(&views).unwrap();
    assert_eq!(packed.depth, inputs.next_multiple_of(K::DEPTH));
    let mut seen = 0;
    for panel in 0..parts * packed.panels() {
        let (part, first) = (panel / packed.panels(), panel % packed.panels() * K::OUTPUTS);
        for k in 0..packed.depth {
            for c in 0..K::OUTPUTS {
                // SAFETY: the panel has so many numbers.
                let got: f32 = unsafe { *packed.panel(panel).add(place::<K>(k, c)) }.into();
                let inside = k < inputs && first + c < outputs;
                let want = if inside {
                    seen += 1;
                    let x = numbers[(part * outputs + first + c) * inputs + k];
                    K::Operand::from_f32(x).into()
                } else {
                    0.0
                };
                assert_eq!(got.to_bits(), want.to_bits(), "{:?}", K::SIMD);
            }
        }
    }
    assert_eq!(seen, numbers.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_weight_has_one_place_and_the_rest_is_zero(
        parts in 1..4_usize,
        outputs in 1..70_usize,
        inputs in 1..70_usize,
    ) {
        on_every_set!(packing_loses_nothing(parts, outputs, inputs));
    }

    /// Whatever weights are stored as, and wherever in a file they begin.
    #[test]
    fn rows_of_a_table_are_read_as_stored(
        rows in 1..6_usize,
        width in 1..150_usize,
        skip in 0..5_usize,
    ) {
        for dtype in [WeightType::F16, WeightType::Bf16, WeightType::F32] {
            let numbers = noise(rows * width, 5);
            let stored = bytes_of(&numbers, dtype);
            let file: &'static [u8] =
                Box::leak([vec![0; skip], stored].concat().into_boxed_slice());
            let weights = Arc::new(Weights::embedded("table", file));
            let bytes = &weights.bytes()[skip..];
            let table =
                LookupTable::new(&WeightView { shape: vec![rows, width], dtype, bytes, weights: &weights });
            let mut got = vec![f32::NAN; width];
            for row in 0..rows {
                table.read(row, &mut got);
                for (got, x) in got.iter().zip(&numbers[row * width..]) {
                    let want = match dtype {
                        WeightType::F32 => *x,
                        WeightType::F16 => f16::from_f32(*x).to_f32(),
                        WeightType::Bf16 => bf16::from_f32(*x).to_f32(),
                    };
                    prop_assert_eq!(got.to_bits(), want.to_bits());
                }
            }
        }
    }
}

#[test]
fn subnormal_weights_are_zero() {
    let weights = no_file();
    let numbers = [1e-39, -1e-39, f32::MIN_POSITIVE, 1.0];
    let bytes = bytes_of(&numbers, WeightType::F32);
    let view =
        WeightView { shape: vec![1, 4], dtype: WeightType::F32, bytes: &bytes, weights: &weights };
    let packed = PackedMatrix::<super::super::Plain>::pack(&[view]).unwrap();
    let at = |k| {
        // SAFETY: the panel has four inputs.
        unsafe { *packed.panel(0).add(place::<super::super::Plain>(k, 0)) }
    };
    let want = [0.0, 0.0, f32::MIN_POSITIVE, 1.0];
    assert_eq!([0, 1, 2, 3].map(at).map(f32::to_bits), want.map(f32::to_bits));
}
