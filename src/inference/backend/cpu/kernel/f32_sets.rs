//! The sets that multiply in f32.

use super::tile::{tile, tile_of};
use super::{Block, Kernel, Queue, Task, enter};
#[cfg(target_arch = "aarch64")]
use crate::inference::backend::cpu::lanes::NeonLanes;
#[cfg(target_arch = "x86_64")]
use crate::inference::backend::cpu::lanes::{Avx2Lanes, Avx512Lanes};
use crate::inference::backend::cpu::lanes::{Lanes, PlainLanes};
use crate::platform::Simd;

macro_rules! set {
    ($(#[$meta:meta])* $name:ident: $lanes:ident $(with $features:literal)?, $rows:literal of [$($count:literal)*] by $registers:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub(in crate::inference) struct $name;

        impl Kernel for $name {
            type Operand = f32;
            type Lanes = $lanes;
            const SIMD: Simd = Simd::$name;
            const ROWS: usize = $rows;
            const OUTPUTS: usize = $registers * $lanes::WIDTH;
            const DEPTH: usize = 1;

            enter! { $name $(with $features)? }

            #[inline(always)]
            unsafe fn tile(
                a: Block<*const f32>,
                rows: usize,
                panel: *const f32,
                depth: usize,
                out: Block<*mut f32>,
            ) {
                // SAFETY: said by the caller.
                unsafe {
                    tile_of!(rows, [$($count)*], R => tile::<$lanes, R, $registers>(a, panel, depth, out));
                }
            }
        }
    };
}

set! {
    /// No set in particular: the reference of all others.
    Plain: PlainLanes, 4 of [1 2 3 4] by 1
}

#[cfg(target_arch = "x86_64")]
set! {
    /// 12 of 16 registers hold sums.
    Avx2: Avx2Lanes with "avx2,fma,f16c", 6 of [1 2 3 4 5 6] by 2
}

#[cfg(target_arch = "x86_64")]
set! {
    /// 28 of 32 registers hold sums.
    Avx512: Avx512Lanes with "avx512f,avx2,fma,f16c", 14 of [1 2 3 4 5 6 7 8 9 10 11 12 13 14] by 2
}

#[cfg(target_arch = "aarch64")]
set! {
    /// 24 of 32 registers hold sums.
    Neon: NeonLanes with "neon", 6 of [1 2 3 4 5 6] by 4
}
