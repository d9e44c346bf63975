//! AMX: tiles of 16 rows by 64 bytes, 8,192 products of bf16 an instruction.
//!
//! The intrinsics are unstable, so the loop is assembly. Intel's Software Developer's Manual, volume 1,
//! chapter 18.

use std::arch::asm;

use half::bf16;

use super::{Block, Kernel, Queue, Task, enter};
use crate::inference::backend::cpu::lanes::Avx512Lanes;
use crate::platform::Simd;

/// Two tiles of rows by two of outputs.
#[derive(Clone, Copy, Debug)]
pub(in crate::inference) struct Amx;

/// Rows of one tile.
const TILE: usize = 16;

impl Kernel for Amx {
    type Operand = bf16;
    type Lanes = Avx512Lanes;
    const SIMD: Simd = Simd::Amx;
    const ROWS: usize = 2 * TILE;
    const OUTPUTS: usize = 32;
    const DEPTH: usize = 32;

    enter! { Amx with "avx512f,avx512bf16,avx2,fma,f16c" holding Tiles }

    #[inline(always)]
    unsafe fn tile(
        a: Block<*const bf16>,
        rows: usize,
        panel: *const bf16,
        depth: usize,
        out: Block<*mut f32>,
    ) {
        // SAFETY: said by the caller: all rows of a tile are there, whether they matter or not.
        unsafe { multiply(a, rows, panel, depth / Self::DEPTH, out) }
    }
}

/// The shape of all tiles, as `ldtilecfg` reads it, in force until it is dropped. A thread that holds
/// none costs the system nothing when it is switched.
struct Tiles;

#[repr(C, align(64))]
struct Shape {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Tiles {
    fn configure() -> Self {
        static SHAPE: Shape = {
            let (mut row_bytes, mut rows) = ([0; 16], [0; 16]);
            let mut at = 0;
            while at < 8 {
                (row_bytes[at], rows[at]) = (64, TILE as u8);
                at += 1;
            }
            Shape { palette: 1, start_row: 0, reserved: [0; 14], row_bytes, rows }
        };
        // SAFETY: it reads 64 bytes, and sets what only the assembly below uses.
        unsafe { asm!("ldtilecfg [{shape}]", shape = in(reg) &raw const SHAPE, options(nostack)) }
        Self
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: no tile is in use between calls of the assembly below.
        unsafe { asm!("tilerelease", options(nostack, nomem)) }
    }
}

/// The upper 16 rows, and the lower ones where there are any: the branch is the same in every step, and
/// is predicted.
///
/// # Safety
/// Tiles are configured; `a` and `out` have 32 rows, the panel 16 pairs of 32 outputs a step, and there is
/// a step.
#[inline(always)]
unsafe fn multiply(
    a: Block<*const bf16>,
    rows: usize,
    panel: *const bf16,
    steps: usize,
    out: Block<*mut f32>,
) {
    // SAFETY: said by the caller.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            "tileloadd tmm4, [{upper} + {a_stride}]",
            "tileloadd tmm6, [{panel} + {panel_stride}]",
            "tileloadd tmm7, [{panel} + {panel_stride} + 64]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "cmp {rows}, {tile}",
            "jbe 3f",
            "tileloadd tmm5, [{lower} + {a_stride}]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "3:",
            "add {upper}, 64",
            "add {lower}, 64",
            "add {panel}, 2048",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{out} + {out_stride}], tmm0",
            "tilestored [{out} + {out_stride} + 64], tmm1",
            "cmp {rows}, {tile}",
            "jbe 4f",
            "tilestored [{out_lower} + {out_stride}], tmm2",
            "tilestored [{out_lower} + {out_stride} + 64], tmm3",
            "4:",
            upper = inout(reg) a.start => _,
            lower = inout(reg) a.start.add(TILE * a.stride) => _,
            a_stride = in(reg) a.stride * size_of::<bf16>(),
            rows = in(reg) rows,
            tile = const TILE,
            panel = inout(reg) panel => _,
            panel_stride = in(reg) 128_usize,
            steps = inout(reg) steps => _,
            out = in(reg) out.start,
            out_lower = in(reg) out.start.add(TILE * out.stride),
            out_stride = in(reg) out.stride * size_of::<f32>(),
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}
