//! An instruction set at work: numbers in registers, and the tile that every product is made of.

mod f32_sets;
mod tile;

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod pairs;

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_arch = "x86_64")]
pub(in crate::inference) use amx::Amx;
#[cfg(target_arch = "aarch64")]
pub(in crate::inference) use f32_sets::Neon;
pub(in crate::inference) use f32_sets::Plain;
#[cfg(target_arch = "x86_64")]
pub(in crate::inference) use f32_sets::{Avx2, Avx512};
#[cfg(target_arch = "x86_64")]
pub(in crate::inference) use pairs::Avx512Bf16;

use super::lanes::Lanes;
use super::operand::Stored;
use crate::platform::Simd;

/// An instruction set. Products are tiles of `ROWS` rows by a panel of `OUTPUTS` outputs whose sums stay
/// in registers from the first input to the last.
pub(in crate::inference) trait Kernel:
    Copy + Debug + Send + Sync + 'static
{
    type Operand: Stored<Self::Lanes>;
    type Lanes: Lanes;
    const SIMD: Simd;
    /// Rows of a tile at most.
    const ROWS: usize;
    /// Outputs of a panel.
    const OUTPUTS: usize;
    /// Inputs are filled up with zeros to a multiple of it.
    const DEPTH: usize;

    /// Runs what is left in `queue`, compiled for this set.
    ///
    /// # Safety
    /// The processor has [`Kernel::SIMD`].
    unsafe fn enter<T: Task<Self>>(task: &T, queue: &Queue, worker: usize);

    /// # Safety
    /// Below [`Kernel::enter`]; there are [`Lanes::WIDTH`] operands.
    #[inline(always)]
    unsafe fn load(from: *const Self::Operand) -> Self::Lanes {
        // SAFETY: said by the caller.
        unsafe { Stored::load(from) }
    }

    /// # Safety
    /// Below [`Kernel::enter`]; there is room for [`Lanes::WIDTH`] operands.
    #[inline(always)]
    unsafe fn store(x: Self::Lanes, to: *mut Self::Operand) {
        // SAFETY: said by the caller.
        unsafe { Stored::store(x, to) }
    }

    /// `out[r][c] = Σ a[r][k] · panel[k][c]` for `k` from 0 in order, so that a sum does not depend on
    /// the rows beside it.
    ///
    /// # Safety
    /// Below [`Kernel::enter`]; `a` and `out` have [`Kernel::ROWS`] rows, of which `rows` matter and
    /// others may be read and written; `depth` is a multiple of [`Kernel::DEPTH`].
    unsafe fn tile(
        a: Block<*const Self::Operand>,
        rows: usize,
        panel: *const Self::Operand,
        depth: usize,
        out: Block<*mut f32>,
    );
}

/// Rows that begin `stride` numbers apart.
#[derive(Clone, Copy, Debug)]
pub(in crate::inference) struct Block<P> {
    pub start: P,
    pub stride: usize,
}

/// Work in numbered parts that touch nothing of each other's.
pub(in crate::inference) trait Task<K: Kernel>: Sync {
    /// Always inlined, so that it is compiled for the set that it runs on.
    ///
    /// # Safety
    /// Below [`Kernel::enter`]; `at` is run once, and no two threads are `worker` at a time.
    unsafe fn run(&self, at: usize, worker: usize);
}

/// The parts of a task that nobody has taken yet.
#[derive(Debug)]
pub(in crate::inference) struct Queue {
    next: AtomicUsize,
    end: usize,
}

impl Queue {
    pub fn new(parts: usize) -> Self {
        Self { next: AtomicUsize::new(0), end: parts }
    }

    fn take(&self) -> Option<usize> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        (at < self.end).then_some(at)
    }

    /// # Safety
    /// As for [`Kernel::enter`].
    #[inline(always)]
    unsafe fn drain<K: Kernel, T: Task<K>>(&self, task: &T, worker: usize) {
        while let Some(at) = self.take() {
            // SAFETY: a part is taken once, and the caller says the rest.
            unsafe { task.run(at, worker) }
        }
    }
}

/// [`Kernel::enter`] of a set: what is below is compiled with its features, while `$held` is held.
macro_rules! enter {
    ($set:ident $(with $features:literal)? $(holding $held:ident)?) => {
        unsafe fn enter<T: Task<Self>>(task: &T, queue: &Queue, worker: usize) {
            $(#[target_feature(enable = $features)])?
            unsafe fn inside<T: Task<$set>>(task: &T, queue: &Queue, worker: usize) {
                // SAFETY: said by the caller.
                unsafe { queue.drain(task, worker) }
            }
            $(let _held = $held::configure();)?
            // SAFETY: the caller says that the processor has the set.
            unsafe { inside(task, queue, worker) }
        }
    };
}
use enter;

/// Says `$body` with `$kernel` as the kernel of a [`Simd`].
macro_rules! with_kernel {
    ($simd:expr, $kernel:ident => $body:expr) => {
        match $simd {
            #[cfg(target_arch = "x86_64")]
            crate::platform::Simd::Amx => {
                type $kernel = crate::inference::backend::cpu::Amx;
                $body
            }
            #[cfg(target_arch = "x86_64")]
            crate::platform::Simd::Avx512Bf16 => {
                type $kernel = crate::inference::backend::cpu::Avx512Bf16;
                $body
            }
            #[cfg(target_arch = "x86_64")]
            crate::platform::Simd::Avx512 => {
                type $kernel = crate::inference::backend::cpu::Avx512;
                $body
            }
            #[cfg(target_arch = "x86_64")]
            crate::platform::Simd::Avx2 => {
                type $kernel = crate::inference::backend::cpu::Avx2;
                $body
            }
            #[cfg(target_arch = "aarch64")]
            crate::platform::Simd::Neon => {
                type $kernel = crate::inference::backend::cpu::Neon;
                $body
            }
            _ => {
                type $kernel = crate::inference::backend::cpu::Plain;
                $body
            }
        }
    };
}
pub(in crate::inference) use with_kernel;

#[cfg(test)]
pub(super) mod tests;
