use half::bf16;
use proptest::prelude::*;

use super::super::lanes::Lanes;
use super::super::operand::Operand;
use super::super::packed::place;
use super::*;

/// Calls `$check::<K>($arguments)` for every set of this processor.
macro_rules! on_every_set {
    ($check:ident($($argument:expr),*)) => {
        for simd in Simd::ALL.into_iter().filter(|simd| simd.is_available()) {
            crate::inference::backend::cpu::with_kernel!(simd, K => $check::<K>($($argument),*));
        }
    };
}
pub(in crate::inference::backend::cpu) use on_every_set;

/// Runs a closure as the only part of a task: what it calls is not compiled for the set, only run where
/// its instructions work.
pub(in crate::inference::backend::cpu) fn inside<K: Kernel>(work: impl Fn() + Sync) {
    struct Once<F>(F);
    impl<K: Kernel, F: Fn() + Sync> Task<K> for Once<F> {
        #[inline(always)]
        unsafe fn run(&self, _at: usize, _worker: usize) {
            (self.0)();
        }
    }
    // SAFETY: tests ask for sets that the processor has.
    unsafe { K::enter(&Once(work), &Queue::new(1), 0) }
}

/// Numbers between −1 and 1 that look random and are the same in every run.
pub(in crate::inference::backend::cpu) fn noise(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

struct Case<K: Kernel> {
    rows: usize,
    depth: usize,
    stride: usize,
    a: Vec<K::Operand>,
    panel: Vec<K::Operand>,
}

impl<K: Kernel> Case<K> {
    fn new(rows: usize, steps: usize, gap: usize) -> Self {
        let depth = steps * K::DEPTH;
        let stride = depth + gap * K::Operand::GROUP;
        let operands = |count, seed| noise(count, seed).into_iter().map(K::Operand::from_f32);
        let a = operands(K::ROWS * stride, 1).collect();
        let mut panel = vec![K::Operand::default(); depth * K::OUTPUTS];
        for (at, x) in operands(depth * K::OUTPUTS, 2).enumerate() {
            panel[place::<K>(at / K::OUTPUTS, at % K::OUTPUTS)] = x;
        }
        Self { rows, depth, stride, a, panel }
    }

    /// Rows `first..first + rows` of the product.
    fn tile(&self, first: usize, rows: usize) -> Vec<f32> {
        let out = std::sync::Mutex::new(vec![f32::NAN; K::ROWS * K::OUTPUTS]);
        // Whole tiles are read, wherever they begin.
        let mut a = self.a[first * self.stride..].to_vec();
        a.resize(K::ROWS * self.stride, K::Operand::default());
        inside::<K>(|| {
            let mut out = out.lock().unwrap();
            let a = Block { start: a.as_ptr(), stride: self.stride };
            let out = Block { start: out.as_mut_ptr(), stride: K::OUTPUTS };
            // SAFETY: both have all rows of a tile.
            unsafe { K::tile(a, rows, self.panel.as_ptr(), self.depth, out) }
        });
        let mut out = out.into_inner().unwrap();
        out.truncate(rows * K::OUTPUTS);
        out
    }

    /// The plain twin, in f64.
    fn expected(&self, row: usize, output: usize) -> f64 {
        let number = |x: K::Operand| -> f64 { Into::<f32>::into(x).into() };
        let product = |k: usize| {
            number(self.a[row * self.stride + k]) * number(self.panel[place::<K>(k, output)])
        };
        (0..self.depth).map(product).sum()
    }
}

fn tiles_are_products<K: Kernel>(rows: usize, steps: usize, gap: usize) {
    let case = Case::<K>::new(rows.min(K::ROWS), steps, gap);
    let got = case.tile(0, case.rows);
    for (at, got) in got.iter().enumerate() {
        let want = case.expected(at / K::OUTPUTS, at % K::OUTPUTS);
        let tolerance = 1e-6 * (case.depth as f64 + 8.0);
        assert!((f64::from(*got) - want).abs() <= tolerance, "{:?}: {got} {want}", K::SIMD);
    }
    for row in 0..case.rows {
        let alone = case.tile(row, 1);
        let among = &got[row * K::OUTPUTS..(row + 1) * K::OUTPUTS];
        assert_eq!(alone, among, "{:?}: row {row} depends on its neighbors", K::SIMD);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn tiles_of_every_set_are_products(rows in 1..33_usize, steps in 1..40_usize, gap in 0..40_usize) {
        on_every_set!(tiles_are_products(rows, steps, gap));
    }
}

fn full_tiles<K: Kernel>() {
    tiles_are_products::<K>(K::ROWS, 3, 0);
    tiles_are_products::<K>(1, 1, 1);
}

#[test]
fn the_smallest_and_the_largest_tile() {
    on_every_set!(full_tiles());
}

fn operands_are_rounded_to_nearest<K: Kernel>() {
    let width = K::Lanes::WIDTH;
    for seed in 0..20 {
        let numbers: Vec<f32> = noise(width + 3, seed).iter().map(|x| x * 100.0).collect();
        // Nothing needs to be aligned.
        for skip in 0..3 {
            let stored = std::sync::Mutex::new(vec![K::Operand::default(); width + 3]);
            let read = std::sync::Mutex::new(vec![0.0; width + 3]);
            inside::<K>(|| {
                let (mut stored, mut read) = (stored.lock().unwrap(), read.lock().unwrap());
                // SAFETY: a register fits behind three numbers.
                unsafe {
                    K::store(
                        K::Lanes::load(numbers.as_ptr().add(skip)),
                        stored.as_mut_ptr().add(skip),
                    );
                    K::load(stored.as_ptr().add(skip)).store(read.as_mut_ptr().add(skip));
                }
            });
            let read = read.into_inner().unwrap();
            for at in skip..skip + width {
                let want: f32 = K::Operand::from_f32(numbers[at]).into();
                assert_eq!(read[at].to_bits(), want.to_bits(), "{:?}", K::SIMD);
            }
        }
    }
}

#[test]
fn operands_of_every_set_are_rounded_to_nearest() {
    on_every_set!(operands_are_rounded_to_nearest());
    assert_eq!(bf16::from_f32(1.004), bf16::from_f32_const(1.007_812_5));
}

fn registers_fold<K: Kernel>() {
    let numbers = noise(16, 7);
    let found = std::sync::Mutex::new((0.0, 0.0));
    inside::<K>(|| {
        // SAFETY: no register is wider than 16.
        let x = unsafe { K::Lanes::load(numbers.as_ptr()) };
        *found.lock().unwrap() = (x.sum(), x.largest());
    });
    let (sum, largest) = found.into_inner().unwrap();
    let numbers = &numbers[..K::Lanes::WIDTH];
    assert!((sum - numbers.iter().sum::<f32>()).abs() < 1e-5, "{:?}", K::SIMD);
    let want = numbers.iter().copied().fold(f32::MIN, f32::max);
    assert_eq!(largest.to_bits(), want.to_bits(), "{:?}", K::SIMD);
}

#[test]
fn the_registers_of_every_set_fold() {
    on_every_set!(registers_fold());
}
